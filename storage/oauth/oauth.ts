import type { Chain, Code, DeviceRequest, Grant, OAuthFacts } from '../../engine/oauth/facts.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { remove, rows, type StatementTable, upsert } from '../database/statement.ts';
import type { OAuthStore } from './port.ts';

const PAIR = { user_id: 'bigint', application_id: 'bigint' };
const ROW = { user_id: 'bigint', id: 'bigint' };
const OWNED = { ...ROW, application_id: 'bigint', data: 'jsonb' };

const WRITE_GRANT = upsert('oauth_grants', { ...PAIR, data: 'jsonb' }, 'user_id, application_id');
const WRITE_CHAIN = upsert('oauth_chains', OWNED, 'user_id, id');
const WRITE_CODE = upsert('oauth_codes', OWNED, 'user_id, id');
const END = ['oauth_grants', 'oauth_chains', 'oauth_codes'].map((table) => remove(table, PAIR));
const END_CHAIN = remove('oauth_chains', ROW);
const END_CODE = remove('oauth_codes', ROW);

const DEVICE = { id: 'text', user_code_hash: 'text', expires_ms: 'bigint', data: 'jsonb' };
const WRITE_DEVICE = upsert('oauth_device_requests', DEVICE, 'id');
const END_DEVICE = remove('oauth_device_requests', { id: 'text' });
const SWEEP_DEVICES = `DELETE FROM oauth_device_requests t USING ${rows({ now_ms: 'bigint' })} WHERE t.expires_ms < r.now_ms`;

const owned = (row: Chain | Code) => ({
  user_id: row.userId,
  id: row.id,
  application_id: row.applicationId,
  data: row,
});

export const oauthStatements: StatementTable<OAuthFacts> = {
  grantWritten: (_, { grant }) => [
    { sql: WRITE_GRANT, row: { user_id: grant.userId, application_id: grant.applicationId, data: grant } },
  ],
  grantEnded: (_, { userId, applicationId }) =>
    END.map((sql) => ({ sql, row: { user_id: userId, application_id: applicationId } })),
  chainWritten: (_, { chain }) => [{ sql: WRITE_CHAIN, row: owned(chain) }],
  chainEnded: (_, { userId, chainId }) => [{ sql: END_CHAIN, row: { user_id: userId, id: chainId } }],
  codeWritten: (_, { code }) => [{ sql: WRITE_CODE, row: owned(code) }],
  codeEnded: (_, { userId, codeId }) => [{ sql: END_CODE, row: { user_id: userId, id: codeId } }],
  deviceRequestWritten: (_, { request, nowMs }) => [
    { sql: SWEEP_DEVICES, row: { now_ms: nowMs } },
    {
      sql: WRITE_DEVICE,
      row: {
        id: request.id,
        user_code_hash: request.userCodeHash,
        expires_ms: request.expiresMs,
        data: request,
      },
    },
  ],
  deviceRequestEnded: (_, { id }) => [{ sql: END_DEVICE, row: { id } }],
};

/** Reads all three kinds at once, because a token check of a user who is not cached needs them all. */
const HOLDINGS = `
SELECT 'grant' AS kind, data FROM oauth_grants WHERE user_id = ANY($1::bigint[])
UNION ALL SELECT 'chain', data FROM oauth_chains WHERE user_id = ANY($1::bigint[])
UNION ALL SELECT 'code', data FROM oauth_codes WHERE user_id = ANY($1::bigint[])`;

type HoldingRow =
  | { readonly kind: 'grant'; readonly data: Grant }
  | { readonly kind: 'chain'; readonly data: Chain }
  | { readonly kind: 'code'; readonly data: Code };

const nothingHeld = (): { grants: Grant[]; chains: Chain[]; codes: Code[] } => ({
  grants: [],
  chains: [],
  codes: [],
});

export const oauthStore = (sql: Sql): OAuthStore => {
  const device = async (where: string, value: string): Promise<DeviceRequest | null> => {
    const text = `SELECT data FROM oauth_device_requests WHERE ${where} = $1`;
    return (await sql.query<{ data: DeviceRequest }>(text, [value]))[0]?.data ?? null;
  };
  return {
    holdings: async (userIds) => {
      const held = new Map(userIds.map((userId) => [userId, nothingHeld()]));
      for (const { kind, data } of await sql.query<HoldingRow>(HOLDINGS, [userIds])) {
        const { grants, chains, codes } = held.get(data.userId) ?? nothingHeld();
        if (kind === 'grant') grants.push(data);
        else if (kind === 'chain') chains.push(data);
        else codes.push(data);
      }
      return held;
    },
    // No index for this: it is rarely needed, when an application gets a parent, and stops after the first rows.
    grantors: async (applicationId, limit) => {
      const text = 'SELECT user_id FROM oauth_grants WHERE application_id = $1 LIMIT $2';
      const found = await sql.query<{ user_id: UserId }>(text, [applicationId, limit]);
      return found.map(({ user_id }) => user_id);
    },
    deviceRequest: (id) => device('id', id),
    deviceRequestOf: (userCodeHash) => device('user_code_hash', userCodeHash),
  };
};

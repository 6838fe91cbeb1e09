import { createHash } from 'node:crypto';
import { HERE } from '../../../actors/placement/routing.ts';
import type { Chain, Code, DeviceRequest, Grant } from '../../../engine/oauth/facts.ts';
import { newApplication } from '../../../engine/user/application.ts';
import type { Application } from '../../../engine/user/facts.ts';
import { newUser } from '../../../engine/user/user.ts';
import type { ApplicationId, FreshId, GuildId, UserId } from '../../../protocol/ids.ts';
import { makeApplicationKeys } from '../../../services/identity/applicationkeys.ts';
import { createOAuth, type OAuthPorts } from '../../../services/oauth/oauth.ts';
import type { StoredFact } from '../../../storage/ports.ts';

export const ANNA = '1100000000000000001' as UserId;
export const BERT = '1100000000000000002' as UserId;
export const GAME = '1100000000000000011' as ApplicationId;
export const OTHER = '1100000000000000012' as ApplicationId;
export const MANAGED = '1100000000000000021' as GuildId;
export const VISITED = '1100000000000000022' as GuildId;
export const START_MS = Date.UTC(2026, 10, 21);

/** Bytes that differ with every call and repeat with every test. */
export function countingBytes(): (size: number) => Uint8Array {
  let calls = 0;
  return (size) => createHash('sha512').update(String(calls++)).digest().subarray(0, size);
}

/** Shared by all: an RSA key takes long to make. */
const KEYRING = new Map<string, string>();

/** Rows as storage would have them, written by the facts of commits. */
function createRows() {
  const grants = new Map<string, Grant>();
  const chains = new Map<string, Chain>();
  const codes = new Map<string, Code>();
  const devices = new Map<string, DeviceRequest>();
  function write(fact: StoredFact): void {
    if (fact.type === 'grantWritten')
      grants.set(`${fact.grant.userId} ${fact.grant.applicationId}`, fact.grant);
    if (fact.type === 'chainWritten') chains.set(fact.chain.id, fact.chain);
    if (fact.type === 'chainEnded') chains.delete(fact.chainId);
    if (fact.type === 'codeWritten') codes.set(fact.code.id, fact.code);
    if (fact.type === 'codeEnded') codes.delete(fact.codeId);
    if (fact.type === 'deviceRequestWritten') devices.set(fact.request.id, fact.request);
    if (fact.type === 'deviceRequestEnded') devices.delete(fact.id);
    if (fact.type !== 'grantEnded') return;
    const isOf = (row: { userId: UserId; applicationId: ApplicationId }) =>
      row.userId === fact.userId && row.applicationId === fact.applicationId;
    for (const rows of [grants, chains, codes])
      for (const [key, row] of [...rows]) if (isOf(row)) rows.delete(key);
  }
  return { grants, chains, codes, devices, write };
}

/** The reads of storage. */
const storeOf = (rows: ReturnType<typeof createRows>, log: { reads: number }): OAuthPorts['store'] => ({
  async holdings(userIds) {
    log.reads += 1;
    const of = <Row extends { userId: UserId }>(all: Map<string, Row>, userId: UserId) =>
      [...all.values()].filter((row) => row.userId === userId);
    return new Map(
      userIds.map((id) => [
        id,
        { grants: of(rows.grants, id), chains: of(rows.chains, id), codes: of(rows.codes, id) },
      ]),
    );
  },
  grantors: async (applicationId, limit) =>
    [...rows.grants.values()]
      .filter((grant) => grant.applicationId === applicationId)
      .map(({ userId }) => userId)
      .slice(0, limit),
  deviceRequest: async (id) => rows.devices.get(id) ?? null,
  deviceRequestOf: async (hash) =>
    [...rows.devices.values()].find(({ userCodeHash }) => userCodeHash === hash) ?? null,
});

/** Two applications, Bert's both, with a redirect and a secret each. */
function createApplications(randomBytes: (size: number) => Uint8Array) {
  const applications = new Map<string, Application>();
  const secrets = new Map<string, { text: string; hash: string }>();
  for (const [id, name] of [
    [GAME, 'Game'],
    [OTHER, 'Other'],
  ] as const) {
    const keys = makeApplicationKeys(randomBytes);
    const base = newApplication(id, id as string as UserId, {
      name,
      ownerId: BERT,
      flags: 0,
      verifyKey: keys.verifyKey,
    });
    applications.set(id, { ...base, redirect_uris: ['https://game.example/callback'] });
    secrets.set(id, { text: keys.clientSecret.reveal(), hash: keys.clientSecretHash });
  }
  return { applications, secrets };
}

const applicationsIn = (
  applications: ReadonlyMap<string, Application>,
  secrets: ReadonlyMap<string, { readonly hash: string }>,
): OAuthPorts['applications'] => ({
  get: async (id) => applications.get(id) ?? null,
  secretHash: async (id) => secrets.get(id)?.hash ?? null,
});

const GUILDS = [
  { id: MANAGED, name: 'Mine', icon: null, permissions: '32' },
  { id: VISITED, name: 'Theirs', icon: null, permissions: '1024' },
];

/** The authorization server over rows in memory, with two people and two applications. */
export function arrange(given: Partial<OAuthPorts> = {}) {
  const rows = createRows();
  const facts: StoredFact[] = [];
  const log = { reads: 0, revoked: [] as string[], deauthorized: [] as string[], installed: [] as string[] };
  const security: [string, object][] = [];
  const clock = { nowMs: START_MS };
  let ids = 1_200_000_000_000_000_000n;
  const nextId = () => String(ids++) as FreshId;
  const randomBytes = countingBytes();
  const { applications, secrets } = createApplications(randomBytes);
  const steer = { fail: false };
  const commit: OAuthPorts['commit'] = async (_ownerId, written) => {
    await Promise.resolve();
    if (steer.fail) throw new Error('The disk is gone.');
    for (const fact of written) rows.write(fact);
    facts.push(...written);
  };
  const oauth = createOAuth({
    ...{ routing: HERE, commit, commitAsOwner: commit },
    store: storeOf(rows, log),
    ...{ applications: applicationsIn(applications, secrets), teams: { get: async () => null } },
    users: {
      get: async (ids) =>
        ids.map((id) =>
          newUser({ id, username: `user${id}`, globalName: null, bot: id === (GAME as string) }),
        ),
    },
    settings: {
      get: async (key) => KEYRING.get(key) ?? null,
      putIfAbsent: async (key, value) => {
        if (!KEYRING.has(key)) KEYRING.set(key, value);
        return KEYRING.get(key)!;
      },
    },
    security: (event, fields) => void security.push([event, fields]),
    nextId,
    randomBytes,
    clock: { now: () => clock.nowMs },
    publicUrl: () => 'https://guild.example',
    revoked: (userId, applicationId) => log.revoked.push(`${userId} ${applicationId}`),
    closeSessionsOfGrant: (userId, applicationId, grantId) =>
      log.revoked.push(`${userId} ${applicationId} ${grantId}`),
    isBanned: async () => false,
    merge: async () => ({ ok: true, value: null }),
    addBot: async (approverId, application, { guildId, permissions }) => {
      log.installed.push(`${approverId} ${application.id} ${guildId} ${permissions}`);
      return { ok: true, value: null };
    },
    guildObject: async (id) => ({ id }),
    guildsOf: async () => GUILDS,
    deauthorized: async (userId, applicationId) => {
      log.deauthorized.push(`${userId} ${applicationId}`);
    },
    ...given,
  });
  return {
    oauth,
    rows,
    facts,
    log,
    security,
    clock,
    steer,
    settings: KEYRING,
    secretOf: (id: ApplicationId) => secrets.get(id)!.text,
    application: (id: ApplicationId, change: Partial<Application>) =>
      applications.set(id, { ...applications.get(id)!, ...change }),
  };
}

import type { CallFacts, PrivateCall } from '../../engine/privatechannel/calls.ts';
import type {
  GroupFacts,
  GroupSettings,
  PrivateChannel,
  PrivateChannelFacts,
} from '../../engine/user/facts.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import type { Sql } from '../database/driver.ts';
import { remove, rows, type Statement, type StatementTable, upsert } from '../database/statement.ts';
import type { Activity } from '../guild/channels.ts';
import { messageStatements } from '../message/messages.ts';
import { pollStatements } from '../message/polls.ts';
import { reactionStatements } from '../message/reactions.ts';
import type { PrivateChannelStore } from './port.ts';

/** Not an upsert: a second channel of the same users must fail. */
const OPEN = `
WITH r AS (SELECT * FROM ${rows({ channel_id: 'bigint', low_id: 'bigint', high_id: 'bigint' })}),
  d AS (INSERT INTO channel_directory (channel_id) SELECT channel_id FROM r),
  m AS (INSERT INTO private_channel_members (user_id, peer_id, channel_id)
    SELECT low_id, high_id, channel_id FROM r UNION ALL SELECT high_id, low_id, channel_id FROM r)
INSERT INTO private_channels (channel_id, low_id, high_id) SELECT channel_id, low_id, high_id FROM r`;

const ENLIST = `INSERT INTO channel_directory (channel_id) SELECT channel_id FROM ${rows({ channel_id: 'bigint' })}`;
const GROUP = upsert(
  'group_channels',
  { channel_id: 'bigint', recipient_ids: 'bigint[]', application_id: 'bigint', data: 'jsonb' },
  'channel_id',
);

const groupStored = ({ channelId, recipientIds, group }: GroupFacts['groupUpdated']): Statement => ({
  sql: GROUP,
  row: {
    ...{ channel_id: channelId, recipient_ids: recipientIds, data: group },
    application_id: group.applicationId,
  },
});

const CALL = upsert('private_calls', { channel_id: 'bigint', data: 'jsonb' }, 'channel_id');
const CALL_OVER = remove('private_calls', { channel_id: 'bigint' });

const callStored = (channelId: string, { call }: { readonly call: PrivateCall }): readonly Statement[] => [
  { sql: CALL, row: { channel_id: channelId, data: storedCall(call) } },
];

type StoredCall = Omit<PrivateCall, 'voiceStates'> & {
  readonly voiceStates: readonly GatewayVoiceState[];
};

const storedCall = (call: PrivateCall): StoredCall => ({
  ...call,
  voiceStates: [...call.voiceStates.values()],
});

const callOf = (call: StoredCall): PrivateCall => ({
  ...call,
  voiceStates: new Map(call.voiceStates.map((state) => [state.user_id, state])),
});

export const privateChannelStatements: StatementTable<PrivateChannelFacts & CallFacts> = {
  ...messageStatements,
  ...reactionStatements,
  ...pollStatements,
  privateChannelOpened: (_, { channel: { id, recipientIds, group } }) =>
    group
      ? [{ sql: ENLIST, row: { channel_id: id } }, groupStored({ channelId: id, recipientIds, group })]
      : [{ sql: OPEN, row: { channel_id: id, low_id: recipientIds[0], high_id: recipientIds[1] } }],
  groupUpdated: (_, fact) => [groupStored(fact)],
  recipientAdded: (_, fact) => [groupStored(fact)],
  recipientRemoved: (_, fact) => [groupStored(fact)],
  callStarted: callStored,
  callStateChanged: callStored,
  ringingChanged: callStored,
  callStreamLost: callStored,
  callEnded: (channelId) => [{ sql: CALL_OVER, row: { channel_id: channelId } }],
};

interface PrivateChannelRow extends Activity {
  readonly id: ChannelId;
  readonly recipient_ids: readonly UserId[];
  readonly low_wrote: boolean | null;
  readonly high_wrote: boolean | null;
  /** Null for a channel of two users. */
  readonly data: GroupSettings | null;
}

const wrote = (user: string, peer: string) =>
  `(SELECT w.has_written FROM private_channel_members w WHERE w.user_id = c.${user} AND w.peer_id = c.${peer})`;
const PAIR = `c.channel_id, ARRAY[c.low_id::text, c.high_id::text] AS recipient_ids,
  ${wrote('low_id', 'high_id')} AS low_wrote, ${wrote('high_id', 'low_id')} AS high_wrote, NULL::jsonb AS data`;
const GROUPED =
  'g.channel_id, g.recipient_ids::text[], NULL::boolean AS low_wrote, NULL::boolean AS high_wrote, g.data';
const activeIn = (
  channels: string,
) => `SELECT t.channel_id AS id, t.recipient_ids, t.low_wrote, t.high_wrote, t.data,
    a.last_message_id, a.last_pin_ms
  FROM (${channels}) t LEFT JOIN channel_activity a ON a.owner_id = t.channel_id AND a.channel_id = t.channel_id`;
const ONE = activeIn(`SELECT ${PAIR} FROM private_channels c WHERE c.channel_id = $1
  UNION ALL SELECT ${GROUPED} FROM group_channels g WHERE g.channel_id = $1`);
const PAIRS_OF = `SELECT ${PAIR} FROM private_channel_members p
  JOIN private_channels c ON c.channel_id = p.channel_id WHERE p.user_id = $1`;
const BETWEEN = activeIn(`${PAIRS_OF} AND p.peer_id = $2`);
const OF_USER = `${activeIn(`${PAIRS_OF}
  UNION ALL SELECT ${GROUPED} FROM group_channels g WHERE g.recipient_ids @> ARRAY[$1::bigint]`)}
  ORDER BY a.last_message_id DESC NULLS LAST, t.channel_id DESC LIMIT $2`;
const MANAGED =
  'SELECT count(*)::int AS groups FROM group_channels WHERE application_id = $1 AND cardinality(recipient_ids) > 0';

function channelOf(row: PrivateChannelRow): PrivateChannel {
  const { id, recipient_ids: recipientIds, data, last_message_id, last_pin_ms } = row;
  const active = { last_message_id, last_pin_ms: last_pin_ms === null ? null : Number(last_pin_ms) };
  if (data) return { ...{ id, type: 3, recipientIds, ...active }, group: data };
  const wrote = [row.low_wrote, row.high_wrote];
  return {
    ...{ id, type: 1, recipientIds, ...active },
    writtenBy: recipientIds.filter((_, at) => wrote[at]),
  };
}

export function privateChannelStore(sql: Sql): PrivateChannelStore {
  const select = async (text: string, values: readonly unknown[]): Promise<PrivateChannel[]> =>
    (await sql.query<PrivateChannelRow>(text, values)).map(channelOf);
  return {
    get: async (id) => (await select(ONE, [id]))[0] ?? null,
    call: async (id) => {
      const text = 'SELECT data FROM private_calls WHERE channel_id = $1';
      const [row] = await sql.query<{ readonly data: StoredCall }>(text, [id]);
      return row ? callOf(row.data) : null;
    },
    inCall: async (userId, ids) => {
      const text = 'SELECT channel_id AS id, data FROM private_calls WHERE channel_id = ANY($1)';
      const found = await sql.query<{ readonly id: ChannelId; readonly data: StoredCall }>(text, [ids]);
      return found.flatMap(({ id, data }) => {
        const own = data.voiceStates.find(({ user_id }) => user_id === userId);
        return own ? [{ id, sessionId: own.session_id }] : [];
      });
    },
    withCalls: async () => {
      const found = await sql.query<{ readonly id: ChannelId }>('SELECT channel_id AS id FROM private_calls');
      return found.map(({ id }) => id);
    },
    between: async (a, b) => (await select(BETWEEN, [a, b]))[0] ?? null,
    of: (userId, limit) => select(OF_USER, [userId, limit]),
    managedBy: async (applicationId) => {
      const [row] = await sql.query<{ readonly groups: number }>(MANAGED, [applicationId]);
      return row?.groups ?? 0;
    },
  };
}

import type { PrivateChannel, PrivateChannelFacts } from '../../engine/user/facts.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { rows, type StatementTable } from '../database/statement.ts';
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

export const privateChannelStatements: StatementTable<PrivateChannelFacts> = {
  ...messageStatements,
  ...reactionStatements,
  ...pollStatements,
  privateChannelOpened: (_, { channel: { id, recipientIds } }) => [
    { sql: OPEN, row: { channel_id: id, low_id: recipientIds[0], high_id: recipientIds[1] } },
  ],
};

interface Row extends Activity {
  readonly id: ChannelId;
  readonly low_id: UserId;
  readonly high_id: UserId;
  readonly low_wrote: boolean | null;
  readonly high_wrote: boolean | null;
}

const wrote = (user: string, peer: string) =>
  `(SELECT w.has_written FROM private_channel_members w WHERE w.user_id = c.${user} AND w.peer_id = c.${peer})`;
const COLUMNS = `c.channel_id AS id, c.low_id, c.high_id, a.last_message_id, a.last_pin_ms,
  ${wrote('low_id', 'high_id')} AS low_wrote, ${wrote('high_id', 'low_id')} AS high_wrote`;
const ACTIVITY = 'LEFT JOIN channel_activity a ON a.owner_id = c.channel_id AND a.channel_id = c.channel_id';
const ONE = `SELECT ${COLUMNS} FROM private_channels c ${ACTIVITY} WHERE c.channel_id = $1`;
const OF_MEMBER = `SELECT ${COLUMNS} FROM private_channel_members p
  JOIN private_channels c ON c.channel_id = p.channel_id ${ACTIVITY} WHERE p.user_id = $1`;

export function privateChannelStore(sql: Sql): PrivateChannelStore {
  const select = async (text: string, values: readonly unknown[]): Promise<PrivateChannel[]> =>
    (await sql.query<Row>(text, values)).map((row) => ({
      id: row.id,
      type: 1,
      recipientIds: [row.low_id, row.high_id],
      last_message_id: row.last_message_id,
      last_pin_ms: row.last_pin_ms === null ? null : Number(row.last_pin_ms),
      writtenBy: [...(row.low_wrote ? [row.low_id] : []), ...(row.high_wrote ? [row.high_id] : [])],
    }));
  return {
    get: async (id) => (await select(ONE, [id]))[0] ?? null,
    between: async (a, b) => (await select(`${OF_MEMBER} AND p.peer_id = $2`, [a, b]))[0] ?? null,
    of: (userId, limit) =>
      select(`${OF_MEMBER} ORDER BY a.last_message_id DESC NULLS LAST, c.channel_id DESC LIMIT $2`, [
        userId,
        limit,
      ]),
  };
}

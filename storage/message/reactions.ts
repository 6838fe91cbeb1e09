import type { ReactionFacts } from '../../engine/guild/facts.ts';
import type { MessageId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { Sql } from '../database/driver.ts';
import { rows, type StatementTable } from '../database/statement.ts';

const OF_MESSAGE = { owner_id: 'bigint', message_id: 'bigint' };
const OF_KEY = { ...OF_MESSAGE, key: 'text' };
const OF_USER = { ...OF_KEY, user_id: 'bigint' };
const SAME_MESSAGE = 't.owner_id = r.owner_id AND t.message_id = r.message_id';
const SAME_KEY = `${SAME_MESSAGE} AND t.key = r.key`;

/** Counts only rows that were inserted: a user who repeats a reaction counts once. */
const ADD = `
WITH r AS (SELECT * FROM ${rows({ ...OF_USER, emoji: 'jsonb' })}),
  added AS (INSERT INTO reactions (owner_id, message_id, key, user_id)
    SELECT owner_id, message_id, key, user_id FROM r ON CONFLICT DO NOTHING RETURNING owner_id, message_id, key),
  n AS (SELECT owner_id, message_id, key, count(*) AS count FROM added GROUP BY owner_id, message_id, key),
  first AS (SELECT DISTINCT ON (owner_id, message_id, key) * FROM r ORDER BY owner_id, message_id, key, ord)
INSERT INTO reaction_counts AS t (owner_id, message_id, key, emoji, count)
SELECT n.owner_id, n.message_id, n.key, first.emoji, n.count FROM n JOIN first USING (owner_id, message_id, key)
ORDER BY first.ord
ON CONFLICT (owner_id, message_id, key) DO UPDATE SET count = t.count + EXCLUDED.count`;

/** Deletes a count of zero, so that the emoji, when used again, sorts last. */
const REMOVE = `
WITH r AS (SELECT * FROM ${rows(OF_USER)}),
  gone AS (DELETE FROM reactions t USING r WHERE ${SAME_KEY} AND t.user_id = r.user_id
    RETURNING t.owner_id, t.message_id, t.key),
  n AS (SELECT owner_id, message_id, key, count(*) AS count FROM gone GROUP BY owner_id, message_id, key),
  fewer AS (UPDATE reaction_counts t SET count = t.count - r.count FROM n r WHERE ${SAME_KEY} AND t.count > r.count)
DELETE FROM reaction_counts t USING n r WHERE ${SAME_KEY} AND t.count <= r.count`;

const CLEAR = `
WITH r AS (SELECT * FROM ${rows(OF_MESSAGE)}), c AS (DELETE FROM reaction_counts t USING r WHERE ${SAME_MESSAGE})
DELETE FROM reactions t USING r WHERE ${SAME_MESSAGE}`;
const CLEAR_KEY = `
WITH r AS (SELECT * FROM ${rows(OF_KEY)}), c AS (DELETE FROM reaction_counts t USING r WHERE ${SAME_KEY})
DELETE FROM reactions t USING r WHERE ${SAME_KEY}`;

export const reactionStatements: StatementTable<ReactionFacts> = {
  reactionAdded: (ownerId, { messageId, userId, key, emoji }) => [
    { sql: ADD, row: { owner_id: ownerId, message_id: messageId, key, user_id: userId, emoji } },
  ],
  reactionRemoved: (ownerId, { messageId, userId, key }) => [
    { sql: REMOVE, row: { owner_id: ownerId, message_id: messageId, key, user_id: userId } },
  ],
  reactionsCleared: (ownerId, { messageId }) => [
    { sql: CLEAR, row: { owner_id: ownerId, message_id: messageId } },
  ],
  reactionsEmojiCleared: (ownerId, { messageId, key }) => [
    { sql: CLEAR_KEY, row: { owner_id: ownerId, message_id: messageId, key } },
  ],
};

export async function reactionsOf(
  sql: Sql,
  ownerId: string,
  userId: UserId,
  messageIds: readonly MessageId[],
): Promise<ReadonlyMap<MessageId, ReadonlySet<string>>> {
  const found = await sql.query<{ message_id: MessageId; key: string }>(
    'SELECT message_id, key FROM reactions WHERE owner_id = $1 AND message_id = ANY ($2::bigint[]) AND user_id = $3',
    [ownerId, messageIds, userId],
  );
  const keys = new Map<MessageId, Set<string>>();
  for (const { message_id, key } of found) {
    const ofMessage = keys.get(message_id);
    if (ofMessage) ofMessage.add(key);
    else keys.set(message_id, new Set([key]));
  }
  return keys;
}

export async function reactors(
  sql: Sql,
  ownerId: string,
  messageId: MessageId,
  key: string,
  page: { after?: UserId; limit: number },
): Promise<APIUser[]> {
  const found = await sql.query<{ data: APIUser }>(
    `SELECT u.data FROM reactions r JOIN users u ON u.id = r.user_id
     WHERE r.owner_id = $1 AND r.message_id = $2 AND r.key = $3 AND r.user_id > $4 ORDER BY r.user_id LIMIT $5`,
    [ownerId, messageId, key, page.after ?? '0', page.limit],
  );
  return found.map(({ data }) => data);
}

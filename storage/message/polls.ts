import type { PollFacts } from '../../engine/guild/facts.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import type { ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { Sql } from '../database/driver.ts';
import { remove, rows, type Statement, type StatementTable, upsert } from '../database/statement.ts';
import type { DuePoll } from './port.ts';

const OF_POLL = { owner_id: 'bigint', message_id: 'bigint' };
const OF_VOTE = { ...OF_POLL, answer_id: 'integer', user_id: 'bigint' };
const ANSWER = 'owner_id, message_id, answer_id';

/** Counts only rows that were inserted: a user who repeats a vote counts once. */
const VOTE = `
WITH r AS (SELECT * FROM ${rows(OF_VOTE)}),
  added AS (INSERT INTO poll_votes (${ANSWER}, user_id)
    SELECT ${ANSWER}, user_id FROM r ON CONFLICT DO NOTHING RETURNING ${ANSWER})
INSERT INTO poll_counts AS t (${ANSWER}, count)
SELECT ${ANSWER}, count(*) FROM added GROUP BY ${ANSWER} ORDER BY ${ANSWER}
ON CONFLICT (${ANSWER}) DO UPDATE SET count = t.count + EXCLUDED.count`;

const UNVOTE = `
WITH r AS (SELECT * FROM ${rows(OF_VOTE)}),
  gone AS (DELETE FROM poll_votes t USING r WHERE t.owner_id = r.owner_id AND t.message_id = r.message_id
    AND t.answer_id = r.answer_id AND t.user_id = r.user_id RETURNING t.owner_id, t.message_id, t.answer_id),
  n AS (SELECT ${ANSWER}, count(*) AS count FROM gone GROUP BY ${ANSWER})
UPDATE poll_counts t SET count = t.count - n.count FROM n
WHERE t.owner_id = n.owner_id AND t.message_id = n.message_id AND t.answer_id = n.answer_id`;

const AWAIT = upsert(
  'poll_deadlines',
  { ...OF_POLL, channel_id: 'bigint', ends_ms: 'bigint' },
  'owner_id, message_id',
);
const OVER = remove('poll_deadlines', OF_POLL);

/** Parts of a statement that deletes messages: `gone` names what it has deleted or will delete. */
export const pollsGone = (gone: string, messageId = 'id'): string =>
  ['poll_votes', 'poll_counts', 'poll_deadlines']
    .map(
      (table) =>
        `${table}_gone AS (DELETE FROM ${table} t USING ${gone} g WHERE t.owner_id = g.owner_id AND t.message_id = g.${messageId})`,
    )
    .join(',\n  ');

/** The poll as the message's row has it: votes are counted in their own table. */
export const withoutVotes = (poll: NonNullable<StoredMessage['poll']>): typeof poll => ({
  ...poll,
  results: { is_finalized: poll.results?.is_finalized ?? false, answer_counts: [] },
});

/** Keeps the time at which the clock ends a message's poll, as long as it runs; nothing for other messages. */
export function deadlineOf(ownerId: string, { id, channel_id, poll }: StoredMessage): readonly Statement[] {
  if (!poll?.expiry) return [];
  const key = { owner_id: ownerId, message_id: id };
  if (poll.results?.is_finalized) return [{ sql: OVER, row: key }];
  return [{ sql: AWAIT, row: { ...key, channel_id, ends_ms: Date.parse(poll.expiry) } }];
}

export const pollStatements: StatementTable<PollFacts> = {
  pollVoted: (ownerId, { messageId, answerId, userId }) => [
    { sql: VOTE, row: { owner_id: ownerId, message_id: messageId, answer_id: answerId, user_id: userId } },
  ],
  pollUnvoted: (ownerId, { messageId, answerId, userId }) => [
    { sql: UNVOTE, row: { owner_id: ownerId, message_id: messageId, answer_id: answerId, user_id: userId } },
  ],
};

export async function votesOf(
  sql: Sql,
  ownerId: string,
  userId: UserId,
  messageIds: readonly MessageId[],
): Promise<ReadonlyMap<MessageId, ReadonlySet<number>>> {
  const found = await sql.query<{ message_id: MessageId; answer_id: number }>(
    'SELECT message_id, answer_id FROM poll_votes WHERE owner_id = $1 AND message_id = ANY ($2::bigint[]) AND user_id = $3',
    [ownerId, messageIds, userId],
  );
  const answers = new Map<MessageId, Set<number>>();
  for (const { message_id, answer_id } of found) {
    const ofMessage = answers.get(message_id);
    if (ofMessage) ofMessage.add(answer_id);
    else answers.set(message_id, new Set([answer_id]));
  }
  return answers;
}

export async function voters(
  sql: Sql,
  ownerId: string,
  messageId: MessageId,
  answerId: number,
  page: { after?: UserId; limit: number },
): Promise<APIUser[]> {
  const found = await sql.query<{ data: APIUser }>(
    `SELECT u.data FROM poll_votes v JOIN users u ON u.id = v.user_id
     WHERE v.owner_id = $1 AND v.message_id = $2 AND v.answer_id = $3 AND v.user_id > $4 ORDER BY v.user_id LIMIT $5`,
    [ownerId, messageId, answerId, page.after ?? '0', page.limit],
  );
  return found.map(({ data }) => data);
}

export async function duePolls(
  sql: Sql,
  nowMs: number,
  limit: number,
  after: DuePoll | null,
): Promise<DuePoll[]> {
  const found = await sql.query<{
    owner_id: string;
    guild_id: GuildId | null;
    channel_id: ChannelId;
    message_id: MessageId;
    ends_ms: string;
  }>(
    `SELECT owner_id, nullif(owner_id, channel_id) AS guild_id, channel_id, message_id, ends_ms FROM poll_deadlines
     WHERE ends_ms <= $1 AND ends_ms >= $3 AND (ends_ms, message_id) > ($3::bigint, $4::bigint) ORDER BY ends_ms, message_id LIMIT $2`,
    [nowMs, limit, after?.endsMs ?? 0, after?.messageId ?? '0'],
  );
  return found.map(({ owner_id, guild_id, channel_id, message_id, ends_ms }) => ({
    ownerId: owner_id,
    guildId: guild_id,
    channelId: channel_id,
    messageId: message_id,
    endsMs: Number(ends_ms),
  }));
}

export async function nextPollMs(sql: Sql): Promise<number | null> {
  const [first] = await sql.query<{ ends_ms: string }>(
    'SELECT ends_ms FROM poll_deadlines ORDER BY ends_ms LIMIT 1',
    [],
  );
  return first ? Number(first.ends_ms) : null;
}

export async function forgetPoll(sql: Sql, { ownerId, messageId }: DuePoll): Promise<void> {
  await sql.query('DELETE FROM poll_deadlines WHERE owner_id = $1 AND message_id = $2', [ownerId, messageId]);
}

import { FORWARDABLE, MESSAGE } from '../../protocol/channeltypes.ts';
import { type ChannelId, type MessageId, snowflakeMs, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import type { Env } from '../kernel/aggregate.ts';
import { channelById, channelPermissions } from '../permissions/permissions.ts';
import { archivesAtMs, type Thread, type ThreadMember } from '../thread/thread.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, StoredMessage, ThreadRecord } from './guild.ts';
import { memberOf, threadUpdate, withArchived } from './threads.rules.ts';
import type { GuildConsequence } from './topic.ts';

/**
 * Adds what follows for threads: a message brings its thread back from the archive, adds its author and the users it
 * mentions, and is counted; a member who leaves the guild leaves its threads.
 */
export const threadConsequences: GuildConsequence = {
  causes: new Set(['messageCreated', 'messageDeleted', 'messagesBulkDeleted', 'memberRemoved']),
  add: (guild, facts, _authority, env) => (guild.threads.size === 0 ? facts : added(guild, facts, env)),
};

function added(guild: Guild, facts: readonly GuildFact[], env: Env): readonly GuildFact[] {
  const all = facts.flatMap((fact): readonly GuildFact[] => {
    switch (fact.type) {
      case 'messageCreated':
        return sent(guild, fact, env);
      case 'messageDeleted':
        return [fact, ...deleted(guild, fact.channelId, [fact.messageId])];
      case 'messagesBulkDeleted':
        return [fact, ...deleted(guild, fact.channelId, fact.messageIds)];
      case 'memberRemoved':
        return [...departed(guild, fact.user.id), fact];
      default:
        return [fact];
    }
  });
  return all.length === facts.length ? facts : all;
}

function sent(
  guild: Guild,
  fact: Extract<GuildFact, { type: 'messageCreated' }>,
  env: Env,
): readonly GuildFact[] {
  const { message } = fact;
  const record = guild.threads.get(message.channel_id);
  // The first message of a thread that begins now is not counted.
  if (!record) return [fact];
  const isBack = record.thread.thread_metadata.archived;
  const thread = isBack ? withArchived(record.thread, false, env.nowMs * 1_000) : record.thread;
  const added = FORWARDABLE.has(message.type) ? newcomers(guild, record, message, env) : [];
  const threadId = thread.id;
  return [
    ...(isBack ? [threadUpdate(thread)] : []),
    fact,
    ...(added.length > 0 ? [{ type: 'threadMembersChanged', threadId, added, removed: [] } as const] : []),
    counted(thread, 1, 1, snowflakeMs(message.id)),
  ];
}

const counted = (thread: Thread, more: number, sentMore: number, lastMs: number): GuildFact => ({
  type: 'threadCounted',
  threadId: thread.id,
  messageCount: Math.max(0, thread.message_count + more),
  totalMessageSent: thread.total_message_sent + sentMore,
  dueMs: archivesAtMs(thread, lastMs),
});

/** Whether a user may add others to a private thread that is not open to invitations by its members. */
function mayInvite(guild: Guild, { owner_id, parent_id }: Thread, userId: UserId, env: Env): boolean {
  const parent = channelById(guild, parent_id);
  if (owner_id === userId || !parent) return owner_id === userId;
  return (channelPermissions(guild, userId, parent, env.nowMs) & P.MANAGE_THREADS) !== 0n;
}

/** The author and the mentioned users who see the channel and are not in the thread, up to the member limit. */
function newcomers(
  guild: Guild,
  { thread, members }: ThreadRecord,
  message: StoredMessage,
  env: Env,
): ThreadMember[] {
  const parent = channelById(guild, thread.parent_id);
  const sees = (userId: UserId): boolean =>
    parent !== undefined &&
    Boolean(guild.members.get(userId)) &&
    (channelPermissions(guild, userId, parent, env.nowMs) & P.VIEW_CHANNEL) !== 0n;
  const isPerson = message.webhook_id === undefined;
  const isOpen =
    thread.thread_metadata.invitable !== false || mayInvite(guild, thread, message.author.id, env);
  const named = isOpen ? message.mentions.map(({ id }) => id) : [];
  const ids = [...(isPerson ? [message.author.id] : []), ...named];
  const room = LIMITS.thread_members_max - members.size;
  return [...new Set(ids)]
    .filter((id) => !members.has(id) && sees(id))
    .slice(0, Math.max(0, room))
    .map((id) => memberOf(id, env));
}

function deleted(guild: Guild, channelId: ChannelId, messageIds: readonly MessageId[]): readonly GuildFact[] {
  const record = guild.threads.get(channelId);
  if (!record) return [];
  const { thread } = record;
  const counting = messageIds.filter((id) => {
    const type = guild.messages.get(id)?.type;
    return type !== MESSAGE.THREAD_STARTER_MESSAGE && String(id) !== String(thread.id);
  });
  const lastMs = thread.last_message_id === null ? 0 : snowflakeMs(thread.last_message_id);
  return counting.length === 0 ? [] : [counted(thread, -counting.length, 0, lastMs)];
}

/** The database removes the user from archived threads, which are not in memory. */
const departed = ({ threads }: Guild, userId: UserId): readonly GuildFact[] =>
  [...threads.values()].flatMap((record): readonly GuildFact[] =>
    record?.members.has(userId)
      ? [{ type: 'threadMembersChanged', threadId: record.thread.id, added: [], removed: [userId] }]
      : [],
  );

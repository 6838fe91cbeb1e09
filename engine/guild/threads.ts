import { MessageFlags } from 'discord-api-types/v10';
import { AUDIT } from '../../protocol/audit.ts';
import { CHANNEL, FORUMS, MESSAGE, UNDELETABLE } from '../../protocol/channeltypes.ts';
import { type ChannelId, compareIds, type MessageId, threadIdOf, type UserId } from '../../protocol/ids.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { microsecondsOf } from '../../protocol/timestamps.ts';
import { systemMessage } from '../channel/messages.ts';
import { accepted, type Env, type Outcome, refused, withBefore } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { visibleChannels } from '../permissions/permissions.ts';
import { type Thread, threadMemberObject } from '../thread/thread.ts';
import { auditEntry } from './auditing.ts';
import { moderatedTitle } from './automod.messages.ts';
import type { GuildFact, ThreadFacts } from './facts.ts';
import type { Guild, GuildChannel } from './guild.ts';
import { needsSlowmode, noteSlowmode } from './messages.scope.ts';
import { membersChanged, threadCreated, threadDeleted, threadUpdated } from './threads.dispatches.ts';
import {
  archiveUs,
  creationRefusal,
  dueMsOf,
  kindOf,
  memberOf,
  newThread,
  type ThreadDraft,
  threadChanges,
  threadUpdate,
  withArchived,
} from './threads.rules.ts';
import { activeThreads, amendThread, changeMembers, threadRecord, threadsSeen } from './threads.state.ts';
import type { GuildTopic } from './topic.ts';

/** A thread as its reader is shown it: with the reader's membership. */
export type ThreadView = Thread & { readonly member?: object };

type ThreadCommands = {
  createThread: {
    input: { readonly channelId: ChannelId; readonly draft: ThreadDraft };
    value: ThreadView;
  };
  createThreadFromMessage: {
    input: { readonly channelId: ChannelId; readonly messageId: MessageId; readonly draft: ThreadDraft };
    value: ThreadView;
  };
  /** The active threads that the caller sees, newest first, with the caller's memberships. */
  listActiveThreads: {
    input: object;
    value: {
      readonly threads: readonly object[];
      readonly members: readonly object[];
      readonly has_more: boolean;
    };
  };
  /** Archives what has been quiet for long. */
  archiveThreads: { input: object; value: null };
};

/** The facts of a new thread with its maker in it. */
function begun(thread: Thread, by: By, env: Env): Outcome<ThreadView, GuildFact> {
  const member = memberOf(by.userId, env);
  const created = threadRecord(thread, [member]).thread;
  const entry = {
    actionType: AUDIT.THREAD_CREATE,
    targetId: thread.id,
    changes: threadChanges(null, thread),
  };
  return accepted({ ...created, member: threadMemberObject(thread.id, member) }, [
    { type: 'threadCreated', thread: created, dueMs: dueMsOf(created), members: [member] },
    auditEntry(env, by, entry),
  ]);
}

/** A new thread as the guild's rules of automatic moderation leave it: they read the title. */
function titled(
  guild: Guild,
  parent: GuildChannel,
  outcome: Outcome<ThreadView, GuildFact>,
  by: By,
  env: Env,
): Outcome<ThreadView, GuildFact> {
  const title = outcome.ok ? outcome.value.name : '';
  return moderatedTitle(parent, title, outcome, { guild, by, env, from: undefined });
}

/** The refusal when the parent of a new thread is not a channel of the guild: 50024 for a thread, 10003 otherwise. */
const noParent = (guild: Guild, id: ChannelId): Refusal =>
  refusal(guild.threads.get(id) ? 'CANNOT_EXECUTE_ON_CHANNEL_TYPE' : 'UNKNOWN_CHANNEL');

function createThread(
  guild: Guild,
  { channelId, draft }: ThreadCommands['createThread']['input'],
  by: By,
  env: Env,
): Outcome<ThreadView, GuildFact> {
  const parent = guild.channels.get(channelId);
  if (!parent) return refused(noParent(guild, channelId));
  if (FORUMS.has(parent.type))
    return refused(invalidField(['message'], 'BASE_TYPE_REQUIRED', 'This field is required'));
  const type = kindOf(parent, draft.type, false);
  if (type === null) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const no = creationRefusal(guild, parent, type, by, env);
  const author = guild.members.get(by.userId)?.user;
  if (no || !author) return refused(no ?? refusal('UNKNOWN_USER'));
  const thread = newThread(guild, parent, draft, { id: env.nextId(), type, ownerId: by.userId }, env);
  const outcome = titled(guild, parent, begun(thread, by, env), by, env);
  if (!outcome.ok || type === CHANNEL.PRIVATE_THREAD) return outcome;
  const note = systemMessage(env, channelId, MESSAGE.THREAD_CREATED, author, {
    ...{ type: 0, channel_id: thread.id, guild_id: guild.id },
  });
  const announced: GuildFact = { ...note, message: { ...note.message, content: thread.name } };
  return accepted(outcome.value, [...outcome.facts, announced]);
}

function createThreadFromMessage(
  guild: Guild,
  { channelId, messageId, draft }: ThreadCommands['createThreadFromMessage']['input'],
  by: By,
  env: Env,
): Outcome<ThreadView, GuildFact> {
  const parent = guild.channels.get(channelId);
  if (!parent) return refused(noParent(guild, channelId));
  const type = kindOf(parent, null, true);
  if (type === null) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const message = guild.messages.get(messageId);
  if (message?.channel_id !== channelId) return refused(refusal('UNKNOWN_MESSAGE'));
  const id = threadIdOf(messageId);
  const flags = message.flags ?? 0;
  if ((flags & MessageFlags.HasThread) !== 0 || guild.threads.get(id))
    return refused(refusal('THREAD_ALREADY_CREATED'));
  if (UNDELETABLE.has(message.type)) return refused(refusal('CANNOT_EXECUTE_ON_SYSTEM_MESSAGE'));
  const no = creationRefusal(guild, parent, type, by, env);
  if (no) return refused(no);
  const thread = newThread(guild, parent, draft, { id, type, ownerId: by.userId }, env);
  const outcome = titled(guild, parent, begun(thread, by, env), by, env);
  if (!outcome.ok) return outcome;
  const starter = systemMessage(env, id, MESSAGE.THREAD_STARTER_MESSAGE, message.author, {
    ...{ type: 0, message_id: messageId, channel_id: channelId, guild_id: guild.id },
  });
  return accepted(outcome.value, [
    ...outcome.facts,
    { type: 'messageUpdated', message: { ...message, flags: flags | MessageFlags.HasThread } },
    { ...starter, referenced: message },
  ]);
}

function listActiveThreads(guild: Guild, userId: UserId, nowMs: number) {
  const visible = new Set<string>(visibleChannels(guild, userId, nowMs).map(({ id }) => id));
  const seen = threadsSeen(guild, userId, visible, nowMs).sort((a, b) =>
    compareIds(b.thread.id, a.thread.id),
  );
  const members = seen.flatMap(({ thread, members: all }) => {
    const own = all.get(userId);
    return own ? [threadMemberObject(thread.id, own)] : [];
  });
  return { threads: seen.map(({ thread }) => thread), members, has_more: false };
}

/** Threads: channels within channels, which are archived when they are quiet. */
export const threads: GuildTopic<ThreadCommands, keyof ThreadFacts> = {
  commands: {
    createThread: {
      needs: ({ channelId }, guild, by) => needsSlowmode(guild, channelId, by, 'threads'),
      decide: createThread,
    },
    createThreadFromMessage: {
      needs: ({ channelId, messageId }, guild, by) => ({
        ...needsSlowmode(guild, channelId, by, 'threads'),
        messages: [{ channelId, id: messageId }],
        threads: [threadIdOf(messageId)],
      }),
      decide: createThreadFromMessage,
    },
    listActiveThreads: {
      decide: (guild, _input, by, env) => accepted(listActiveThreads(guild, by.userId, env.nowMs)),
    },
    archiveThreads: {
      repeatable: true,
      background: true,
      decide: (guild, _input, _by, env) => {
        const due = activeThreads(guild).flatMap(({ thread }) => {
          const atMs = dueMsOf(thread);
          return atMs !== null && atMs <= env.nowMs ? [{ thread, atMs }] : [];
        });
        due.sort((a, b) => a.atMs - b.atMs);
        let lastUs = guild.lastArchiveUs;
        return accepted(
          null,
          due.map(({ thread, atMs }) => {
            lastUs = archiveUs({ lastArchiveUs: lastUs }, atMs);
            return threadUpdate(withArchived(thread, true, lastUs));
          }),
        );
      },
    },
  },
  facts: {
    threadCreated: {
      apply: (guild, { thread, members }) => {
        guild.threads.set(thread.id, threadRecord(thread, members));
        const madeMs = Date.parse(thread.thread_metadata.create_timestamp);
        const { parent_id: channelId, owner_id: userId } = thread;
        noteSlowmode(guild, { channelId, userId, counts: 'threads' }, madeMs);
      },
      dispatches: (guild, { thread, members }) => threadCreated(guild, thread, members),
    },
    threadUpdated: withBefore({
      before: (guild, { thread }) => guild.threads.get(thread.id)?.thread.thread_metadata.archived === true,
      apply: (guild, { thread }) => {
        const { archived, archive_timestamp: at } = thread.thread_metadata;
        if (archived) guild.lastArchiveUs = Math.max(guild.lastArchiveUs, microsecondsOf(at));
        amendThread(guild, thread.id, thread);
      },
      dispatches: (guild, { thread }, wasArchived) => threadUpdated(guild, thread, wasArchived),
    }),
    threadDeleted: withBefore({
      before: (guild, { thread }) => guild.threads.get(thread.id) ?? null,
      apply: (guild, { thread }) => {
        guild.threads.set(thread.id, null);
        for (const [id, message] of guild.messages)
          if (message?.channel_id === thread.id) guild.messages.delete(id);
      },
      dispatches: (guild, { thread }, record) => threadDeleted(guild, thread, record),
    }),
    threadMembersChanged: {
      apply: (guild, { threadId, added, removed }) => changeMembers(guild, threadId, added, removed),
      dispatches: (guild, { threadId, added, removed }) => membersChanged(guild, threadId, added, removed),
    },
    threadCounted: {
      apply: (guild, { threadId, messageCount, totalMessageSent }) =>
        amendThread(guild, threadId, {
          message_count: messageCount,
          total_message_sent: totalMessageSent,
        }),
      dispatches: () => [],
    },
  },
};

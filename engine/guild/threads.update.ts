import { AUDIT } from '../../protocol/audit.ts';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { isoMicroseconds } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { channelById, mayOnlyRead } from '../permissions/permissions.ts';
import { PINNED, type Thread } from '../thread/thread.ts';
import { auditEntry } from './auditing.ts';
import { bitsIn } from './authorize.ts';
import { moderatedTitle } from './automod.messages.ts';
import type { GuildFact } from './facts.ts';
import { channelFrom } from './founding.parts.ts';
import type { Guild, GuildChannel, ThreadRecord } from './guild.ts';
import { activeRefusal, archiveUs, managesThreads, threadChanges, threadUpdate } from './threads.rules.ts';
import { activeThreads } from './threads.state.ts';
import { livingTags, tagRefusal } from './threads.tags.ts';

/** Changes of a thread in a request; absent and null fields stay. */
export interface ThreadChange {
  readonly name?: string | null;
  readonly archived?: boolean | null;
  readonly locked?: boolean | null;
  readonly invitable?: boolean | null;
  readonly auto_archive_duration?: number | null;
  readonly rate_limit_per_user?: number | null;
  /** Only those of a post can change: whether it is pinned. */
  readonly flags?: number | null;
  readonly applied_tags?: readonly string[] | null;
}

const isGiven = (...values: readonly unknown[]): boolean => values.some((value) => value != null);

/**
 * Permissions: the creator may change the title and archive, moderators may change everything, and users who can write may
 * unarchive.
 *
 * @source https://docs.discord.com/developers/topics/threads
 */
function changeRefusal(
  guild: Guild,
  record: ThreadRecord,
  change: ThreadChange,
  by: By,
  env: Env,
): Refusal | null {
  const { archived: wasArchived, locked } = record.thread.thread_metadata;
  const manages = managesThreads(guild, record, by, env);
  const isBroughtBack = wasArchived && change.archived === false;
  if (wasArchived && !isBroughtBack) return refusal('THREAD_ARCHIVED');
  if (locked && !manages) return refusal('THREAD_LOCKED');
  if (manages) return null;
  if (isGiven(change.locked, change.rate_limit_per_user, change.flags)) return refusal('MISSING_PERMISSIONS');
  if (mayOnlyRead(guild, by.userId, env.nowMs)) return refusal('MISSING_PERMISSIONS');
  if (record.thread.owner_id === by.userId) return null;
  const { name, auto_archive_duration, invitable, applied_tags } = change;
  if (isGiven(name, auto_archive_duration, invitable, applied_tags) || change.archived === true)
    return refusal('MISSING_PERMISSIONS');
  const writes = (bitsIn(guild, by, record.channel, env.nowMs) & P.SEND_MESSAGES) !== 0n;
  return isBroughtBack && !writes ? refusal('MISSING_PERMISSIONS') : null;
}

/** The change without tags of the post that the forum has deleted since: clients send them back with the others. */
function withLivingTags(guild: Guild, thread: Thread, change: ThreadChange): ThreadChange {
  const forum = channelById(guild, thread.parent_id);
  const { applied_tags: tags } = change;
  return forum && tags
    ? { ...change, applied_tags: livingTags(forum, tags, thread.applied_tags ?? []) }
    : change;
}

/** Why a post cannot have these tags, or cannot be the one that is pinned. */
function forumRefusal(
  guild: Guild,
  { id, parent_id: parentId, applied_tags: before }: Thread,
  change: ThreadChange,
  by: By,
  env: Env,
): Refusal | null {
  const forum = channelById(guild, parentId);
  if (!before || !forum) return null;
  const isPinned = ((change.flags ?? 0) & PINNED) !== 0;
  const others = activeThreads(guild).filter(
    ({ thread }) => thread.parent_id === parentId && thread.id !== id,
  );
  if (isPinned && others.some(({ thread }) => (thread.flags & PINNED) !== 0))
    return refusal('MAXIMUM_PINNED_THREADS');
  return change.applied_tags ? tagRefusal(guild, forum, change.applied_tags, before, by, env) : null;
}

function changed(guild: Guild, thread: Thread, change: ThreadChange, env: Env): Thread {
  const before = thread.thread_metadata;
  const archived = change.archived ?? before.archived;
  const duration = change.auto_archive_duration ?? before.auto_archive_duration;
  const isTimed = archived !== before.archived || duration !== before.auto_archive_duration;
  const isPrivate = thread.type === CHANNEL.PRIVATE_THREAD;
  return {
    ...thread,
    name: change.name ?? thread.name,
    rate_limit_per_user: change.rate_limit_per_user ?? thread.rate_limit_per_user,
    ...(thread.applied_tags && {
      applied_tags: change.applied_tags ? [...new Set(change.applied_tags)] : thread.applied_tags,
      // An archived post is not pinned.
      flags: archived ? 0 : change.flags == null ? thread.flags : change.flags & PINNED,
    }),
    thread_metadata: {
      ...before,
      archived,
      archive_timestamp: isTimed
        ? isoMicroseconds(archived ? archiveUs(guild, env.nowMs) : env.nowMs * 1_000)
        : before.archive_timestamp,
      auto_archive_duration: duration,
      locked: change.locked ?? before.locked,
      ...(isPrivate && { invitable: change.invitable ?? before.invitable ?? true }),
    },
  };
}

export function updateThread(
  guild: Guild,
  record: ThreadRecord,
  asked: ThreadChange,
  by: By,
  env: Env,
): Outcome<GuildChannel, GuildFact> {
  const no = changeRefusal(guild, record, asked, by, env);
  if (no) return refused(no);
  const { thread } = record;
  const change = withLivingTags(guild, thread, asked);
  const isBack = thread.thread_metadata.archived && change.archived === false;
  const unfit =
    (isBack ? activeRefusal(guild, thread.type) : null) ?? forumRefusal(guild, thread, change, by, env);
  if (unfit) return refused(unfit);
  const next = changed(guild, thread, change, env);
  const changes = threadChanges(thread, next);
  if (changes.length === 0) return accepted(record.channel);
  const outcome: Outcome<GuildChannel, GuildFact> = accepted(channelFrom(next), [
    threadUpdate(next),
    auditEntry(env, by, { actionType: AUDIT.THREAD_UPDATE, targetId: thread.id, changes }),
  ]);
  if (next.name === thread.name) return outcome;
  return moderatedTitle(record.channel, next.name, outcome, { guild, by, env, from: undefined });
}

export const deleteThread = (
  { thread, channel }: ThreadRecord,
  by: By,
  env: Env,
): Outcome<GuildChannel, GuildFact> =>
  accepted(channel, [
    { type: 'threadDeleted', thread },
    auditEntry(env, by, {
      ...{ actionType: AUDIT.THREAD_DELETE, targetId: thread.id, changes: threadChanges(thread, null) },
    }),
  ]);

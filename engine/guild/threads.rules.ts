import { CHANNEL } from '../../protocol/channeltypes.ts';
import { type ChannelId, snowflakeMs, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { isoMicroseconds, isoTimestamp } from '../../protocol/timestamps.ts';
import type { Env } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { archivesAtMs, type Thread, type ThreadMember } from '../thread/thread.ts';
import { changesOf } from './auditing.ts';
import { bitsIn, verificationRefusal } from './authorize.ts';
import type { Guild, GuildChannel, ThreadRecord } from './guild.ts';
import { threadWaitRefusal } from './messages.scope.ts';
import { activeThreads } from './threads.state.ts';

/** A thread in a request; absent and null fields have their defaults. */
export interface ThreadDraft {
  readonly name: string;
  readonly type?: number | null;
  readonly auto_archive_duration?: number | null;
  readonly rate_limit_per_user?: number | null;
  readonly invitable?: boolean | null;
}

/** Channel types that allow threads, with the thread types of each; the first is the default. */
const KINDS: Readonly<Record<number, readonly number[]>> = {
  [CHANNEL.GUILD_TEXT]: [CHANNEL.PRIVATE_THREAD, CHANNEL.PUBLIC_THREAD],
  [CHANNEL.GUILD_ANNOUNCEMENT]: [CHANNEL.ANNOUNCEMENT_THREAD],
};

/** The type of a new thread. @returns null where the channel has no such threads. */
export function kindOf(
  parent: GuildChannel,
  asked: number | null | undefined,
  isOfMessage: boolean,
): number | null {
  const kinds = KINDS[parent.type] ?? [];
  if (isOfMessage) return kinds.find((kind) => kind !== CHANNEL.PRIVATE_THREAD) ?? null;
  return asked == null ? (kinds[0] ?? null) : (kinds.find((kind) => kind === asked) ?? null);
}

/** Why the caller cannot make a thread of this type now. */
export function creationRefusal(
  guild: Guild,
  parent: GuildChannel,
  type: number,
  by: By,
  env: Env,
): Refusal | null {
  const needed = type === CHANNEL.PRIVATE_THREAD ? P.CREATE_PRIVATE_THREADS : P.CREATE_PUBLIC_THREADS;
  if ((bitsIn(guild, by, parent, env.nowMs) & needed) === 0n) return refusal('MISSING_PERMISSIONS');
  return (
    verificationRefusal(guild, by, env) ??
    threadWaitRefusal(guild, parent, by, env) ??
    activeRefusal(guild, type)
  );
}

/** Why there cannot be one more active thread of this type. */
export function activeRefusal(guild: Guild, type: number): Refusal | null {
  if (activeThreads(guild).length < LIMITS.active_threads_per_guild_max) return null;
  return refusal(
    type === CHANNEL.ANNOUNCEMENT_THREAD ? 'MAXIMUM_ANNOUNCEMENT_THREADS' : 'MAXIMUM_ACTIVE_THREADS',
  );
}

/** Default auto-archive duration, minutes. */
const ARCHIVE_MINUTES = 4_320;

const numberIn = (channel: GuildChannel, field: string): number | null => {
  const value: unknown = Object.entries(channel).find(([key]) => key === field)?.[1];
  return typeof value === 'number' ? value : null;
};

/** The channel's defaults for new threads. */
const defaultsOf = (parent: GuildChannel) => ({
  archiveMinutes: numberIn(parent, 'default_auto_archive_duration') ?? ARCHIVE_MINUTES,
  slowmodeSec: numberIn(parent, 'default_thread_rate_limit_per_user') ?? 0,
});

export function newThread(
  guild: Guild,
  parent: GuildChannel,
  draft: ThreadDraft,
  given: { readonly id: ChannelId; readonly type: number; readonly ownerId: UserId },
  env: Env,
): Thread {
  const defaults = defaultsOf(parent);
  const at = isoTimestamp(env.nowMs);
  const { id, type, ownerId } = given;
  return {
    ...{ id, type, guild_id: guild.id, parent_id: parent.id, owner_id: ownerId, name: draft.name },
    ...{ last_message_id: null, last_pin_timestamp: null, flags: 0 },
    rate_limit_per_user: draft.rate_limit_per_user ?? defaults.slowmodeSec,
    ...{ message_count: 0, member_count: 0, total_message_sent: 0 },
    thread_metadata: {
      archived: false,
      archive_timestamp: at,
      auto_archive_duration: draft.auto_archive_duration ?? defaults.archiveMinutes,
      locked: false,
      create_timestamp: at,
      ...(type === CHANNEL.PRIVATE_THREAD && { invitable: draft.invitable ?? true }),
    },
  };
}

export const memberOf = (userId: UserId, env: Env): ThreadMember => ({
  user_id: userId,
  join_timestamp: isoTimestamp(env.nowMs),
  flags: 0,
});

/** Whether the caller may manage the thread. */
export const managesThreads = (guild: Guild, { channel }: ThreadRecord, by: By, env: Env): boolean =>
  (bitsIn(guild, by, channel, env.nowMs) & P.MANAGE_THREADS) !== 0n;

/** Only moderators write and edit in a locked thread. */
export const lockRefusal = (guild: Guild, record: ThreadRecord, by: By, env: Env): Refusal | null =>
  record.thread.thread_metadata.locked && !managesThreads(guild, record, by, env)
    ? refusal('THREAD_LOCKED')
    : null;

/** Why nothing may be written in a thread. A message unarchives it, so the bound of active threads holds for it too. */
export function writingRefusal(guild: Guild, record: ThreadRecord, by: By, env: Env): Refusal | null {
  const { type, thread_metadata } = record.thread;
  return (
    lockRefusal(guild, record, by, env) ?? (thread_metadata.archived ? activeRefusal(guild, type) : null)
  );
}

/** The thread after it was archived or unarchived. @param atUs when, in Unix microseconds */
export const withArchived = (thread: Thread, archived: boolean, atUs: number): Thread => ({
  ...thread,
  thread_metadata: { ...thread.thread_metadata, archived, archive_timestamp: isoMicroseconds(atUs) },
});

/**
 * The archive time of a thread, Unix microseconds. It is later than those of all threads that this owner archived in the guild before,
 * because lists of archived threads are paged by it alone.
 */
export const archiveUs = ({ lastArchiveUs }: Pick<Guild, 'lastArchiveUs'>, atMs: number): number =>
  Math.max(atMs * 1_000, lastArchiveUs + 1);

/** Fields that the audit log lists. */
const AUDITED = [
  'name',
  'type',
  'archived',
  'locked',
  'auto_archive_duration',
  'rate_limit_per_user',
  'invitable',
  'flags',
  'applied_tags',
] as const;

const auditable = ({ thread_metadata, ...thread }: Thread): Readonly<Record<string, unknown>> => ({
  ...thread,
  ...thread_metadata,
});

export const threadChanges = (before: Thread | null, after: Thread | null) =>
  changesOf(before && auditable(before), after && auditable(after), [...AUDITED]);

/** Time of the newest message, Unix milliseconds; 0 without one. */
const lastMessageMs = ({ last_message_id: id }: Thread): number => (id === null ? 0 : snowflakeMs(id));

/** When the clock archives a thread whose messages do not change now, Unix milliseconds; null when it does not. */
export const dueMsOf = (thread: Thread): number | null => archivesAtMs(thread, lastMessageMs(thread));

export const threadUpdate = (thread: Thread) =>
  ({ type: 'threadUpdated', thread, dueMs: dueMsOf(thread) }) as const;

import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { channelPermissions } from '../permissions/permissions.ts';
import { type Thread, type ThreadMember, threadMemberObject } from '../thread/thread.ts';
import { channelFrom } from './founding.parts.ts';
import type { Guild, ThreadRecord } from './guild.ts';

/** A thread with its members, and with their number. */
export function threadRecord(given: Thread, all: Iterable<ThreadMember>): ThreadRecord {
  const members = new Map([...all].map((member) => [member.user_id, member]));
  const thread = { ...given, member_count: Math.min(members.size, LIMITS.thread_member_count_max) };
  return { thread, channel: channelFrom(thread), members };
}

/** A stored thread with all its members. */
export interface StoredThread {
  readonly thread: Thread;
  readonly members: readonly ThreadMember[];
}

/** Fills the window with the active threads. */
export function threadsOf(
  active: readonly StoredThread[],
  window: Map<ChannelId, ThreadRecord | null>,
): Map<ChannelId, ThreadRecord | null> {
  for (const { thread, members } of active) window.set(thread.id, threadRecord(thread, members));
  return window;
}

export const isActive = (record: ThreadRecord | null): record is ThreadRecord =>
  record !== null && !record.thread.thread_metadata.archived;

/** All threads that are not archived. Cost: O(threads in memory). */
export const activeThreads = ({ threads }: Guild): ThreadRecord[] => [...threads.values()].filter(isActive);

/** A thread in memory; null for one that is unknown. */
export const threadIn = ({ threads }: Guild, id: ChannelId): ThreadRecord | null => threads.get(id) ?? null;

/** Replaces fields of a thread that is in memory. */
export function amendThread(guild: Guild, id: ChannelId, change: object): void {
  const record = guild.threads.get(id);
  if (!record) return;
  const thread = { ...record.thread, ...change };
  guild.threads.set(id, { ...record, thread, channel: channelFrom(thread) });
}

/** Replaces the members of a thread that is in memory. */
export function changeMembers(
  guild: Guild,
  id: ChannelId,
  added: readonly ThreadMember[],
  removed: readonly UserId[],
): void {
  const record = guild.threads.get(id);
  if (!record) return;
  const gone = new Set(removed);
  const kept = [...record.members.values()].filter((member) => !gone.has(member.user_id));
  guild.threads.set(id, threadRecord(record.thread, [...kept, ...added]));
}

/** A thread as a reader is shown it: with the reader's own membership. */
export function shownThread({ thread, members }: ThreadRecord, readerId: UserId): object {
  const own = members.get(readerId);
  return own ? { ...thread, member: threadMemberObject(thread.id, own) } : thread;
}

/** Active threads that a member sees, of these channels; of private ones those that the member is in or may manage. */
export function threadsSeen(
  guild: Guild,
  userId: UserId,
  channelIds: ReadonlySet<string>,
  nowMs: number,
): ThreadRecord[] {
  return activeThreads(guild).filter(({ thread, channel, members }) => {
    if (!channelIds.has(thread.parent_id)) return false;
    if (thread.type !== CHANNEL.PRIVATE_THREAD || members.has(userId)) return true;
    return (channelPermissions(guild, userId, channel, nowMs) & P.VIEW_CHANNEL) !== 0n;
  });
}

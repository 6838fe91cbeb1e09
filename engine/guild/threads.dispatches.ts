import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { channelById, channelPermissions } from '../permissions/permissions.ts';
import { type Thread, type ThreadMember, threadMemberObject } from '../thread/thread.ts';
import type { Guild, GuildChannel, ThreadRecord } from './guild.ts';
import { shownThread, threadsSeen } from './threads.state.ts';

const inThread = (threadId: ChannelId): Dispatch['to'] => ({ kind: 'channel', channelId: threadId });

/** THREAD_MEMBERS_UPDATE, with the members of the guild who were added. */
function membersUpdated(
  guild: Guild,
  threadId: ChannelId,
  added: readonly ThreadMember[],
  removed: readonly UserId[],
): Dispatch[] {
  const record = guild.threads.get(threadId);
  if (!record) return [];
  const shown = added.map((one) => ({
    ...threadMemberObject(threadId, one),
    member: guild.members.get(one.user_id) ?? undefined,
    presence: guild.presences.get(one.user_id) ?? null,
  }));
  const d = {
    ...{ id: threadId, guild_id: guild.id, member_count: record.thread.member_count },
    ...(shown.length > 0 && { added_members: shown }),
    ...(removed.length > 0 && { removed_member_ids: removed }),
  };
  return [{ t: 'THREAD_MEMBERS_UPDATE', d, to: inThread(threadId) }];
}

export const threadCreated = (guild: Guild, { id }: Thread, members: readonly ThreadMember[]): Dispatch[] => {
  const record = guild.threads.get(id);
  if (!record) return [];
  const d = { ...record.thread, newly_created: true };
  return [{ t: 'THREAD_CREATE', d, to: inThread(id) }, ...membersUpdated(guild, id, members, [])];
};

/**
 * Each user who was added or joined is sent the thread, public or private: a client may not know it yet.
 *
 * @source https://docs.discord.com/developers/topics/threads#gaining-access-to-public-threads
 */
export function membersChanged(
  guild: Guild,
  threadId: ChannelId,
  added: readonly ThreadMember[],
  removed: readonly UserId[],
): Dispatch[] {
  const record = guild.threads.get(threadId);
  if (!record) return [];
  const created = added.map(
    ({ user_id: id }): Dispatch => ({
      ...{ t: 'THREAD_CREATE', d: shownThread(record, id) },
      to: { kind: 'users', userIds: [id] },
    }),
  );
  return [...created, ...membersUpdated(guild, threadId, added, removed)];
}

// VIEW_CHANNEL does not depend on time-outs, so the time does not matter.
const sees = (guild: Guild, userId: UserId, channel: GuildChannel | undefined): boolean =>
  channel !== undefined && (channelPermissions(guild, userId, channel, 0) & P.VIEW_CHANNEL) !== 0n;

/** The change, and after an archive each member's own membership: only for members who still see the parent channel. */
export function threadUpdated(guild: Guild, { id }: Thread, wasArchived: boolean): Dispatch[] {
  const record = guild.threads.get(id);
  if (!record) return [];
  const update: Dispatch = { t: 'THREAD_UPDATE', d: record.thread, to: inThread(id) };
  const isBack = wasArchived && !record.thread.thread_metadata.archived;
  const present = isBack ? [...record.members.values()] : [];
  const parent = channelById(guild, record.thread.parent_id);
  const members = present
    .filter(({ user_id: userId }) => guild.sessionCounts.has(userId) && sees(guild, userId, parent))
    .map(
      (member): Dispatch => ({
        t: 'THREAD_MEMBER_UPDATE',
        d: { ...threadMemberObject(id, member), guild_id: guild.id },
        to: { kind: 'users', userIds: [member.user_id] },
      }),
    );
  return [update, ...members];
}

/**
 * The members of a private thread are named also without a session here: theirs may be subscribed to this owner later.
 *
 * @param record The thread before it was deleted.
 */
export function threadDeleted(guild: Guild, thread: Thread, record: ThreadRecord | null): Dispatch[] {
  const { id, guild_id, parent_id, type } = thread;
  const d = { id, guild_id, parent_id, type };
  if (type !== CHANNEL.PRIVATE_THREAD) return [{ t: 'THREAD_DELETE', d, to: inThread(id) }];
  const parent = channelById(guild, parent_id);
  const isShown = (userId: UserId): boolean =>
    sees(guild, userId, parent) &&
    (record?.members.has(userId) === true || sees(guild, userId, record?.channel));
  // The permissions of a member who is not in memory are not known.
  const absent = [...(record?.members.keys() ?? [])].filter(
    (userId) =>
      !guild.sessionCounts.has(userId) && (guild.members.get(userId) === undefined || isShown(userId)),
  );
  const userIds = [...[...guild.sessionCounts.keys()].filter(isShown), ...absent];
  return [{ t: 'THREAD_DELETE', d, to: { kind: 'users', userIds } }];
}

/** THREAD_LIST_SYNC for users who gained access to channels, with the active threads of those channels. */
export function threadsSynced(
  guild: Guild,
  changes: readonly { readonly channel: { readonly id: string }; readonly gained: readonly UserId[] }[],
): Dispatch[] {
  const gained = new Map<UserId, string[]>();
  for (const { channel, gained: userIds } of changes)
    for (const userId of userIds) gained.set(userId, [...(gained.get(userId) ?? []), channel.id]);
  return [...gained].flatMap(([userId, ids]): Dispatch[] => {
    const records = threadsSeen(guild, userId, new Set(ids), 0);
    if (records.length === 0) return [];
    const channelIds = ids.filter((id) => records.some(({ thread }) => thread.parent_id === id));
    const members = records.flatMap(({ thread, members: all }) => {
      const own = all.get(userId);
      return own ? [threadMemberObject(thread.id, own)] : [];
    });
    const d = {
      guild_id: guild.id,
      channel_ids: channelIds,
      threads: records.map(({ thread }) => thread),
      members,
    };
    return [{ t: 'THREAD_LIST_SYNC', d, to: { kind: 'users', userIds: [userId] } }];
  });
}

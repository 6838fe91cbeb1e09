import { CHANNEL } from '../../protocol/channeltypes.ts';
import { type ChannelId, compareIds, type UserId } from '../../protocol/ids.ts';
import { listsMembers } from '../../protocol/intents.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Needs } from '../kernel/needs.ts';
import { channelById, channelPermissions } from '../permissions/permissions.ts';
import { threadMemberObject } from '../thread/thread.ts';
import { bitsIn } from './authorize.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, ThreadRecord } from './guild.ts';
import { managesThreads, memberOf } from './threads.rules.ts';
import { threadIn } from './threads.state.ts';
import type { GuildTopic } from './topic.ts';

export interface Named {
  readonly channelId: ChannelId;
  readonly userId: UserId;
}

export interface Page {
  readonly channelId: ChannelId;
  readonly withMember: boolean;
  readonly after: UserId | null;
  readonly limit: number;
}

type ThreadMemberCommands = {
  joinThread: { input: { readonly channelId: ChannelId }; value: null };
  leaveThread: { input: { readonly channelId: ChannelId }; value: null };
  addThreadMember: { input: Named; value: null };
  removeThreadMember: { input: Named; value: null };
  getThreadMember: { input: Named & { readonly withMember: boolean }; value: object };
  /** Ascending by user id. @returns 50001 for a bot without the intent of members. */
  listThreadMembers: { input: Page; value: object[] };
};

/** Runs a rule on a thread that is not archived. @returns 50024 for a channel, 50083 for an archived thread. */
function inActiveThread<Value>(
  guild: Guild,
  channelId: ChannelId,
  rule: (record: ThreadRecord) => Outcome<Value, GuildFact>,
): Outcome<Value, GuildFact> {
  const record = threadIn(guild, channelId);
  if (!record) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  return record.thread.thread_metadata.archived ? refused(refusal('THREAD_ARCHIVED')) : rule(record);
}

function entered(record: ThreadRecord, userId: UserId, env: Env): Outcome<null, GuildFact> {
  if (record.members.has(userId)) return accepted(null);
  if (record.members.size >= LIMITS.thread_members_max)
    return refused(refusal('MAXIMUM_THREAD_PARTICIPANTS'));
  const added = [memberOf(userId, env)];
  return accepted(null, [{ type: 'threadMembersChanged', threadId: record.thread.id, added, removed: [] }]);
}

const left = ({ thread, members }: ThreadRecord, userId: UserId): Outcome<null, GuildFact> =>
  members.has(userId)
    ? accepted(null, [{ type: 'threadMembersChanged', threadId: thread.id, added: [], removed: [userId] }])
    : accepted(null);

function addMember(
  guild: Guild,
  record: ThreadRecord,
  userId: UserId,
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const { thread, channel } = record;
  if ((bitsIn(guild, by, channel, env.nowMs) & P.SEND_MESSAGES) === 0n)
    return refused(refusal('MISSING_PERMISSIONS'));
  const isOpen = thread.thread_metadata.invitable !== false;
  if (!isOpen && thread.owner_id !== by.userId && !managesThreads(guild, record, by, env))
    return refused(refusal('MISSING_PERMISSIONS'));
  const parent = channelById(guild, thread.parent_id);
  if (!guild.members.get(userId)) return refused(refusal('UNKNOWN_MEMBER'));
  const sees = parent && (channelPermissions(guild, userId, parent, env.nowMs) & P.VIEW_CHANNEL) !== 0n;
  return sees ? entered(record, userId, env) : refused(refusal('MISSING_ACCESS'));
}

function removeMember(
  guild: Guild,
  record: ThreadRecord,
  userId: UserId,
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const { thread } = record;
  const isOwn = thread.type === CHANNEL.PRIVATE_THREAD && thread.owner_id === by.userId;
  if (!isOwn && !managesThreads(guild, record, by, env)) return refused(refusal('MISSING_PERMISSIONS'));
  return record.members.has(userId) ? left(record, userId) : refused(refusal('UNKNOWN_MEMBER'));
}

function pageOf(record: ThreadRecord, { after, limit }: Pick<Page, 'after' | 'limit'>): UserId[] {
  return [...record.members.keys()]
    .filter((id) => after === null || compareIds(id, after) > 0)
    .sort(compareIds)
    .slice(0, limit);
}

function shown(guild: Guild, record: ThreadRecord, userId: UserId, withMember: boolean): object | null {
  const found = record.members.get(userId);
  if (!found) return null;
  const member = withMember ? (guild.members.get(userId) ?? undefined) : undefined;
  return { ...threadMemberObject(record.thread.id, found), ...(member && { member }) };
}

const needsMember = ({ userId }: Named): Needs => ({ members: [userId] });

/** Members of threads. */
export const threadMembers: GuildTopic<ThreadMemberCommands, never> = {
  commands: {
    joinThread: {
      acts: true,
      decide: (guild, { channelId }, by, env) =>
        inActiveThread(guild, channelId, (record) => entered(record, by.userId, env)),
    },
    leaveThread: {
      decide: (guild, { channelId }, by) =>
        inActiveThread(guild, channelId, (record) => left(record, by.userId)),
    },
    addThreadMember: {
      needs: needsMember,
      decide: (guild, { channelId, userId }, by, env) =>
        inActiveThread(guild, channelId, (record) => addMember(guild, record, userId, by, env)),
    },
    removeThreadMember: {
      acts: true,
      decide: (guild, { channelId, userId }, by, env) =>
        inActiveThread(guild, channelId, (record) => removeMember(guild, record, userId, by, env)),
    },
    getThreadMember: {
      needs: needsMember,
      decide: (guild, { channelId, userId, withMember }) => {
        const record = threadIn(guild, channelId);
        if (!record) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
        const found = shown(guild, record, userId, withMember);
        return found ? accepted(found) : refused(refusal('UNKNOWN_MEMBER'));
      },
    },
    listThreadMembers: {
      needs: ({ channelId, withMember, ...page }, guild) => {
        const record = withMember ? threadIn(guild, channelId) : null;
        return { threads: [channelId], ...(record && { members: pageOf(record, page) }) };
      },
      decide: (guild, { channelId, withMember, ...page }, by) => {
        const record = threadIn(guild, channelId);
        if (!record) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
        if (!listsMembers(by)) return refused(refusal('MISSING_ACCESS'));
        return accepted(pageOf(record, page).flatMap((id) => shown(guild, record, id, withMember) ?? []));
      },
    },
  },
  facts: {},
};

import { RecentMessages } from '../../engine/channel/recent.ts';
import { copyKey } from '../../engine/guild/crossposts.ts';
import type { Guild, Member, StoredMessage } from '../../engine/guild/guild.ts';
import { threadRecord } from '../../engine/guild/threads.state.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import { rsvpKey } from '../../engine/scheduledevent/event.ts';
import type { ChannelId, MessageId, RoleId } from '../../protocol/ids.ts';
import type { GuildStore } from '../../storage/guild/port.ts';
import type { MessageStore } from '../../storage/message/port.ts';
import type { ScheduledEventStore } from '../../storage/scheduledevent/port.ts';
import type { ThreadStore } from '../../storage/thread/port.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { WebhookStore } from '../../storage/webhook/port.ts';
import { messageReads, recentReads } from '../channel/messagereads.ts';
import { keep, Window, type WindowRead } from '../runtime/cache.ts';

export interface GuildReads {
  readonly guilds: Pick<
    GuildStore,
    | 'members'
    | 'membersAfter'
    | 'formerMembersOf'
    | 'bansOf'
    | 'joinRequestsOf'
    | 'onboardingAnswersOf'
    | 'invitesByCode'
  >;
  readonly messages: Pick<MessageStore, 'get' | 'list' | 'pinTimes' | 'reactionsOf' | 'votesOf'>;
  readonly threads: Pick<ThreadStore, 'get'>;
  readonly users: Pick<UserStore, 'get'>;
  readonly webhooks: Pick<WebhookStore, 'ofGuild' | 'copies'>;
  readonly scheduledEvents: Pick<ScheduledEventStore, 'rsvps'>;
}

/** A window on messages that keeps the newest of some channels up to date. */
export class MessageWindow extends Window<MessageId, StoredMessage | null> {
  readonly recent = new RecentMessages<StoredMessage>();

  override set(id: MessageId, message: StoredMessage | null): this {
    this.recent.note(id, message);
    return super.set(id, message);
  }
}

/** Omits members who were evicted during the read: their rows may be older than what a command has written. */
async function readEveryone(
  guild: Guild,
  most: number,
  { guilds }: Pick<GuildReads, 'guilds'>,
): Promise<void> {
  const { id, members } = guild;
  const ended = members instanceof Window ? members.watchEvictions() : null;
  try {
    const rows = await guilds.membersAfter(id, null, most);
    const evicted = ended?.();
    const young = rows.filter(({ user }) => !evicted?.has(user.id));
    keep(members, [], withLiveRoles(guild, young), ({ user }) => user.id);
  } finally {
    ended?.();
  }
}

/** The reads that load the rows of a command's needs into the guild's windows; none for loaded rows. */
export function* guildReads(guild: Guild, needs: Needs, stores: GuildReads): Iterable<WindowRead> {
  const { id, members, bans, users, invites, messages } = guild;
  const wanted = {
    members: needs.members?.filter((key) => !members.has(key)) ?? [],
    bans: needs.bans?.filter((key) => !bans.has(key)) ?? [],
    users: needs.users?.filter((key) => !users.has(key)) ?? [],
    invites: needs.invites?.filter((key) => !invites.has(key)) ?? [],
    messages: needs.messages?.filter((key) => !messages.has(key.id) && !messages.has(absence(key))) ?? [],
  };
  const { everyoneUpTo: most = 0 } = needs;
  if (guild.memberCount <= most && knownMembers(guild) < guild.memberCount)
    yield read('everyone', [id], () => readEveryone(guild, most, stores));
  if (wanted.members.length > 0)
    yield read('member', wanted.members, async (keys) =>
      keep(members, keys, withLiveRoles(guild, await stores.guilds.members(id, keys)), ({ user }) => user.id),
    );
  yield* threadReads(guild, needs, stores);
  if (wanted.bans.length > 0)
    yield read('ban', wanted.bans, async (keys) =>
      keep(bans, keys, await stores.guilds.bansOf(id, keys), ({ user }) => user.id),
    );
  yield* newcomerReads(guild, needs, stores);
  if (wanted.users.length > 0)
    yield read('user', wanted.users, async (keys) =>
      keep(users, keys, await stores.users.get(keys), (user) => user.id),
    );
  if (wanted.invites.length > 0)
    yield read('invite', wanted.invites, async (keys) =>
      keep(invites, keys, await stores.guilds.invitesByCode(id, keys), ({ code }) => code),
    );
  yield* rsvpReads(guild, needs, stores);
  const copies = needs.copies?.filter(
    ({ sourceId, webhookId }) => !guild.copies.has(copyKey(sourceId, webhookId)),
  );
  if (copies?.length) {
    const keys = copies.map(({ sourceId, webhookId }) => copyKey(sourceId, webhookId));
    yield read('copy', keys, async () => {
      const found = await stores.webhooks.copies(id, copies);
      for (const { sourceId, webhookId, channelId, messageId } of found) {
        const key = copyKey(sourceId, webhookId);
        if (!guild.copies.has(key)) guild.copies.set(key, { channelId, messageId });
      }
      for (const key of keys) if (!guild.copies.has(key)) guild.copies.set(key, null);
    });
  }
  if (needs.webhooks && guild.webhooks === null)
    yield read('webhooks', [id], async () => {
      const found = await stores.webhooks.ofGuild(id);
      // A channel that is being deleted may still have webhooks in the database.
      const live = found.filter((webhook) => guild.channels.has(webhook.channel_id));
      guild.webhooks ??= new Map(live.map((webhook) => [webhook.id, webhook]));
    });
  if (wanted.messages.length > 0)
    yield read('message', wanted.messages.map(absence), async (keys) => {
      const fresh = wanted.messages.filter((key) => keys.includes(absence(key)));
      const found = await stores.messages.get(id, fresh);
      const foundIds = new Set(found.map((message) => message.id));
      const missing = fresh.filter((key) => !foundIds.has(key.id));
      keep(messages, missing.map(absence), found, (message) => message.id);
    });
  if (needs.recent) yield* recentReads(guild, needs.recent, stores.messages);
  yield* messageReads(guild, id, needs, stores.messages);
}

/** The reads of threads with their members. */
function* threadReads(guild: Guild, needs: Needs, stores: GuildReads): Iterable<WindowRead> {
  const threads = needs.threads?.filter((key) => !guild.channels.has(key) && !guild.threads.has(key)) ?? [];
  if (threads.length > 0)
    yield read('thread', threads, async (keys) => {
      const found = (await stores.threads.get(guild.id, keys)).map(({ thread, members }) =>
        threadRecord(thread, members),
      );
      keep(guild.threads, keys, found, ({ thread }) => thread.id);
    });
}

/** The reads of requests to join, answers to the onboarding, and the state of former members. */
function* newcomerReads(guild: Guild, needs: Needs, { guilds }: GuildReads): Iterable<WindowRead> {
  const { id, formerMembers, joinRequests, onboardingAnswers } = guild;
  const former = needs.formerMembers?.filter((key) => !formerMembers.has(key)) ?? [];
  if (former.length > 0)
    yield read('former member', former, async (keys) =>
      keep(formerMembers, keys, await guilds.formerMembersOf(id, keys), ({ userId }) => userId),
    );
  const requests = needs.joinRequests?.filter((key) => !joinRequests.has(key)) ?? [];
  if (requests.length > 0)
    yield read('join request', requests, async (keys) =>
      keep(joinRequests, keys, await guilds.joinRequestsOf(id, keys), ({ user }) => user.id),
    );
  const answers = needs.onboardingAnswers?.filter((key) => !onboardingAnswers.has(key)) ?? [];
  if (answers.length > 0)
    yield read('onboarding answers', answers, async (keys) =>
      keep(onboardingAnswers, keys, await guilds.onboardingAnswersOf(id, keys), ({ userId }) => userId),
    );
}

/** The reads of users' responses to scheduled events. */
function* rsvpReads(guild: Guild, needs: Needs, stores: GuildReads): Iterable<WindowRead> {
  const window = guild.scheduledEvents.rsvps;
  const rsvps = needs.rsvps?.filter((key) => !window.has(rsvpKey(key))) ?? [];
  if (rsvps.length === 0) return;
  yield read('rsvp', rsvps.map(rsvpKey), async () => {
    const found = await stores.scheduledEvents.rsvps(guild.id, rsvps);
    for (const { key, response } of found) if (!window.has(rsvpKey(key))) window.set(rsvpKey(key), response);
    for (const key of rsvps) if (!window.has(rsvpKey(key))) window.set(rsvpKey(key), null);
  });
}

/**
 * The window's key for the absence of a message in a channel. It is not the message's id: another channel may have a
 * message of this id, which must not become unknown because a command named the wrong channel.
 */
const absence = ({ channelId, id }: { channelId: ChannelId; id: MessageId }): MessageId =>
  `${channelId}/${id}` as MessageId;

/** Members as stored, except roles that were deleted during the read. */
const withLiveRoles = (guild: Guild, found: readonly Member[]): Member[] =>
  found.map((member) => {
    const roles = member.roles.filter((roleId) => guild.roles.has(roleId as RoleId));
    return roles.length === member.roles.length ? member : { ...member, roles };
  });

function knownMembers({ members }: Guild): number {
  let count = 0;
  for (const member of members.values()) if (member !== null) count += 1;
  return count;
}

const read = <K extends string>(
  kind: string,
  keys: readonly K[],
  fetch: WindowRead<K>['fetch'],
): WindowRead<K> => ({
  kind,
  keys,
  fetch,
});

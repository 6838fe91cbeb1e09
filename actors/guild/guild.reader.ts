import { RecentMessages } from '../../engine/channel/recent.ts';
import { copyKey } from '../../engine/guild/crossposts.ts';
import type { Guild, Member, StoredMessage } from '../../engine/guild/guild.ts';
import { slowmodeKey } from '../../engine/guild/messages.scope.ts';
import { threadRecord } from '../../engine/guild/threads.state.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import { rsvpKey } from '../../engine/scheduledevent/event.ts';
import type { ChannelId, MessageId, RoleId, WebhookId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { GuildStore } from '../../storage/guild/port.ts';
import type { MessageStore } from '../../storage/message/port.ts';
import type { ScheduledEventStore } from '../../storage/scheduledevent/port.ts';
import type { ThreadStore } from '../../storage/thread/port.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { WebhookStore } from '../../storage/webhook/port.ts';
import { pinReads, reactionReads, recentReads, voteReads } from '../channel/messagereads.ts';
import { keep, Window, type WindowRead } from '../runtime/cache.ts';
import type { Clock } from '../runtime/clock.ts';

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
  readonly messages: Pick<
    MessageStore,
    'get' | 'list' | 'pinTimes' | 'reactionsOf' | 'votesOf' | 'lastOfUserMs'
  >;
  readonly threads: Pick<ThreadStore, 'get' | 'lastOfUserMs'>;
  readonly users: Pick<UserStore, 'get'>;
  readonly webhooks: Pick<WebhookStore, 'ofGuild' | 'copies'>;
  readonly scheduledEvents: Pick<ScheduledEventStore, 'rsvps'>;
  readonly clock: Clock;
}

/** An earlier message or thread delays nobody, whatever the slow mode. */
const SLOWMODE_MS_MAX = LIMITS.slowmode_sec_max * 1_000;

/** A window on messages that keeps the newest of some channels up to date. */
export class MessageWindow extends Window<MessageId, StoredMessage | null> {
  readonly recent = new RecentMessages<StoredMessage>();

  override set(id: MessageId, message: StoredMessage | null): this {
    this.recent.note(id, message);
    return super.set(id, message);
  }
}

/** For each kind of needed rows: the reads that load the absent ones into the guild's windows. */
type Readers = {
  readonly [Kind in keyof Required<Needs>]: (
    guild: Guild,
    needed: NonNullable<Needs[Kind]>,
    stores: GuildReads,
  ) => Iterable<WindowRead>;
};

/** The reads that load the rows of a command's needs into the guild's windows; none for loaded rows. */
export function* guildReads(guild: Guild, needs: Needs, stores: GuildReads): Iterable<WindowRead> {
  for (const kind in needs) yield* readsOf(kind as keyof Needs, guild, needs, stores);
}

function readsOf<Kind extends keyof Needs>(
  kind: Kind,
  guild: Guild,
  needs: Needs,
  stores: GuildReads,
): Iterable<WindowRead> {
  const needed = needs[kind];
  return needed ? READERS[kind](guild, needed, stores) : [];
}

const READERS: Readers = {
  members: (guild, userIds, { guilds }) =>
    absent('member', guild.members, userIds, async (keys) =>
      keep(
        guild.members,
        keys,
        withLiveRoles(guild, await guilds.members(guild.id, keys)),
        ({ user }) => user.id,
      ),
    ),
  *everyoneUpTo(guild, most, stores) {
    if (guild.memberCount <= most && knownMembers(guild) < guild.memberCount)
      yield { kind: 'everyone', keys: [guild.id], fetch: () => readEveryone(guild, most, stores) };
  },
  *messages({ id, messages }, all, stores) {
    const unread = all.filter((one) => !messages.has(one.id) && !messages.has(absence(one)));
    if (unread.length === 0) return;
    const fetch = async (keys: readonly MessageId[]) => {
      const fresh = unread.filter((one) => keys.includes(absence(one)));
      const found = await stores.messages.get(id, fresh);
      const foundIds = new Set(found.map((message) => message.id));
      const missing = fresh.filter((one) => !foundIds.has(one.id));
      keep(messages, missing.map(absence), found, (message) => message.id);
    };
    yield { kind: 'message', keys: unread.map(absence), fetch };
  },
  recent: (guild, channelIds, { messages }) => recentReads(guild, channelIds, messages),
  pins: (guild, channelIds, { messages }) => pinReads(guild, guild.id, channelIds, messages),
  reactions: (guild, needed, { messages }) => reactionReads(guild, guild.id, needed, messages),
  votes: (guild, needed, { messages }) => voteReads(guild, guild.id, needed, messages),
  *slowmode({ id, slowmode }, all, { messages, threads, clock }) {
    for (const one of all) {
      const key = slowmodeKey(one);
      if (slowmode.has(key)) continue;
      const fetch = async () => {
        const { channelId, userId, counts } = one;
        const store = counts === 'messages' ? messages : threads;
        const lastMs = await store.lastOfUserMs(id, channelId, userId, clock.now() - SLOWMODE_MS_MAX);
        if (!slowmode.has(key)) slowmode.set(key, lastMs ?? 0);
      };
      yield { kind: 'slow mode', keys: [key], fetch };
    }
  },
  threads: ({ id, channels, threads }, threadIds, stores) =>
    absent(
      'thread',
      threads,
      threadIds.filter((key) => !channels.has(key)),
      async (keys) => {
        const rows = await stores.threads.get(id, keys);
        const found = rows.map(({ thread, members }) => threadRecord(thread, members));
        keep(threads, keys, found, ({ thread }) => thread.id);
      },
    ),
  formerMembers: ({ id, formerMembers }, userIds, { guilds }) =>
    absent('former member', formerMembers, userIds, async (keys) =>
      keep(formerMembers, keys, await guilds.formerMembersOf(id, keys), ({ userId }) => userId),
    ),
  bans: ({ id, bans }, userIds, { guilds }) =>
    absent('ban', bans, userIds, async (keys) =>
      keep(bans, keys, await guilds.bansOf(id, keys), ({ user }) => user.id),
    ),
  joinRequests: ({ id, joinRequests }, userIds, { guilds }) =>
    absent('join request', joinRequests, userIds, async (keys) =>
      keep(joinRequests, keys, await guilds.joinRequestsOf(id, keys), ({ user }) => user.id),
    ),
  onboardingAnswers: ({ id, onboardingAnswers }, userIds, { guilds }) =>
    absent('onboarding answers', onboardingAnswers, userIds, async (keys) =>
      keep(onboardingAnswers, keys, await guilds.onboardingAnswersOf(id, keys), ({ userId }) => userId),
    ),
  users: (guild, userIds, { users }) =>
    absent('user', guild.users, userIds, async (keys) =>
      keep(guild.users, keys, await users.get(keys), (user) => user.id),
    ),
  invites: ({ id, invites }, codes, { guilds }) =>
    absent('invite', invites, codes, async (keys) =>
      keep(invites, keys, await guilds.invitesByCode(id, keys), ({ code }) => code),
    ),
  copies({ id, copies }, all, { webhooks }) {
    const unread = all.filter((one) => !copies.has(keyOfCopy(one)));
    return absent('copy', copies, unread.map(keyOfCopy), async (keys) => {
      const found = await webhooks.copies(id, unread);
      for (const copy of found) {
        const { channelId, messageId } = copy;
        if (!copies.has(keyOfCopy(copy))) copies.set(keyOfCopy(copy), { channelId, messageId });
      }
      for (const key of keys) if (!copies.has(key)) copies.set(key, null);
    });
  },
  rsvps({ id, scheduledEvents: { rsvps } }, all, stores) {
    const unread = all.filter((one) => !rsvps.has(rsvpKey(one)));
    return absent('rsvp', rsvps, unread.map(rsvpKey), async (keys) => {
      const found = await stores.scheduledEvents.rsvps(id, unread);
      for (const { key, response } of found) if (!rsvps.has(rsvpKey(key))) rsvps.set(rsvpKey(key), response);
      for (const key of keys) if (!rsvps.has(key)) rsvps.set(key, null);
    });
  },
  *webhooks(guild, _all, { webhooks }) {
    if (guild.webhooks !== null) return;
    const fetch = async () => {
      const found = await webhooks.ofGuild(guild.id);
      // A channel that is being deleted may still have webhooks in the database.
      const live = found.filter((webhook) => guild.channels.has(webhook.channel_id));
      guild.webhooks ??= new Map(live.map((webhook) => [webhook.id, webhook]));
    };
    yield { kind: 'webhooks', keys: [guild.id], fetch };
  },
};

/** One read of the keys that a window does not have; none when it has all of them. */
function* absent<Key extends string>(
  kind: string,
  window: ReadonlyMap<Key, unknown>,
  needed: readonly Key[],
  fetch: WindowRead<Key>['fetch'],
): Iterable<WindowRead<Key>> {
  const keys = needed.filter((key) => !window.has(key));
  if (keys.length > 0) yield { kind, keys, fetch };
}

async function readEveryone(
  guild: Guild,
  most: number,
  { guilds }: Pick<GuildReads, 'guilds'>,
): Promise<void> {
  const { id, members } = guild;
  keep(members, [], withLiveRoles(guild, await guilds.membersAfter(id, null, most)), ({ user }) => user.id);
}

const keyOfCopy = ({
  sourceId,
  webhookId,
}: {
  readonly sourceId: MessageId;
  readonly webhookId: WebhookId;
}): string => copyKey(sourceId, webhookId);

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

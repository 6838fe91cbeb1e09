import type { APIOverwrite } from 'discord-api-types/v10';
import { AutoModeration } from '../../engine/automod/state.ts';
import { RecentMessages } from '../../engine/channel/recent.ts';
import { Audiences } from '../../engine/fanout/audience.ts';
import type { DispatchBody, Recipient } from '../../engine/fanout/body.ts';
import { expressionsOf, NO_EXPRESSIONS } from '../../engine/guild/expressions.ts';
import type { Guild, GuildChannel, GuildInfo, Member } from '../../engine/guild/guild.ts';
import type { Audience } from '../../engine/kernel/dispatch.ts';
import type { ChannelId, GuildId, RoleId, UserId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import type { APIRole, APIUser } from '../../protocol/objects.ts';

/** Ids are short numbers in tests; `id('1')` gives the brand that is asked for. */
export const id = <Brand extends string>(value: number | string): Brand => String(value) as Brand;

export const GUILD_ID = id<GuildId>(1);
export const OWNER_ID = id<UserId>(2);

export function role(roleId: string, permissions: bigint, position = 0): APIRole {
  const colors = { primary_color: 0, secondary_color: null, tertiary_color: null };
  const name = `role ${roleId}`;
  return { id: id(roleId), permissions: String(permissions), position, name, colors } as APIRole;
}

export function user(userId: string, bot = false): APIUser {
  return {
    id: id(userId),
    username: `user${userId}`,
    discriminator: '0',
    global_name: null,
    avatar: null,
    bot,
  };
}

export function member(userId: string, more: Partial<Member> = {}): Member {
  const base = { user: user(userId), roles: [], flags: 0, joined_at: '2026-01-01T00:00:00.000000+00:00' };
  return { ...base, deaf: false, mute: false, ...more } as unknown as Member;
}

export function channel(channelId: string, overwrites: APIOverwrite[] = [], more: object = {}): GuildChannel {
  return {
    id: channelId,
    guild_id: GUILD_ID,
    type: 0,
    name: `channel ${channelId}`,
    position: 0,
    permission_overwrites: overwrites,
    ...more,
  } as unknown as GuildChannel;
}

export function overwrite(forId: string, type: 0 | 1, bits: { allow?: bigint; deny?: bigint }): APIOverwrite {
  return { id: forId, type, allow: String(bits.allow ?? 0n), deny: String(bits.deny ?? 0n) };
}

/** A resident guild of the given parts; @everyone holds `everyone`, and user 2 owns it and is a member. */
export function buildGuild(parts: {
  everyone?: bigint;
  roles?: readonly APIRole[];
  members?: readonly Member[];
  channels?: readonly GuildChannel[];
  sessions?: readonly Recipient[];
}): GuildWithSessions {
  const roles = [role(GUILD_ID, parts.everyone ?? 0n), ...(parts.roles ?? [])];
  const members = [member(OWNER_ID), ...(parts.members ?? [])];
  const audiences = new Audiences(parts.sessions);
  const guild: Guild = {
    id: GUILD_ID,
    info: { id: GUILD_ID, owner_id: OWNER_ID, features: [] as readonly string[] } as GuildInfo,
    roles: new Map(roles.map((each) => [id<RoleId>(each.id), each])),
    channels: new Map((parts.channels ?? []).map((each) => [id<ChannelId>(each.id), each])),
    members: new Map(members.map((each) => [id<UserId>(each.user.id), each])),
    threads: new Map(),
    memberCount: members.length,
    messages: new Map(),
    recent: new RecentMessages(),
    bans: new Map(),
    joinRequests: new Map(),
    onboardingAnswers: new Map(),
    formerMembers: new Map(),
    invites: new Map(),
    webhooks: new Map(),
    copies: new Map(),
    users: new Map(),
    presences: new Map(),
    presenceNumbers: new Map(),
    voiceStates: new Map(),
    liveVoice: new Map(),
    stageInstances: new Map(),
    scheduledEvents: { byId: new Map(), counts: new Map(), rsvps: new Map() },
    autoModeration: new AutoModeration(),
    pages: {},
    expressions: expressionsOf(NO_EXPRESSIONS),
    sessionCounts: audiences.sessionCounts,
    visibilityVersion: 0,
    pins: new Map(),
    reacted: new Map(),
    nonces: new Map(),
    lastArchiveUs: 0,
    slowmode: new Map(),
  };
  return Object.assign(guild, { audiences });
}

/** A guild and the sessions subscribed to it, as its actor has both. */
export type GuildWithSessions = Guild & { readonly audiences: Audiences };

/** A session that keeps what it is given. Without `intents` it is a human user's. */
export class RecordingSession implements Recipient {
  readonly sessionId: string;
  readonly userId: UserId;
  readonly intents: number;
  readonly bot: boolean;
  readonly received: DispatchBody[] = [];

  constructor(sessionId: string, userId: string, intents?: readonly (keyof typeof INTENTS)[]) {
    this.sessionId = sessionId;
    this.userId = id(userId);
    this.bot = intents !== undefined;
    this.intents = (intents ?? []).reduce((all, name) => all | INTENTS[name], 0);
  }

  deliver(body: DispatchBody): void {
    this.received.push(body);
  }
}

export const everyone: Audience = { kind: 'guild' };
export const inRoom = (channelId: string): Audience => ({
  kind: 'channel',
  channelId: id<ChannelId>(channelId),
});
export const only = (...userIds: string[]): Audience => ({
  kind: 'users',
  userIds: userIds.map((each) => id<UserId>(each)),
});

/** A message with something in every field that MESSAGE_CONTENT gates. */
export const message = (authorId: string, mentionIds: readonly string[] = []) => ({
  id: '50',
  channel_id: '30',
  author: user(authorId),
  content: 'hello',
  embeds: [{ title: 't' }],
  attachments: [{ id: '1' }],
  components: [{ type: 1 }],
  poll: { question: { text: 'q' } },
  mentions: mentionIds.map((each) => user(each)),
});

import { randomBytes } from 'node:crypto';
import { systemClock } from '../../actors/runtime/clock.ts';
import { TimerWheel } from '../../actors/runtime/wheel.ts';
import type { SessionBackend } from '../../actors/session/backend.ts';
import type { SessionJournal } from '../../actors/session/journal.ports.ts';
import type { Principal } from '../../actors/session/ports.ts';
import { GatewaySessions } from '../../actors/session/sessions.ts';
import { DEFAULTS } from '../../config/config.ts';
import { AutoModeration } from '../../engine/automod/state.ts';
import { RecentMessages } from '../../engine/channel/recent.ts';
import { Audiences } from '../../engine/fanout/audience.ts';
import { DispatchBody, type Recipient } from '../../engine/fanout/body.ts';
import { expressionsOf, NO_EXPRESSIONS } from '../../engine/guild/expressions.ts';
import type { Guild, GuildChannel, GuildInfo, Member } from '../../engine/guild/guild.ts';
import type { Dispatch } from '../../engine/kernel/dispatch.ts';
import { Allowance } from '../../engine/session/allowance.ts';
import {
  type ChannelId,
  everyoneRoleOf,
  type GuildId,
  type RoleId,
  snowflakeOf,
  type UserId,
} from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { type APIRole, type APIUser, NO_FLAGS } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { createGatewayRoutes } from '../../transports/gateway/routes.ts';
import { type HttpServer, startServer } from '../../transports/http/server.ts';

const GUILD_ID: GuildId = snowflakeOf(1_390_000_000_000_000_001n);
const CHANNEL_ID: ChannelId = snowflakeOf(1_390_000_000_000_000_030n);
const OWNER_ID: UserId = snowflakeOf(1_390_000_000_000_000_002n);
const FIRST_ROLE = 1_390_000_000_000_000_010n;
const ROLES = 10;
const FIRST_USER = 1_390_000_000_000_010_000n;
const HEARTBEAT_MS = 3_600_000;
/** Index above the members of any run, for members that may not see the channel. */
const FIRST_OUTSIDER = 11_000_000;
/** One in this many members may not see the channel, so that permissions have something to decide. */
const BLIND_EVERY = 11;

const roleId = (index: number): RoleId => snowflakeOf(FIRST_ROLE + BigInt(index));
export const userIdOf = (index: number): UserId => snowflakeOf(FIRST_USER + BigInt(index));

function role(id: RoleId, position: number, permissions: bigint): APIRole {
  return {
    id,
    position,
    permissions: String(permissions),
    name: `role ${position}`,
    flags: NO_FLAGS,
    color: 0,
    colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
    hoist: false,
    managed: false,
    mentionable: false,
  };
}

function userOf(id: UserId): APIUser {
  return { id, username: `bot${id}`, discriminator: '0', global_name: null, avatar: null, bot: true };
}

const memberOf = (index: number): Member => ({
  user: userOf(userIdOf(index)),
  // Three roles each; one of the roles lets most members see the channel.
  roles: [
    roleId(index % 5),
    roleId(5 + (index % 4)),
    ...(index % BLIND_EVERY === 0 ? [] : [roleId(ROLES - 1)]),
  ],
  joined_at: '2025-11-02T09:14:31.482000+00:00',
  flags: NO_FLAGS,
  deaf: false,
  mute: false,
});

/** A guild and the sessions subscribed to it, as its actor has both. */
type GuildWithSessions = Guild & { readonly audiences: Audiences };

/** A guild with ten roles and a channel that only one of them may see. */
export function buildGuild(): GuildWithSessions {
  const roles = [role(everyoneRoleOf(GUILD_ID), 0, P.SEND_MESSAGES | P.READ_MESSAGE_HISTORY)];
  for (let index = 0; index < ROLES; index += 1) roles.push(role(roleId(index), index + 1, 0n));
  const channel = {
    id: CHANNEL_ID,
    guild_id: GUILD_ID,
    type: 0,
    name: 'general',
    position: 0,
    permission_overwrites: [
      { id: GUILD_ID, type: 0, allow: '0', deny: String(P.VIEW_CHANNEL) },
      { id: roleId(ROLES - 1), type: 0, allow: String(P.VIEW_CHANNEL), deny: '0' },
    ],
  } as unknown as GuildChannel;
  const audiences = new Audiences();
  return {
    id: GUILD_ID,
    info: { id: GUILD_ID, owner_id: OWNER_ID, name: 'The Marsh' } as GuildInfo,
    roles: new Map(roles.map((each) => [each.id, each])),
    channels: new Map([[CHANNEL_ID, channel]]),
    threads: new Map(),
    members: new Map(),
    memberCount: 0,
    messages: new Map(),
    recent: new RecentMessages(),
    bans: new Map(),
    joinRequests: new Map(),
    onboardingAnswers: new Map(),
    formerMembers: new Map(),
    invites: new Map(),
    webhooks: null,
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
    audiences,
    pins: new Map(),
    reacted: new Map(),
    nonces: new Map(),
    lastArchiveUs: 0,
    slowmode: new Map(),
  };
}

/** Adds a session of member `index`. */
export function subscribe(guild: GuildWithSessions, session: Recipient, index: number): void {
  guild.members.set(userIdOf(index), memberOf(index));
  guild.memberCount = guild.members.size;
  guild.visibilityVersion++;
  guild.audiences.add(session);
}

/**
 * Adds sessions that must receive nothing: members who may not see the channel, and sessions without the message intents.
 * A dispatch to one of them aborts the run.
 */
export function subscribeOutsiders(guild: GuildWithSessions, count: number): void {
  for (let n = 0; n < count; n += 1) {
    const index = n % 2 === 0 ? FIRST_OUTSIDER + n * BLIND_EVERY : seeingMember(FIRST_OUTSIDER + n);
    const session: Recipient = {
      sessionId: `outsider${n}`,
      userId: userIdOf(index),
      intents: n % 2 === 0 ? READING : INTENTS.GUILDS,
      bot: true,
      deliver: () => {
        throw new Error('A session was sent what it may not see.');
      },
    };
    subscribe(guild, session, index);
  }
}

/** The index of the n-th member that may see the channel. */
export const seeingMember = (n: number): number => n + 1 + Math.floor(n / (BLIND_EVERY - 1));

/** Sends a dispatch as a guild's actor does once its facts are durable. */
export function fanOut(guild: GuildWithSessions, dispatch: Dispatch, nowMs: number): void {
  for (const { d, to } of guild.audiences.recipients(guild, dispatch, nowMs)) {
    const body = new DispatchBody(dispatch.t, d, performance.now());
    body.recipients = to.length;
    for (let index = 0; index < to.length; index += 1) to[index]?.deliver(body);
  }
}

export const messageCreate = (d: object): Dispatch => ({
  t: 'MESSAGE_CREATE',
  d,
  to: { kind: 'channel', channelId: CHANNEL_ID },
});

/** The intents that a bot reading messages asks for. */
export const READING = INTENTS.GUILDS | INTENTS.GUILD_MESSAGES | INTENTS.MESSAGE_CONTENT;

function backendFor(guild: GuildWithSessions): SessionBackend {
  return {
    // The token is the member's number.
    authenticate: async (token): Promise<Principal> => ({
      userId: userIdOf(Number(token)),
      bot: true,
      applicationId: snowflakeOf(FIRST_USER + BigInt(token)),
      applicationFlags: -1,
      authorization: null,
    }),
    open: async ({ userId }) => ({
      user: userOf(userId),
      application: { id: snowflakeOf(BigInt(userId)), flags: 0 },
      guildIds: [GUILD_ID],
      privateChannels: [],
      relations: null,
      lobbies: [],
    }),
    subscribe: async (session) => {
      subscribe(guild, session, Number(BigInt(session.userId) - FIRST_USER));
      session.deliver(new DispatchBody('GUILD_CREATE', { id: GUILD_ID, channels: [] }, performance.now()));
    },
    ended: (session) => {
      guild.audiences.delete(session.sessionId);
    },
    reopen: async () => true,
    transferred: () => {},
    ask: () => {},
  };
}

/** The server's own gateway, sessions and audiences around a guild in memory: everything but commits. */
export async function openHouse(
  guild: GuildWithSessions,
  journal: SessionJournal | null = null,
  sharesHistory: boolean = DEFAULTS.gateway_shared_history,
): Promise<{ server: HttpServer; sessions: GatewaySessions }> {
  const wheel = new TimerWheel(systemClock);
  const onFault = (error: unknown): void => {
    throw error;
  };
  const sessions = new GatewaySessions({
    settings: {
      resumeWindowMs: DEFAULTS.resume_window_ms,
      replayFramesMax: DEFAULTS.replay_frames_max,
      replayAgeMs: DEFAULTS.resume_window_ms + DEFAULTS.heartbeat_interval_ms + DEFAULTS.heartbeat_grace_ms,
      sessionsMax: DEFAULTS.sockets_max,
      maxConcurrency: DEFAULTS.max_concurrency,
      sessionStartsPerDay: DEFAULTS.session_starts_per_day,
      limited: false,
      shardingRequiredGuilds: DEFAULTS.sharding_required_guilds,
      hydrationsMax: LIMITS.hydrations_max,
      memberRequestsMax: LIMITS.member_requests_waiting_max,
      limitsMemberLists: () => false,
    },
    backend: backendFor(guild),
    wheel,
    nowMs: () => systemClock.monotonic(),
    unixMs: () => systemClock.now(),
    randomBytes,
    gatewayUrl: () => 'ws://127.0.0.1/',
    onFault,
    journal,
  });
  const deps = {
    settings: {
      // Longer than any run: these connections only count frames, and heartbeat answers would be counted.
      heartbeatIntervalMs: HEARTBEAT_MS,
      heartbeatGraceMs: DEFAULTS.heartbeat_grace_ms,
      identifyTimeoutMs: DEFAULTS.identify_timeout_ms,
      socketBufferBytesMax: DEFAULTS.socket_buffer_bytes_max,
      closeGraceMs: 5000,
      socketsMax: DEFAULTS.sockets_max,
      socketsPerIpMax: DEFAULTS.sockets_max,
      openFiles: null,
      trustProxy: false,
    },
    port: sessions,
    wheel,
    realTime: systemClock,
    clock: systemClock,
    newAllowance: () => new Allowance(),
    onFault,
    beforeFlush: journal && (() => journal.flush()),
    sharesHistory,
  };
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    installers: [(app) => createGatewayRoutes(app, deps)],
  });
  return { server, sessions };
}

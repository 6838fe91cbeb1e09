/** Goal: through any changes and any time, audiences are what asking every session by itself would give. */
import type { GuildMemberFlags } from 'discord-api-types/v10';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Recipient } from '../../../engine/fanout/body.ts';
import type { GuildChannel } from '../../../engine/guild/guild.ts';
import type { Dispatch } from '../../../engine/kernel/dispatch.ts';
import { channelPermissions, guildPermissions } from '../../../engine/permissions/permissions.ts';
import { DISPATCH, DISPATCH_ROWS, type DispatchName } from '../../../protocol/dispatches.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { INTENTS, type IntentName } from '../../../protocol/intents.ts';
import { P } from '../../../protocol/permissions.ts';
import {
  buildGuild,
  channel,
  everyone,
  GUILD_ID,
  type GuildWithSessions,
  id,
  inRoom,
  member,
  message,
  only,
  overwrite,
  RecordingSession,
  role,
  user,
} from '../../support/guild.ts';

const NOW_MS = 1_780_000_000_000;
const at = (ms: number): string => new Date(ms).toISOString();

const LARGE = 50;

/** Whether a session of a large guild is neither of the user nor of someone in the same call. */
function isFar(guild: GuildWithSessions, session: Recipient, subject = ''): boolean {
  if (session.bot || guild.memberCount <= (session.largeThreshold ?? guild.memberCount)) return false;
  const callOf = (userId: string) => guild.voiceStates.get(id<UserId>(userId))?.channel_id ?? null;
  const call = callOf(session.userId);
  return session.userId !== subject && (call === null || call !== callOf(subject));
}

/** The result that `recipients` must have, computed for each session by itself. */
function bruteForce(guild: GuildWithSessions, { t, d, to }: Dispatch, nowMs: number): Map<string, boolean> {
  const { intent, permission, contentGated, ownWithoutIntent, ownAlways, onlyNearInLarge } = DISPATCH_ROWS[t];
  const full = new Map<string, boolean>();
  const payload = d as {
    user?: { id: string };
    user_id: string;
    author: { id: string };
    mentions: { id: string }[];
  };
  for (const session of guild.audiences.sessions.values()) {
    const userId = id<UserId>(session.userId);
    const own = ownAlways === true && payload.user_id === userId;
    const exempt = own || (ownWithoutIntent && to.kind !== 'channel' && payload.user?.id === userId);
    if (session.bot && intent !== null && (session.intents & intent) === 0 && !exempt) continue;
    if (to.kind === 'users' && !to.userIds.includes(userId)) continue;
    if (to.kind !== 'users' && !guild.members.get(userId)) continue;
    if (onlyNearInLarge && to.kind === 'guild' && isFar(guild, session, payload.user?.id)) continue;
    if (own) {
      full.set(session.sessionId, true);
      continue;
    }
    const inGuild = guildPermissions(guild, userId, nowMs);
    const carried = t === 'CHANNEL_DELETE' || t === 'THREAD_DELETE' ? (d as GuildChannel) : undefined;
    const room = to.kind === 'channel' ? (guild.channels.get(to.channelId) ?? carried) : undefined;
    const here = room ? channelPermissions(guild, userId, room, nowMs) : inGuild;
    if (to.kind === 'channel' && (!room || (here & P.VIEW_CHANNEL) === 0n)) continue;
    if (permission && to.kind !== 'users') {
      if (((permission.at === 'guild' ? inGuild : here) & permission.anyOf) === 0n) continue;
    }
    const reads =
      !session.bot ||
      (session.intents & INTENTS.MESSAGE_CONTENT) !== 0 ||
      [payload.author, ...payload.mentions].some((reader) => reader.id === userId);
    full.set(session.sessionId, !contentGated || reads);
  }
  return full;
}

const userIds = ['2', '10', '11', '12', '13', '14'];
const roleIds = ['20', '21', '22'];
const roomIds = ['30', '31', '32'];
const names = Object.keys(DISPATCH) as DispatchName[];
const intentNames = Object.keys(INTENTS) as IntentName[];
const bits = fc
  .subarray([
    P.VIEW_CHANNEL,
    P.MANAGE_CHANNELS,
    P.CONNECT,
    P.BAN_MEMBERS,
    P.VIEW_AUDIT_LOG,
    P.ADMINISTRATOR,
    P.MANAGE_GUILD,
  ])
  .map((held) => held.reduce((all: bigint, bit) => all | bit, 0n));
const roleOf = (roleId: string) => bits.map((held) => role(roleId, held));
const memberOf = (userId: string) =>
  fc
    .record({
      roles: fc.subarray(roleIds),
      flags: fc.constantFrom(0 as GuildMemberFlags, 1 << 7),
      offMs: fc.constantFrom(null, 5, 10),
    })
    .map(({ roles, flags, offMs }) =>
      member(userId, {
        roles,
        flags,
        communication_disabled_until: offMs === null ? null : at(NOW_MS + offMs),
      }),
    );
const roomOf = (roomId: string) =>
  fc
    .record({
      type: fc.constantFrom(0, 2),
      rules: fc.uniqueArray(
        fc.record({ to: fc.constantFrom<string>(GUILD_ID, '20', '21', '10', '11'), allow: bits, deny: bits }),
        { selector: ({ to }) => to, maxLength: 4 },
      ),
    })
    .map(({ type, rules }) =>
      channel(
        roomId,
        rules.map(({ to, allow, deny }) =>
          overwrite(to, to.startsWith('1') && to !== GUILD_ID ? 1 : 0, { allow, deny }),
        ),
        { type },
      ),
    );
const sessionOf = fc
  .record({
    userId: fc.constantFrom(...userIds),
    intents: fc.option(fc.subarray(intentNames)),
    key: fc.integer({ min: 0, max: 9 }),
    largeThreshold: fc.constantFrom(LARGE, Number.POSITIVE_INFINITY),
  })
  .map(({ userId, intents, key, largeThreshold }) =>
    Object.assign(new RecordingSession(`s${key}`, userId, intents ?? undefined), { largeThreshold }),
  );
const audienceOf = fc.oneof(
  fc.constant(everyone),
  fc.constantFrom(...roomIds, '99').map(inRoom),
  fc.subarray(userIds).map((chosen) => only(...chosen)),
);
const dispatchOf = fc
  .record({
    t: fc.oneof(
      fc.constantFrom<DispatchName>(
        'MESSAGE_CREATE',
        'GUILD_MEMBER_UPDATE',
        'INVITE_CREATE',
        'VOICE_STATE_UPDATE',
        'PRESENCE_UPDATE',
      ),
      fc.constantFrom(...names),
    ),
    to: audienceOf,
    subject: fc.constantFrom(...userIds),
    mentioned: fc.subarray(userIds),
  })
  .map(
    ({ t, to, subject, mentioned }): Dispatch => ({
      t,
      // No channel has presences.
      to: t === 'PRESENCE_UPDATE' && to.kind === 'channel' ? everyone : to,
      d: { ...message(subject, mentioned), user: user(subject), user_id: subject },
    }),
  );
function join(guild: GuildWithSessions, userId: string, channelId: string | null): void {
  guild.voiceStates.set(id(userId), { user_id: userId, channel_id: channelId } as never);
}

/** A change to the guild as `apply` makes it, or a step of the clock. */
const changeOf = fc.oneof(
  fc
    .constantFrom(...userIds.slice(1))
    .chain(memberOf)
    .map((next) => (guild: GuildWithSessions) => {
      guild.members.set(id(next.user.id), next);
    }),
  fc.constantFrom(...userIds.slice(1)).map((userId) => (guild: GuildWithSessions) => {
    guild.members.set(id(userId), null);
  }),
  fc
    .constantFrom(...roleIds)
    .chain(roleOf)
    .map((next) => (guild: GuildWithSessions) => {
      guild.roles.set(id(next.id), next);
    }),
  fc
    .constantFrom(...roomIds)
    .chain(roomOf)
    .map((next) => (guild: GuildWithSessions) => {
      guild.channels.set(next.id, next);
    }),
  sessionOf.map((session) => (guild: GuildWithSessions) => {
    guild.audiences.add(session);
  }),
  fc.constantFrom(LARGE, LARGE + 1).map((memberCount) => (guild: GuildWithSessions) => {
    guild.memberCount = memberCount;
  }),
  fc
    .tuple(fc.constantFrom(...userIds), fc.constantFrom(...roomIds, null))
    .map(([userId, channelId]) => (guild: GuildWithSessions) => {
      join(guild, userId, channelId);
    }),
);
const stepOf = fc.oneof(
  { weight: 4, arbitrary: dispatchOf.map((dispatch) => ({ dispatch })) },
  { weight: 2, arbitrary: changeOf.map((change) => ({ change })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 6 }).map((laterMs) => ({ laterMs })) },
);
const worldOf = fc.record({
  everyone: bits,
  roles: fc.tuple(...roleIds.map(roleOf)),
  members: fc.tuple(...userIds.slice(1).map(memberOf)),
  channels: fc.tuple(...roomIds.map(roomOf)),
  sessions: fc.array(sessionOf, { maxLength: 8 }),
  memberCount: fc.constantFrom(LARGE, LARGE + 1),
  calls: fc.tuple(...userIds.map(() => fc.constantFrom('30', null))),
});

describe('against brute force', () => {
  it('agrees for random guilds through random changes and time', () => {
    fc.assert(
      fc.property(worldOf, fc.array(stepOf, { maxLength: 20 }), (world, steps) => {
        const guild = buildGuild(world);
        guild.memberCount = world.memberCount;
        for (const [index, channelId] of world.calls.entries()) join(guild, userIds[index] ?? '', channelId);
        let nowMs = NOW_MS;
        for (const step of steps) {
          if ('laterMs' in step) nowMs += step.laterMs;
          else if ('change' in step) {
            step.change(guild);
            guild.visibilityVersion++;
          } else {
            const found = guild.audiences
              .recipients(guild, step.dispatch, nowMs)
              .flatMap(({ d, to }) =>
                to.map(({ sessionId }): [string, boolean] => [sessionId, d === step.dispatch.d]),
              );
            const expected = bruteForce(guild, step.dispatch, nowMs);
            expect(found.sort()).toEqual([...expected].sort());
          }
        }
      }),
      { numRuns: 1500 },
    );
  });
});

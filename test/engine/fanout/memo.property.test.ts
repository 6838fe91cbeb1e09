// Goal: whatever is decided in a guild, its memo of audiences never outlives the sight of a channel or a thread that it was made of.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Audiences } from '../../../engine/fanout/audience.ts';
import type { Dispatch } from '../../../engine/kernel/dispatch.ts';
import { P } from '../../../protocol/permissions.ts';
import {
  buildGuild,
  channel,
  GUILD_ID,
  type GuildWithSessions,
  inRoom,
  OWNER_ID,
  RecordingSession,
  role,
  user,
} from '../../support/guild.ts';
import { creation, messageEnv } from '../../support/messages.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled as ruledWith } from '../../support/ruled.ts';

const PEOPLE = ['100000000000000010', '100000000000000011', '100000000000000012'] as const;
const ROLES = ['60', '61'] as const;
const ROOMS = ['50', '51'] as const;
const SEES =
  P.VIEW_CHANNEL | P.SEND_MESSAGES | P.SEND_MESSAGES_IN_THREADS | P.CREATE_PRIVATE_THREADS | P.KICK_MEMBERS;

const ruled = (guild: GuildWithSessions, command: string, input: object, by: string) =>
  ruledWith(guild, command, input, by, NOW_MS, messageEnv());
const plain = { primary_color: 0, secondary_color: null, tertiary_color: null };

const arrange = (): GuildWithSessions =>
  buildGuild({
    everyone: SEES,
    roles: ROLES.map((id, at) => ({ ...role(id, P.MANAGE_THREADS, at + 1), colors: plain })),
    members: PEOPLE.map((id) => fullMember(id)),
    channels: ROOMS.map((id) => channel(id)),
    sessions: [OWNER_ID, ...PEOPLE].flatMap(sessionsOf),
  });

/** A session that may read message content, and one that may not. */
const sessionsOf = (id: string): RecordingSession[] => [
  new RecordingSession(`s${id}`, id),
  new RecordingSession(`bot${id}`, id, ['GUILDS', 'GUILD_MESSAGES', 'GUILD_MESSAGE_TYPING']),
];

const who = fc.constantFrom(...PEOPLE);
const roleId = fc.constantFrom(...ROLES);
const room = fc.constantFrom(...ROOMS);
const bits = fc.constantFrom(0n, P.VIEW_CHANNEL, P.MANAGE_THREADS, P.VIEW_CHANNEL | P.MANAGE_THREADS);
const untilMs = fc.constantFrom(null, new Date(NOW_MS + 60_000).toISOString());
/**
 * A command, who asks for it, and whether it concerns a thread: the one that was made so many threads ago. Before it, the
 * sessions of a user may leave or return.
 */
const step = fc.record({
  leaving: fc.option(who),
  entering: fc.option(who),
  thread: fc.nat({ max: 2 }),
  as: fc.oneof(who, fc.constant<string>(OWNER_ID)),
  asked: fc.oneof(
    fc.tuple(fc.constant('addMemberRole'), fc.record({ userId: who, roleId })),
    fc.tuple(fc.constant('removeMemberRole'), fc.record({ userId: who, roleId })),
    fc.tuple(
      fc.constant('updateRole'),
      fc.record({ roleId, draft: fc.record({ permissions: bits.map(String) }) }),
    ),
    fc.tuple(
      fc.constant('setOverwrite'),
      fc.record({
        channelId: room,
        overwrite: fc.record({
          id: fc.constantFrom<string>(GUILD_ID, ...ROLES),
          type: fc.constant(0),
          allow: bits.map(String),
          deny: bits.map(String),
        }),
      }),
    ),
    fc.tuple(fc.constant('updateMember'), fc.record({ userId: who, communicationDisabledUntil: untilMs })),
    fc.tuple(fc.constant('kickMember'), fc.record({ userId: who })),
    fc.tuple(
      fc.constant('createThread'),
      fc.record({
        channelId: room,
        draft: fc.record({ name: fc.constant('Talk'), type: fc.constantFrom(11, 12) }),
      }),
    ),
    fc.tuple(fc.constantFrom('addThreadMember', 'removeThreadMember'), fc.record({ userId: who })),
    fc.tuple(fc.constantFrom('joinThread', 'leaveThread', 'deleteChannel'), fc.constant({})),
    fc.tuple(
      fc.constant('createMessage'),
      who.map((id) => creation({ content: `<@${id}>` })),
    ),
    fc.tuple(
      fc.constant('updateChannel'),
      fc.record({ draft: fc.constant({}), threadChange: fc.record({ archived: fc.boolean() }) }),
    ),
  ),
});

const OF_THREADS = /Thread|createMessage|deleteChannel|updateChannel/;

/** Recipients of a message, a typing notice and a change of the channel or thread. */
function received(guild: GuildWithSessions): unknown {
  return [...guild.channels.keys(), ...guild.threads.keys()].map((id) =>
    (['MESSAGE_CREATE', 'TYPING_START', 'CHANNEL_UPDATE'] as const).map((t) => {
      const dispatch: Dispatch = {
        t,
        d: { content: 'Hello', author: user('99'), mentions: [] },
        to: inRoom(id),
      };
      const deliveries = guild.audiences.recipients(guild, dispatch, NOW_MS);
      const sessions = deliveries.flatMap(({ d, to }) =>
        to.map(({ sessionId }) => `${sessionId} ${d === dispatch.d ? 'whole' : 'without content'}`),
      );
      return [id, t, sessions.sort()];
    }),
  );
}

test('cached audiences equal freshly computed ones after any commands', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const guild = arrange();
      ruled(guild, 'createThread', { channelId: '50', draft: { name: 'First', type: 12 } }, PEOPLE[0]);
      for (const { asked, as, thread, leaving, entering } of steps) {
        const [command, input] = asked;
        const threadIds = [...guild.threads.keys()];
        const channelId = threadIds.at(-1 - (thread % threadIds.length));
        const isOfThread = OF_THREADS.test(command) && command !== 'createThread';
        received(guild);
        if (leaving) for (const { sessionId } of sessionsOf(leaving)) guild.audiences.delete(sessionId);
        if (entering) for (const session of sessionsOf(entering)) guild.audiences.add(session);
        ruled(guild, command, isOfThread ? { ...input, channelId } : input, as);
        expect([command, received(guild)]).toEqual([
          command,
          received({ ...guild, audiences: new Audiences(guild.audiences.sessions.values()) }),
        ]);
      }
    }),
    { numRuns: 150 },
  );
});

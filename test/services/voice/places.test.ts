// Goal: a session leaves the voice that it is in, in whatever order the requests of its client are answered, and stays
// nowhere after its end.
import { describe, expect, it } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../../actors/session/backend.ts';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { ChannelId, GuildId, UserId } from '../../../protocol/ids.ts';
import { createVoicePlaces, type PlacePorts } from '../../../services/voice/places.ts';

const clock = new VirtualClock();
const TIME = { clock, wheel: new TimerWheel(clock) };
const once = (_id: string, run: () => Promise<unknown>) => void run();
const [ONE, TWO, THREE] = ['2001', '2002', '2003'] as unknown as [GuildId, GuildId, GuildId];
const [GUILD, OTHER_GUILD] = ['2001', '2002'] as unknown as [GuildId, GuildId];
const STATE = { selfMute: false, selfDeaf: false, selfVideo: false };
const [FIRST, SECOND, THIRD] = ['1001', '1002', '1003'] as unknown as [ChannelId, ChannelId, ChannelId];

/** Guilds and private channels whose replies to a join the test gives. */
function arrange() {
  const left: string[] = [];
  /** Places answer a leave after this. */
  const state = { leaving: Promise.resolve() };
  const joins: { readonly id: string; readonly reply: (reply: object) => void }[] = [];
  const command = (id: string, isJoin: boolean) => {
    if (isJoin) return new Promise((reply) => joins.push({ id, reply }));
    left.push(id);
    return state.leaving.then(() => ({ ok: true, value: null }));
  };
  const places = createVoicePlaces({
    guilds: {
      isResident: () => true,
      call: (id: string, _type: string, { channelId }: { readonly channelId: string | null }) =>
        command(id, channelId !== null),
    },
    privateChannels: { peek: () => ({}) },
    inPrivate: (id: string, _type: string, { join }: { readonly join: boolean }) => command(id, join),
    ...{ routing: HERE, notifier: {}, storage: {}, users: { sessions: () => [] } },
    onFault: (error: unknown) => {
      throw error;
    },
    ...{ ...TIME, callLoading: { waits: () => false }, repeat: once },
  } as unknown as PlacePorts);
  const session = {
    ...{ sessionId: 's1', userId: '1', bot: false, over: false },
    principal: { userId: '1', bot: false, applicationId: null, applicationFlags: 0, authorization: null },
  } as unknown as LiveSession;
  const ask = (id: string | null) =>
    places.ask(session, { ...STATE, guildId: id as GuildId | null, channelId: id === null ? null : FIRST });
  const call = (channelId: ChannelId) => places.ask(session, { ...STATE, guildId: null, channelId });
  /** Replies to the join that was requested at this position, counted from 0. */
  const answer = async (at: number, isIn: boolean) => {
    joins[at]?.reply(isIn ? { ok: true, value: {} } : { ok: false, refusal: {} });
    await new Promise<void>((resolve) => setImmediate(resolve));
  };
  return { places, session, ask, call, answer, left, joins, state };
}

describe('a session that joins one place after another', () => {
  it('leaves the earlier one when the later one lets it in', async () => {
    const { ask, answer, left } = arrange();
    ask(ONE);
    await answer(0, true);
    ask(TWO);
    expect(left).toEqual([]);
    await answer(1, true);
    expect(left).toEqual([ONE]);
  });

  it.each([[[1, 2, 3]], [[3, 2, 1]], [[2, 3, 1]], [[2, 1, 3]]])(
    'leaves the first at its end when the others refused it in the order %j',
    async (order) => {
      const { places, session, ask, answer, left } = arrange();
      ask(ONE);
      await answer(0, true);
      ask(TWO);
      ask(THREE);
      ask(TWO);
      for (const at of order) await answer(at, false);
      places.ended(session, [ONE]);
      expect(left).toEqual([ONE]);
    },
  );

  it('leaves what lets it in when it has asked for another meanwhile, or has ended', async () => {
    const { places, session, ask, answer, left } = arrange();
    ask(ONE);
    ask(TWO);
    await answer(1, true);
    await answer(0, true);
    expect(left.splice(0)).toEqual([ONE]);
    ask(THREE);
    places.ended(session, [THREE, TWO]);
    expect(left.splice(0)).toEqual([THREE, TWO]);
    Object.assign(session, { over: true });
    await answer(2, true);
    expect(left).toEqual([THREE]);
  });

  it('leaves both when its client leaves before the later one has answered', async () => {
    const { ask, answer, left } = arrange();
    ask(ONE);
    await answer(0, true);
    ask(TWO);
    ask(null);
    expect(left).toEqual([TWO, ONE]);
  });
});

describe('a session whose client asks faster than places answer', () => {
  it.each([
    ['leaves both places', [ONE, TWO, null], [TWO, ONE, ONE, TWO]],
    ['stays in the last place, which it asked for again', [ONE, TWO, ONE], [TWO]],
    ['stays nowhere after it left the only place', [ONE, null], [ONE, ONE]],
  ])('%s', async (_how, asked, leaves) => {
    const { ask, answer, left, joins } = arrange();
    for (const id of asked) ask(id);
    for (const at of joins.keys()) await answer(at, true);
    expect(left).toEqual(leaves);
  });

  it('stays in a place although it leaves a guild where it is not', async () => {
    const { places, session, ask, answer, left } = arrange();
    ask(ONE);
    places.ask(session, { ...STATE, guildId: TWO, channelId: null });
    await answer(0, true);
    expect(left).toEqual([TWO]);
    ask(THREE);
    await answer(1, true);
    expect(left).toEqual([TWO, ONE]);
  });

  it('asks for a guild that it leaves only when that has answered', async () => {
    const { ask, answer, joins } = arrange();
    ask(ONE);
    await answer(0, true);
    ask(null);
    ask(ONE);
    expect(joins.length).toBe(1);
    await turn();
    expect(joins.length).toBe(2);
  });

  it('asks for a guild only when that has answered the last of its leaves', async () => {
    const { places, session, ask, joins, state } = arrange();
    const leave = () => places.ask(session, { ...STATE, guildId: ONE, channelId: null });
    let answerLast: () => void = () => undefined;
    leave();
    state.leaving = new Promise((resolve) => {
      answerLast = resolve;
    });
    leave();
    await turn();
    ask(ONE);
    expect(joins).toEqual([]);
    answerLast();
    await turn();
    expect(joins.length).toBe(1);
  });

  it('asks for a call when the call before has answered and has been left', async () => {
    const { call, answer, left, joins } = arrange();
    call(FIRST);
    call(SECOND);
    call(THIRD);
    expect([joins.length, left]).toEqual([1, []]);
    await answer(0, true);
    expect([joins.map(({ id }) => id), left]).toEqual([[FIRST, THIRD], [FIRST]]);
  });
});

describe('a session in a private call', () => {
  it('leaves it before it asks for another, whose start would be followed by an end that names no call', async () => {
    const { call, answer, left, joins } = arrange();
    call(FIRST);
    await answer(0, true);
    call(SECOND);
    expect([left, joins.length]).toEqual([[FIRST], 1]);
    await turn();
    expect(joins[1]?.id).toBe(SECOND);
    await answer(1, true);
    expect(left).toEqual([FIRST]);
  });

  it('leaves it before another session of its user asks for another call', async () => {
    const { session, join, left } = arrangeUser();
    const [s1, s2] = [session('s1'), session('s2')];
    await join(s1, null, FIRST);
    const joining = join(s2, null, SECOND);
    expect(left).toEqual([`s1 ${FIRST}`]);
    await joining;
    await join(s2, GUILD, THIRD);
    expect(left).toEqual([`s1 ${FIRST}`, `s2 ${SECOND}`]);
  });

  it('asks for a call that it leaves only when that has answered', async () => {
    const { call, ask, left, joins } = arrange();
    call(FIRST);
    ask(null);
    call(FIRST);
    expect([left, joins.length]).toEqual([[FIRST], 1]);
    await turn();
    expect(joins.map(({ id }) => id)).toEqual([FIRST, FIRST]);
  });

  it.each([
    ['asks for nothing more when its client leaves meanwhile', null, [FIRST, SECOND], [FIRST]],
    ['asks for the third alone when its client asks for that meanwhile', THIRD, [FIRST], [FIRST, THIRD]],
  ])('%s', async (_how, then, leaves, asked) => {
    const { places, session, call, answer, left, joins } = arrange();
    call(FIRST);
    await answer(0, true);
    call(SECOND);
    places.ask(session, { ...STATE, guildId: null, channelId: then });
    await turn();
    expect([left, joins.map(({ id }) => id)]).toEqual([leaves, asked]);
  });
});

const NOWHERE = { ...STATE, channelId: null, sessionId: 's1' };

/** Places that are in memory here when `resident` has their id. They record their commands, and admit when the test says so. */
function arrangeResident(resident: readonly string[], bot = false) {
  const commands: unknown[] = [];
  const state = { admitting: Promise.resolve() };
  const command = async (id: string, type: string, input: object, authority: object) => {
    commands.push(authority === SYSTEM ? [id, type, input, 'system'] : [id, type, input]);
    await state.admitting;
    return { ok: true, value: {} };
  };
  const places = createVoicePlaces({
    guilds: { isResident: (id: string) => resident.includes(id), call: command },
    privateChannels: { peek: (id: string) => (resident.includes(id) ? {} : undefined) },
    ...{ inPrivate: command, routing: HERE, notifier: {}, users: { sessions: () => [] } },
    storage: { privateChannels: { of: async () => [FIRST, SECOND].map((id) => ({ id })) } },
    onFault: (error: unknown) => {
      throw error;
    },
    ...{ ...TIME, callLoading: { waits: () => false }, repeat: once },
  } as unknown as PlacePorts);
  const session = {
    ...{ sessionId: 's1', userId: '1', bot, over: false },
    principal: { userId: '1', bot, applicationId: null, applicationFlags: 0, authorization: null },
  } as unknown as LiveSession;
  return { places, session, commands, state };
}

/** Places of a user with several sessions; lists what each session leaves, and what was asked of all places. */
function arrangeUser() {
  const sessions: LiveSession[] = [];
  const left: string[] = [];
  const state = {
    ...{ admits: true, admitting: Promise.resolve(), isResident: true },
    /** The places of the user in the tables. */
    stored: [] as { readonly id: string; readonly sessionId: string }[],
  };
  const command = async (
    id: string,
    _type: string,
    input: { sessionId: string; channelId?: string | null },
  ) => {
    if (input.channelId !== null) await state.admitting;
    if (input.channelId === null) left.push(`${input.sessionId} ${id}`);
    return { ok: state.admits, value: input.channelId === null ? null : {}, refusal: {} };
  };
  const call = async (id: string, _type: string, input: { sessionId: string; join: boolean }) => {
    if (!input.join) left.push(`${input.sessionId} ${id}`);
    return { ok: state.admits, value: input.join ? {} : null, refusal: {} };
  };
  const places = createVoicePlaces({
    guilds: { isResident: () => state.isResident, call: command },
    privateChannels: { peek: () => (state.isResident ? {} : undefined) },
    ...{ inPrivate: call, routing: { ...HERE, standalone: false } },
    notifier: { guildIdsOf: async () => [GUILD, OTHER_GUILD] },
    storage: {
      guilds: { inVoice: async () => state.stored.filter(({ id }) => id === GUILD || id === OTHER_GUILD) },
      privateChannels: {
        of: async () => [FIRST, SECOND].map((id) => ({ id })),
        inCall: async () => state.stored.filter(({ id }) => id === FIRST || id === SECOND),
      },
    },
    users: { sessions: () => sessions },
    onFault: (error: unknown) => {
      throw error;
    },
    ...{ ...TIME, callLoading: { waits: () => false }, repeat: once },
  } as unknown as PlacePorts);
  /** Opens a session, in place of another of its id. */
  const session = (sessionId: string, bot = false): LiveSession => {
    const principal = { userId: '1', bot, applicationId: null, applicationFlags: 0, authorization: null };
    const made = { sessionId, userId: '1', bot, over: false, principal } as unknown as LiveSession;
    const at = sessions.findIndex((each) => each.sessionId === sessionId);
    sessions.splice(at < 0 ? sessions.length : at, 1, made);
    return made;
  };
  const join = async (by: LiveSession, guildId: GuildId | null, channelId: ChannelId | null) => {
    places.ask(by, { ...STATE, guildId, channelId });
    await turn();
  };
  return { places, session, join, left, state };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const pass = async () => {
  clock.advance(1_000);
  await turn();
};
const left = (id: ChannelId) => [id, 'setCallState', { ...STATE, sessionId: 's1', join: false }];

describe('a session that ends', () => {
  it('leaves the voice of its guilds, and loads none for that', () => {
    const { places, session, commands } = arrangeResident([GUILD]);
    places.ended(session, [GUILD, OTHER_GUILD]);
    expect(commands).toEqual([[GUILD, 'setVoiceState', NOWHERE]]);
  });

  it.each([
    ['leaves the channel that lets it in afterwards, as a bot', true, [[GUILD, 'setVoiceState', NOWHERE]]],
    ['stays in the channel that lets it in before, as a bot', false, []],
  ])('%s', async (_how, over, after) => {
    const { places, session, commands, state } = arrangeResident([GUILD], true);
    let admit: () => void = () => undefined;
    state.admitting = new Promise((resolve) => {
      admit = resolve;
    });
    places.ask(session, { ...STATE, guildId: GUILD, channelId: FIRST });
    expect(commands.splice(0)).toEqual([[GUILD, 'setVoiceState', { ...NOWHERE, channelId: FIRST }]]);
    Object.assign(session, { over });
    admit();
    await turn();
    expect(commands).toEqual(after);
  });

  it.each([
    ['leaves the calls of its resident private channels when it was opened at another shard before', true],
    ['leaves no call when it was opened here and joined none', false],
  ])('%s', async (_how, moved) => {
    const { places, session, commands } = arrangeResident([SECOND]);
    if (moved) places.reopened(session);
    places.ended(session, []);
    await turn();
    expect(commands).toEqual(moved ? [left(SECOND)] : []);
  });
});

describe('a session that was opened at another shard before', () => {
  it('leaves every other place when one lets it in, once', async () => {
    const { places, session, join, left } = arrangeUser();
    const s1 = session('s1');
    places.reopened(s1);
    await join(s1, GUILD, THIRD);
    expect(left.splice(0)).toEqual([`s1 ${OTHER_GUILD}`, `s1 ${FIRST}`, `s1 ${SECOND}`]);
    await join(s1, null, FIRST);
    expect(left.splice(0)).toEqual([`s1 ${GUILD}`]);
    places.ended(s1, []);
    await turn();
    expect(left).toEqual([`s1 ${FIRST}`]);
  });

  it('leaves no place where it stays because another refused it, and every place when its client leaves', async () => {
    const { places, session, join, left, state } = arrangeUser();
    const s1 = session('s1');
    places.reopened(s1);
    state.admits = false;
    await join(s1, GUILD, THIRD);
    expect(left).toEqual([]);
    await join(s1, null, null);
    expect(new Set(left)).toEqual(new Set([GUILD, OTHER_GUILD, FIRST, SECOND].map((id) => `s1 ${id}`)));
  });

  it.each([
    ['a guild', GUILD],
    ['a private channel', FIRST],
  ])('leaves the place that the tables have it in: %s without an owner a moment ago', async (_what, id) => {
    const { places, session, join, left, state } = arrangeUser();
    const s1 = session('s1');
    places.reopened(s1);
    state.isResident = false;
    state.stored = [
      { id, sessionId: 's1' },
      { id: OTHER_GUILD, sessionId: 'another' },
    ];
    await join(s1, null, null);
    await pass();
    expect(left).toEqual([`s1 ${id}`]);
  });

  it('stays in the place that it asked for, although the tables have it there', async () => {
    const { places, session, join, left, state } = arrangeUser();
    const s1 = session('s1');
    places.reopened(s1);
    state.isResident = false;
    state.stored = [FIRST, GUILD].map((id) => ({ id, sessionId: 's1' }));
    await join(s1, GUILD, THIRD);
    await pass();
    expect(left).toEqual([`s1 ${FIRST}`]);
  });

  it('leaves the calls of its private channels at its end although a place refused it', async () => {
    const { places, session, join, left, state } = arrangeUser();
    const s1 = session('s1');
    places.reopened(s1);
    state.admits = false;
    await join(s1, GUILD, THIRD);
    places.ended(s1, []);
    await turn();
    expect(left).toEqual([`s1 ${FIRST}`, `s1 ${SECOND}`]);
  });

  it('leaves no place as a bot, which may be in one channel of each guild', async () => {
    const { places, session, join, left } = arrangeUser();
    const bot = session('s1', true);
    places.reopened(bot);
    await join(bot, GUILD, THIRD);
    expect(left).toEqual([]);
  });
});

describe('a session that was opened again here', () => {
  const arrangeAgain = async () => {
    const { places, session, left, state } = arrangeUser();
    const before = session('s1');
    let admit: () => void = () => undefined;
    state.admitting = new Promise((resolve) => {
      admit = resolve;
    });
    places.ask(before, { ...STATE, guildId: GUILD, channelId: THIRD });
    const now = session('s1');
    places.reopened(now);
    const admitted = async () => {
      admit();
      await turn();
    };
    return { places, now, left, admitted };
  };

  it('is in the place that it asked for before, and leaves that for the next', async () => {
    const { places, now, left, admitted } = await arrangeAgain();
    await admitted();
    expect(left.splice(0)).toEqual([`s1 ${OTHER_GUILD}`, `s1 ${FIRST}`, `s1 ${SECOND}`]);
    places.ask(now, { ...STATE, guildId: OTHER_GUILD, channelId: THIRD });
    await turn();
    expect(left).toEqual([`s1 ${GUILD}`]);
  });

  it('leaves the place that it asked for before when it has asked for another since', async () => {
    const { places, now, left, admitted } = await arrangeAgain();
    places.ask(now, { ...STATE, guildId: OTHER_GUILD, channelId: THIRD });
    await admitted();
    expect(left).toContain(`s1 ${GUILD}`);
    expect(left).not.toContain(`s1 ${OTHER_GUILD}`);
  });
});

describe('a user with two sessions', () => {
  it('leaves the place of one when the other is let in elsewhere', async () => {
    const { session, join, left } = arrangeUser();
    const [s1, s2] = [session('s1'), session('s2')];
    await join(s1, GUILD, THIRD);
    await join(s2, OTHER_GUILD, FIRST);
    expect(left.splice(0)).toEqual([`s1 ${GUILD}`]);
    await join(s1, null, SECOND);
    expect(left).toEqual([`s2 ${OTHER_GUILD}`]);
  });

  it('leaves the place of one that was opened at another shard before, whichever it is', async () => {
    const { places, session, join, left } = arrangeUser();
    const [s1, s2] = [session('s1'), session('s2')];
    places.reopened(s1);
    await join(s2, OTHER_GUILD, FIRST);
    expect(left).toEqual([`s1 ${GUILD}`, `s1 ${FIRST}`, `s1 ${SECOND}`]);
  });
});

describe('a user whom a call removed', () => {
  it.each([
    ['leaves a call of a private channel', null, [FIRST, 'dropCaller', {}, 'system']],
    ['leaves the voice of a guild', GUILD, [GUILD, 'dropVoice', { channelId: FIRST }, 'system']],
  ] as const)('%s with the session that was in it', (_how, guildId, [id, type, input, by]) => {
    const { places, commands } = arrangeResident([]);
    places.drop({ callId: FIRST, guildId, userId: '7' as UserId, sessionId: 's7' });
    expect(commands).toEqual([[id, type, { ...input, userId: '7', sessionId: 's7' }, by]]);
  });
});

it.each([
  ['in memory', true, false, 1],
  ['about to be loaded again', false, true, 1],
  ['neither', false, false, 0],
])('sends a new session the call of a channel that is %s', (_where, isResident, isKept, asked) => {
  let looks = 0;
  const places = createVoicePlaces({
    privateChannels: { peek: () => (isResident ? {} : undefined), work: () => void looks++ },
    ...{ ...TIME, callLoading: { waits: () => isKept }, routing: HERE },
  } as unknown as PlacePorts);
  places.greet({ userId: '1', sessionId: 's1' } as unknown as LiveSession, [{ id: FIRST }]);
  expect(looks).toBe(asked);
});

// Goal: what a call reports reaches the owner of its channel, and its address the session that is in it.
import { describe, expect, it } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { DispatchBody } from '../../../engine/fanout/body.ts';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { ChannelId, GuildId } from '../../../protocol/ids.ts';
import { createRepeating } from '../../../services/repeating.ts';
import { createCallOwner } from '../../../services/voice/callowner.ts';
import { seatOf } from '../../actors/call/harness.ts';

const [GUILD, HALL, PRIVATE, LOBBY] = ['900', '1000', '1001', '1002'] as unknown as [
  GuildId,
  ChannelId,
  ChannelId,
  ChannelId,
];

function arrange() {
  const log: unknown[] = [];
  const clock = new VirtualClock();
  const state = { isSubscribed: false, owns: true, isBack: false, failures: 0 };
  const note =
    (what: string) =>
    async (...args: readonly unknown[]) => {
      log.push([what, ...args]);
      if (what === 'place' && state.failures-- > 0) throw new Error('The database is gone.');
      return { ok: true, value: null };
    };
  const subscriber = {
    deliver: ({ t, d }: DispatchBody) => log.push(['with the dispatches of the guild', t, d]),
  };
  const owner = createCallOwner({
    guilds: { call: note('guild'), subscriber: () => (state.isSubscribed ? subscriber : undefined) },
    inPrivate: note('private'),
    notifier: { notifySession: note('session') },
    ...{ routing: { ...HERE, owns: () => state.owns }, clock: { monotonic: () => 5 } },
    voiceMemberOf: () => (state.isBack ? inGuild : null),
    repeat: createRepeating({ wheel: new TimerWheel(clock), scope: new Lifetime(clock), onFault: () => {} })
      .repeat,
    places: { drop: note('place') },
    lobbies: {
      owns: (id: string) => id === LOBBY,
      invited: note('lobby'),
      drop: note('lobby drops'),
    },
    streams: {
      of: (id: string) => (id === '5000' ? { key: 'a stream' } : undefined),
      invite: note('stream'),
      dropped: note('stream drops'),
    },
    endpoint: () => 'voice.example:1',
    onFault: (error: unknown) => log.push(error),
  } as unknown as Parameters<typeof createCallOwner>[0]);
  const pass = async (ms: number) => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  return { owner, log, state, pass };
}

const inGuild = seatOf('1', { serverId: GUILD, guildId: GUILD, callId: HALL });
const inPrivate = seatOf('1', { serverId: PRIVATE, callId: PRIVATE });
const inLobby = seatOf('1', { serverId: LOBBY, callId: LOBBY });
const inStream = seatOf('1', { serverId: '5000', callId: '5000' as ChannelId, groupId: '4999' as ChannelId });
const inEndedStream = { ...inStream, callId: '6000' as ChannelId };

describe('the address of a call', () => {
  const d = { token: 'token', guild_id: GUILD, endpoint: 'voice.example:1' };

  it('is delivered through the guild to a session that subscribes to it, and to any other session directly', () => {
    const { owner, log, state } = arrange();
    owner.invite(inGuild, 'token');
    state.isSubscribed = true;
    owner.invite(inGuild, 'token');
    expect(log).toEqual([
      ['session', '1', 'session of 1', 'VOICE_SERVER_UPDATE', d],
      ['with the dispatches of the guild', 'VOICE_SERVER_UPDATE', d],
    ]);
  });

  it('names the channel of a private call, and is left to lobbies and streams for theirs', () => {
    const { owner, log } = arrange();
    for (const seat of [inPrivate, inLobby, inStream]) owner.invite(seat, 'token');
    const own = { token: 'token', channel_id: PRIVATE, endpoint: 'voice.example:1' };
    expect(log).toEqual([
      ['session', '1', 'session of 1', 'VOICE_SERVER_UPDATE', own],
      ['lobby', inLobby, 'token', 'voice.example:1'],
      ['stream', { key: 'a stream' }, inStream, 'token', 'voice.example:1'],
    ]);
  });
});

it('the next owner of a private channel loads it when its call has moved; guilds and lobbies are loaded by their sessions', () => {
  const { owner, log } = arrange();
  for (const of of ['guild', 'lobby', 'private'] as const) owner.moved(PRIVATE, of);
  expect(log).toEqual([['private', PRIVATE, 'getChannel', { channelId: PRIVATE }, SYSTEM]]);
});

it('a user dropped by a call leaves its channel, lobby or stream; after the end of a stream nothing changes', () => {
  const { owner, log } = arrange();
  for (const seat of [inGuild, inPrivate, inLobby, inStream, inEndedStream]) owner.dropped(seat);
  expect(log).toEqual([
    ['place', inGuild],
    ['place', inPrivate],
    ['lobby drops', inLobby],
    ['stream drops', { key: 'a stream' }, inStream],
  ]);
});

describe('the removal of a user whom a call dropped', () => {
  it('is repeated until the owner has answered', async () => {
    const { owner, log, state, pass } = arrange();
    state.failures = 2;
    owner.dropped(inGuild);
    await pass(0);
    for (let seconds = 0; seconds < 60; seconds += 1) await pass(1_000);
    expect(log).toEqual(Array.from({ length: 3 }, () => ['place', inGuild]));
  });

  it.each(['is in the call again', 'has another owner now'])(
    'is not repeated when the user %s',
    async (why) => {
      const { owner, log, state, pass } = arrange();
      state.failures = 1;
      owner.dropped(inGuild);
      await pass(0);
      if (why === 'is in the call again') state.isBack = true;
      else state.owns = false;
      await pass(60_000);
      expect(log).toEqual([['place', inGuild]]);
    },
  );
});

it('a silent user is moved to the AFK channel of a guild, and stays in other calls', () => {
  const { owner, log } = arrange();
  for (const seat of [inGuild, inPrivate]) owner.silent(seat);
  expect(log).toEqual([['guild', GUILD, 'moveToAfk', { userId: '1', channelId: HALL }, SYSTEM]]);
});

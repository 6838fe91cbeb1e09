// Goal: the owners of a session's user and guilds learn why the session left its shard, and what they ask of it is done.
import { describe, expect, it } from 'vitest';
import { createClusterSessions } from '../../../../actors/cluster/delivery/sessions.ts';
import type { SessionFrames, ShardInfo, Subscribed } from '../../../../actors/placement/ports.ts';
import { Lifetime } from '../../../../actors/runtime/clock.ts';
import { baseOf } from '../../../../actors/runtime/stream.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../../../actors/session/backend.ts';
import type { DispatchBody } from '../../../../engine/fanout/body.ts';
import { NotServed } from '../../../../protocol/faults.ts';
import type { GuildId } from '../../../../protocol/ids.ts';
import { scriptedOwners } from '../../../support/scriptedowners.ts';

/** Ids are equal to their partitions. */
const USER = '1';
const GUILD = '8' as GuildId;
/** A guild of shard `self`. */
const OWN_GUILD = '9' as GuildId;

/** The session has the stream of the guild up to here. */
const CAUGHT_UP = { kind: 'following', epoch: 1, handle: 1, ownerId: GUILD, n: baseOf(1) + 5 } as const;

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Subscribes a session of shard `other` to the guild of shard `self`. */
function subscribedFrom(call: (method: string, args: readonly unknown[]) => unknown) {
  const principal = { userId: USER, bot: false, authorization: null };
  const descriptor = {
    ...{ handle: 7, sessionId: 'two', principal, intents: 1 },
    ...{ shard: [0, 1], largeThreshold: 50 },
  };
  const reference = { home: 'other#1', talk: 1, session: descriptor };
  return call('remoteSessions.subscribe', [
    OWN_GUILD,
    [{ session: reference, after: null, memberList: null }],
    1,
  ]);
}

/**
 * Shard `self`, whose sessions are of a user and in a guild of shard `other`, and what it sends there.
 *
 * @param enter Answers requests to the guild of shard `self`.
 */
function arrange(enter: (guildId: GuildId) => Promise<Subscribed[]> = async () => ['member']) {
  const clock = new VirtualClock();
  const { ownership, shards, give } = scriptedOwners();
  shards.push({ id: 'other', instance: 'other#1' } as ShardInfo);
  give('other#1', [USER, GUILD]);
  give('self#1', [OWN_GUILD]);
  const served = new Map<string, (args: readonly unknown[], context: { readonly from: string }) => unknown>();
  const told: unknown[] = [];
  const asked: unknown[] = [];
  const sent: unknown[] = [];
  const unsubscribed: unknown[] = [];
  /** The answers of the guild of the other shard to subscriptions, in order; then `member`. */
  const answers: Subscribed[] = [];
  const receivers: SessionFrames[] = [];
  const router = {
    serve: (method: string, run: () => unknown) => void served.set(method, run),
    sessions: (receiver: SessionFrames) => void receivers.push(receiver),
    tellShard: (...all: readonly unknown[]) => void told.push(all),
    async askShard(to: string, method: string) {
      asked.push([to, method]);
      if (method !== 'remoteSessions.subscribe') return { guildIds: [GUILD], isWhole: true };
      const how = answers.shift() ?? 'member';
      if (how === 'member') for (const receiver of receivers) receiver.frames('other', [CAUGHT_UP]);
      return [how];
    },
  };
  const sessions = createClusterSessions({
    ...{ cluster: { ownership, router }, links: { onBroken: () => undefined }, direct: null, clock },
    ...{ wheel: new TimerWheel(clock), lifetime: new Lifetime(clock), resumeWindowMs: 60_000 },
    guilds: {
      enter,
      unsubscribe: (guildId: GuildId, { sessionId }: LiveSession) => unsubscribed.push([guildId, sessionId]),
    },
    noSubscribers: (...all: readonly unknown[]) => unsubscribed.push(all),
    ...{ userBackend: {}, streamInterrupted: () => undefined, dispatchesMissed: () => undefined },
    onFault: (fault: unknown) => expect.fail(String(fault)),
  } as unknown as Parameters<typeof createClusterSessions>[0]);
  const session = {
    ...{ sessionId: 'one', userId: USER, principal: { userId: USER }, bot: false, intents: 1 },
    ...{ shard: [0, 1], largeThreshold: 50, following: () => undefined, left: () => undefined },
    deliver: ({ t, d }: DispatchBody) => sent.push([t, d]),
  } as unknown as LiveSession;
  /** A message of the other shard about the session, which it knows by its first handle. */
  const receive = (method: string, ...rest: readonly unknown[]) => call(method, [1, 1, ...rest]);
  /** A message of the other shard about a session of its own. */
  const call = (method: string, args: readonly unknown[], from = 'other') =>
    served.get(method)?.(args, { from });
  const subscribed = () => subscribedFrom(call);
  /** The other shard sends the session its guild as unavailable. */
  const unavailable = () => {
    const json = Buffer.from(JSON.stringify({ id: GUILD, unavailable: true }));
    const frame = { kind: 'dispatch', t: 'GUILD_DELETE', json, ownerId: GUILD, n: 1, epoch: 1 } as const;
    for (const receiver of receivers) receiver.frames('other', [{ ...frame, handles: Uint32Array.of(1) }]);
  };
  const { backend } = sessions;
  return {
    ...{ clock, backend, session, sessions, answers, told, asked, sent, unsubscribed },
    ...{ receive, call, subscribed, unavailable },
  };
}

describe('a session whose user another shard owns', () => {
  it.each([
    ['ended', 'ended', false],
    ['moved to another shard', 'transferred', true],
  ] as const)('is reported to that shard as %s', async (_how, leave, isKept) => {
    const { backend, session, told, asked } = arrange();
    await backend.open(session);
    expect(asked).toEqual([['other', 'remoteSessions.open']]);
    told.length = 0;
    backend[leave](session);
    expect(told).toEqual([['other', 'remoteSessions.ended', ['self#1', 1, 1, isKept]]]);
  });
});

describe('a session that another shard replaced', () => {
  it.each([
    ['at the guild', GUILD, 'remoteSessions.subscribe'],
    ['at its user', null, 'remoteSessions.reopen'],
  ] as const)('is repeated %s, and nowhere else', async (_where, guildId, method) => {
    const { clock, backend, session, asked, receive } = arrange();
    await backend.open(session);
    await backend.subscribe(session, GUILD);
    asked.length = 0;
    receive('localSessions.replaced', guildId, CAUGHT_UP.n);
    for (let passed = 0; passed < 10; passed += 1) {
      clock.advance(100);
      await turn();
    }
    expect(asked).toEqual([['other', method]]);
  });
});

describe('a session whose socket has room', () => {
  it('is reported to the shard that asked, under the name of this shard', async () => {
    const { backend, session, told, receive } = arrange();
    await backend.open({ ...session, writable: () => Promise.resolve() });
    told.length = 0;
    await receive('localSessions.whenWritable', 7);
    expect(told).toEqual([['other', 'remoteSessions.writable', ['self#1', 1, 7]]]);
  });
});

describe('a session of a user who has left a guild', () => {
  it.each([
    [
      'receives the deletion of a guild that READY announced',
      { bot: false },
      [['GUILD_DELETE', { id: GUILD }]],
    ],
    ['receives nothing when it is of a bot without the intent', { bot: true, intents: 0 }, []],
  ] as const)('%s', async (_what, change, received) => {
    const { backend, session, answers, sent } = arrange();
    const live = { ...session, ...change };
    await backend.open(live);
    answers.push('gone');
    await backend.subscribe(live, GUILD);
    expect(sent).toEqual(received);
  });
});

describe('a session that moved to this shard', () => {
  it.each([
    ['goes on when a guild has what it missed', 'member', true],
    ['ends when a guild no longer has what it missed', 'tooOld', false],
  ] as const)('%s', async (_what, how, isWhole) => {
    const { backend, session, answers } = arrange();
    answers.push(how);
    const reopened: unknown[] = [];
    const cursors = () => [[GUILD, CAUGHT_UP.n]] as const;
    void backend.reopen(session, { presence: null, cursors }).then((whole) => reopened.push(whole));
    await turn();
    expect(reopened).toEqual([isWhole]);
  });
});

describe('a session of another shard that is subscribed to a guild of this shard', () => {
  it('leaves the guild when it ends', async () => {
    const { call, subscribed, unsubscribed } = arrange();
    await subscribed();
    expect(unsubscribed).toEqual([]);
    call('remoteSessions.ended', ['other#1', 1, 7, false]);
    expect(unsubscribed).toEqual([
      [OWN_GUILD, 'two'],
      [OWN_GUILD, USER],
    ]);
  });

  it('has its shard notified when the guild is lost, and once when it is loaded again', async () => {
    const { clock, sessions, subscribed, told } = arrange();
    await subscribed();
    told.length = 0;
    sessions.guildLoaded(OWN_GUILD);
    sessions.guildLost(OWN_GUILD, 1);
    sessions.guildLoaded(OWN_GUILD);
    sessions.guildLoaded(OWN_GUILD);
    clock.advance(1);
    await turn();
    expect(told).toEqual([
      ['other', 'localSessions.guildLost', [OWN_GUILD]],
      ['other', 'localSessions.guildLoaded', [OWN_GUILD]],
    ]);
  });
});

describe('a session that received a guild of another shard as unavailable', () => {
  it('is subscribed again as soon as that shard has loaded the guild', async () => {
    const { backend, session, asked, call, unavailable } = arrange();
    await backend.open(session);
    await backend.subscribe(session, GUILD);
    unavailable();
    asked.length = 0;
    await turn();
    expect(asked).toEqual([]);
    call('localSessions.guildLoaded', [GUILD]);
    await turn();
    expect(asked).toEqual([['other', 'remoteSessions.subscribe']]);
  });
});

describe('a session that follows a guild of another shard', () => {
  it('is subscribed again at once when that shard has lost the guild, and not when a third one has', async () => {
    const { backend, session, asked, call } = arrange();
    await backend.open(session);
    await backend.subscribe(session, GUILD);
    await turn();
    asked.length = 0;
    call('localSessions.guildLost', [GUILD], 'third');
    await turn();
    expect(asked).toEqual([]);
    call('localSessions.guildLost', [GUILD]);
    await turn();
    expect(asked).toEqual([['other', 'remoteSessions.subscribe']]);
  });
});

describe('a session that waits for a guild of its own shard', () => {
  it('is subscribed again as soon as the lost guild is loaded', async () => {
    const requested: GuildId[] = [];
    let isReadable = true;
    const { backend, session, sessions } = arrange(async (guildId) => {
      requested.push(guildId);
      if (!isReadable) throw new NotServed('The guild cannot be read.');
      return ['member'];
    });
    await backend.open(session);
    await backend.subscribe(session, OWN_GUILD);
    await turn();
    isReadable = false;
    sessions.guildLost(OWN_GUILD, baseOf(1) + 5);
    await turn();
    expect(requested).toEqual([OWN_GUILD, OWN_GUILD]);
    isReadable = true;
    sessions.guildLoaded(OWN_GUILD);
    await turn();
    expect(requested).toEqual([OWN_GUILD, OWN_GUILD, OWN_GUILD]);
  });
});

// Goal: sessions are subscribed to the guilds of their users and to no others, also after a guild or a user crashed, and
// what cannot be repaired is reported once.
import { describe, expect, it } from 'vitest';
import {
  createMembership,
  createMemberUpdates,
  type MembershipPorts,
  memberUpdatesHere,
} from '../../../../actors/cluster/delivery/membership.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../../../actors/session/backend.ts';
import type { DispatchBody } from '../../../../engine/fanout/body.ts';
import { NotServed } from '../../../../protocol/faults.ts';
import type { ChannelId, GuildId, UserId } from '../../../../protocol/ids.ts';
import { INTENTS } from '../../../../protocol/intents.ts';
import { scriptedOwners } from '../../../support/scriptedowners.ts';

/** Ids are equal to their partitions. */
const [USER, FAR_USER, LATE_USER] = ['1', '2', '3'] as [UserId, UserId, UserId];
const GUILD = '8' as GuildId;
const CHANNEL = '5' as ChannelId;
const OWN = 'self#1';

interface Reactions {
  /** Answers of the guild to subscriptions and loads, in order; then `true`. */
  readonly guild: (boolean | Error)[];
  readonly open: () => Promise<null>;
}

/** The parts that a membership works with, each of which notes its calls in `log`. */
function portsOf(log: unknown[], { guild, open }: Reactions, clock: VirtualClock, isClustered: boolean) {
  const note =
    (name: string) =>
    (...args: readonly unknown[]) =>
      void log.push([name, ...args]);
  const answer = async (): Promise<boolean> => {
    const next = guild.shift() ?? true;
    if (next instanceof Error) throw next;
    return next;
  };
  const known = new Map<string, readonly object[]>();
  const ports = {
    guilds: {
      subscribe(guildId: string, { sessionId }: LiveSession, largeThreshold: number) {
        log.push(['subscribe', guildId, sessionId, largeThreshold]);
        return answer();
      },
      async look(guildId: string, read: () => boolean) {
        log.push(['look', guildId]);
        return (await answer()) && read();
      },
      call(...args: unknown[]) {
        log.push(['call', ...args.slice(0, 3)]);
        return answer();
      },
    },
    users: {
      open(session: object) {
        log.push(['open', session]);
        return open();
      },
      joined(userId: string, _guildId: string, always: boolean, then: (sessions: readonly object[]) => void) {
        log.push(['joined', userId, always]);
        then(known.get(userId) ?? []);
      },
      left: note('left'),
      presenceOf: (userId: string) => ({ of: userId }),
    },
    clusterSessions: isClustered
      ? {
          join: ({ sessionId }: LiveSession, guildId: string) => log.push(['join', sessionId, guildId]),
          memberRemoved: note('memberRemoved'),
          ...{ guildLost: note('guildLost'), guildLoaded: note('guildLoaded') },
          guildReleased: note('guildReleased'),
          sessionReplaced: note('sessionReplaced'),
        }
      : null,
    voiceListener: () => ({
      ...{ voiceJoined: note('voiceJoined'), voiceLeft: note('voiceLeft') },
      ended: note('ended'),
    }),
    lobbies: { channelNews: note('channelNews'), userChanged: note('lobbyUserChanged') },
    identity: { forget: note('forget') },
    crossposts: { wake: note('crossposts') },
    eventClock: { schedule: note('schedule') },
    tags: { wake: note('tags') },
    integrations: {
      changed(...args: unknown[]) {
        log.push(['integrations', ...args]);
        return answer();
      },
    },
    ...{ clock, wheel: new TimerWheel(clock, 1) },
    publishPresence: note('publish'),
    republishPresences: (guildId: string, userIds: Iterable<string>) =>
      log.push(['republish', guildId, ...userIds]),
    onFault: (fault: unknown, id: string) => log.push(['fault', (fault as Error).message, id]),
  } as unknown as MembershipPorts;
  return { ports, known };
}

/** A membership of a standalone process or of a shard, which owns the guild and one of the users. */
function arrange({ isClustered = false, guild = [] as Reactions['guild'], open = async () => null } = {}) {
  const clock = new VirtualClock();
  const owners = scriptedOwners();
  owners.give(OWN, [GUILD, USER]);
  owners.give('other#1', [FAR_USER]);
  const log: unknown[] = [];
  const sent: unknown[] = [];
  const { ports, known } = portsOf(log, { guild, open }, clock, isClustered);
  const cluster = {
    ownership: owners.ownership,
    router: {
      serve: () => undefined,
      async askShard(to: string, method: string, [updates]: [unknown]) {
        sent.push([to, method, updates]);
        return [];
      },
    },
    parts: { memberUpdates: isClustered ? createMemberUpdates : memberUpdatesHere },
  } as unknown as Parameters<typeof createMembership>[0];
  const membership = createMembership(cluster, ports, () => ports);
  /** Lets time pass, and returns what was done meanwhile. */
  const pass = async (ms = 0): Promise<unknown[]> => {
    clock.advance(ms);
    await new Promise(setImmediate);
    return log.splice(0);
  };
  return { clock, owners, membership, log, sent, known, pass };
}

/** A session of a person, and the dispatches that it receives. */
function session(change: Partial<LiveSession> = {}) {
  const received: DispatchBody[] = [];
  const live = {
    ...{ sessionId: 's', userId: USER, bot: false, intents: 0, over: false, authorization: null },
    ...{ shard: [0, 1], largeThreshold: 50, deliver: (body: DispatchBody) => received.push(body) },
    ...change,
  } as unknown as LiveSession;
  return { live, received };
}

describe('a user that crashed', () => {
  it('is opened again with the sessions that go on, and no others', async () => {
    const { membership, pass } = arrange();
    const [going, ended] = [session(), session({ over: true })];
    membership.userLost(USER, [going.live, ended.live]);
    expect(await pass()).toEqual([['open', going.live]]);
  });

  it('is reported when it cannot be opened again, except when this shard does not serve it any more', async () => {
    for (const [fault, reported] of [
      [new NotServed('This shard does not own the aggregate.'), []],
      [new Error('The database is gone.'), [['fault', 'The database is gone.', USER]]],
    ] as const) {
      const { membership, pass } = arrange({ open: () => Promise.reject(fault) });
      membership.userLost(USER, [session().live]);
      expect((await pass()).slice(1)).toEqual(reported);
    }
  });
});

describe('a guild that crashed', () => {
  it('is unavailable to the sessions of people, and to those of bots with the intent of guilds', async () => {
    const { membership } = arrange();
    const person = session();
    const bot = session({ bot: true });
    const interested = session({ bot: true, intents: INTENTS.GUILDS | INTENTS.GUILD_MESSAGES });
    const other = session({ bot: true, intents: INTENTS.GUILD_MESSAGES });
    const all = [person, bot, interested, other];
    membership.guildLost(
      GUILD,
      all.map(({ live }) => live),
      0,
      false,
    );
    expect(all.map(({ received }) => received.length)).toEqual([1, 0, 1, 0]);
    const [body] = person.received as [DispatchBody];
    expect([body.t, body.d, body.origin]).toEqual(['GUILD_DELETE', { id: GUILD, unavailable: true }, null]);
  });

  it('keeps its sessions in a cluster, which continue from what they were sent', async () => {
    const { membership, pass } = arrange({ isClustered: true });
    const { live, received } = session();
    membership.guildLost(GUILD, [live], 5, false);
    expect(received).toEqual([]);
    expect(await pass()).toEqual([['guildLost', GUILD, 5]]);
  });

  it('is subscribed again after half a second, and then twice as long each time, up to 30 seconds', async () => {
    const guild = Array.from({ length: 9 }, () => new Error('The guild crashed.'));
    const { membership, pass } = arrange({ guild });
    membership.guildLost(GUILD, [session().live], 0, false);
    for (const ms of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]) {
      expect(await pass(ms - 1)).toEqual([]);
      expect(await pass(1)).toEqual([
        ['subscribe', GUILD, 's', 50],
        ['republish', GUILD],
      ]);
    }
    expect(await pass(30_000)).toEqual([
      ['subscribe', GUILD, 's', 50],
      ['republish', GUILD, USER],
    ]);
    expect(await pass(60_000)).toEqual([]);
  });

  it('is subscribed at once after a failed commit, and then after half a second', async () => {
    const { membership, pass } = arrange({ guild: [new Error('The database is gone.')] });
    membership.guildLost(GUILD, [session().live], 0, true);
    expect(await pass()).toEqual([
      ['subscribe', GUILD, 's', 50],
      ['republish', GUILD],
    ]);
    expect(await pass(499)).toEqual([]);
    expect(await pass(1)).toEqual([
      ['subscribe', GUILD, 's', 50],
      ['republish', GUILD, USER],
    ]);
    expect(await pass(60_000)).toEqual([]);
  });

  it('subscribes its sessions once when a request loads it before the next retry', async () => {
    const { membership, pass } = arrange();
    membership.guildLost(GUILD, [session().live], 0, false);
    membership.guildLoaded?.(GUILD);
    expect(await pass()).toEqual([
      ['subscribe', GUILD, 's', 50],
      ['republish', GUILD, USER],
    ]);
    membership.guildLoaded?.(GUILD);
    expect(await pass(60_000)).toEqual([]);
  });

  it('reports to the subscriptions of its shard that it is loaded', async () => {
    const { membership, pass } = arrange({ isClustered: true });
    membership.guildLoaded?.(GUILD);
    expect(await pass()).toEqual([['guildLoaded', GUILD]]);
  });

  it('is tried again only for the sessions that failed, and shows only users that are members', async () => {
    const { membership, pass } = arrange({ guild: [true, new Error('Full.'), false] });
    const users = ['1', '17', '33'] as UserId[];
    const sessions = users.map((userId, at) => session({ userId, sessionId: `s${at}` }).live);
    membership.guildLost(GUILD, sessions, 0, false);
    expect((await pass(500)).at(-1)).toEqual(['republish', GUILD, '1']);
    expect(await pass(1_000)).toEqual([
      ['subscribe', GUILD, 's1', 50],
      ['republish', GUILD, '17'],
    ]);
  });

  it('is not subscribed for sessions that ended meanwhile, nor when another shard owns it', async () => {
    const { membership, owners, pass } = arrange();
    const { live } = session();
    membership.guildLost(GUILD, [live, session({ over: true, sessionId: 'ended' }).live], 0, false);
    expect((await pass(500)).map((each) => (each as string[])[2])).toEqual(['s', USER]);
    membership.guildLost(GUILD, [live], 0, false);
    owners.give('other#1', [GUILD]);
    expect(await pass(500)).toEqual([]);
  });

  it('is only loaded by its owner in a cluster, where each shard subscribes its own sessions', async () => {
    const { membership, pass } = arrange({ isClustered: true, guild: [new Error('The guild crashed.')] });
    membership.guildLost(GUILD, [session().live], 0, false);
    await pass();
    expect(await pass(500)).toEqual([
      ['look', GUILD],
      ['republish', GUILD],
    ]);
    expect(await pass(1_000)).toEqual([
      ['look', GUILD],
      ['republish', GUILD, USER],
    ]);
    expect(await pass(60_000)).toEqual([]);
  });
});

describe('a subscription', () => {
  it('is reported to its caller when it fails, and tried again in the background', async () => {
    const { membership, pass } = arrange({ guild: [new Error('The guild crashed.')] });
    const { live } = session();
    await expect(membership.subscribe(live, GUILD)).rejects.toThrow('The guild crashed.');
    expect(await pass()).toEqual([['subscribe', GUILD, 's', 50]]);
    expect(await pass(500)).toEqual([
      ['subscribe', GUILD, 's', 50],
      ['republish', GUILD, USER],
    ]);
    expect(await membership.subscribe(live, GUILD)).toBe(true);
  });
});

describe('a user that joins a guild', () => {
  /** The guild's gateway shard is 0 of 2. */
  const sessions = [
    session({ sessionId: 'all' }),
    session({ sessionId: 'shard0', shard: [0, 2] }),
    session({ sessionId: 'shard1', shard: [1, 2] }),
    session({ sessionId: 'application', authorization: {} as never }),
  ].map(({ live }) => live);

  it('has its sessions subscribed, except those of other gateway shards and of applications', async () => {
    const { membership, known, pass } = arrange();
    known.set(USER, sessions);
    membership.memberJoined(GUILD, USER);
    expect(await pass()).toEqual([
      ['joined', USER, false],
      ['subscribe', GUILD, 'all', 50],
      ['subscribe', GUILD, 'shard0', 50],
      ['publish', USER, [GUILD], { of: USER }],
    ]);
  });

  it('has its sessions subscribed on their shards in a cluster, even if the membership is known', async () => {
    const { membership, known, pass } = arrange({ isClustered: true });
    known.set(USER, sessions);
    membership.memberJoined(GUILD, USER);
    expect(await pass()).toEqual([
      ['joined', USER, true],
      ['join', 'all', GUILD],
      ['join', 'shard0', GUILD],
      ['publish', USER, [GUILD], { of: USER }],
    ]);
  });

  it('is reported with the guild when a session cannot be subscribed', async () => {
    const { membership, known, pass } = arrange({ guild: [new Error('The guild crashed.')] });
    known.set(USER, sessions.slice(0, 1));
    membership.memberJoined(GUILD, USER);
    expect((await pass()).at(-1)).toEqual(['fault', 'The guild crashed.', GUILD]);
  });
});

describe('a change of membership', () => {
  it("is applied by a standalone process to the user's guilds", async () => {
    const { membership, pass } = arrange();
    membership.memberLeft(GUILD, USER, 7);
    expect(await pass()).toEqual([['left', USER, GUILD]]);
  });

  it('ends subscriptions of this shard at once, and is sent to the owner of the user', async () => {
    const { membership, sent, pass } = arrange({ isClustered: true });
    for (const userId of [USER, FAR_USER]) membership.memberLeft(GUILD, userId, 7);
    expect(await pass()).toEqual([
      ['memberRemoved', GUILD, USER, 7],
      ['left', USER, GUILD],
      ['memberRemoved', GUILD, FAR_USER, 7],
    ]);
    expect(sent).toEqual([['other', 'users.setMemberships', [[FAR_USER, [[GUILD, 'left']]]]]]);
  });

  it('is sent to the owner of the user again by the next owner of the guild', async () => {
    const { membership, sent, pass } = arrange({ isClustered: true });
    membership.membersMoved?.(
      GUILD,
      new Map([
        [USER, 'left'],
        [FAR_USER, 'joined'],
      ]),
    );
    expect(await pass()).toEqual([['left', USER, GUILD]]);
    expect(sent).toEqual([['other', 'users.setMemberships', [[FAR_USER, [[GUILD, 'joined']]]]]]);
  });

  it('is left to the next owner of the guild when the guild moves before the user has an owner', async () => {
    for (const [next, updates] of [
      ['other#2', 0],
      [OWN, 1],
    ] as const) {
      const { membership, owners, sent, pass } = arrange({ isClustered: true });
      membership.memberJoined(GUILD, LATE_USER);
      owners.give(next, [GUILD], 2);
      owners.move('other#1', [LATE_USER]);
      await pass();
      expect(sent).toHaveLength(updates);
    }
  });
});

describe('a change of a user', () => {
  it('reaches its lobbies and each of its guilds, and ends what is cached of its identity', async () => {
    const { membership, pass } = arrange({ guild: [true, new Error('The guild crashed.')] });
    const user = { id: USER } as never;
    membership.userChanged(user, [GUILD, '9' as GuildId]);
    expect(await pass()).toEqual([
      ['forget', USER],
      ['lobbyUserChanged', user],
      ['call', GUILD, 'memberUserChanged', { user }],
      ['call', '9', 'memberUserChanged', { user }],
      ['fault', 'The guild crashed.', '9'],
    ]);
  });
});

describe('a guild', () => {
  it('has its changes passed on to voice, lobbies, integrations and queues of work', async () => {
    const { membership, pass } = arrange({ isClustered: true, guild: [true, new Error('No owner.')] });
    const { live } = session();
    const state = { userId: USER } as never;
    membership.voiceJoined(GUILD, state);
    membership.voiceLeft(GUILD, USER);
    membership.callEnded(GUILD, CHANNEL);
    membership.callEnded(GUILD, CHANNEL, 'interrupted');
    membership.crossposted?.();
    membership.eventDue?.(9);
    membership.tagsQueued?.();
    membership.linked({ news: 1 } as never);
    membership.republishPresences?.(GUILD, [USER]);
    membership.subscriberReplaced?.(GUILD, live, 4);
    membership.sessionReplaced(live);
    membership.guildReleased?.(GUILD, 5);
    for (const change of ['created', 'deleted'] as const) membership.botChanged?.(GUILD, USER, change);
    expect(await pass()).toEqual([
      ['voiceJoined', state],
      ['voiceLeft', GUILD, USER],
      ['ended', CHANNEL, undefined, undefined],
      ['ended', CHANNEL, 'guild', 'interrupted'],
      ['crossposts'],
      ['schedule', 9],
      ['tags'],
      ['channelNews', { news: 1 }],
      ['republish', GUILD, USER],
      ['sessionReplaced', live, GUILD, 4],
      ['sessionReplaced', live, null, 0],
      ['guildReleased', GUILD, 5],
      ['integrations', GUILD, USER, 'created'],
      ['integrations', GUILD, USER, 'deleted'],
      ['fault', 'No owner.', GUILD],
    ]);
  });
});

// Goal: what a shard remembers of presences is bounded, and users that disappeared without an end are checked together, in
// time.
import { describe, expect, it } from 'vitest';
import { createPresences } from '../../../../actors/cluster/delivery/presences.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import type { GuildId, UserId } from '../../../../protocol/ids.ts';
import { scriptedOwners } from '../../../support/scriptedowners.ts';

type Ports = Parameters<typeof createPresences>[0];

const RESUME_WINDOW_MS = 60_000;
const SESSION_WAIT_MS = 5_000;
const ONLINE = { status: 'online', activities: [], client_status: {} } as const;
const OWN = 'self#1';
/** Ids of users and guilds are equal to their partitions. */
const [ANNA, BEN] = ['1', '2'] as [UserId, UserId];
const [HERE, THERE] = ['8', '9'] as [GuildId, GuildId];

/** A shard that owns the partitions of Anna and `HERE`; another owns those of Ben and `THERE`. */
function arrange() {
  const clock = new VirtualClock();
  const owners = scriptedOwners();
  owners.give(OWN, [ANNA, HERE], 3);
  owners.give('other#1', [BEN, THERE]);
  const set: unknown[] = [];
  const sent: unknown[] = [];
  const state = {
    /** What the guild shows. */
    presences: new Map<string, object>(),
    sessionCounts: new Map<string, number>(),
    sessions: new Map<string, number>(),
    users: [] as object[],
  };
  const serving = new Map<string, (args: unknown[]) => unknown>();
  const ports = {
    guilds: {
      async call(guildId: string, name: string, input: object) {
        set.push([guildId, name, input]);
      },
      isResident: () => true,
      async look(guildId: string, read: (guild: object) => unknown) {
        set.push([guildId, 'look']);
        return read(state);
      },
    },
    users: {
      resident: () => state.users,
      presenceOf: (userId: string) => (state.sessions.has(userId) ? ONLINE : null),
      sessions: (userId: string) => new Array(state.sessions.get(userId) ?? 0).fill({}),
    },
    cluster: {
      ownership: owners.ownership,
      router: {
        serve: (method: string, run: (args: unknown[]) => unknown) => void serving.set(method, run),
        async askShard(to: string, method: string, [updates]: [unknown]) {
          sent.push([to, method, updates]);
          return [];
        },
      },
    },
    ...{ clock, wheel: new TimerWheel(clock, 1), resumeWindowMs: RESUME_WINDOW_MS },
    onFault: (fault: unknown) => {
      throw fault;
    },
  } as unknown as Ports;
  /** Lets time pass, and returns what was sent to other shards meanwhile. */
  const pass = async (ms = 0): Promise<unknown[]> => {
    await new Promise(setImmediate);
    clock.advance(ms);
    await new Promise(setImmediate);
    return sent.splice(0);
  };
  const request = (userId: UserId, guildId: GuildId) =>
    serving.get('users.repeatPresences')?.([[[userId, [[guildId, null]]]]]);
  return { clock, owners, set, state, pass, request, presences: createPresences(ports) };
}

const numberOf = (epoch: number, count: number): number => epoch * 2 ** 32 + count;
const update = (guildId: GuildId, userId: UserId, presence: object | null, n: number, again = false) => [
  ...['other', 'guilds.setPresences'],
  [[guildId, [[userId, [presence, n, again]]]]],
];
/** Enough users that are online, with one session each. */
const usersOf = (count: number, guildIds: readonly GuildId[]) =>
  Array.from({ length: count }, (_, at) => ({
    user: { id: String(1 + 16 * at) },
    guildIds: new Set(guildIds),
    presences: new Map([['s', { status: 'online', platform: 'web', activities: [], changedMs: 0 }]]),
  }));

describe('a presence', () => {
  it('has a number of epoch 0 while its user has no owner', async () => {
    const { presences, owners, pass } = arrange();
    owners.give(null, [ANNA]);
    presences.publish(ANNA, [THERE], ONLINE);
    expect(await pass()).toEqual([update(THERE, ANNA, ONLINE, numberOf(0, 1))]);
  });
});

describe('a user that went offline', () => {
  it('is not reported by a shard to which its user returned offline, after another shard had served it online', async () => {
    const { presences, owners, pass } = arrange();
    presences.publish(ANNA, [THERE], ONLINE);
    owners.move('other#1', [ANNA], 4);
    owners.move(OWN, [ANNA], 5);
    presences.publish(ANNA, [THERE], null);
    await pass();
    owners.move('other#2', [THERE], 2);
    expect(await pass()).toEqual([]);
  });

  it('is reported again also when it goes offline after ownership changed', async () => {
    const { presences, owners, pass } = arrange();
    presences.publish(ANNA, [THERE], ONLINE);
    owners.move('other#2', [THERE], 2);
    presences.publish(ANNA, [THERE], null);
    await pass();
    owners.move('other#3', [THERE], 3);
    expect(await pass()).toEqual([update(THERE, ANNA, null, numberOf(3, 2), true)]);
  });

  it('is among at most 50,000 that are remembered, of which the oldest is forgotten first', async () => {
    const { presences, owners, set } = arrange();
    const users = Array.from({ length: 50_001 }, (_, at) => String(1 + 16 * at) as UserId);
    for (const userId of users) presences.publish(userId, [], ONLINE);
    for (const userId of users) presences.publish(userId, [HERE], null);
    set.length = 0;
    owners.move(OWN, [HERE], 4);
    expect(set).toHaveLength(50_000);
    expect(set[0]).toMatchObject([HERE, 'setPresence', { userId: users[1], again: true }]);
  });
});

describe('a change of owners', () => {
  it('publishes at most 500 users at once, and the others in the following ticks', () => {
    const { clock, owners, state, set } = arrange();
    state.users = usersOf(1_001, [HERE]);
    const seen: number[] = [];
    owners.move(OWN, [HERE], 4);
    seen.push(set.length);
    const defer = clock.defer.bind(clock);
    clock.defer = (run) => {
      seen.push(set.length);
      defer(run);
    };
    clock.settle();
    expect([seen.filter((count) => count % 500 === 0), set.length]).toEqual([[500, 1_000], 1_001]);
  });
});

describe('a guild that requests presences', () => {
  it('is told after five seconds that a user is offline whose sessions have not arrived with the user', async () => {
    const { request, pass } = arrange();
    expect(request(ANNA, THERE)).toEqual([]);
    expect(await pass(SESSION_WAIT_MS - 1)).toEqual([]);
    expect(await pass(1)).toEqual([update(THERE, ANNA, null, numberOf(3, 1))]);
  });
});

describe('a user without a subscribed session', () => {
  it('is checked once within five seconds, together with the others of the guild, if the guild shows it as present', async () => {
    const { presences, state, set, pass } = arrange();
    const [present, absent, subscribed] = ['2', '18', '34'] as [UserId, UserId, UserId];
    for (const userId of [present, subscribed]) state.presences.set(userId, ONLINE);
    state.sessionCounts.set(subscribed, 1);
    for (const userId of [absent, subscribed, present]) presences.noSubscribers(HERE, userId);
    expect([await pass(SESSION_WAIT_MS - 1), set]).toEqual([[], []]);
    await pass(1);
    expect([await pass(), set.splice(0)]).toEqual([
      [['other', 'users.repeatPresences', [[present, [[HERE, null]]]]]],
      [[HERE, 'look']],
    ]);
    // A later one is checked after another five seconds.
    presences.noSubscribers(HERE, present);
    await pass(SESSION_WAIT_MS);
    expect([await pass(), set.length]).toEqual([
      [['other', 'users.repeatPresences', [[present, [[HERE, null]]]]]],
      1,
    ]);
  });
});

// Goal: presences reach the owner of each guild once per change, and again when the guild or the user changes owners.
import { describe, expect, it } from 'vitest';
import { createPresences, presencesHere } from '../../../../actors/cluster/delivery/presences.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import type { GuildId, UserId } from '../../../../protocol/ids.ts';
import { scriptedOwners } from '../../../support/scriptedowners.ts';

const RESUME_MS = 60_000;
const SELF = 'self#1';
/** Ids are equal to their partitions. This shard owns all but `FAR`. */
const [ADA, BOB] = ['1', '2'] as [UserId, UserId];
const [GUILD, FAR] = ['8', '9'] as [GuildId, GuildId];
const ONLINE = { status: 'online', activities: [], client_status: {} } as never;

/** Lets promises and what the clock deferred run. */
async function settled(clock: VirtualClock): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) {
    clock.advance(0);
    await Promise.resolve();
  }
}

function arrange() {
  const clock = new VirtualClock();
  const calls: unknown[] = [];
  const sent: unknown[] = [];
  const faults: unknown[] = [];
  const owners = scriptedOwners();
  owners.give(SELF, [ADA, BOB, GUILD], 3);
  owners.give('other#1', [FAR], 4);
  const people = new Map<UserId, { sessions: number; presence: unknown; guildIds: GuildId[] }>();
  const shown = { presences: new Map<UserId, unknown>(), sessionCounts: new Map<UserId, number>() };
  const state = { refuses: null as Error | null, isResident: true };
  const ports = {
    guilds: {
      call: async (guildId: GuildId, type: string, input: object) => {
        calls.push([guildId, type, input]);
        if (state.refuses) throw state.refuses;
        return { ok: true };
      },
      isResident: () => state.isResident,
      look: async (_: GuildId, run: (guild: unknown) => unknown) => run(shown),
    } as never,
    users: {
      resident: () =>
        [...people].map(([id, { presence, guildIds }]) => ({
          ...{ user: { id }, guildIds: new Set(guildIds) },
          presences: () => (presence ? [presence] : []),
        })),
      presenceOf: (userId: UserId) => people.get(userId)?.presence ?? null,
      sessions: (userId: UserId) => Array.from({ length: people.get(userId)?.sessions ?? 0 }, () => ({})),
    } as never,
    ...{ clock, wheel: new TimerWheel(clock), resumeWindowMs: RESUME_MS },
    cluster: {
      ownership: owners.ownership,
      router: {
        serve: () => undefined,
        askShard: async (shardId: string, method: string, [updates]: readonly unknown[]) => {
          sent.push([shardId, method, structuredClone(updates)]);
          return [];
        },
      },
    } as never,
    onFault: (error: unknown, id: string) => faults.push([error, id]),
  };
  const settle = () => settled(clock);
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  /** Gives the partition of each id to a run of a shard. */
  const move = async (instance: string | null, ids: readonly string[], epoch: number) => {
    owners.move(instance, ids, epoch);
    await settle();
  };
  const clear = () => {
    calls.length = 0;
    sent.length = 0;
  };
  return { ports, owners, people, shown, state, calls, sent, faults, settle, pass, move, clear };
}

const inputs = (calls: readonly unknown[]) => calls.map((call) => (call as [string, string, object])[2]);
/** The presences of requests to other shards: `[shard, guild, user, presence, again]`. */
const presencesOf = (sent: readonly unknown[]) =>
  (sent as [string, string, [string, [string, [unknown, number, boolean]][]][]][])
    .filter(([, method]) => method === 'guilds.setPresences')
    .flatMap(([shard, , updates]) =>
      updates.flatMap(([guild, items]) =>
        items.map(([user, [presence, , again]]) => [shard, guild, user, presence && 'online', again]),
      ),
    );
const requestsOf = (sent: readonly unknown[]) =>
  (sent as [string, string, unknown][]).filter(([, method]) => method === 'users.repeatPresences');

describe('the presence of a user', () => {
  it('is set in a guild of this shard and sent to the owner of another', async () => {
    const { ports, calls, sent, settle } = arrange();
    createPresences(ports).publish(ADA, [GUILD, FAR], ONLINE);
    await settle();
    expect(calls).toMatchObject([[GUILD, 'setPresence', { userId: ADA, presence: ONLINE, again: false }]]);
    expect(presencesOf(sent)).toEqual([['other', FAR, ADA, 'online', false]]);
  });

  it('has a number that ascends, and begins above those of earlier owners of the user', async () => {
    const { ports, calls, settle } = arrange();
    const { publish } = createPresences(ports);
    publish(ADA, [GUILD], ONLINE);
    publish(BOB, [GUILD], ONLINE);
    await settle();
    const [first, second] = inputs(calls) as { n: number }[];
    expect((second?.n ?? 0) - (first?.n ?? 0)).toBe(1);
    expect(first?.n).toBeGreaterThan(3);
  });

  it('is a fault of the guild that refuses it', async () => {
    const { ports, state, faults, settle } = arrange();
    state.refuses = new Error('no');
    createPresences(ports).publish(ADA, [GUILD], ONLINE);
    await settle();
    expect(faults).toEqual([[state.refuses, GUILD]]);
  });

  it('is sent again to guilds whose partition moved, and only to these', async () => {
    const { ports, owners, people, sent, settle, move, clear } = arrange();
    people.set(ADA, { sessions: 1, presence: ONLINE, guildIds: [GUILD, FAR] });
    people.set(BOB, { sessions: 1, presence: null, guildIds: [FAR] });
    createPresences(ports);
    await move('other#2', [FAR], 5);
    await settle();
    expect(presencesOf(sent)).toEqual([['other', FAR, ADA, 'online', false]]);
    clear();
    owners.tell({});
    await settle();
    expect(sent).toEqual([]);
  });

  it('is sent again as offline for as long as the session can be resumed', async () => {
    const { ports, sent, settle, pass, move, clear } = arrange();
    const { publish } = createPresences(ports);
    publish(ADA, [FAR], ONLINE);
    publish(ADA, [FAR], null);
    await settle();
    clear();
    await pass(RESUME_MS);
    await move('other#2', [FAR], 5);
    expect(presencesOf(sent)).toEqual([['other', FAR, ADA, null, true]]);
    clear();
    await pass(1);
    await move('other#2', [FAR], 5);
    expect(sent).toEqual([]);
  });

  it('is not sent as offline again after the user came back, or was never online', async () => {
    const { ports, sent, settle, move, clear } = arrange();
    const { publish } = createPresences(ports);
    for (const presence of [ONLINE, null, ONLINE]) publish(ADA, [FAR], presence);
    publish(BOB, [FAR], null);
    await settle();
    clear();
    await move('other#2', [FAR], 5);
    expect(presencesOf(sent)).toEqual([]);
  });

  it('is not sent as offline again for a user of another shard', async () => {
    const { ports, sent, settle, move, clear } = arrange();
    const { publish } = createPresences(ports);
    publish(ADA, [FAR], ONLINE);
    publish(ADA, [FAR], null);
    await settle();
    clear();
    await move('other#1', [ADA], 4);
    await move(SELF, [ADA], 5);
    clear();
    await move('other#2', [FAR], 5);
    expect(presencesOf(sent)).toEqual([]);
  });
});

describe('a presence that is remembered', () => {
  const numbersOf = (sent: readonly unknown[]) =>
    (sent as [string, string, [string, [string, [unknown, number]][]][]][]).flatMap(([, , updates]) =>
      updates.flatMap(([, items]) => items.map(([, [, n]]) => n)),
    );

  it('has a number of epoch 0 while its user has no owner', async () => {
    const { ports, owners, sent, settle } = arrange();
    owners.give(null, [ADA]);
    createPresences(ports).publish(ADA, [FAR], ONLINE);
    await settle();
    expect(numbersOf(sent)).toEqual([1]);
  });

  it('is not sent again as offline by a shard that did not serve its user when the user was online last', async () => {
    const { ports, sent, settle, move, clear } = arrange();
    const { publish } = createPresences(ports);
    publish(ADA, [FAR], ONLINE);
    await move('other#1', [ADA], 4);
    await move(SELF, [ADA], 5);
    publish(ADA, [FAR], null);
    await settle();
    clear();
    await move('other#2', [FAR], 5);
    expect(presencesOf(sent)).toEqual([]);
  });

  it('is sent again also when its user goes offline after ownership changed', async () => {
    const { ports, sent, settle, move, clear } = arrange();
    const { publish } = createPresences(ports);
    publish(ADA, [FAR], ONLINE);
    await move('other#2', [FAR], 5);
    publish(ADA, [FAR], null);
    await settle();
    clear();
    await move('other#3', [FAR], 6);
    expect(presencesOf(sent)).toEqual([['other', FAR, ADA, null, true]]);
  });

  it('is among those of at most 50,000 users who went offline, of whom the oldest is forgotten first', async () => {
    const { ports, owners, calls } = arrange();
    const { publish } = createPresences(ports);
    const users = Array.from({ length: 50_001 }, (_, at) => String(1 + 16 * at) as UserId);
    for (const userId of users) publish(userId, [], ONLINE);
    for (const userId of users) publish(userId, [GUILD], null);
    calls.length = 0;
    owners.move(SELF, [GUILD], 4);
    expect(calls).toHaveLength(50_000);
    expect(calls[0]).toMatchObject([GUILD, 'setPresence', { userId: users[1], again: true }]);
  });
});

describe('a change of owners', () => {
  it('publishes at most 500 users at once, and the others in the following ticks', () => {
    const { ports, owners, people, calls } = arrange();
    for (let at = 0; at < 1_001; at += 1)
      people.set(String(1 + 16 * at) as UserId, { sessions: 1, presence: ONLINE, guildIds: [GUILD] });
    createPresences(ports);
    const seen: number[] = [];
    const defer = ports.clock.defer.bind(ports.clock);
    ports.clock.defer = (run) => {
      seen.push(calls.length);
      defer(run);
    };
    owners.move(SELF, [GUILD], 4);
    (ports.clock as VirtualClock).settle();
    expect([seen, calls.length]).toEqual([[500, 1_000], 1_001]);
  });
});

describe('a request to publish presences again', () => {
  it('goes to the owner of each user', async () => {
    const { ports, owners, sent, settle } = arrange();
    owners.give('other#1', [BOB]);
    createPresences(ports).republish(GUILD, [BOB]);
    await settle();
    expect(requestsOf(sent)).toEqual([['other', 'users.repeatPresences', [[BOB, [[GUILD, null]]]]]]);
  });

  it('is answered at once for a user with a session', async () => {
    const { ports, people, calls, settle } = arrange();
    people.set(ADA, { sessions: 1, presence: ONLINE, guildIds: [GUILD] });
    createPresences(ports).republish(GUILD, [ADA]);
    await settle();
    expect(inputs(calls)).toMatchObject([{ userId: ADA, presence: ONLINE }]);
  });

  it('waits five seconds for the sessions of a user who has none yet', async () => {
    const { ports, people, calls, settle, pass } = arrange();
    createPresences(ports).republish(GUILD, [ADA]);
    await settle();
    expect(calls).toEqual([]);
    people.set(ADA, { sessions: 1, presence: ONLINE, guildIds: [GUILD] });
    await pass(5_100);
    expect(inputs(calls)).toMatchObject([{ userId: ADA, presence: ONLINE }]);
  });

  it('is dropped when another shard owns the user meanwhile', async () => {
    const { ports, owners, calls, settle, pass } = arrange();
    createPresences(ports).republish(GUILD, [ADA]);
    await settle();
    owners.give('other#1', [ADA]);
    await pass(5_100);
    expect(calls).toEqual([]);
  });
});

describe('a user whose last subscribed session is gone', () => {
  it('is asked for after five seconds, when the guild still shows a presence and no session', async () => {
    const { ports, owners, shown, sent, pass } = arrange();
    owners.give('other#1', [ADA, BOB]);
    const { noSubscribers } = createPresences(ports);
    const third = '3' as UserId;
    for (const id of [ADA, BOB]) shown.presences.set(id, ONLINE);
    shown.sessionCounts.set(BOB, 1);
    for (const id of [ADA, BOB, third]) noSubscribers(GUILD, id);
    await pass(4_900);
    expect(sent).toEqual([]);
    await pass(200);
    expect(requestsOf(sent)).toEqual([['other', 'users.repeatPresences', [[ADA, [[GUILD, null]]]]]]);
  });

  it('is not asked for in a guild that is no longer in memory', async () => {
    const { ports, owners, shown, sent, state, pass } = arrange();
    owners.give('other#1', [ADA]);
    shown.presences.set(ADA, ONLINE);
    const { noSubscribers } = createPresences(ports);
    noSubscribers(GUILD, ADA);
    state.isResident = false;
    await pass(5_100);
    expect(sent).toEqual([]);
  });
});

describe('a process alone', () => {
  it('sets presences in its guilds, and again when it is asked', async () => {
    const { ports, people, calls, settle } = arrange();
    people.set(ADA, { sessions: 1, presence: ONLINE, guildIds: [GUILD] });
    const { publish, republish } = presencesHere(ports);
    publish(ADA, [GUILD, FAR], null);
    republish(GUILD, [ADA, BOB]);
    await settle();
    expect(calls).toEqual([
      [GUILD, 'setPresence', { userId: ADA, presence: null }],
      [FAR, 'setPresence', { userId: ADA, presence: null }],
      [GUILD, 'setPresence', { userId: ADA, presence: ONLINE }],
      [GUILD, 'setPresence', { userId: BOB, presence: null }],
    ]);
  });

  it('reports the guild that refuses a presence', async () => {
    const { ports, state, faults, settle } = arrange();
    state.refuses = new Error('no');
    presencesHere(ports).publish(ADA, [GUILD], ONLINE);
    await settle();
    expect(faults).toEqual([[state.refuses, GUILD]]);
  });
});

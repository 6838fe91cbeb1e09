// Goal: presences reach the owner of each guild once per change, and again when the guild or the user changes owners.
import { describe, expect, it } from 'vitest';
import { createPresences, presencesHere } from '../../../../actors/cluster/delivery/presences.ts';
import type { OwnershipChange } from '../../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import type { GuildId, UserId } from '../../../../protocol/ids.ts';

const RESUME_MS = 60_000;
const ADA = '11' as UserId;
const BOB = '12' as UserId;
/** This shard owns the guilds below 30; partition 0 has these, 1 the others. */
const GUILD = '21' as GuildId;
const FAR = '31' as GuildId;
const ONLINE = { status: 'online', activities: [], client_status: {} } as never;

/** Lets promises and what the clock deferred run. */
async function settled(clock: VirtualClock): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) {
    clock.advance(0);
    await Promise.resolve();
  }
}

type Handler = (args: readonly unknown[]) => unknown;

function arrange() {
  const clock = new VirtualClock();
  const calls: unknown[] = [];
  const sent: unknown[] = [];
  const faults: unknown[] = [];
  const handlers = new Map<string, Handler>();
  const listeners: ((change: OwnershipChange) => void)[] = [];
  const people = new Map<UserId, { sessions: number; presence: unknown; guildIds: GuildId[] }>();
  const shown = { presences: new Map<UserId, unknown>(), sessionCounts: new Map<UserId, number>() };
  const state = { refuses: null as Error | null, isResident: true, ours: new Set<string>([ADA, BOB, GUILD]) };
  const owns = (id: string) => state.ours.has(id);
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
          presences: new Map(presence ? [['s', presence]] : []),
        })),
      presenceOf: (userId: UserId) => people.get(userId)?.presence ?? null,
      sessions: (userId: UserId) => Array.from({ length: people.get(userId)?.sessions ?? 0 }, () => ({})),
    } as never,
    ...{ clock, wheel: new TimerWheel(clock), resumeWindowMs: RESUME_MS },
    cluster: {
      ownership: {
        self: { id: 'a', instance: 'a-run' },
        owns,
        ownerOf: (id: string) =>
          owns(id)
            ? { shardId: 'a', instance: 'a-run', epoch: 3 }
            : { shardId: 'b', instance: 'b-run', epoch: 4 },
        partitionOf: (id: string) => (id < '30' ? 0 : 1),
        onChange: (run: (change: OwnershipChange) => void) => listeners.push(run),
      },
      router: {
        serve: (method: string, run: Handler) => handlers.set(method, run),
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
  const move = async (...moved: number[]) => {
    for (const run of listeners) run({ moved, gone: [], came: [] });
    await settle();
  };
  const clear = () => {
    calls.length = 0;
    sent.length = 0;
  };
  return { ports, people, shown, state, calls, sent, faults, handlers, settle, pass, move, clear };
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
    expect(presencesOf(sent)).toEqual([['b', FAR, ADA, 'online', false]]);
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
    const { ports, people, sent, settle, move, clear } = arrange();
    people.set(ADA, { sessions: 1, presence: ONLINE, guildIds: [GUILD, FAR] });
    people.set(BOB, { sessions: 1, presence: null, guildIds: [FAR] });
    createPresences(ports);
    await move(1);
    await settle();
    expect(presencesOf(sent)).toEqual([['b', FAR, ADA, 'online', false]]);
    clear();
    await move();
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
    await move(1);
    expect(presencesOf(sent)).toEqual([['b', FAR, ADA, null, true]]);
    clear();
    await pass(1);
    await move(1);
    expect(sent).toEqual([]);
  });

  it('is not sent as offline again after the user came back, or was never online', async () => {
    const { ports, sent, settle, move, clear } = arrange();
    const { publish } = createPresences(ports);
    for (const presence of [ONLINE, null, ONLINE]) publish(ADA, [FAR], presence);
    publish(BOB, [FAR], null);
    await settle();
    clear();
    await move(1);
    expect(presencesOf(sent)).toEqual([]);
  });

  it('is not sent as offline again for a user of another shard', async () => {
    const { ports, state, sent, settle, move, clear } = arrange();
    const { publish } = createPresences(ports);
    publish(ADA, [FAR], ONLINE);
    publish(ADA, [FAR], null);
    await settle();
    clear();
    state.ours.delete(ADA);
    await move(0);
    state.ours.add(ADA);
    await move(1);
    expect(presencesOf(sent)).toEqual([]);
  });
});

describe('a request to publish presences again', () => {
  it('goes to the owner of each user', async () => {
    const { ports, state, sent, settle } = arrange();
    state.ours.delete(BOB);
    createPresences(ports).republish(GUILD, [BOB]);
    await settle();
    expect(requestsOf(sent)).toEqual([['b', 'users.repeatPresences', [[BOB, [[GUILD, null]]]]]]);
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
    const { ports, state, calls, settle, pass } = arrange();
    createPresences(ports).republish(GUILD, [ADA]);
    await settle();
    state.ours.delete(ADA);
    await pass(5_100);
    expect(calls).toEqual([]);
  });
});

describe('a user whose last subscribed session is gone', () => {
  it('is asked for after five seconds, when the guild still shows a presence and no session', async () => {
    const { ports, shown, sent, state, pass } = arrange();
    for (const id of [ADA, BOB]) state.ours.delete(id);
    const { noSubscribers } = createPresences(ports);
    const third = '13' as UserId;
    for (const id of [ADA, BOB]) shown.presences.set(id, ONLINE);
    shown.sessionCounts.set(BOB, 1);
    for (const id of [ADA, BOB, third]) noSubscribers(GUILD, id);
    await pass(4_900);
    expect(sent).toEqual([]);
    await pass(200);
    expect(requestsOf(sent)).toEqual([['b', 'users.repeatPresences', [[ADA, [[GUILD, null]]]]]]);
  });

  it('is not asked for in a guild that is no longer in memory', async () => {
    const { ports, shown, sent, state, pass } = arrange();
    state.ours.delete(ADA);
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

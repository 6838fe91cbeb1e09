// Goal: one change of a user's relations at a time over all shards, also after a shard has ended while it held a lock.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HERE, type Routing } from '../../../actors/placement/routing.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { FreshId, UserId } from '../../../protocol/ids.ts';
import { createUserLocks } from '../../../services/social/userlocks.ts';

const SHARDS = 3;
type Call = (userId: UserId, lockId: string, runsAt: UserId) => unknown;
const RUNS_AT = '70' as UserId;

/** Shards that own the users in turn. Calls between them take a turn each; `way.lost`: those of the first shard arrive nowhere. */
function arrange() {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  const handlers = Array.from({ length: SHARDS }, () => new Map<string, Call>());
  const way = { lost: false };
  const moves: ((moved: (id: string) => boolean) => void)[] = [];
  const shards = Array.from({ length: SHARDS }, (_, index) => {
    const call = (method: string, run: Call) => {
      handlers[index]?.set(method, run);
      return async (userId: UserId, lockId: string, runsAt: UserId) => {
        const owner = Number(userId) % SHARDS;
        if (owner !== index) await Promise.resolve();
        if (way.lost && index === 0) return new Promise(() => undefined);
        return handlers[owner]?.get(method)?.(userId, lockId, runsAt);
      };
    };
    const onMoved = (run: (typeof moves)[number]) => void moves.push(run);
    const routing = { ...HERE, ask: call, tell: call, onMoved } as unknown as Routing;
    let ids = 0;
    const nextId = () => `${index}.${ids++}` as FreshId;
    return createUserLocks({ routing, wheel, nextId, nowMs: () => clock.now() });
  });
  const moved = (userId: UserId) => {
    for (const run of moves) run((id) => id === userId);
  };
  return { clock, way, shards, moved };
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

it('runs jobs with a common user one after another, whichever shards run them', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          shard: fc.nat({ max: SHARDS - 1 }),
          users: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 3 }),
          fails: fc.boolean(),
        }),
        { minLength: 2, maxLength: 30 },
      ),
      async (jobs) => {
        const { shards } = arrange();
        const busy = new Set<number>();
        const ends = jobs.map(({ shard, users, fails }) =>
          shards[shard]!(
            RUNS_AT,
            users.map((each) => String(each) as UserId),
            async () => {
              const unique = [...new Set(users)];
              expect(unique.filter((user) => busy.has(user))).toEqual([]);
              for (const user of unique) busy.add(user);
              await turns(1);
              for (const user of unique) busy.delete(user);
              if (fails) throw new RangeError('failed');
            },
          ).catch((fault: Error) => {
            if (!(fault instanceof RangeError)) throw fault;
          }),
        );
        await Promise.all(ends);
        expect(busy.size).toBe(0);
      },
    ),
    { numRuns: 60 },
  ));

it('frees a lock that is not given back after ten seconds, and refuses those who have waited too long', async () => {
  const { clock, way, shards } = arrange();
  const held = shards[0]!(RUNS_AT, ['1' as UserId], () => new Promise<void>(() => undefined));
  void held;
  await turns(2);
  way.lost = true;
  const early = shards[1]!(RUNS_AT, ['1' as UserId], async () => 'early');
  const refused = expect(early).rejects.toThrow('The user stays locked.');
  await turns(2);
  clock.advance(6_000);
  const late = shards[2]!(RUNS_AT, ['1' as UserId], async () => 'late');
  await turns(2);
  clock.advance(4_100);
  await refused;
  expect(await late).toBe('late');
});

it('frees the locks, and drops the waiting ones, of jobs whose owner is another shard now', async () => {
  const { way, shards, moved } = arrange();
  const dead = '60' as UserId;
  for (const users of [['1'], ['1', '4']] as UserId[][])
    shards[0]!(dead, users, () => new Promise<void>(() => undefined)).catch(() => undefined);
  await turns(2);
  way.lost = true;
  const next = shards[1]!(RUNS_AT, ['1', '4'] as UserId[], async () => 'next');
  await turns(2);
  moved(dead);
  expect(await next).toBe('next');
});

// Goal: limits of calls hold over all shards together, and a shard without its owner counts by itself.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HERE, type Routing } from '../../actors/placement/routing.ts';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../actors/runtime/wheel.ts';
import { type Attempt, createLimiter, type Verdict } from '../../engine/ratelimit/limiter.ts';
import { limitsAtOwners, type TakeCall } from '../../services/ratelimits.ts';

const SHARDS = 3;
const GLOBAL = { limit: 60, windowMs: 1_000 };
const attemptOf = (limit: number, more: Partial<Attempt> = {}): Attempt => ({
  ...{ principal: 'caller', group: 'g', major: '', globalExempt: true },
  rule: { limit, windowMs: 5_000 },
  ...more,
});

type Ask = (attempt: Attempt) => Promise<Verdict>;

/** Shards of which the first owns every principal; its answers take `delayMs`. */
function arrange({ delayMs = 0, owner = 0 as number | null } = {}) {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  const handlers: Ask[] = [];
  let asked = 0;
  const shards = Array.from({ length: SHARDS }, (_, index): TakeCall => {
    const ask = (_method: string, run: Ask): Ask => {
      handlers[index] = run;
      return async (...args) => {
        asked += 1;
        if (delayMs > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, delayMs));
        const handler = owner === null ? undefined : handlers[owner];
        // No answer comes while the principal has no owner.
        return handler ? handler(...args) : new Promise<Verdict>(() => undefined);
      };
    };
    const routing = { ...HERE, standalone: false, ask, owns: () => index === owner } as Routing;
    const limiter = createLimiter({ global: GLOBAL, entriesMax: 1_000 });
    return limitsAtOwners({ limiter, routing, wheel, monotonic: () => clock.monotonic() });
  });
  return { clock, shards, asked: () => asked };
}

const isAllowed = async (verdict: Verdict | Promise<Verdict>): Promise<boolean> => (await verdict).allowed;

describe('the limits of calls over shards', () => {
  test('admit exactly the limit to a caller that uses one shard, whichever owns the caller', async () => {
    for (const shard of [0, 1, 2]) {
      const { shards, clock } = arrange();
      for (let window = 0; window < 3; window += 1) {
        for (let n = 0; n < 50; n += 1) expect(await isAllowed(shards[shard]!(attemptOf(50)))).toBe(true);
        const refused = await shards[shard]!(attemptOf(50));
        expect(refused).toMatchObject({ allowed: false, remaining: 0, limit: 50, scope: 'user' });
        clock.advance(refused.resetMs);
      }
    }
  });

  test('admit exactly the limit to calls that are spread over shards, and announce each refusal', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.nat({ max: SHARDS - 1 }), { minLength: 100, maxLength: 200 }),
        async (limit, calls) => {
          const { shards, clock } = arrange();
          let left = limit;
          let admitted = 0;
          for (const shard of calls) {
            clock.advance(1);
            const verdict = await shards[shard]!(attemptOf(limit));
            if (verdict.allowed) admitted += 1;
            // Each answer announces one call less, whichever shard gives it, until none is left.
            left = Math.max(0, left - 1);
            expect(verdict).toMatchObject({ remaining: left, limit });
            expect(verdict.resetMs).toBeLessThanOrEqual(5_000);
          }
          expect(admitted).toBe(limit);
        },
      ),
      { numRuns: 100 },
    ));

  test('hold for calls that arrive at all shards at once', async () => {
    const { shards, clock } = arrange({ delayMs: 5 });
    const verdicts = Array.from({ length: 120 }, (_, n) => isAllowed(shards[n % SHARDS]!(attemptOf(30))));
    clock.advance(10);
    expect((await Promise.all(verdicts)).filter(Boolean)).toHaveLength(30);
  });

  test('hold for all calls of a principal, in whatever buckets', async () => {
    const { shards } = arrange();
    let admitted = 0;
    for (let n = 0; n < 300; n += 1) {
      const attempt = attemptOf(10, { globalExempt: false, major: String(n) });
      if (await isAllowed(shards[n % SHARDS]!(attempt))) admitted += 1;
    }
    expect(admitted).toBe(GLOBAL.limit);
  });

  test('ask the owner for nothing that is known to be refused', async () => {
    const { shards, asked } = arrange();
    for (let n = 0; n < 100; n += 1) await shards[1]!(attemptOf(50));
    expect(asked()).toBe(51);
  });

  test('are counted by each shard alone while the owner does not answer, after one wait of 250 ms', async () => {
    const { shards, clock, asked } = arrange({ owner: null });
    const first = isAllowed(shards[1]!(attemptOf(3)));
    clock.advance(300);
    expect(await first).toBe(true);
    for (const expected of [true, true, false])
      expect(await isAllowed(shards[1]!(attemptOf(3)))).toBe(expected);
    expect(asked()).toBe(1);
    clock.advance(6_000);
    void shards[1]!(attemptOf(3));
    expect(asked()).toBe(2);
  });
});

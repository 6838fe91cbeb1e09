// Goal: a loop misses no request, runs no two steps at once, retries what fails, and ends with its scope.
import { describe, expect, it } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { ReconcileLoop } from '../../../actors/runtime/reconcileloop.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';

type Outcome = 'done' | 'nothing' | 'fault';

/** A loop whose steps take until `finish`. */
function arrange() {
  const clock = new VirtualClock();
  const scope = new Lifetime(clock);
  const faults: unknown[] = [];
  const steps: ((outcome: Outcome) => void)[] = [];
  const loop = new ReconcileLoop({
    scope,
    step: () =>
      new Promise((resolve, reject) => {
        steps.push((outcome) =>
          outcome === 'fault' ? reject(new Error('Down.')) : resolve(outcome === 'done'),
        );
      }),
    onFault: (error) => faults.push(error),
    retryMs: { first: 100, most: 400 },
    random: () => 1,
  });
  const finish = async (outcome: Outcome) => {
    steps.at(-1)?.(outcome);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  return { clock, scope, loop, faults, steps, finish };
}

describe('a reconcile loop', () => {
  it('does steps one at a time until none is due', async () => {
    const { loop, steps, finish } = arrange();
    loop.request();
    expect(steps).toHaveLength(1);
    await finish('done');
    await finish('done');
    await finish('nothing');
    expect(steps).toHaveLength(3);
  });

  it('does one more step for any number of requests during a step', async () => {
    const { loop, steps, finish } = arrange();
    loop.request();
    for (let times = 0; times < 3; times += 1) loop.request();
    expect(steps).toHaveLength(1);
    await finish('nothing');
    expect(steps).toHaveLength(2);
    await finish('nothing');
    expect(steps).toHaveLength(2);
    loop.request();
    expect(steps).toHaveLength(3);
  });

  it('retries a failed step with growing, bounded delays that a success resets', async () => {
    const { clock, loop, faults, steps, finish } = arrange();
    loop.request();
    for (const [at, delayMs] of [100, 200, 400, 400].entries()) {
      await finish('fault');
      clock.advance(delayMs - 1);
      expect(steps).toHaveLength(at + 1);
      clock.advance(1);
      expect(steps).toHaveLength(at + 2);
    }
    await finish('nothing');
    loop.request();
    await finish('fault');
    clock.advance(100);
    expect([steps.length, faults.length, clock.timers]).toEqual([7, 5, 0]);
  });

  it('drops a retry or a later request when a request comes first', async () => {
    const { clock, loop, steps, finish } = arrange();
    loop.request();
    await finish('fault');
    loop.request();
    expect([steps.length, clock.timers]).toEqual([2, 0]);
    await finish('nothing');
    loop.requestAfter(50);
    loop.requestAfter(70);
    expect(clock.timers).toBe(1);
    clock.advance(69);
    expect(steps).toHaveLength(2);
    clock.advance(1);
    expect(steps).toHaveLength(3);
  });

  it.each(['done', 'nothing', 'fault'] as const)(
    'does nothing more when its scope ends during a step: %s',
    async (outcome) => {
      const { clock, scope, loop, faults, steps, finish } = arrange();
      loop.request();
      loop.request();
      await scope.close();
      await finish(outcome);
      loop.request();
      loop.requestAfter(10);
      clock.advance(10_000);
      expect([steps.length, faults.length, clock.timers]).toEqual([1, 0, 0]);
    },
  );
});

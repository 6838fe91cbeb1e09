// Goal: a wait ends once, never early and at most a tick late, however many there are.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';

describe('TimerWheel', () => {
  it('ends waits at their time, also beyond one round of the wheel', () => {
    const clock = new VirtualClock();
    const wheel = new TimerWheel(clock, 50, 8);
    const ended: string[] = [];
    wheel.add(() => ended.push('far'), 5_000);
    wheel.add(() => ended.push('near'), 10);
    clock.advance(49);
    expect(ended).toEqual([]);
    clock.advance(1);
    expect(ended).toEqual(['near']);
    clock.advance(4_949);
    expect(ended).toEqual(['near']);
    clock.advance(51);
    expect(ended).toEqual(['near', 'far']);
    expect(wheel.size).toBe(0);
  });

  it('never ends a cancelled wait, and cancels once', () => {
    const clock = new VirtualClock();
    const wheel = new TimerWheel(clock);
    const wait = wheel.add(() => expect.fail('ended'), 100);
    expect([wait.cancel(), wait.cancel()]).toEqual([true, false]);
    expect(wheel.size).toBe(0);
    clock.advance(1_000);
  });

  it('finds what is due after the process was paused for longer than a round', () => {
    const clock = new VirtualClock();
    const paused = { ...late(clock), pauseMs: 0 };
    const wheel = new TimerWheel(paused, 50, 8);
    let ended = 0;
    for (const delayMs of [100, 700, 1_500]) wheel.add(() => ended++, delayMs);
    paused.pauseMs = 60_000;
    clock.advance(50);
    expect(ended).toBe(3);
  });

  it('holds for any mix of waits, cancellations and time', () => {
    const step = fc.oneof(
      fc.record({ add: fc.integer({ min: 0, max: 3_000 }) }),
      fc.record({ cancel: fc.nat(20) }),
      fc.record({ advance: fc.integer({ min: 1, max: 700 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const clock = new VirtualClock();
        const wheel = new TimerWheel(clock, 50, 16);
        const waits: { dueMs: number; endedMs: number; cancelled: boolean; cancel(): void }[] = [];
        for (const step of steps) {
          if ('add' in step) {
            const wait = { dueMs: clock.monotonic() + step.add, endedMs: -1, cancelled: false, cancel() {} };
            const handle = wheel.add(() => {
              wait.endedMs = clock.monotonic();
            }, step.add);
            wait.cancel = () => handle.cancel();
            waits.push(wait);
          } else if ('cancel' in step) {
            const wait = waits[step.cancel];
            if (wait && wait.endedMs < 0) {
              wait.cancelled = true;
              wait.cancel();
            }
          } else clock.advance(step.advance);
        }
        clock.advance(4_000);
        for (const wait of waits) {
          if (wait.cancelled) expect(wait.endedMs).toBe(-1);
          else {
            expect(wait.endedMs).toBeGreaterThanOrEqual(wait.dueMs);
            expect(wait.endedMs).toBeLessThanOrEqual(wait.dueMs + 100);
          }
        }
      }),
    );
  });
});

it('ends pauses when it stops, and begins none later', async () => {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  const [over, ended] = [wheel.pause(100), wheel.pause(10_000)];
  clock.advance(200);
  wheel.stop();
  expect([await over, await ended, await wheel.pause(100)]).toEqual([true, false, false]);
});

/** The clock with a pause that timers do not notice but `monotonic` shows. */
function late(clock: VirtualClock) {
  return {
    now: () => clock.now(),
    monotonic(this: { pauseMs: number }) {
      return clock.monotonic() + this.pauseMs;
    },
    setTimer: (run: () => void, delayMs: number) => clock.setTimer(run, delayMs),
    defer: (run: () => void) => clock.defer(run),
  };
}

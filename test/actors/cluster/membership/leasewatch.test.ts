// Goal: a shard learns to the millisecond when its lease stops being safe, and without polling when it is safe again.
import { describe, expect, it } from 'vitest';
import { LeaseWatch } from '../../../../actors/cluster/membership/leasewatch.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';

function watching(untilMs: number) {
  const clock = new VirtualClock();
  const lease = { untilMs };
  const events: string[] = [];
  const watch = new LeaseWatch({
    scope: clock,
    directory: { safeUntilMs: () => lease.untilMs },
    send: ({ type }) => events.push(`${type} at ${clock.monotonic()}`),
  });
  const renew = (ms: number) => {
    lease.untilMs = ms;
    watch.renewed();
  };
  return { clock, lease, watch, events, renew };
}

describe('the watch of a lease', () => {
  it('sets no timer while the lease cannot expire', () => {
    const { clock, watch, events } = watching(Number.POSITIVE_INFINITY);
    expect([watch.isSafe, clock.timers]).toEqual([true, 0]);
    clock.advance(1_000_000);
    expect(events).toEqual([]);
  });

  it('reports the end of the lease once, at its time, and then sets no timer until the lease is renewed', () => {
    const { clock, watch, events, renew } = watching(1_000);
    clock.advance(999);
    expect([watch.isSafe, clock.timers, events]).toEqual([true, 1, []]);
    clock.advance(1);
    expect([watch.isSafe, clock.timers, events]).toEqual([false, 0, ['unsafe at 1000']]);
    clock.advance(500);
    renew(2_500);
    expect([watch.isSafe, clock.timers, events]).toEqual([true, 1, ['unsafe at 1000', 'safe at 1500']]);
    clock.advance(1_000);
    expect(events.at(-1)).toBe('unsafe at 2500');
  });

  it('moves its only timer with each renewal', () => {
    const { clock, events, renew } = watching(1_000);
    for (let ms = 500; ms <= 5_000; ms += 500) {
      clock.advance(500);
      renew(ms + 1_000);
      expect(clock.timers).toBe(1);
    }
    expect(new Set(events.map((event) => event.split(' ')[0]))).toEqual(new Set(['safe']));
  });

  it.each([1_000, 1_200])(
    'reports a lapse during which no timer could run before it reports the renewal at %i ms',
    (ms) => {
      const { clock, events, renew } = watching(1_000);
      clock.standStill(ms);
      renew(2_000);
      expect(events).toEqual([`unsafe at ${ms}`, `safe at ${ms}`]);
    },
  );

  it('does not report a renewal whose time has passed already as safe', () => {
    const { clock, watch, events, renew } = watching(1_000);
    clock.standStill(3_000);
    renew(2_000);
    clock.advance(0);
    expect(watch.isSafe).toBe(false);
    expect(new Set(events)).toEqual(new Set(['unsafe at 3000']));
  });

  it('waits on when its timer runs before the end', () => {
    const { clock, lease, events } = watching(1_000);
    lease.untilMs = 1_001;
    clock.advance(1_000);
    expect([events, clock.timers]).toEqual([[], 1]);
    clock.advance(1);
    expect(events).toEqual(['unsafe at 1001']);
  });
});

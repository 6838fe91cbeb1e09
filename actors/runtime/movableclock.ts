import { type Clock, systemClock } from './clock.ts';

/** The system's clock, whose time of day can be moved forward, so that a renewal due in a month can be tested today. */
interface MovableClock extends Clock {
  move(byMs: number): void;
}

/** Timers and monotonic time are not moved: a new date must not time out connections. */
export function movableClock(): MovableClock {
  let aheadMs = 0;
  return {
    ...systemClock,
    now: () => systemClock.now() + aheadMs,
    move(byMs) {
      aheadMs += byMs;
    },
  };
}

export const isMovable = (clock: Clock): clock is MovableClock => 'move' in clock;

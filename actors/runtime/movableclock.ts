import { type Clock, systemClock } from './clock.ts';

/** A clock whose time of day can be moved forward, so that a renewal due in a month can be tested today. */
interface MovableClock extends Clock {
  move(byMs: number): void;
}

/** Timers and monotonic time are not moved: a new date must not time out connections. */
export function movableClock(base: Clock = systemClock): MovableClock {
  let aheadMs = 0;
  return {
    now: () => base.now() + aheadMs,
    monotonic: () => base.monotonic(),
    setTimer: (run, delayMs) => base.setTimer(run, delayMs),
    defer: (run) => base.defer(run),
    move(byMs) {
      aheadMs += byMs;
    },
  };
}

export const isMovable = (clock: Clock): clock is MovableClock => 'move' in clock;

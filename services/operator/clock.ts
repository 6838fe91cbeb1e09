import type { Clock } from '../../actors/runtime/clock.ts';
import { isMovable } from '../../actors/runtime/clock.ts';
import { ApiError } from '../../protocol/apierror.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { DueClock } from '../dueclock.ts';
import type { ServedPremium } from '../premium/start.ts';

export interface ClockPorts {
  /** The clock that the engine was given; null for the system's. */
  readonly clock: Clock | null;
  readonly features: {
    readonly premium: Pick<ServedPremium, 'look'>;
    readonly eventClock: Pick<DueClock, 'look'>;
    readonly threadClock: Pick<DueClock, 'look'>;
  };
}

/** Moves the time of day forward and wakes everything that waits for a date. Never backward, because ids contain the time. */
export async function moveClock({ clock, features }: ClockPorts, byMs: number): Promise<{ nowMs: number }> {
  if (clock === null || !isMovable(clock))
    throw new ApiError({
      ...refusal('GENERAL_ERROR'),
      status: 409,
      message:
        'This server has the time of its machine. `guildhall dev` without --shards has a clock that moves.',
    });
  clock.move(byMs);
  features.premium.look();
  features.eventClock.look();
  features.threadClock.look();
  return { nowMs: clock.now() };
}

import type { Routing } from '../actors/placement/routing.ts';
import type { Wheel } from '../actors/runtime/wheel.ts';
import type { Attempt, Limiter, Verdict } from '../engine/ratelimit/limiter.ts';

/** How long a call waits for the owner of its principal, and how long others do not ask after such a wait was in vain. */
const ANSWER_MS = { wait: 250, pause: 1_000 };

interface RateLimitPorts {
  readonly limiter: Limiter;
  readonly routing: Routing;
  readonly wheel: Wheel;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
}

/** Counts one call. A verdict of another shard takes a while. */
export type TakeCall = (attempt: Attempt) => Verdict | Promise<Verdict>;

/**
 * Limits that hold for all shards together: the owner of a principal counts its calls, so that the headers of all shards agree. What
 * the owner has refused is refused without asking again until the window ends. While the owner cannot be reached, a shard counts by
 * itself.
 */
export function limitsAtOwners({ limiter, routing, wheel, monotonic }: RateLimitPorts): TakeCall {
  let asksFromMs = Number.NEGATIVE_INFINITY;
  const ask = routing.ask(
    'rateLimits.take',
    async (attempt: Attempt): Promise<Verdict> => limiter.take(attempt, monotonic()),
    ({ principal }) => principal,
  );

  /** Null when the answer does not come in time. */
  const askInTime = (attempt: Attempt): Promise<Verdict | null> =>
    new Promise((resolve) => {
      const giveUp = () => {
        asksFromMs = monotonic() + ANSWER_MS.pause;
        resolve(null);
      };
      const timer = wheel.add(giveUp, ANSWER_MS.wait);
      const { limit, windowMs } = attempt.rule;
      ask({ ...attempt, rule: { limit, windowMs } })
        .then(resolve, giveUp)
        .finally(() => timer.cancel());
    });

  return (attempt) => {
    const nowMs = monotonic();
    if (routing.owns(attempt.principal) || nowMs < asksFromMs) return limiter.take(attempt, nowMs);
    const known = limiter.refusal(attempt, nowMs);
    if (known) return known;
    return askInTime(attempt).then((answer) => {
      if (answer === null) return limiter.take(attempt, monotonic());
      if (!answer.allowed) limiter.refuse(attempt, answer, monotonic());
      return answer;
    });
  };
}

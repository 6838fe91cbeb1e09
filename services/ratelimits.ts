import type { Ownership } from '../actors/placement/ports.ts';
import type { Routing } from '../actors/placement/routing.ts';
import type { Wheel } from '../actors/runtime/wheel.ts';
import type { Attempt, Calls, Limiter, Verdict } from '../engine/ratelimit/limiter.ts';

/** What a shard may use of a limit without asking, as a part of an even share. All shards together exceed a limit by at most this. */
const FREE_SHARE = 1 / 4;
/** How long a call waits for the owner of its principal, and how long others do not ask after such a wait was in vain. */
const ANSWER_MS = { wait: 250, pause: 1_000 };

interface RateLimitPorts {
  readonly limiter: Limiter;
  readonly routing: Routing;
  readonly ownership: Pick<Ownership, 'view'>;
  readonly wheel: Wheel;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
}

/** Counts one call. A verdict of another shard takes a while. */
export type TakeCall = (attempt: Attempt) => Verdict | Promise<Verdict>;

/**
 * Limits that hold for all shards together: the owner of a principal counts its calls. Another shard admits a small share of a
 * limit by itself, and asks the owner for each call beyond it; calls that it refuses by what it knows ask nobody. While the owner cannot
 * be reached, it counts by itself.
 */
export function limitsAtOwners({ limiter, routing, ownership, wheel, monotonic }: RateLimitPorts): TakeCall {
  let asksFromMs = Number.NEGATIVE_INFINITY;
  const ask = routing.ask(
    'rateLimits.take',
    async (attempt: Attempt, calls: Calls): Promise<Verdict> => {
      limiter.add(attempt, calls, monotonic());
      return limiter.take(attempt, monotonic());
    },
    ({ principal }) => principal,
  );

  /** Null when the answer does not come in time. */
  const askInTime = (attempt: Attempt, calls: Calls): Promise<Verdict | null> =>
    new Promise((resolve) => {
      const giveUp = () => {
        asksFromMs = monotonic() + ANSWER_MS.pause;
        resolve(null);
      };
      const timer = wheel.add(giveUp, ANSWER_MS.wait);
      const { limit, windowMs } = attempt.rule;
      ask({ ...attempt, rule: { limit, windowMs } }, calls)
        .then(resolve, giveUp)
        .finally(() => timer.cancel());
    });

  return (attempt) => {
    const nowMs = monotonic();
    const verdict = limiter.take(attempt, nowMs);
    if (!verdict.allowed || routing.owns(attempt.principal) || nowMs < asksFromMs) return verdict;
    const calls = limiter.report(attempt, FREE_SHARE / Math.max(1, ownership.view.shards.length), nowMs);
    if (calls === null) return verdict;
    return askInTime(attempt, calls).then((answer) => {
      if (answer === null) return verdict;
      limiter.learn(attempt, answer, monotonic());
      return answer;
    });
  };
}

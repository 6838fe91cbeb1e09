import type { Lifetime } from '../actors/runtime/clock.ts';
import type { Wheel } from '../actors/runtime/wheel.ts';
import type { Reply } from '../engine/kernel/aggregate.ts';
import { LinkFault, NotServed } from '../protocol/faults.ts';

interface RepeatingPorts {
  readonly wheel: Wheel;
  /** Nothing is repeated once it is over. */
  readonly scope: Pick<Lifetime, 'over'>;
  readonly onFault: (error: unknown, id: string) => void;
}

/** First and longest delay before a failed call is repeated. */
const RETRY_MS = { first: 500, most: 30_000 };
/** Upper bound on the calls that wait for their repetition. */
const WAITING_MAX = 100_000;

/**
 * Runs a call about the id until it succeeds. It must be idempotent, because a failed call may have taken effect. `givenUp` is called when
 * too many calls wait.
 */
export type Repeat = (id: string, run: () => Promise<unknown>, givenUp?: () => void) => void;

interface Repeating {
  readonly repeat: Repeat;
  /** Repeats the calls about the id that wait for their repetition at once. */
  readonly wake: (id: string) => void;
}

/** At the bound a failed call is given up and reported. */
export function createRepeating({ wheel, scope, onFault }: RepeatingPorts): Repeating {
  let waiting = 0;
  const waitingFor = new Map<string, Set<(nextMs: number) => void>>();
  const attempt = (delayMs: number, ...[id, run, givenUp]: Parameters<Repeat>): void => {
    if (scope.over) return;
    run().catch((error) => {
      onFault(error, id);
      if (waiting >= WAITING_MAX) {
        onFault(new LinkFault('overloaded', 'Too many calls wait for their repetition.'), id);
        givenUp?.();
        return;
      }
      waiting += 1;
      const ofId = waitingFor.get(id) ?? new Set();
      const again = (nextMs: number): void => {
        timer.cancel();
        waiting -= 1;
        ofId.delete(again);
        if (ofId.size === 0) waitingFor.delete(id);
        attempt(nextMs, id, run, givenUp);
      };
      const timer = wheel.add(() => again(Math.min(delayMs * 2, RETRY_MS.most)), delayMs);
      waitingFor.set(id, ofId.add(again));
    });
  };
  return {
    repeat: (...call) => attempt(RETRY_MS.first, ...call),
    wake(id) {
      for (const again of [...(waitingFor.get(id) ?? [])]) again(RETRY_MS.first);
    },
  };
}

/** @throws NotServed when the owner of the state is overloaded, so that the command is repeated. */
export function served<Value>(reply: Reply<Value>): Reply<Value> {
  if (reply.ok || reply.refusal.status < 500) return reply;
  throw new NotServed(`The owner is overloaded: ${reply.refusal.message}`);
}

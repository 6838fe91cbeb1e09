import type { Clock } from './clock.ts';

/** @throws when the job takes longer than `timeoutMs`; the job continues, and its result is ignored. */
export function withTimeout<T>(
  job: Promise<T>,
  timeoutMs: number,
  clock: Pick<Clock, 'setTimer'>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(() => reject(new Error(`Not done within ${timeoutMs} ms.`)), timeoutMs);
    job.then(resolve, reject).finally(() => timer.cancel());
  });
}

import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import { type Sample, sampleOf } from './sample.ts';

interface HistoryPorts {
  /** All metrics as Prometheus text. */
  read(): Promise<string>;
  readonly clock: Pick<Clock, 'now' | 'setTimer'>;
}

const EVERY_MS = 10_000;
/** One hour. */
const SAMPLES_MAX = 360;

/** Keeps the last hour of the chosen metrics, a sample each ten seconds, until it is closed. */
export function keepHistory({ read, clock }: HistoryPorts): { samples(): readonly Sample[]; close(): void } {
  const samples: Sample[] = [];
  let timer: Timer;
  const take = (): void => {
    timer = clock.setTimer(take, EVERY_MS);
    read().then(
      (text) => {
        samples.push(sampleOf(text, clock.now()));
        if (samples.length > SAMPLES_MAX) samples.shift();
      },
      // A reading that fails leaves a gap.
      () => undefined,
    );
  };
  take();
  return { samples: () => samples, close: () => timer.cancel() };
}

import { type Sample, sampleOf } from './sample.ts';

interface HistoryPorts {
  /** All metrics as Prometheus text. */
  read(): Promise<string>;
  nowMs(): number;
}

const EVERY_MS = 10_000;
/** One hour. */
const SAMPLES_MAX = 360;

/** Keeps the last hour of the chosen metrics, a sample each ten seconds, until it is closed. */
export function keepHistory({ read, nowMs }: HistoryPorts): { samples(): readonly Sample[]; close(): void } {
  const samples: Sample[] = [];
  const take = (): void => {
    read().then(
      (text) => {
        samples.push(sampleOf(text, nowMs()));
        if (samples.length > SAMPLES_MAX) samples.shift();
      },
      // A reading that fails leaves a gap.
      () => undefined,
    );
  };
  take();
  const timer = setInterval(take, EVERY_MS);
  timer.unref();
  return { samples: () => samples, close: () => clearInterval(timer) };
}

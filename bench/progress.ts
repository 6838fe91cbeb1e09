import { Presets, SingleBar } from 'cli-progress';

/** How far a part of a run has got. */
export interface Progress {
  readonly phase: string;
  readonly done: number;
  readonly of: number;
}

/** Shown on a terminal only, and on its error stream, so that what is printed stays clean. */
export function progressBar(): { update: (progress: Progress) => void; stop: () => void } {
  if (!process.stderr.isTTY) return { update: () => {}, stop: () => {} };
  const bar = new SingleBar(
    { format: '{phase} {bar} {value}/{total}', clearOnComplete: true, stream: process.stderr },
    Presets.shades_classic,
  );
  let phase: string | null = null;
  return {
    update: (progress) => {
      if (progress.phase !== phase) bar.start(progress.of, 0, { phase: progress.phase });
      phase = progress.phase;
      bar.update(progress.done, { phase });
    },
    stop: () => bar.stop(),
  };
}

const LINE_EVERY_MS = 5000;

/** The same as lines, where nobody watches a terminal: one for each phase, and then one every few seconds. */
export function progressLines(): ReturnType<typeof progressBar> {
  let phase: string | null = null;
  let toldMs = 0;
  return {
    update(progress) {
      const nowMs = performance.now();
      if (progress.phase === phase && nowMs - toldMs < LINE_EVERY_MS) return;
      [phase, toldMs] = [progress.phase, nowMs];
      process.stderr.write(`${phase}: ${progress.done} of ${progress.of}\n`);
    },
    stop: () => undefined,
  };
}

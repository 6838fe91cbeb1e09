import { liveRate } from './liverate.ts';

/** The progress of a part of a run. */
export interface Progress {
  readonly phase: string;
  readonly done: number;
  readonly of: number;
}

const BAR_CHARS = 30;
const DRAW_EVERY_MS = 100;
const CLEAR_LINE = '\r\u001b[2K';

const barOf = ({ phase, done, of }: Progress, rate: string): string => {
  const filled = Math.round(BAR_CHARS * Math.min(1, done / Math.max(1, of)));
  return `${phase} ${'█'.repeat(filled)}${'░'.repeat(BAR_CHARS - filled)} ${done}/${of}${rate}`;
};

/** Shows progress on a terminal only, and on its error stream, so that standard output stays clean. */
export function progressBar(): { update: (progress: Progress) => void; stop: () => void } {
  const { stderr } = process;
  if (!stderr.isTTY) return { update: () => {}, stop: () => {} };
  let phase: string | null = null;
  let drawnMs = 0;
  const rateOf = liveRate();
  return {
    update(progress) {
      const nowMs = performance.now();
      if (progress.phase === phase && nowMs - drawnMs < DRAW_EVERY_MS) return;
      [phase, drawnMs] = [progress.phase, nowMs];
      stderr.write(`${CLEAR_LINE}${barOf(progress, rateOf(progress, nowMs))}`);
    },
    stop: () => void stderr.write(CLEAR_LINE),
  };
}

const LINE_EVERY_MS = 5000;

/** Shows progress as lines without a terminal: one for each phase, and then one every few seconds. */
export function progressLines(): ReturnType<typeof progressBar> {
  let phase: string | null = null;
  let toldMs = 0;
  const rateOf = liveRate();
  return {
    update(progress) {
      const nowMs = performance.now();
      if (progress.phase === phase && nowMs - toldMs < LINE_EVERY_MS) return;
      [phase, toldMs] = [progress.phase, nowMs];
      process.stderr.write(`${phase}: ${progress.done} of ${progress.of}${rateOf(progress, nowMs)}\n`);
    },
    stop: () => undefined,
  };
}

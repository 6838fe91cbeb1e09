interface Counted {
  readonly phase: string;
  readonly done: number;
}

/** Length of the window that a rate covers. */
const RATE_OVER_MS = 2000;

/** Formats the rate of the current phase over the last two seconds; empty until half a second is measured. */
export function liveRate(): (progress: Counted, nowMs: number) => string {
  let phase: string | null = null;
  let seen: { readonly atMs: number; readonly done: number }[] = [];
  return (progress, nowMs) => {
    if (progress.phase !== phase) seen = [];
    phase = progress.phase;
    const since = seen.findLastIndex(({ atMs }) => nowMs - atMs >= RATE_OVER_MS);
    seen = [...seen.slice(Math.max(0, since)), { atMs: nowMs, done: progress.done }];
    const [first] = seen;
    if (first === undefined || nowMs - first.atMs < RATE_OVER_MS / 4) return '';
    const rate = (1000 * (progress.done - first.done)) / (nowMs - first.atMs);
    return ` · ${rate.toFixed(rate < 10 ? 1 : 0)}/s`;
  };
}

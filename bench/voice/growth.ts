/** Memory of a server at a moment of a run. */
export interface Sample {
  readonly seconds: number;
  readonly rssMib: number;
  readonly heapMib: number;
}

/** The server compiles and sizes its buffers in this share of a run, which is not judged. */
const WARM_SHARE = 0.2;

/** The least squares slope over the samples after the warm-up, times the time that they cover, MiB. */
export function growthOf(samples: readonly Sample[], pick: (sample: Sample) => number): number {
  const judged = samples.slice(Math.floor(samples.length * WARM_SHARE));
  const mean = (of: (sample: Sample) => number): number =>
    judged.reduce((sum, each) => sum + of(each), 0) / judged.length;
  const [atMean, valueMean] = [mean((each) => each.seconds), mean(pick)];
  const covariance = judged.reduce(
    (sum, each) => sum + (each.seconds - atMean) * (pick(each) - valueMean),
    0,
  );
  const variance = judged.reduce((sum, each) => sum + (each.seconds - atMean) ** 2, 0);
  const covered = (judged.at(-1)?.seconds ?? 0) - (judged[0]?.seconds ?? 0);
  return variance === 0 ? 0 : (covariance / variance) * covered;
}

import { present } from '../../protocol/present.ts';
/** The middle and the ends of some samples. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  const median = sorted.length % 2 === 0 ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
  return { median, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

/** Ratios of this server to the reference per round, since a disturbance of the machine affects both in a round. */
export const ratiosOf = (ours: readonly number[], reference: readonly number[]): Spread =>
  spreadOf(ours.map((value, round) => value / present(reference[round])));

/** @param percentile 0 to 100. */
export function percentileOf(samples: readonly number[], percentile: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((percentile / 100) * sorted.length) - 1)] ?? Number.NaN;
}

export const show = ({ median, min, max }: Spread, digits = 2): string =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;

/** Compares with a bound: it counts as missed only when the whole spread is above it. */
export function verdictOf(spread: Spread, atMost: number): string {
  const { median, min } = spread;
  return median <= atMost ? 'met' : min <= atMost ? 'within the spread' : 'missed';
}

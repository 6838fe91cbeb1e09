import { CommandError } from '../../cli/world.ts';
import { present } from '../../protocol/present.ts';
import { messageOf } from '../../protocol/thrown.ts';
import type { Report } from './report.ts';

/** A bound for a run, such as `p99<50ms`. */
interface Threshold<Metric extends string = string> {
  /** The bound as it was given. */
  readonly text: string;
  readonly metric: Metric;
  readonly operator: Operator;
  /** In the metric's own unit: milliseconds, or a plain number. */
  readonly bound: number;
}

type Operator = '<' | '<=' | '>' | '>=';

const HOLDS: Readonly<Record<Operator, (value: number, bound: number) => boolean>> = {
  '<': (value, bound) => value < bound,
  '<=': (value, bound) => value <= bound,
  '>': (value, bound) => value > bound,
  '>=': (value, bound) => value >= bound,
};

/** Figures of a report that can be bounded, by name. NaN when the run has no such figure. */
export type Metrics<R, Metric extends string> = Readonly<Record<Metric, (report: R) => number>>;

/** Figures of a gateway run that can be bounded. */
export const GATEWAY_METRICS = {
  p50: (report: Report) => report.latencyMs.p50,
  p90: (report: Report) => report.latencyMs.p90,
  p99: (report: Report) => report.latencyMs.p99,
  'p99.9': (report: Report) => report.latencyMs.p999,
  'p99.99': (report: Report) => report.latencyMs.p9999,
  max: (report: Report) => report.latencyMs.max,
  mean: (report: Report) => report.latencyMs.mean,
  deliveries: (report: Report) => report.deliveriesPerSecond,
  lost: (report: Report) => report.lost,
  duplicated: (report: Report) => report.duplicated,
  reordered: (report: Report) => report.reordered,
  failed: (report: Report) => report.sends.failed + report.sends.limited,
  dropped: (report: Report) => report.dropped,
  cpu: (report: Report) => report.server?.cpuMicrosPerDelivery ?? Number.NaN,
} as const;

/** Names that end like this are times. */
const LATENCY = /(?:^|\.)(?:p50|p90|p99|p99\.9|max|mean)$/;
const CPU = /(?:^|\.)cpu$/;
const UNIT_MS: Readonly<Record<string, number>> = { us: 0.001, µs: 0.001, ms: 1, s: 1000 };
const FORM = /^([a-z][a-z0-9.]*)\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s)?$/;

/** Parses a bound. @throws RangeError that names the error and the figures that may be bounded. */
export function parseBound<Metric extends string>(
  text: string,
  metrics: Readonly<Record<Metric, unknown>>,
): Threshold<Metric> {
  const [, metric, operator, number, unit] = FORM.exec(text.trim()) ?? [];
  const names = Object.keys(metrics);
  if (metric === undefined || !Object.hasOwn(metrics, metric)) {
    const example = names.find((name) => LATENCY.test(name) && name.endsWith('p99')) ?? names[0];
    throw new RangeError(
      `"${text}" is no threshold. Write for example ${example}<50ms, with one of ${names.join(', ')}.`,
    );
  }
  const isTime = LATENCY.test(metric);
  if (isTime && unit === undefined) throw new RangeError(`"${text}" needs a unit: us, ms or s.`);
  if (!isTime && unit !== undefined && !(CPU.test(metric) && (unit === 'us' || unit === 'µs')))
    throw new RangeError(`"${text}" is not a time: leave out ${unit}.`);
  const bound = Number(number) * (isTime ? present(UNIT_MS[present(unit)]) : 1);
  return { text: text.trim(), metric: metric as Metric, operator: operator as Operator, bound };
}

/** The bounds that a run violated. A figure that the run does not have violates its bound. */
const missedBounds = <R, Metric extends string>(
  report: R,
  bounds: readonly Threshold<Metric>[],
  metrics: Metrics<R, Metric>,
): Threshold<Metric>[] =>
  bounds.filter(({ metric, operator, bound }) => !HOLDS[operator](metrics[metric](report), bound));

/** Parses a bound of a gateway run. @throws RangeError as `parseBound`. */
export const parseThreshold = (text: string): Threshold<keyof typeof GATEWAY_METRICS> =>
  parseBound(text, GATEWAY_METRICS);

/** @throws CommandError when one bounds a figure that this kind of run does not have. */
export function boundsOf<Metric extends string>(
  texts: readonly string[],
  metrics: Readonly<Record<Metric, unknown>>,
): Threshold<Metric>[] {
  try {
    return texts.map((text) => parseBound(text, metrics));
  } catch (error) {
    throw new CommandError('This kind of run has no such figure to bound.', messageOf(error));
  }
}

/** The bounds in the format of a report. */
export function judged<R, Metric extends string>(
  report: R,
  bounds: readonly Threshold<Metric>[],
  metrics: Metrics<R, Metric>,
): { readonly text: string; readonly kept: boolean }[] {
  const missed = new Set(missedBounds(report, bounds, metrics));
  return bounds.map((bound) => ({ text: bound.text, kept: !missed.has(bound) }));
}

export const missedThresholds = (
  report: Report,
  thresholds: readonly Threshold<keyof typeof GATEWAY_METRICS>[],
): Threshold[] => missedBounds(report, thresholds, GATEWAY_METRICS);

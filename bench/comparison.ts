import { isRecord } from '../protocol/json.ts';

type Verdict = 'same' | 'better' | 'worse' | 'other load' | 'changed';

interface ComparedRow {
  readonly figure: string;
  readonly before: number | string;
  readonly after: number | string;
  /** Percent; null when the first figure is 0 or no number. */
  readonly change: number | null;
  readonly verdict: Verdict;
}

/** Parameters of a run; figures of runs with different parameters do not compare. */
const LOAD =
  /(^|\.)(connections|connectionsAsked|measuredConnections|membersEach|members|lobbies|calls|speakers|perSecond|durationSeconds|payloadBytes|encoding|mode|shards|passive|name)$/;
/** Figures where more is better; `perSecond` of a part of `bench lobbies` is a parameter. */
const MORE_IS_BETTER = /(deliveriesPerSecond|packetsPerSecond|joins\.perSecond|answered)$/;
/** Figures where less is better. */
const LESS_IS_BETTER =
  /(Ms\.\w+|Seconds|lost|duplicated|reordered|dropped|limited|failed|retried|cpuMicrosPer\w+|cpuMsPerMessage|cpuShare|rssBytes|bytesPer\w+|identifiesRefused)$/;
/** Fields that differ between any two runs, or that repeat other figures. */
const LEFT_OUT =
  /^(headline|url|thresholds|notes|failures)\b|(^|\.)(curve|timeline|closes|refused|about|sent|deliveries|expected|chunk)(\.|$)/;
/** Differences of times up to this are below the resolution of the measurement. */
const NOISE_MS = 0.05;

/**
 * Compares two reports figure by figure.
 *
 * @param tolerance Difference in percent up to which a figure counts as the same.
 */
export function compareReports(before: unknown, after: unknown, tolerance: number): ComparedRow[] {
  const [one, other] = [figuresIn(before), figuresIn(after)];
  return [...one].flatMap(([figure, was]) => {
    const is = other.get(figure);
    return is === undefined ? [] : [rowOf(figure, was, is, tolerance)];
  });
}

type Figure = number | string;

function rowOf(figure: string, before: Figure, after: Figure, tolerance: number): ComparedRow {
  const isLoad = LOAD.test(figure) && !MORE_IS_BETTER.test(figure);
  const change =
    typeof before === 'number' && typeof after === 'number' && before !== 0
      ? (100 * (after - before)) / before
      : null;
  const row = { figure, before, after, change };
  if (isLoad) return { ...row, verdict: before === after ? 'same' : 'other load' };
  if (typeof before !== 'number' || typeof after !== 'number')
    return { ...row, verdict: before === after ? 'same' : 'changed' };
  const isSame =
    before === after ||
    Math.abs(change ?? Number.POSITIVE_INFINITY) <= tolerance ||
    (/Ms\./.test(figure) && Math.abs(after - before) <= NOISE_MS);
  if (isSame) return { ...row, verdict: 'same' };
  if (MORE_IS_BETTER.test(figure)) return { ...row, verdict: after > before ? 'better' : 'worse' };
  if (LESS_IS_BETTER.test(figure)) return { ...row, verdict: after < before ? 'better' : 'worse' };
  return { ...row, verdict: 'changed' };
}

/** The figures and parameters of a report, by path. */
function figuresIn(value: unknown, path = '', found = new Map<string, Figure>()): Map<string, Figure> {
  if (path !== '' && LEFT_OUT.test(path)) return found;
  if (typeof value === 'number' || (typeof value === 'string' && LOAD.test(path))) found.set(path, value);
  else if (Array.isArray(value))
    for (const [at, each] of value.entries()) figuresIn(each, `${path}[${at}]`, found);
  else if (isRecord(value))
    for (const [name, each] of Object.entries(value))
      figuresIn(each, path === '' ? name : `${path}.${name}`, found);
  return found;
}

const shown = (value: Figure): string =>
  typeof value === 'string' ? value : Number.isInteger(value) ? String(value) : value.toPrecision(4);

/** The rows as columns, a summary, and warnings. */
export function comparisonLines(rows: readonly ComparedRow[], starved: readonly string[]): string[] {
  const table = rows.map(({ figure, before, after, change, verdict }) => [
    ...[figure, shown(before), shown(after)],
    change === null ? '' : `${change > 0 ? '+' : ''}${change.toFixed(1)} %`,
    verdict === 'same' ? '' : verdict,
  ]);
  const head = ['figure', 'before', 'after', 'change', 'verdict'];
  const widths = head.map((name, at) =>
    Math.max(name.length, ...table.map((cells) => (cells[at] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((text, at) =>
        at === 0 || at === 4 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return [line(head), ...table.map(line), '', summaryOf(rows), ...starved.map((why) => `Warning: ${why}`)];
}

function summaryOf(rows: readonly ComparedRow[]): string {
  const count = (verdict: Verdict): number => rows.filter((row) => row.verdict === verdict).length;
  const sum = `${count('better')} better, ${count('worse')} worse, ${count('same')} the same`;
  return count('other load') > 0 ? `${sum}; THE LOADS DIFFER, so the figures do not compare` : sum;
}

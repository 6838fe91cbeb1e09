import { present } from '../../protocol/present.ts';
import type { ShardedReport } from './beside.ts';
import { figuresOf, millis, type Report } from './report.ts';

const WIDTH = 720;
const HEIGHT = 260;
const LEFT = 64;
const BOTTOM = 34;
const TOP = 14;
const plotWidth = WIDTH - LEFT - 12;
const plotHeight = HEIGHT - TOP - BOTTOM;

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (each) => `&#${present(each.codePointAt(0)).toString()};`);

interface Tick {
  /** Position on the axis, 0 to 1. */
  readonly at: number;
  readonly label: string;
}

function plot(title: string, points: readonly (readonly [number, number])[], xs: Tick[], ys: Tick[]): string {
  const x = (at: number): string => (LEFT + at * plotWidth).toFixed(1);
  const y = (at: number): string => (TOP + (1 - at) * plotHeight).toFixed(1);
  const line = points.map(([px, py], index) => `${index === 0 ? 'M' : 'L'}${x(px)} ${y(py)}`).join('');
  const right = x(1);
  return [
    `<figure><figcaption>${escaped(title)}</figcaption>`,
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}">`,
    ...ys.map(
      ({ at, label }) =>
        `<path class="grid" d="M${LEFT} ${y(at)}H${right}"/><text x="${LEFT - 8}" y="${y(at)}" text-anchor="end" dy="4">${escaped(label)}</text>`,
    ),
    ...xs.map(
      ({ at, label }) =>
        `<text x="${x(at)}" y="${HEIGHT - 10}" text-anchor="middle">${escaped(label)}</text>`,
    ),
    `<path class="line" d="${line}"/></svg></figure>`,
  ].join('\n');
}

/** End of the axis, where the maximum is drawn. */
const NINES_MAX = 5;

/** Percentiles on an axis that gives each nine equal space, since tails matter. */
function curvePlot(report: Pick<Report, 'curve'>, prefix = ''): string {
  const nines = (percentile: number): number =>
    Math.min(NINES_MAX, -Math.log10(1 - Math.min(percentile, 99.9999) / 100)) / NINES_MAX;
  const top = Math.max(...report.curve.map(({ ms }) => ms), 0.001);
  return plot(
    `${prefix}Send to receipt, by percentile`,
    report.curve.map(({ percentile, ms }) => [nines(percentile), ms / top] as const),
    [0, 90, 99, 99.9, 99.99, 100].map((each) => ({
      at: nines(each),
      label: each === 100 ? 'max' : `p${each}`,
    })),
    [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, label: millis(at * top) })),
  );
}

function timelinePlot(report: Pick<Report, 'timeline'>, title: string): string {
  const seconds = report.timeline.length;
  const top = Math.max(...report.timeline, 1);
  return plot(
    title,
    report.timeline.map((value, second) => [seconds > 1 ? second / (seconds - 1) : 0, value / top] as const),
    [0, 0.5, 1].map((at) => ({ at, label: `${Math.round(at * Math.max(0, seconds - 1))} s` })),
    [0, 0.5, 1].map((at) => ({ at, label: Math.round(at * top).toLocaleString('en-US') })),
  );
}

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2rem auto;padding:0 1rem;color:#1c2024;background:#fff}
h1,h2{font-size:1.2rem}table{border-collapse:collapse;width:100%}td{padding:.2rem .6rem;border-bottom:1px solid #ddd}td+td{text-align:right;font-variant-numeric:tabular-nums}
figure{margin:2rem 0}svg{width:100%}text{font-size:11px;fill:#555}.grid{stroke:#ddd;fill:none}.line{stroke:#3b5bdb;stroke-width:2;fill:none}`;

/** The report as a self-contained page without scripts or requests. */
export const pageOf = (report: Report): string =>
  page('Gateway measurement', report.headline, figuresOf(report), [
    curvePlot(report),
    timelinePlot(report, 'Deliveries in each second'),
  ]);

/** Runs with different numbers of shards, one below the other. */
export const besidePageOf = (found: readonly ShardedReport[]): string =>
  page(
    'Gateway measurement',
    found.map(({ shards, report }) => `${shards} shards: ${report.headline}`).join(' — '),
    found.flatMap(({ shards, report }) =>
      figuresOf(report).map(([name, value]) => [`${shards} shards: ${name}`, value] as const),
    ),
    found.flatMap(({ shards, report }) => [
      curvePlot(report, `${shards} shards: `),
      timelinePlot(report, `${shards} shards: deliveries in each second`),
    ]),
  );

/** The page of a voice run. */
export const voicePageOf = (
  headline: string,
  figures: readonly (readonly [string, string])[],
  plots: Pick<Report, 'curve' | 'timeline'>,
): string =>
  page('Voice measurement', headline, figures, [
    curvePlot(plots),
    timelinePlot(plots, 'Packets received in each second'),
  ]);

/** The page of a lobby run. */
export const lobbiesPageOf = (
  headline: string,
  figures: readonly (readonly [string, string])[],
  plots: Pick<Report, 'curve' | 'timeline'>,
): string =>
  page('Lobby measurement', headline, figures, [
    curvePlot(plots),
    timelinePlot(plots, 'Deliveries in each second'),
  ]);

/** The page of a join storm, which has figures only. */
export const stormPageOf = (headline: string, figures: readonly (readonly [string, string])[]): string =>
  page('Lobby join storm', headline, figures, []);

function page(
  title: string,
  headline: string,
  figures: readonly (readonly [string, string])[],
  plots: readonly string[],
): string {
  const rows = figures.map(([name, value]) => `<tr><td>${escaped(name)}</td><td>${escaped(value)}</td></tr>`);
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta name="viewport" content="width=device-width"><title>${title}</title>`,
    `<style>${STYLE}</style></head><body>`,
    `<h1>${escaped(headline)}</h1>`,
    ...plots,
    `<table>${rows.join('\n')}</table>`,
    '</body></html>\n',
  ].join('\n');
}

/** Adds a table of machine, versions, command and load to the end of a page. */
export const withAbout = (html: string, figures: readonly (readonly [string, string])[]): string => {
  const rows = figures.map(([name, value]) => `<tr><td>${escaped(name)}</td><td>${escaped(value)}</td></tr>`);
  return html.replace(
    '</body>',
    () => `<h2>How it was measured</h2><table>${rows.join('\n')}</table></body>`,
  );
};

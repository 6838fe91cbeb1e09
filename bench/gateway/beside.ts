import { csvTable } from '../table.ts';
import { type Report, rowOf } from './report.ts';

/** A run against a server with this many shards. With several counts, `--json` prints `{ runs }`. */
export interface ShardedReport {
  readonly shards: number;
  readonly report: Report;
}

const MICROS = 1e6;
const MIB = 2 ** 20;

/** A Markdown table of runs with different numbers of shards. */
export function besideOf(found: readonly ShardedReport[]): string {
  const lines = found.map(({ shards, report }) => {
    const { latencyMs, lost, duplicated, reordered, server } = report;
    const cpu = server?.cpuMicrosPerDelivery ?? 0;
    const cells = [
      shards,
      server ? cpu.toFixed(2) : '–',
      cpu > 0 ? Math.round(MICROS / cpu).toLocaleString('en-US') : '–',
      latencyMs.p50.toFixed(1),
      latencyMs.p99.toFixed(1),
      `${lost}, ${duplicated}, ${reordered}`,
      server ? Math.round(server.rssBytes / MIB) : '–',
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| shards | CPU-µs per delivery | deliveries per CPU-second | p50 ms | p99 ms | lost, doubled, out of order | memory MiB, all processes |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}

/** CSV with a line for each run. */
export const besideCsvOf = (found: readonly ShardedReport[]): string =>
  csvTable(found.map(({ shards, report }) => [['shards', shards] as const, ...rowOf(report)]));

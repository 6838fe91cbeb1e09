import type { Latencies } from '../wire/histogram.ts';

/** Percentiles that a plot shows. */
export const CURVE = [0, 10, 25, 50, 75, 90, 95, 97.5, 99, 99.5, 99.9, 99.95, 99.99];

/** What a run found. The shape of `--json`; times in milliseconds unless the name says otherwise. */
export interface Report {
  readonly headline: string;
  readonly url: string;
  readonly encoding: 'json' | 'zlib-stream';
  readonly connections: number;
  /** Connections whose every payload was decoded: latency, loss and order are theirs. */
  readonly measuredConnections: number;
  /** Members of the guild, as its GUILD_CREATE says. */
  readonly members: number;
  readonly perSecond: number;
  readonly durationSeconds: number;
  /** Time until all were connected and had their guilds. */
  readonly connectSeconds: number;
  readonly sends: {
    readonly sent: number;
    readonly answered: number;
    /** Answered 429. */
    readonly limited: number;
    readonly failed: number;
    readonly latencyMs: Percentiles;
  };
  readonly deliveries: number;
  readonly deliveriesPerSecond: number;
  readonly bytesPerDelivery: number;
  /** Of messages that were answered with success, over the measured connections. */
  readonly lost: number;
  readonly duplicated: number;
  /** Measured connections that saw the messages in another order than most did. */
  readonly reordered: number;
  /** Connections that ended before the run did. */
  readonly dropped: number;
  /** Intended send to receipt. */
  readonly latencyMs: Percentiles;
  readonly curve: readonly { readonly percentile: number; readonly ms: number }[];
  /** Deliveries in each second of the run. */
  readonly timeline: readonly number[];
  readonly server: ServerUse | null;
  readonly thresholds: readonly { readonly text: string; readonly kept: boolean }[];
}

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  readonly mean: number;
}

export function percentilesOf(latencies: Latencies): Percentiles {
  return {
    p50: latencies.millisAt(50),
    p90: latencies.millisAt(90),
    p99: latencies.millisAt(99),
    p999: latencies.millisAt(99.9),
    max: latencies.maxMillis,
    mean: latencies.meanMillis,
  };
}

/** What the server's process used while messages were sent; answering the sends is part of it. */
export interface ServerUse {
  readonly cpuMicrosPerDelivery: number;
  /** 1 is one core. */
  readonly cpuShare: number;
  readonly rssBytes: number;
}

const count = (value: number): string => Math.round(value).toLocaleString('en-US');
export const millis = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(1)} ms`;

/** The one line to remember of a run. */
export function headlineOf(report: Omit<Report, 'headline'>): string {
  const cpu = report.server ? `, ${report.server.cpuMicrosPerDelivery.toFixed(2)} CPU-µs each` : '';
  const lost = report.lost === 0 ? 'none lost' : `${count(report.lost)} LOST`;
  return (
    `${count(report.deliveriesPerSecond)} deliveries/s to ${count(report.connections)} connections, ` +
    `p50 ${millis(report.latencyMs.p50)}, p99 ${millis(report.latencyMs.p99)}, ${lost}${cpu}`
  );
}

/** Every figure with its name, as table and page show them. */
export function figuresOf(report: Report): [string, string][] {
  const { latencyMs, sends, server } = report;
  return [
    ['gateway', `${report.url} (${report.encoding})`],
    ['connections', `${count(report.connections)} (${count(report.measuredConnections)} decoded)`],
    ['members of the guild', count(report.members)],
    ['connecting took', `${report.connectSeconds.toFixed(1)} s`],
    ['messages sent', `${count(sends.sent)} at ${report.perSecond}/s for ${report.durationSeconds} s`],
    [
      'answered, limited, failed',
      `${count(sends.answered)}, ${count(sends.limited)}, ${count(sends.failed)}`,
    ],
    ['send to answer p50, p99', `${millis(sends.latencyMs.p50)}, ${millis(sends.latencyMs.p99)}`],
    ['deliveries', `${count(report.deliveries)} (${count(report.deliveriesPerSecond)}/s)`],
    ['bytes per delivery', count(report.bytesPerDelivery)],
    ['send to receipt p50', millis(latencyMs.p50)],
    ['send to receipt p90', millis(latencyMs.p90)],
    ['send to receipt p99', millis(latencyMs.p99)],
    ['send to receipt p99.9', millis(latencyMs.p999)],
    ['send to receipt max', millis(latencyMs.max)],
    ['lost, doubled, out of order', `${report.lost}, ${report.duplicated}, ${report.reordered}`],
    ['connections dropped', count(report.dropped)],
    ...(server
      ? ([
          ['server CPU-µs per delivery', server.cpuMicrosPerDelivery.toFixed(2)],
          ['server CPU', `${(server.cpuShare * 100).toFixed(0)} % of a core`],
          ['server memory', `${(server.rssBytes / 2 ** 20).toFixed(0)} MiB`],
        ] as [string, string][])
      : []),
    ...report.thresholds.map(({ text, kept }): [string, string] => [text, kept ? 'kept' : 'MISSED']),
  ];
}

/** The figures in two columns, the headline last so that it is what stays on screen. */
export function tableOf(report: Report): string {
  const figures = figuresOf(report);
  const width = Math.max(...figures.map(([name]) => name.length));
  return [...figures.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`), '', report.headline].join(
    '\n',
  );
}

/** One header line and one line of plain numbers, for a spreadsheet that gathers runs. */
export function csvOf(report: Report): string {
  const { latencyMs, sends, server } = report;
  const columns: [string, string | number][] = [
    ['url', report.url],
    ['encoding', report.encoding],
    ['connections', report.connections],
    ['members', report.members],
    ['per_second', report.perSecond],
    ['duration_s', report.durationSeconds],
    ['sent', sends.sent],
    ['answered', sends.answered],
    ['limited', sends.limited],
    ['failed', sends.failed],
    ['deliveries', report.deliveries],
    ['deliveries_per_s', report.deliveriesPerSecond],
    ['bytes_per_delivery', report.bytesPerDelivery],
    ['p50_ms', latencyMs.p50],
    ['p90_ms', latencyMs.p90],
    ['p99_ms', latencyMs.p99],
    ['p999_ms', latencyMs.p999],
    ['max_ms', latencyMs.max],
    ['lost', report.lost],
    ['duplicated', report.duplicated],
    ['reordered', report.reordered],
    ['cpu_us_per_delivery', server?.cpuMicrosPerDelivery ?? ''],
    ['cpu_share', server?.cpuShare ?? ''],
    ['rss_bytes', server?.rssBytes ?? ''],
  ];
  const cell = (value: string | number): string =>
    /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  return `${columns.map(([name]) => name).join(',')}\n${columns.map(([, value]) => cell(value)).join(',')}\n`;
}

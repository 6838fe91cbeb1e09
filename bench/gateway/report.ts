import { columnsOf, csvTable, type TableRow } from '../table.ts';
import type { Latencies } from '../wire/histogram.ts';
import { type Counts, type Failure, failedLine } from './verdict.ts';

/** Percentiles of the plot. */
export const CURVE = [0, 10, 25, 50, 75, 90, 95, 97.5, 99, 99.5, 99.9, 99.95, 99.99, 99.999, 100];

/** The result of a run, in the format of `--json`; times in milliseconds unless the name says otherwise. */
export interface Report {
  readonly headline: string;
  readonly url: string;
  readonly encoding: 'json' | 'zlib-stream';
  readonly connections: number;
  /** More than `connections` if the server allowed no more session starts. */
  readonly connectionsAsked: number;
  /** Connections that decoded every payload; latency, loss and order are measured on them. */
  readonly measuredConnections: number;
  /** Members of the guild, from its GUILD_CREATE. */
  readonly members: number;
  readonly perSecond: number;
  readonly durationSeconds: number;
  /** Time until all connections had their guilds. */
  readonly connectSeconds: number;
  /** IDENTIFYs that the server answered with op 9 and that were retried. */
  readonly identifiesRefused: number;
  readonly sends: {
    readonly sent: number;
    readonly answered: number;
    /** Answered 429. */
    readonly limited: number;
    readonly failed: number;
    /** Limited and failed messages, by status; 0 means no answer. */
    readonly refused: Counts;
    readonly latencyMs: Percentiles;
  };
  readonly deliveries: number;
  readonly deliveriesPerSecond: number;
  readonly bytesPerDelivery: number;
  /** Confirmed messages that did not reach all measured connections. */
  readonly lost: number;
  readonly duplicated: number;
  /** Measured connections with another order of messages than most. */
  readonly reordered: number;
  /** Connections that ended before the run did. */
  readonly dropped: number;
  /** Why they ended: a close code, `op 7` or `op 9`. */
  readonly closes: Counts;
  /** Time from the intended sending to the receipt. */
  readonly latencyMs: Percentiles;
  readonly curve: readonly { readonly percentile: number; readonly ms: number }[];
  /** Deliveries in each second of the run. */
  readonly timeline: readonly number[];
  readonly server: ServerUse | null;
  readonly thresholds: readonly { readonly text: string; readonly kept: boolean }[];
  /** Notes about a run that is smaller than requested, and how to enlarge it. */
  readonly notes: readonly string[];
  /** Why the run failed; empty when it did not. */
  readonly failures: readonly Failure[];
}

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly p9999: number;
  readonly max: number;
  readonly mean: number;
}

export function percentilesOf(latencies: Latencies): Percentiles {
  return {
    p50: latencies.millisAt(50),
    p90: latencies.millisAt(90),
    p99: latencies.millisAt(99),
    p999: latencies.millisAt(99.9),
    p9999: latencies.millisAt(99.99),
    max: latencies.maxMillis,
    mean: latencies.meanMillis,
  };
}

/** Resources that the server's process used while messages were sent, including those for answering. */
export interface ServerUse {
  readonly cpuMicrosPerDelivery: number;
  /** 1 means one core. */
  readonly cpuShare: number;
  readonly rssBytes: number;
}

const count = (value: number): string => Math.round(value).toLocaleString('en-US');
export const millis = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(1)} ms`;

/** A one-line summary of a run. */
export function headlineOf(report: Omit<Report, 'headline'>): string {
  const cpu = report.server ? `, ${report.server.cpuMicrosPerDelivery.toFixed(2)} CPU-µs each` : '';
  const lost = report.lost === 0 ? 'none lost' : `${count(report.lost)} LOST`;
  // If part of the load was refused, "none lost" would be misleading.
  const outcome = [failedLine(report.failures), report.failures.length > 0 && report.lost === 0 ? '' : lost];
  return (
    `${count(report.deliveriesPerSecond)} deliveries/s to ${count(report.connections)} connections, ` +
    `p50 ${millis(report.latencyMs.p50)}, p99 ${millis(report.latencyMs.p99)}, ${outcome.filter((each) => each !== '').join(', ')}${cpu}`
  );
}

function connectionsOf({ connections, connectionsAsked, measuredConnections }: Report): string {
  const asked = connections < connectionsAsked ? ` of ${count(connectionsAsked)} asked for` : '';
  return `${count(connections)}${asked} (${count(measuredConnections)} decoded)`;
}

/** Every figure with its name, as table and page show them. */
export function figuresOf(report: Report): [string, string][] {
  const { latencyMs, sends, server } = report;
  return [
    ['gateway', `${report.url} (${report.encoding})`],
    ['connections', connectionsOf(report)],
    ['members of the guild', count(report.members)],
    ['connecting took', `${report.connectSeconds.toFixed(1)} s`],
    ['identifies refused, tried again', count(report.identifiesRefused)],
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
    ['send to receipt p99.99', millis(latencyMs.p9999)],
    ['send to receipt max', millis(latencyMs.max)],
    ['lost, doubled, out of order', `${report.lost}, ${report.duplicated}, ${report.reordered}`],
    ['connections dropped', count(report.dropped)],
    ...(server
      ? ([
          ['server CPU-µs per delivery', server.cpuMicrosPerDelivery.toFixed(2)],
          ['server CPU', `${(server.cpuShare * 100).toFixed(0)} % of a core`],
          ['server memory', `${(server.rssBytes / 2 ** 20).toFixed(0)} MiB`],
        ] satisfies [string, string][])
      : []),
    ...report.thresholds.map(({ text, kept }): [string, string] => [text, kept ? 'kept' : 'MISSED']),
  ];
}

export const tableOf = (report: Report): string => columnsOf(figuresOf(report), report.headline);

export const csvOf = (report: Report): string => csvTable([rowOf(report)]);

/** The run as plain numbers. */
export function rowOf(report: Report): TableRow {
  const { latencyMs, sends, server } = report;
  return [
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
    ['dropped', report.dropped],
    ['deliveries', report.deliveries],
    ['deliveries_per_s', report.deliveriesPerSecond],
    ['bytes_per_delivery', report.bytesPerDelivery],
    ['p50_ms', latencyMs.p50],
    ['p90_ms', latencyMs.p90],
    ['p99_ms', latencyMs.p99],
    ['p999_ms', latencyMs.p999],
    ['p9999_ms', latencyMs.p9999],
    ['max_ms', latencyMs.max],
    ['lost', report.lost],
    ['duplicated', report.duplicated],
    ['reordered', report.reordered],
    ['cpu_us_per_delivery', server?.cpuMicrosPerDelivery ?? ''],
    ['cpu_share', server?.cpuShare ?? ''],
    ['rss_bytes', server?.rssBytes ?? ''],
  ];
}

import { millis } from '../gateway/report.ts';
import type { Metrics } from '../gateway/threshold.ts';
import { type Counts, type Failure, failedLine } from '../gateway/verdict.ts';
import { columnsOf, type TableRow } from '../table.ts';

/** The result of `guildhall bench voice`, in the format of `--json`. */
export interface VoiceReport {
  readonly headline: string;
  readonly url: string;
  readonly mode: string;
  readonly calls: number;
  /** Members of each call. */
  readonly members: number;
  readonly speakers: number;
  readonly payloadBytes: number;
  readonly durationSeconds: number;
  /** Packets that speakers sent. */
  readonly sent: number;
  /** Expected arrivals: each sent packet, at every other member of its call. */
  readonly expected: number;
  readonly deliveries: number;
  readonly lost: number;
  /** Members whose gateway or voice connection ended before the run did. */
  readonly dropped: number;
  /** Why they ended: a close code. */
  readonly closes: Counts;
  readonly packetsPerSecond: number;
  readonly bytesPerPacket: number;
  /** Time from the scheduled sending of a packet to its arrival, over all receivers. */
  readonly latencyMs: {
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
    readonly p999: number;
    readonly p9999: number;
    readonly max: number;
  };
  readonly curve: readonly { readonly percentile: number; readonly ms: number }[];
  /** Packets that arrived in each second. */
  readonly timeline: readonly number[];
  /** Resources of the server's process, when it runs here, including signalling and all other work. */
  readonly server: {
    readonly cpuMicrosPerPacket: number;
    readonly cpuShare: number;
    readonly rssBytes: number;
  } | null;
  readonly thresholds: readonly { readonly text: string; readonly kept: boolean }[];
  /** Why the run failed; empty when it did not. */
  readonly failures: readonly Failure[];
}

/** Figures of a voice run that can be bounded. */
export const VOICE_METRICS = {
  p50: (report: VoiceReport) => report.latencyMs.p50,
  p90: (report: VoiceReport) => report.latencyMs.p90,
  p99: (report: VoiceReport) => report.latencyMs.p99,
  'p99.9': (report: VoiceReport) => report.latencyMs.p999,
  'p99.99': (report: VoiceReport) => report.latencyMs.p9999,
  max: (report: VoiceReport) => report.latencyMs.max,
  packets: (report: VoiceReport) => report.packetsPerSecond,
  lost: (report: VoiceReport) => report.lost,
  dropped: (report: VoiceReport) => report.dropped,
  cpu: (report: VoiceReport) => report.server?.cpuMicrosPerPacket ?? Number.NaN,
} satisfies Metrics<VoiceReport, string>;

const count = (value: number): string => Math.round(value).toLocaleString('en-US');

/** A one-line summary of a run. */
export function headlineOf(report: Omit<VoiceReport, 'headline'>): string {
  const { calls, members, speakers, packetsPerSecond, latencyMs, lost, failures } = report;
  const outcome =
    failures.length > 0 ? failedLine(failures) : lost === 0 ? 'none lost' : `${count(lost)} LOST`;
  return `${calls} × ${members} members, ${speakers} speaking: ${count(packetsPerSecond)} packets/s forwarded, p99 ${millis(latencyMs.p99)}, ${outcome}`;
}

/** The figures as text. */
export function voiceFiguresOf(report: VoiceReport): [string, string][] {
  const { latencyMs, server, lost, expected } = report;
  return [
    ['gateway', report.url],
    ['encryption', report.mode],
    ['calls × members, speakers each', `${report.calls} × ${report.members}, ${report.speakers}`],
    ['packets sent', `${count(report.sent)} of ${report.payloadBytes} bytes of audio`],
    ['packets received', `${count(report.deliveries)} (${count(report.packetsPerSecond)}/s)`],
    ['bytes per packet', count(report.bytesPerPacket)],
    ['lost', `${count(lost)} (${((100 * lost) / Math.max(1, expected)).toFixed(3)} %)`],
    ['members dropped', count(report.dropped)],
    ['send to receipt p50', millis(latencyMs.p50)],
    ['send to receipt p90', millis(latencyMs.p90)],
    ['send to receipt p99', millis(latencyMs.p99)],
    ['send to receipt p99.9', millis(latencyMs.p999)],
    ['send to receipt p99.99', millis(latencyMs.p9999)],
    ['send to receipt max', millis(latencyMs.max)],
    ...(server
      ? ([
          ['server CPU-µs per packet', server.cpuMicrosPerPacket.toFixed(2)],
          ['server CPU', `${(server.cpuShare * 100).toFixed(0)} % of a core`],
          ['server memory', `${(server.rssBytes / 2 ** 20).toFixed(0)} MiB`],
        ] satisfies [string, string][])
      : []),
    ...report.thresholds.map(({ text, kept }): [string, string] => [text, kept ? 'kept' : 'MISSED']),
  ];
}

export const voiceTableOf = (report: VoiceReport): string =>
  columnsOf(voiceFiguresOf(report), report.headline);

/** The run as plain numbers. */
export function voiceRowOf(report: VoiceReport): TableRow {
  const { latencyMs, server } = report;
  return [
    ['url', report.url],
    ['mode', report.mode],
    ['calls', report.calls],
    ['members', report.members],
    ['speakers', report.speakers],
    ['payload_bytes', report.payloadBytes],
    ['duration_s', report.durationSeconds],
    ['sent', report.sent],
    ['expected', report.expected],
    ['deliveries', report.deliveries],
    ['lost', report.lost],
    ['dropped', report.dropped],
    ['packets_per_s', report.packetsPerSecond],
    ['bytes_per_packet', report.bytesPerPacket],
    ['p50_ms', latencyMs.p50],
    ['p90_ms', latencyMs.p90],
    ['p99_ms', latencyMs.p99],
    ['p999_ms', latencyMs.p999],
    ['p9999_ms', latencyMs.p9999],
    ['max_ms', latencyMs.max],
    ['cpu_us_per_packet', server?.cpuMicrosPerPacket ?? ''],
    ['cpu_share', server?.cpuShare ?? ''],
    ['rss_bytes', server?.rssBytes ?? ''],
  ];
}

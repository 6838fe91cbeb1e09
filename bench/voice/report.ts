import { millis } from '../gateway/report.ts';

/** What a run of `guildhall bench voice` found; `--json` prints it as it is. */
export interface VoiceReport {
  readonly gateway: string;
  readonly mode: string;
  readonly calls: number;
  /** Of each call. */
  readonly members: number;
  readonly speakers: number;
  readonly payloadBytes: number;
  readonly durationSeconds: number;
  /** Packets that speakers sent. */
  readonly sent: number;
  /** Packets that were to arrive: each one sent, at everybody else in its call. */
  readonly expected: number;
  readonly deliveries: number;
  readonly lost: number;
  readonly packetsPerSecond: number;
  readonly bytesPerPacket: number;
  /** From when a packet was to be sent to its arrival, over all receivers. */
  readonly latencyMs: {
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
    readonly p999: number;
    readonly max: number;
  };
  readonly curve: readonly { readonly percentile: number; readonly ms: number }[];
  /** Packets that arrived in each second. */
  readonly timeline: readonly number[];
  /** Of the server's process, when it runs here; signalling and everything else it did included. */
  readonly server: {
    readonly cpuMicrosPerPacket: number;
    readonly cpuShare: number;
    readonly rssBytes: number;
  } | null;
}

const count = (value: number): string => Math.round(value).toLocaleString('en-US');

export const headlineOf = ({ calls, members, speakers, packetsPerSecond, latencyMs }: VoiceReport): string =>
  `${calls} × ${members} members, ${speakers} speaking: ${count(packetsPerSecond)} packets/s forwarded, p99 ${millis(latencyMs.p99)}`;

/** The figures as people read them. */
export function voiceFiguresOf(report: VoiceReport): [string, string][] {
  const { latencyMs, server, lost, expected } = report;
  return [
    ['encryption', report.mode],
    ['calls × members, speakers each', `${report.calls} × ${report.members}, ${report.speakers}`],
    ['packets sent', `${count(report.sent)} of ${report.payloadBytes} bytes of audio`],
    ['packets received', `${count(report.deliveries)} (${count(report.packetsPerSecond)}/s)`],
    ['bytes per packet', count(report.bytesPerPacket)],
    ['lost', `${count(lost)} (${((100 * lost) / Math.max(1, expected)).toFixed(3)} %)`],
    ['send to receipt p50', millis(latencyMs.p50)],
    ['send to receipt p90', millis(latencyMs.p90)],
    ['send to receipt p99', millis(latencyMs.p99)],
    ['send to receipt p99.9', millis(latencyMs.p999)],
    ['send to receipt max', millis(latencyMs.max)],
    ...(server
      ? ([
          ['server CPU-µs per packet', server.cpuMicrosPerPacket.toFixed(2)],
          ['server CPU', `${(server.cpuShare * 100).toFixed(0)} % of a core`],
          ['server memory', `${(server.rssBytes / 2 ** 20).toFixed(0)} MiB`],
        ] as [string, string][])
      : []),
  ];
}

/** In two columns, the headline last so that it is what stays on screen. */
export function voiceTableOf(report: VoiceReport): string {
  const figures = voiceFiguresOf(report);
  const width = Math.max(...figures.map(([name]) => name.length));
  return [
    ...figures.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    '',
    headlineOf(report),
  ].join('\n');
}

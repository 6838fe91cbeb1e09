import { Gauge, Histogram, Registry } from 'prom-client';
import type { Metric } from '../../protocol/metrics.ts';
import type { Storage } from '../../storage/ports.ts';
import type { GatewayStats } from '../gateway/routes.ts';
import type { HttpMetrics } from '../http/api.ts';
import { addMetrics, residentMetrics } from './residentmetrics.ts';
import { addVoiceMetrics, type WatchedVoice } from './voicemetrics.ts';

interface MetricSources {
  readonly residents: Readonly<Record<string, { readonly size: number; readonly bugs: number }>>;
  readonly storage: Storage;
  /** Metrics of the engine's parts. */
  readonly metrics: readonly Metric[];
  /** Null before the server listens. */
  readonly gateway: () => GatewayStats | null;
  /** Number of background faults, which no caller waits for, by place. */
  readonly faults: ReadonlyMap<string, number>;
  /** Null when calls are not served. */
  readonly voice: WatchedVoice | null;
}

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
};

/** Bound for counting webhook events: reading metrics must not scan a long queue. */
const EVENTS_COUNTED_MAX = 100_000;

function levelsOf({ storage, gateway }: MetricSources): readonly Metric[] {
  const levels: Readonly<Record<string, readonly [string, () => number | Promise<number>]>> = {
    // Read on request: the library's own collectors leave observers behind in a process with many engines.
    process_resident_memory_bytes: ['Resident memory.', () => process.memoryUsage.rss()],
    process_cpu_seconds_total: ['Processor time used.', cpuSeconds],
    nodejs_heap_size_used_bytes: ['Heap in use.', () => process.memoryUsage().heapUsed],
    guildhall_commits_waiting: ['Commits waiting for the database.', () => storage.writer.depth],
    guildhall_webhook_events_waiting: [
      `Webhook events waiting to be sent, counted up to ${EVENTS_COUNTED_MAX}.`,
      () => storage.webhookEvents.count(EVENTS_COUNTED_MAX),
    ],
    guildhall_gateway_sockets: ['Open gateway sockets.', () => gateway()?.sockets ?? 0],
    guildhall_gateway_frames_sent: ['Frames sent to gateway sockets.', () => gateway()?.framesSent ?? 0],
    guildhall_gateway_frames_received: ['Frames received.', () => gateway()?.framesReceived ?? 0],
    guildhall_gateway_overflows: ['Sockets closed for reading too slowly.', () => gateway()?.overflows ?? 0],
  };
  return Object.entries(levels).map(([name, [help, read]]) => ({ name, help, read }));
}

/** Metrics of one engine, in a registry of its own, so that several engines can run in one process. */
export function createMetrics(sources: MetricSources) {
  const register = new Registry();
  const registers = [register];
  const seconds = new Histogram({
    name: 'guildhall_http_request_seconds',
    help: 'Time from a request to its answer, by operation and status class.',
    labelNames: ['operation', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const { residents, faults, gateway } = sources;
  const http: HttpMetrics = { seconds, unavailable: 0 };
  addMetrics(register, [
    {
      name: 'guildhall_http_unavailable',
      help: 'Requests answered 503: no shard served them, or a fault occurred.',
      read: () => http.unavailable,
    },
    ...Object.entries(residents).flatMap((each) => residentMetrics(...each)),
    ...levelsOf(sources),
    ...sources.metrics,
  ]);
  labelled('guildhall_faults', 'Background faults, by place.', 'where', () => [...faults]);
  labelled('guildhall_gateway_closes', 'Gateway sockets closed by the server, by code.', 'code', () => [
    ...(gateway()?.closes ?? []),
  ]);
  if (sources.voice) addVoiceMetrics(register, sources.voice);
  return {
    http,
    text: () => register.metrics(),
  };

  /** Registers a gauge with a value per label, read on request. */
  function labelled(
    name: string,
    help: string,
    label: string,
    read: () => readonly (readonly [string | number, number])[],
  ) {
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        for (const [value, count] of read()) this.set({ [label]: String(value) }, count);
      },
    });
  }
}

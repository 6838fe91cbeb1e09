import { Gauge, Histogram, Registry } from 'prom-client';
import type { Storage } from '../storage/ports.ts';
import type { GatewayStats } from '../transports/gateway/routes.ts';
import type { Voice } from './voice.ts';
import { addVoiceMetrics } from './voicemetrics.ts';

export interface MetricSources {
  readonly residents: Readonly<Record<string, { readonly size: number; readonly bugs: number }>>;
  readonly storage: Storage;
  readonly sessions: () => number;
  /** Null before the server listens. */
  readonly gateway: () => GatewayStats | null;
  /** Where something failed that nobody waited for, and how often. */
  readonly faults: ReadonlyMap<string, number>;
  /** Null when calls are not served. */
  readonly voice: Voice | null;
}

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
};

/** Figures of one engine, in a registry of its own: many engines fit in one process. */
export function createMetrics(sources: MetricSources) {
  const register = new Registry();
  const registers = [register];
  const requests = new Histogram({
    name: 'guildhall_http_request_seconds',
    help: 'Time from a request to its answer, by operation and status class.',
    labelNames: ['operation', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const { residents, faults, gateway } = sources;
  const kinds = (read: 'size' | 'bugs') => () =>
    Object.entries(residents).map(([kind, registry]) => [kind, registry[read]] as const);
  labelled('guildhall_residents', 'Actors in memory, by kind.', 'kind', kinds('size'));
  labelled('guildhall_actor_bugs', 'Actors that a bug has ended, by kind.', 'kind', kinds('bugs'));
  labelled('guildhall_faults', 'Failures that nobody waited for, by place.', 'where', () => [...faults]);
  labelled('guildhall_gateway_closes', 'Gateway sockets closed by the server, by code.', 'code', () => [
    ...(gateway()?.closes ?? []),
  ]);
  const levels = {
    // Read when asked for: the library's own collectors leave observers behind in a process of many engines.
    process_resident_memory_bytes: ['Resident memory.', () => process.memoryUsage.rss()],
    process_cpu_seconds_total: ['Processor time used.', cpuSeconds],
    nodejs_heap_size_used_bytes: ['Heap in use.', () => process.memoryUsage().heapUsed],
    guildhall_commits_waiting: ['Commits that wait for the database.', () => sources.storage.writer.depth],
    guildhall_gateway_sessions: ['Gateway sessions, connected or resumable.', sources.sessions],
    guildhall_gateway_sockets: ['Open gateway sockets.', () => gateway()?.sockets ?? 0],
    guildhall_gateway_frames_sent: ['Frames sent to gateway sockets.', () => gateway()?.framesSent ?? 0],
    guildhall_gateway_frames_received: ['Frames received.', () => gateway()?.framesReceived ?? 0],
    guildhall_gateway_overflows: ['Sockets closed for reading too slowly.', () => gateway()?.overflows ?? 0],
  } as const;
  for (const [name, [help, read]] of Object.entries(levels))
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  if (sources.voice) addVoiceMetrics(register, sources.voice);
  return {
    observe(operationId: string | null, status: number, elapsedMs: number): void {
      requests.observe(
        { operation: operationId ?? 'none', status: `${Math.floor(status / 100)}xx` },
        elapsedMs / 1000,
      );
    },
    text: () => register.metrics(),
  };

  /** A gauge per label, read when it is asked for. */
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

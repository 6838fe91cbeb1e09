import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Storage } from '../storage/ports.ts';

export interface MetricSources {
  readonly residents: Readonly<Record<string, { readonly size: number; readonly bugs: number }>>;
  readonly storage: Storage;
  readonly sessions: () => number;
  readonly sockets: () => number;
}

/** Figures of one engine, in a registry of its own: many engines fit in one process. */
export function createMetrics(sources: MetricSources) {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const registers = [register];
  const requests = new Histogram({
    name: 'guildhall_http_request_seconds',
    help: 'Time from a request to its answer, by operation and status class.',
    labelNames: ['operation', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const faults = new Counter({
    name: 'guildhall_faults_total',
    help: 'Failures of the environment that somebody was told of, or nobody waited for.',
    labelNames: ['where'] as const,
    registers,
  });
  const residents = new Gauge({
    name: 'guildhall_residents',
    help: 'Actors in memory, by kind.',
    labelNames: ['kind'] as const,
    registers,
    collect() {
      for (const [kind, { size }] of Object.entries(sources.residents)) this.set({ kind }, size);
    },
  });
  const bugs = new Gauge({
    name: 'guildhall_actor_bugs',
    help: 'Actors that a bug has ended since the start, by kind.',
    labelNames: ['kind'] as const,
    registers,
    collect() {
      for (const [kind, registry] of Object.entries(sources.residents)) this.set({ kind }, registry.bugs);
    },
  });
  const levels = {
    guildhall_commits_waiting: ['Commits that wait for the database.', () => sources.storage.writer.depth],
    guildhall_gateway_sessions: ['Gateway sessions, connected or resumable.', sources.sessions],
    guildhall_gateway_sockets: ['Open gateway sockets.', sources.sockets],
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
  return {
    residents,
    bugs,
    observe(operationId: string | null, status: number, elapsedMs: number): void {
      requests.observe(
        { operation: operationId ?? 'none', status: `${Math.floor(status / 100)}xx` },
        elapsedMs / 1000,
      );
    },
    fault: (where: string): void => faults.inc({ where }),
    text: () => register.metrics(),
  };
}

import { headlineOf, type Report } from '../../bench/gateway/report.ts';

/** A report of a run with the figures that a test cares about. */
export function buildReport(figures: { p99?: number; lost?: number; url?: string } = {}): Report {
  const latencyMs = { p50: 3.25, p90: 8, p99: figures.p99 ?? 20, p999: 31, max: 40, mean: 4 };
  const report = {
    url: figures.url ?? 'ws://127.0.0.1:3000',
    encoding: 'json' as const,
    connections: 1234,
    measuredConnections: 100,
    members: 77,
    perSecond: 10,
    durationSeconds: 5,
    connectSeconds: 1.5,
    sends: { sent: 50, answered: 49, limited: 0, failed: 1, latencyMs },
    deliveries: 61_700,
    deliveriesPerSecond: 12_340,
    bytesPerDelivery: 911,
    lost: figures.lost ?? 0,
    duplicated: 0,
    reordered: 0,
    dropped: 0,
    latencyMs,
    curve: [
      { percentile: 50, ms: 3.25 },
      { percentile: 99, ms: figures.p99 ?? 20 },
    ],
    timeline: [12_000, 12_680],
    server: null,
    thresholds: [],
  };
  return { ...report, headline: headlineOf(report) };
}

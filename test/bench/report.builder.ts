import { headlineOf, type Report } from '../../bench/gateway/report.ts';
import { type Counts, refusedSends } from '../../bench/gateway/verdict.ts';

/** A report of a run with the figures that a test cares about. */
export function buildReport(
  figures: { p99?: number; lost?: number; url?: string; refused?: Counts } = {},
): Report {
  const latencyMs = { p50: 3.25, p90: 8, p99: figures.p99 ?? 20, p999: 31, p9999: 36, max: 40, mean: 4 };
  const report = {
    url: figures.url ?? 'ws://127.0.0.1:3000',
    encoding: 'json' as const,
    connections: 1234,
    connectionsAsked: 1234,
    measuredConnections: 100,
    members: 77,
    perSecond: 10,
    durationSeconds: 5,
    connectSeconds: 1.5,
    identifiesRefused: 0,
    sends: { sent: 50, answered: 49, limited: 0, failed: 1, refused: figures.refused ?? {}, latencyMs },
    deliveries: 61_700,
    deliveriesPerSecond: 12_340,
    bytesPerDelivery: 911,
    lost: figures.lost ?? 0,
    duplicated: 0,
    reordered: 0,
    dropped: 0,
    closes: {},
    latencyMs,
    curve: [
      { percentile: 50, ms: 3.25 },
      { percentile: 99, ms: figures.p99 ?? 20 },
    ],
    timeline: [12_000, 12_680],
    server: null,
    thresholds: [],
    notes: [],
    failures: refusedSends('sends', 50, figures.refused ?? {}),
  };
  return { ...report, headline: headlineOf(report) };
}

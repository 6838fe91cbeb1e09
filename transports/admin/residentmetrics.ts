import { Gauge, type Registry } from 'prom-client';
import type { Metric } from '../../protocol/metrics.ts';

/** Metrics of one kind of actor: the number in memory, and the number ended by a bug. */
export const residentMetrics = (
  kind: string,
  registry: { readonly size: number; readonly bugs: number },
): readonly Metric[] => [
  {
    name: 'guildhall_residents',
    help: 'Actors in memory, by kind.',
    labels: { kind },
    read: () => registry.size,
  },
  {
    name: 'guildhall_actor_bugs',
    help: 'Actors ended by a bug, by kind.',
    labels: { kind },
    read: () => registry.bugs,
  },
];

/** Registers metrics. The bounds of those that have one are a metric of their own. */
export function addMetrics(register: Registry, metrics: readonly Metric[]): void {
  const byName = new Map<string, Metric[]>();
  for (const metric of metrics) byName.set(metric.name, [...(byName.get(metric.name) ?? []), metric]);
  for (const rows of byName.values()) addGauge(register, rows);
  const bounds = [...byName].flatMap(([figure, [first]]) =>
    first?.max === undefined ? [] : [{ labels: { figure }, max: first.max }],
  );
  if (bounds.length === 0) return;
  const gauge = new Gauge({
    name: 'guildhall_bounds',
    help: 'Upper bound of a metric, summed over all its labels, by the name of the metric.',
    labelNames: ['figure'],
    registers: [register],
  });
  for (const { labels, max } of bounds) gauge.set(labels, max);
}

function addGauge(register: Registry, rows: readonly Metric[]): void {
  const [{ name, help, labels = {} }] = rows as [Metric];
  new Gauge({
    name,
    help,
    labelNames: Object.keys(labels),
    registers: [register],
    async collect() {
      for (const { labels: own = {}, read } of rows)
        try {
          this.set(own, await read());
        } catch {
          // A failing database must not hide the other metrics; /readyz reports the reason.
          this.remove(own);
        }
    },
  });
}

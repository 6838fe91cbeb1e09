import { isJson, type Json } from '../../sdk/voice/wire.ts';
import { list, number } from './admin.ts';

interface Point {
  readonly atMs: number;
  readonly value: number;
}

const WIDTH = 300;
const HEIGHT = 64;
const HOUR_MS = 3_600_000;

const valueIn = ({ values }: Json, name: string): number | null => {
  const value = isJson(values) ? values[name] : undefined;
  return typeof value === 'number' ? value : null;
};

/** A metric over the last hour: its level, or how much it grew in a second. */
export function pointsOf(samples: unknown, name: string, isRate: boolean): readonly Point[] {
  const points = list(samples).flatMap((sample) => {
    const value = valueIn(sample, name);
    return value === null ? [] : [{ atMs: number(sample.at_ms), value }];
  });
  if (!isRate) return points;
  return points.slice(1).map(({ atMs, value }, index) => {
    const before = points[index] ?? { atMs, value };
    const elapsedSec = Math.max(1, (atMs - before.atMs) / 1000);
    // A restart begins at zero again.
    return { atMs, value: Math.max(0, value - before.value) / elapsedSec };
  });
}

interface GraphProps {
  readonly title: string;
  readonly points: readonly Point[];
  readonly shown: (value: number) => string;
}

/** A line over one hour, with its newest value. The picture is repeated in words for screen readers. */
export function Graph({ title, points, shown }: GraphProps) {
  const newest = points.at(-1);
  const most = Math.max(0, ...points.map(({ value }) => value));
  const max = most || 1;
  const endMs = newest?.atMs ?? 0;
  const line = points
    .map(({ atMs, value }) => {
      const x = WIDTH - ((endMs - atMs) / HOUR_MS) * WIDTH;
      return `${x.toFixed(1)},${(HEIGHT - 2 - (value / max) * (HEIGHT - 6)).toFixed(1)}`;
    })
    .join(' ');
  return (
    <figure class="graph">
      <figcaption>
        <span class="dim small">{title}</span>
        <strong>{newest === undefined ? '–' : shown(newest.value)}</strong>
        <span class="dim small">most {points.length === 0 ? '–' : shown(most)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <polyline points={line} />
      </svg>
    </figure>
  );
}

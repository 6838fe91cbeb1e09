/** Metrics of one moment. */
export interface Reading {
  /** Monotonic or Unix milliseconds. */
  readonly atMs: number;
  readonly values: Readonly<Record<string, number>>;
  /** Requests and their seconds, by operation. */
  readonly operations: Readonly<Record<string, { readonly count: number; readonly seconds: number }>>;
}

/** Differences between two readings. */
interface Rates {
  readonly sessions: number;
  readonly events_per_sec: number;
  readonly requests_per_sec: number;
  readonly calls: number;
  readonly cpu_percent: number;
  readonly memory_bytes: number;
  /** The slowest operations of the interval, slowest first. */
  readonly slow: readonly {
    readonly operation: string;
    readonly mean_ms: number;
    readonly per_sec: number;
  }[];
}

const SLOW_SHOWN = 8;
const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const REQUEST = /^guildhall_http_request_seconds_(count|sum)$/;

export function readingOf(text: string, atMs: number): Reading {
  const values: Record<string, number> = {};
  const operations: Record<string, { count: number; seconds: number }> = {};
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', figure = ''] = LINE.exec(line) ?? [];
    const value = Number(figure);
    if (name === '' || !Number.isFinite(value)) continue;
    values[name] = (values[name] ?? 0) + value;
    const part = REQUEST.exec(name)?.[1];
    const operation = /operation="(\w+)"/.exec(labels)?.[1];
    if (part === undefined || operation === undefined) continue;
    const known = operations[operation] ?? { count: 0, seconds: 0 };
    operations[operation] = known;
    known[part === 'count' ? 'count' : 'seconds'] += value;
  }
  return { atMs, values, operations };
}

export function ratesOf(before: Reading, now: Reading): Rates {
  const elapsedSec = Math.max(0.001, (now.atMs - before.atMs) / 1000);
  const level = (name: string) => now.values[name] ?? 0;
  // A process that was started again counts from zero.
  const rate = (name: string) => Math.max(0, level(name) - (before.values[name] ?? 0)) / elapsedSec;
  const slow = Object.entries(now.operations).flatMap(([operation, { count, seconds }]) => {
    const earlier = before.operations[operation] ?? { count: 0, seconds: 0 };
    const calls = count - earlier.count;
    if (calls <= 0) return [];
    return [
      { operation, mean_ms: (1000 * (seconds - earlier.seconds)) / calls, per_sec: calls / elapsedSec },
    ];
  });
  return {
    sessions: level('guildhall_gateway_sessions'),
    events_per_sec: rate('guildhall_gateway_frames_sent'),
    requests_per_sec: rate('guildhall_http_request_seconds_count'),
    calls: level('guildhall_calls'),
    cpu_percent: 100 * rate('process_cpu_seconds_total'),
    memory_bytes: level('process_resident_memory_bytes'),
    slow: slow.sort((a, b) => b.mean_ms - a.mean_ms).slice(0, SLOW_SHOWN),
  };
}

const figure = (value: number): string =>
  value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 });

export function topLines(rates: Rates): readonly string[] {
  const { sessions, events_per_sec, requests_per_sec, calls, cpu_percent, memory_bytes, slow } = rates;
  const rows = slow.map(
    ({ operation, mean_ms, per_sec }) =>
      `  ${operation.padEnd(44)}${figure(mean_ms).padStart(10)}${figure(per_sec).padStart(10)}`,
  );
  return [
    `sessions ${figure(sessions)}   events/s ${figure(events_per_sec)}   requests/s ${figure(requests_per_sec)}   calls ${figure(calls)}`,
    `cpu ${figure(cpu_percent)} %   memory ${figure(memory_bytes / 1024 ** 2)} MB`,
    '',
    `  ${'slowest operations'.padEnd(44)}${'mean, ms'.padStart(10)}${'a second'.padStart(10)}`,
    ...(rows.length === 0 ? ['  no requests in this interval'] : rows),
  ];
}

/** Values of chosen metrics at one moment. */
export interface Sample {
  /** Unix milliseconds. */
  readonly at_ms: number;
  readonly values: Readonly<Record<string, number>>;
}

const LINE = /^([A-Za-z_:][\w:]*)(?:\{.*\})? (\S+)$/;
/** Sums over their labels; those of the first list only grow. */
const NAMES: ReadonlySet<string> = new Set([
  ...['guildhall_gateway_frames_sent', 'guildhall_gateway_frames_received', 'process_cpu_seconds_total'],
  ...[
    'guildhall_http_request_seconds_count',
    'guildhall_http_request_seconds_sum',
    'guildhall_http_unavailable',
  ],
  ...['guildhall_media_packets_in', 'guildhall_media_packets_out', 'guildhall_faults'],
  ...['guildhall_gateway_sessions', 'guildhall_gateway_sockets', 'guildhall_calls', 'guildhall_call_members'],
  ...['guildhall_commits_waiting', 'guildhall_webhook_events_waiting', 'process_resident_memory_bytes'],
]);

/** Only the greatest value over their labels says something. */
const GREATEST: ReadonlySet<string> = new Set([
  'guildhall_call_worst_loss',
  'guildhall_call_worst_jitter_ms',
]);

/** The chosen metrics of a text, each summed over its labels, or its greatest value. */
export function sampleOf(text: string, atMs: number): Sample {
  const values: Record<string, number> = {};
  for (const line of text.split('\n')) {
    const [, name = '', value = ''] = LINE.exec(line) ?? [];
    if (NAMES.has(name)) values[name] = (values[name] ?? 0) + Number(value);
    else if (GREATEST.has(name)) values[name] = Math.max(values[name] ?? 0, Number(value));
  }
  return { at_ms: atMs, values };
}

import type { Admin } from './admin.ts';
import { Graph, pointsOf } from './graph.tsx';
import { Complaint, useLoaded } from './parts.tsx';

const count = (value: number): string =>
  value < 10 && !Number.isInteger(value) ? value.toFixed(1) : Math.round(value).toLocaleString();
const perSecond = (value: number): string => `${count(value)} /s`;
const share = (value: number): string => `${(value * 100).toFixed(0)} %`;
const loss = (value: number): string => `${(value * 100).toFixed(1)} %`;
const millis = (value: number): string => `${value.toFixed(0)} ms`;
const megabytes = (value: number): string => `${(value / 1024 ** 2).toFixed(0)} MB`;

const GRAPHS = [
  { title: 'Sessions', name: 'guildhall_gateway_sessions', rate: false, shown: count },
  { title: 'Frames sent', name: 'guildhall_gateway_frames_sent', rate: true, shown: perSecond },
  { title: 'Frames received', name: 'guildhall_gateway_frames_received', rate: true, shown: perSecond },
  { title: 'Requests', name: 'guildhall_http_request_seconds_count', rate: true, shown: perSecond },
  { title: 'Answered 503', name: 'guildhall_http_unavailable', rate: true, shown: perSecond },
  { title: 'Calls', name: 'guildhall_calls', rate: false, shown: count },
  { title: 'Worst loss of a call', name: 'guildhall_call_worst_loss', rate: false, shown: loss },
  { title: 'Worst jitter of a call', name: 'guildhall_call_worst_jitter_ms', rate: false, shown: millis },
  { title: 'Voice packets out', name: 'guildhall_media_packets_out', rate: true, shown: perSecond },
  { title: 'Processor', name: 'process_cpu_seconds_total', rate: true, shown: share },
  { title: 'Memory', name: 'process_resident_memory_bytes', rate: false, shown: megabytes },
  { title: 'Commits waiting', name: 'guildhall_commits_waiting', rate: false, shown: count },
  {
    title: 'Webhook deliveries waiting',
    name: 'guildhall_webhook_events_waiting',
    rate: false,
    shown: count,
  },
  { title: 'Faults', name: 'guildhall_faults', rate: true, shown: perSecond },
] as const;

/** The last hour, as graphs. */
export function Overview({ admin }: { readonly admin: Admin }) {
  const { body, complaint } = useLoaded(() => admin.get('/history'), 'history', 10_000);
  return (
    <>
      <h2>The last hour</h2>
      <Complaint text={complaint} />
      <div class="graphs">
        {GRAPHS.map(({ title, name, rate, shown }) => (
          <Graph key={title} title={title} points={pointsOf(body?.samples, name, rate)} shown={shown} />
        ))}
      </div>
    </>
  );
}

// Goal: however many members are in calls, their metrics are as many as before, and show the worst.
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { MediaMetrics, MemberMetrics } from '../../../media/plane.ts';
import { addVoiceMetrics, type WatchedVoice } from '../../../transports/admin/voicemetrics.ts';

const member = (at: number): MemberMetrics => ({
  ...{ ssrc: at, userId: `user-${at}`, transport: 'udp' },
  ...{ packetsIn: 1, packetsOut: 1, bytesIn: 1, bytesOut: 1 },
  ...{ loss: at / 1000, jitterMs: 1000 - at },
});

const worker = {
  ...{ packetsIn: 7, packetsOut: 5, bytesIn: 700, bytesOut: 500, restarts: 1 },
  sender: 'native' as const,
  drops: { unknown: 2, replayed: 1 },
  latency: { boundsUs: [100, 200], counts: [3, 2, 1], sumUs: 1500 },
};

/** The lines of all metrics of a server with this many members, ten to a call. */
async function linesWith(count: number): Promise<string[]> {
  const calls = new Map<string, MemberMetrics[]>();
  for (let at = 0; at < count; at += 1) {
    const callId = `call-${Math.floor(at / 10)}`;
    calls.set(callId, [...(calls.get(callId) ?? []), member(at)]);
  }
  const metrics: MediaMetrics = { workers: [worker, worker], calls };
  let asked = 0;
  const voice = {
    calls: {
      ...{ size: calls.size, members: count, refused: 0, bugs: 0 },
      daveCounts: new Map([['commit late', 4]]),
    },
    streams: { size: 0 },
    routes: {
      stats: () => ({ sockets: 0, framesSent: 0, framesReceived: 0, overflows: 0, closes: new Map() }),
    },
    metrics: async () => {
      asked += 1;
      return metrics;
    },
  } as unknown as WatchedVoice;
  const register = new Registry();
  addVoiceMetrics(register, voice);
  const text = await register.metrics();
  expect(asked).toBe(1);
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('series of members are bounded: quantiles over all members, and ids for the worst ten', async () => {
  const [some, many] = [await linesWith(20), await linesWith(1000)];
  expect(many.length).toBe(some.length);
  expect(many.filter((line) => line.startsWith('guildhall_call_worst_loss'))).toHaveLength(10);
  expect(many).toContain('guildhall_call_worst_loss{call="call-99",user="user-999"} 0.999');
  expect(many).toContain('guildhall_call_worst_jitter_ms{call="call-0",user="user-0"} 1000');
  expect(many).toContain('guildhall_call_member_loss{quantile="0.5"} 0.499');
  expect(many).toContain('guildhall_call_member_loss{quantile="1"} 0.999');
});

test('a member without packet loss has no series of loss', async () => {
  const lines = await linesWith(1);
  expect(lines.filter((line) => line.startsWith('guildhall_call_worst_loss'))).toEqual([]);
  expect(lines).toContain('guildhall_call_worst_jitter_ms{call="call-0",user="user-0"} 1000');
  const nobody = await linesWith(0);
  expect(nobody).toContain('guildhall_call_member_loss{quantile="1"} 0');
  expect(nobody.some((line) => line.startsWith('guildhall_call_worst'))).toBe(false);
});

test('counters of media workers are summed', async () => {
  const lines = await linesWith(0);
  expect(lines).toEqual(
    expect.arrayContaining([
      'guildhall_media_packets_in 14',
      'guildhall_media_bytes_out 1000',
      'guildhall_media_worker_restarts 2',
      'guildhall_media_workers{sender="native"} 2',
      'guildhall_media_workers{sender="dgram"} 0',
      'guildhall_media_drops{reason="unknown"} 4',
      'guildhall_dave{what="commit",result="late"} 4',
      'guildhall_media_forward_seconds_bucket{le="0.0002"} 10',
      'guildhall_media_forward_seconds_bucket{le="+Inf"} 12',
      'guildhall_media_forward_seconds_sum 0.003',
      'guildhall_media_forward_seconds_count 12',
    ]),
  );
});

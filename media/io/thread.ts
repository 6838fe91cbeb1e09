import { Worker } from 'node:worker_threads';
import { memoryOf, type PacketBatch } from './batch.ts';
import type { LaneListener, LaneOrder, LanePlan, LaneReport, RunningLane } from './orders.ts';
import type { UdpSender } from './udp.ts';

/** Messages to a lane's thread. */
export type ThreadOrder =
  | { readonly kind: 'orders'; readonly orders: readonly LaneOrder[] }
  | { readonly kind: 'packets'; readonly batch: PacketBatch }
  | { readonly kind: 'ask'; readonly question: number }
  | { readonly kind: 'stop' };

/** Messages from a lane's thread. */
export type ThreadMessage =
  | { readonly kind: 'listening'; readonly port: number; readonly sender: UdpSender }
  | { readonly kind: 'report'; readonly report: LaneReport }
  | { readonly kind: 'packets'; readonly batch: PacketBatch };

export interface ThreadStart {
  readonly plan: LanePlan;
  /** Bytes of media in transit to the thread, then from it; both sides add and subtract. */
  readonly underway: Int32Array<SharedArrayBuffer>;
}

export const TO_THREAD = 0;
export const FROM_THREAD = 1;
/** Most bytes of media in transit between the two threads, in each direction; further packets are dropped. */
export const UNDERWAY_BYTES_MAX = 4 << 20;

/** Starts a lane in its own thread. */
export function startThread(plan: LanePlan, listener: LaneListener): Promise<RunningLane> {
  const underway = new Int32Array(new SharedArrayBuffer(8));
  const workerData: ThreadStart = { plan, underway };
  // Without the program's own flags: some, such as --input-type, do not work for a thread that starts from a file.
  const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData, execArgv: [] });
  const post = (order: ThreadOrder, memory: ArrayBuffer[] = []): void => worker.postMessage(order, memory);
  let isListening = false;
  let isStopping = false;
  const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));

  return new Promise((resolve, reject) => {
    let fault: Error | null = null;
    worker.on('error', (error) => {
      fault = error instanceof Error ? error : new Error(String(error));
      reject(fault);
    });
    worker.once('exit', (code) => {
      const reason = fault?.message ?? `exit code ${code}`;
      reject(new Error(`Media worker exited before its port was bound: ${reason}`));
      if (isListening && !isStopping) listener.died(reason);
    });
    worker.on('message', (news: ThreadMessage) => {
      if (news.kind === 'report') listener.report(news.report);
      else if (news.kind === 'packets') {
        Atomics.sub(underway, FROM_THREAD, news.batch.bytes.length);
        listener.packets(news.batch);
      } else {
        isListening = true;
        resolve({
          port: news.port,
          sender: news.sender,
          order: (orders) => post({ kind: 'orders', orders }),
          packets: (batch) => {
            if (Atomics.load(underway, TO_THREAD) > UNDERWAY_BYTES_MAX) return false;
            Atomics.add(underway, TO_THREAD, batch.bytes.length);
            post({ kind: 'packets', batch }, memoryOf(batch));
            return true;
          },
          ask: (question) => post({ kind: 'ask', question }),
          kill: () => void worker.terminate(),
          stop: async () => {
            isStopping = true;
            post({ kind: 'stop' });
            const late = setTimeout(() => void worker.terminate(), 1000);
            await gone;
            clearTimeout(late);
          },
        });
      }
    });
  });
}

import { parentPort, workerData } from 'node:worker_threads';
import { memoryOf } from './batch.ts';
import { Lane } from './lane.ts';
import {
  FROM_THREAD,
  type ThreadMessage,
  type ThreadOrder,
  type ThreadStart,
  TO_THREAD,
  UNDERWAY_BYTES_MAX,
} from './thread.ts';

const port = parentPort;
if (port) {
  const { plan, underway } = workerData as ThreadStart;
  const post = (news: ThreadMessage, memory: ArrayBuffer[] = []): void => port.postMessage(news, memory);
  const lane = await Lane.open(plan, {
    report: (report) => post({ kind: 'report', report }),
    packets: (batch) => {
      if (Atomics.load(underway, FROM_THREAD) > UNDERWAY_BYTES_MAX) return;
      Atomics.add(underway, FROM_THREAD, batch.bytes.length);
      post({ kind: 'packets', batch }, memoryOf(batch));
    },
  });
  port.on('message', (order: ThreadOrder) => {
    if (order.kind === 'orders') lane.order(order.orders);
    else if (order.kind === 'packets') {
      Atomics.sub(underway, TO_THREAD, order.batch.bytes.length);
      lane.packets(order.batch);
    } else if (order.kind === 'ask') lane.ask(order.question);
    else void lane.close().then(() => port.close());
  });
  post({ kind: 'listening', port: lane.port, sender: lane.sender });
}

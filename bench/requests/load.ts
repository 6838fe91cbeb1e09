import { connect, type Socket } from 'node:net';

/** One kind of request, as bytes, and how many requests a connection makes before it stops. */
export interface LoadOrder {
  readonly port: number;
  readonly request: string;
  readonly connections: number;
  readonly durationMs: number;
  /** Milliseconds from one request of a connection to its next; 0 for as soon as it is answered. */
  readonly everyMs: number;
}

export interface LoadNews {
  readonly kind: 'loaded';
  readonly requests: number;
  /** Answers with another status than 200. */
  readonly failed: number;
  readonly elapsedMs: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = /content-length: (\d+)/i;

/**
 * A connection that sends its next request when the previous one is answered, or at its time if that is later. It reads only
 * status and length.
 */
function saturate({ port, request, everyMs }: LoadOrder, seen: (status: number) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let nextMs = performance.now();
    const next = (): void => {
      nextMs = Math.max(nextMs + everyMs, performance.now());
      const waitMs = nextMs - performance.now();
      if (waitMs > 0) setTimeout(() => socket.write(request), waitMs);
      else socket.write(request);
    };
    const socket: Socket = connect(port, '127.0.0.1');
    let buffered: Buffer = Buffer.alloc(0);
    socket.setNoDelay(true);
    socket.on('error', reject);
    socket.on('connect', () => socket.write(request));
    socket.on('data', (chunk) => {
      buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
      const end = buffered.indexOf(HEAD_END);
      if (end === -1) return;
      const head = buffered.toString('latin1', 0, end);
      const size = end + HEAD_END.length + Number(LENGTH.exec(head)?.[1] ?? 0);
      if (buffered.length < size) return;
      buffered = buffered.subarray(size);
      if (seen(Number(head.slice(9, 12)))) next();
      else socket.end(resolve);
    });
  });
}

async function load(order: LoadOrder): Promise<LoadNews> {
  const began = performance.now();
  let [requests, failed] = [0, 0];
  const seen = (status: number): boolean => {
    requests += 1;
    if (status !== 200) failed += 1;
    return performance.now() - began < order.durationMs;
  };
  await Promise.all(Array.from({ length: order.connections }, () => saturate(order, seen)));
  return { kind: 'loaded', requests, failed, elapsedMs: performance.now() - began };
}

process.on('message', (order: LoadOrder) => void load(order).then((news) => process.send?.(news)));
process.on('disconnect', () => process.exit());

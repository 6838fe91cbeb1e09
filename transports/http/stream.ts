import type { Exchange } from './exchange.ts';

/**
 * Sends a body of `size` bytes as fast as the peer reads it: the next chunk is requested when the last one has been passed
 * to the kernel. At most one chunk is held. Ends early, without a fault, when the peer disconnects.
 *
 * @throws whatever `chunks` throws; the connection is then dropped, since its length was already sent.
 */
export async function streamBody(
  exchange: Exchange,
  status: number,
  headers: Readonly<Record<string, string>>,
  size: number,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  const writer = writerOf(exchange, size);
  let first = true;
  try {
    for await (const chunk of chunks) {
      if (exchange.over) return;
      await writer(chunk, first ? () => exchange.begin(status, headers) : null);
      first = false;
    }
  } finally {
    // Fewer bytes than announced, or a fault: dropping the connection is the only way left to signal it.
    if (!exchange.over) exchange.cut();
  }
}

function writerOf(exchange: Exchange, size: number) {
  const { res } = exchange;
  let chunk: Uint8Array = new Uint8Array(0);
  let chunkAt = 0;
  let settle: (() => void) | null = null;

  const attempt = (from: number): boolean => {
    const [ok, done] = res.tryEnd(chunk.subarray(from - chunkAt), size);
    if (done) exchange.complete();
    return ok || done;
  };
  const settled = () => {
    settle?.();
    settle = null;
  };
  res.onWritable((offset) => {
    const ok = attempt(offset);
    if (ok) settled();
    return ok;
  });
  exchange.onAbort(settled);

  return (next: Uint8Array, head: (() => void) | null): Promise<void> =>
    new Promise((resolve) => {
      chunk = next;
      let ok = false;
      res.cork(() => {
        head?.();
        chunkAt = res.getWriteOffset();
        ok = attempt(chunkAt);
      });
      if (ok) resolve();
      else settle = resolve;
    });
}

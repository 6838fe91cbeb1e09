/** Most keys in one read. */
const KEYS_MAX = 500;

/**
 * Reads by key, many keys with one query: keys requested in one turn, or while a read is under way, share the next
 * read. A burst of callers costs a few queries, and a result is never older than its request.
 *
 * @returns Answers undefined for a key that `read` does not answer; rejects with what `read` rejects with.
 */
export function batchReads<Value>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): (key: string) => Promise<Value | undefined> {
  let waiting = new Map<string, PromiseWithResolvers<Value | undefined>>();
  let running = false;

  async function run(): Promise<void> {
    while (waiting.size > 0) {
      const all = [...waiting];
      const now = all.slice(0, KEYS_MAX);
      waiting = new Map(all.slice(KEYS_MAX));
      try {
        const found = await read(now.map(([key]) => key));
        for (const [key, { resolve }] of now) resolve(found.get(key));
      } catch (error) {
        for (const [, { reject }] of now) reject(error);
      }
    }
    running = false;
  }

  return (key) => {
    const known = waiting.get(key);
    if (known) return known.promise;
    const asked = withResolvers<Value | undefined>();
    waiting.set(key, asked);
    if (!running) {
      running = true;
      queueMicrotask(() => void run());
    }
    return asked.promise;
  };
}

interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** `Promise.withResolvers` of later Node versions. */
function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

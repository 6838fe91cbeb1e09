/** Keys that one read takes at most. */
const KEYS_MAX = 500;

/**
 * Reads by key, many with one query: what is asked for in one turn, and while a read is under way, goes into the next.
 * So a storm of callers costs a handful of queries, and an answer is never older than its question.
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

/** As later versions of the language have it. */
function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

/** Runs the jobs of one key one after another; a failed job does not block the next. */
export function keyedMutex<Key>(): <T>(key: Key, job: () => Promise<T>) => Promise<T> {
  const last = new Map<Key, Promise<unknown>>();
  return (key, job) => {
    const run = (last.get(key) ?? Promise.resolve()).then(job);
    const settled: Promise<unknown> = run
      .catch(() => undefined)
      .finally(() => {
        if (last.get(key) === settled) last.delete(key);
      });
    last.set(key, settled);
    return run;
  };
}

/** Like `keyedMutex`, but a job without a predecessor begins synchronously, within the call. */
export function eagerKeyedMutex<Key>(): <T>(key: Key, job: () => Promise<T>) => Promise<T> {
  const last = new Map<Key, Promise<unknown>>();
  return (key, job) => {
    const earlier = last.get(key);
    const run = earlier ? earlier.then(job) : job();
    const settled: Promise<unknown> = run
      .catch(() => undefined)
      .finally(() => {
        if (last.get(key) === settled) last.delete(key);
      });
    last.set(key, settled);
    return run;
  };
}

/**
 * Runs the jobs of one key one after another; a failed job does not block the next. A job without a predecessor begins
 * synchronously, within the call. It is registered before: a job that it adds itself comes after it.
 */
export function eagerKeyedMutex<Key>(): <T>(key: Key, job: () => Promise<T>) => Promise<T> {
  const last = new Map<Key, Promise<void>>();
  return (key, job) => {
    const earlier = last.get(key);
    let settle = (): void => undefined;
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    last.set(key, settled);
    const end = (): void => {
      if (last.get(key) === settled) last.delete(key);
      settle();
    };
    const begin = async () => job();
    const run = earlier ? earlier.then(begin) : begin();
    run.then(end, end);
    return run;
  };
}

/** Like `eagerKeyedMutex`, but no job begins within the call. */
export function keyedMutex<Key>(): <T>(key: Key, job: () => Promise<T>) => Promise<T> {
  const ordered = eagerKeyedMutex<Key>();
  return (key, job) => ordered(key, () => Promise.resolve().then(job));
}

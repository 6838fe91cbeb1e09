import { useEffect, useState } from 'preact/hooks';

/** An observable value for views. */
export interface Store<T> {
  readonly value: T;
  set(change: Partial<T>): void;
  watch(listener: () => void): () => void;
}

export function createStore<T extends object>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get value() {
      return value;
    },
    set(change) {
      value = { ...value, ...change };
      for (const listener of listeners) listener();
    },
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Returns the store's value and renders the view again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(store.value);
  useEffect(() => {
    setValue(store.value);
    return store.watch(() => setValue(store.value));
  }, [store]);
  return value;
}

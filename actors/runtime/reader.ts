/** A read of one window: the absent keys, and how to fetch and keep their rows. */
export interface WindowRead<K extends string = string> {
  /** Names one of the aggregate's windows. */
  readonly kind: string;
  readonly keys: readonly K[];
  fetch(keys: readonly K[]): Promise<void>;
}

/**
 * Reads rows into an aggregate's windows. Concurrent reads of one row share one query, so a result that is older than a
 * command cannot overwrite what that command has written.
 */
export class WindowReader {
  readonly #underWay = new Map<string, Promise<void>>();

  /** Null when nothing must be read; otherwise resolves when all rows are in the windows. */
  read(reads: Iterable<WindowRead>): Promise<void> | null {
    const waits: Promise<void>[] = [];
    for (const read of reads) {
      const fresh: string[] = [];
      for (const key of new Set(read.keys)) {
        const running = this.#underWay.get(read.kind + key);
        if (running) waits.push(running);
        else fresh.push(key);
      }
      if (fresh.length > 0) waits.push(this.#start(read, fresh));
    }
    return waits.length > 0 ? Promise.all(waits).then(() => undefined) : null;
  }

  #start(read: WindowRead, keys: readonly string[]): Promise<void> {
    const running = read.fetch(keys).finally(() => {
      for (const key of keys) this.#underWay.delete(read.kind + key);
    });
    for (const key of keys) this.#underWay.set(read.kind + key, running);
    return running;
  }
}

/** Adds rows, and null for keys without a row, to the window. An entry that a command has written meanwhile stays. */
export function keep<K extends string, Row>(
  window: Map<K, Row | null>,
  keys: readonly K[],
  rows: readonly Row[],
  keyOf: (row: Row) => K,
): void {
  for (const row of rows) if (!window.has(keyOf(row))) window.set(keyOf(row), row);
  for (const key of keys) if (!window.has(key)) window.set(key, null);
}

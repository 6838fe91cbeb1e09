import { type Driver, type Sql, StorageFault } from './driver.ts';

/** A driver that counts its requests, so that shutdown can wait for those in progress. */
interface CountedDriver extends Driver {
  /** Resolves when no request is in progress, and the callers of the last one have had a turn without making another. */
  idle(): Promise<void>;
}

/** Bound of `idle`: a caller that never stops must not keep the database open. */
const PATIENCE_MS = 10_000;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Counts the driver's requests. After `close`, requests fail with "The storage is closed.". */
export function counted(driver: Driver): CountedDriver {
  let asked = 0;
  let isClosed = false;
  const underWay = new Set<Promise<unknown>>();

  function count<T>(ask: () => Promise<T>): Promise<T> {
    if (isClosed) return Promise.reject(new StorageFault('The storage is closed.'));
    asked += 1;
    const answer = ask();
    const done = (): void => void underWay.delete(answer);
    underWay.add(answer);
    answer.then(done, done);
    return answer;
  }

  const sql: Sql = {
    query: <Row>(text: string, values?: readonly unknown[]) => count(() => driver.query<Row>(text, values)),
    script: (text) => count(() => driver.script(text)),
  };
  return {
    kind: driver.kind,
    ...sql,
    transaction: (body, opening) => count(() => driver.transaction(body, opening)),
    copy: () => count(() => driver.copy()),
    async idle() {
      const untilMs = performance.now() + PATIENCE_MS;
      for (let seen = -1; underWay.size > 0 || seen !== asked; ) {
        if (performance.now() > untilMs) return;
        seen = asked;
        await Promise.allSettled([...underWay]);
        await turn();
      }
    },
    close() {
      isClosed = true;
      return driver.close();
    },
  };
}

// Goal: a transaction is committed once, whatever becomes of its connections, and none is committed after it was given up.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import type { BatchStatement, Driver } from '../../storage/database/driver.ts';
import { OutcomeUnknown, Transactions } from '../../storage/transactions.ts';

const refused = (code: string) => Object.assign(new Error('refused'), { severity: 'ERROR', code });
const lost = () => Object.assign(new Error('Connection terminated'), { code: 'ECONNRESET' });

/** What becomes of one attempt. */
const FATES = [
  ...([
    'whole',
    'unsent',
    'unanswered',
    'late',
    'refused',
    'standby',
    'crowded',
    'full',
    'cancelled',
  ] as const),
];
type Fate = (typeof FATES)[number];

/** A database server with the row of one writer. A late attempt holds the row until the test or the next attempt ends it. */
function serverOf(fates: readonly Fate[]) {
  const written: string[] = [];
  const left = [...fates];
  let number = 0;
  let orphan: { readonly number: number; readonly rows: readonly string[] } | null = null;
  let attempts = 0;

  const endOrphan = (): void => {
    if (orphan && orphan.number > number) {
      number = orphan.number;
      written.push(...orphan.rows);
    }
    orphan = null;
  };
  const driver: Pick<Driver, 'kind' | 'batch'> = {
    kind: 'postgres',
    batch: async <Row>([numbered, ...statements]: readonly BatchStatement[]) => {
      attempts += 1;
      const fate = left.shift() ?? 'whole';
      if (fate === 'unsent') throw lost();
      if (fate === 'standby') throw refused('25006');
      if (fate === 'crowded') throw refused('53300');
      if (fate === 'cancelled') throw refused('57014');
      if (fate === 'full') throw refused('53100');
      const own = Number(numbered?.values[1]);
      const rows = statements.flatMap(({ values }) => values);
      endOrphan();
      if (own <= number) throw refused('GH002');
      if (fate === 'refused') throw refused('23505');
      if (fate === 'late') {
        orphan = { number: own, rows };
        throw lost();
      }
      number = own;
      written.push(...rows);
      if (fate === 'unanswered') throw lost();
      return [[], ...statements.map(() => [])] as Row[][];
    },
  };
  return { driver: driver as Driver, written, endOrphan, attempts: () => attempts };
}

/** A clock whose time passes at once when something waits for it. */
function eagerClock() {
  let nowMs = 0;
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  const setTimer = (run: () => void, delayMs: number) => {
    pass(delayMs);
    queueMicrotask(run);
    return { cancel: () => undefined };
  };
  return { monotonic: () => nowMs, setTimer, pass };
}

const open = (fates: readonly Fate[], retryMs = 1_000) => {
  const server = serverOf(fates);
  const clock = eagerClock();
  return { ...server, clock, transactions: new Transactions(server.driver, { forMs: retryMs, clock }) };
};
const write = (name: string): BatchStatement[] => [{ text: 'INSERT', values: [name] }];

describe('numbered transactions', () => {
  test('a transaction whose answer was lost is known to be committed, and is not written again', async () => {
    const { transactions, written } = open(['unanswered']);
    expect(await transactions.run(write('a'))).toBeNull();
    expect([written, transactions.isUnresolved]).toEqual([['a'], false]);
  });

  test('a transaction that did not reach the server is repeated and returns its rows', async () => {
    const { transactions, written } = open(['unsent', 'unsent']);
    expect(await transactions.run(write('a'))).toEqual([[]]);
    expect(written).toEqual(['a']);
  });

  test('the attempt after one that is still under way waits for its end, and is refused if it was committed', async () => {
    const { transactions, written } = open(['late']);
    expect(await transactions.run(write('a'))).toBeNull();
    expect(written).toEqual(['a']);
  });

  test('a refusal by the database is thrown at once as it is', async () => {
    const { transactions, attempts } = open(['refused']);
    await expect(transactions.run(write('a'))).rejects.toMatchObject({ code: '23505' });
    expect([attempts(), transactions.isUnresolved]).toEqual([1, false]);
  });

  test('a full disk is a refusal at first, but not while an earlier attempt may be under way', async () => {
    await expect(open(['full']).transactions.run(write('a'))).rejects.toMatchObject({ code: '53100' });
    const { transactions, written } = open(['late', 'full']);
    expect(await transactions.run(write('a'))).toBeNull();
    expect(written).toEqual(['a']);
  });

  test.each<[string, Fate]>([
    ['follows another server', 'standby'],
    ['has no free connection', 'crowded'],
  ])('a transaction is repeated when the server %s at the first attempt', async (_, fate) => {
    const { transactions, written, attempts } = open([fate]);
    expect(await transactions.run(write('a'))).toEqual([[]]);
    expect([written, attempts(), transactions.isUnresolved]).toEqual([['a'], 2, false]);
  });

  test('attempts end after the time for them, and the next transactions are tried once until the database answers', async () => {
    const { transactions, attempts, clock } = open(Array.from({ length: 7 }, () => 'unsent'));
    await expect(transactions.run(write('a'))).rejects.toThrow(OutcomeUnknown);
    expect([attempts(), clock.monotonic()]).toEqual([6, 620]);
    clock.pass(400);
    await expect(transactions.run(write('b'))).rejects.toThrow('Connection terminated');
    expect(attempts()).toBe(7);
    expect(await transactions.run(write('c'))).toEqual([[]]);
    expect(transactions.isUnresolved).toBe(false);
  });

  test('attempts have their whole time again after the database has answered', async () => {
    const unsent = (count: number): Fate[] => Array.from({ length: count }, () => 'unsent');
    const { transactions, attempts, clock } = open([...unsent(5), 'whole', ...unsent(5)]);
    await transactions.run(write('a'));
    clock.pass(10_000);
    await transactions.run(write('b'));
    expect(attempts()).toBe(12);
    await transactions.run(write('c'));
    expect(attempts()).toBe(13);
  });

  test('a transaction that was given up is not committed once it is resolved', async () => {
    const { transactions, written, endOrphan } = open(['late'], 0);
    await expect(transactions.run(write('a'))).rejects.toThrow(OutcomeUnknown);
    expect(transactions.isUnresolved).toBe(true);
    await transactions.resolve();
    const then = [...written];
    endOrphan();
    expect([written, transactions.isUnresolved]).toEqual([then, false]);
  });

  test('an embedded database gets no numbers, and an error that is not its own leaves the outcome unknown', async () => {
    const batches: number[] = [];
    const batch = async (statements: readonly BatchStatement[]) => {
      batches.push(statements.length);
      if (batches.length > 1) throw new Error('aborted');
      return [];
    };
    const driver = { kind: 'pglite', batch } as unknown as Driver;
    const transactions = new Transactions(driver, { forMs: 1_000, clock: eagerClock() });
    await transactions.run(write('a'));
    await expect(transactions.run(write('b'))).rejects.toThrow(OutcomeUnknown);
    expect(batches).toEqual([1, 1]);
  });

  test('attempts end when the server stops', async () => {
    const { driver, attempts } = serverOf(['unsent', 'unsent']);
    const clock = new VirtualClock();
    const transactions = new Transactions(driver, { forMs: 60_000, clock });
    const answer = transactions.run(write('a'));
    await new Promise(setImmediate);
    transactions.end();
    await expect(answer).rejects.toThrow(OutcomeUnknown);
    await expect(transactions.run(write('b'))).rejects.toThrow(OutcomeUnknown);
    expect([attempts(), clock.timers]).toEqual([2, 0]);
  });

  test('a full disk does not resolve a transaction that was given up', async () => {
    const { transactions, written } = open(['late', 'full', 'full'], 0);
    await expect(transactions.run(write('a'))).rejects.toThrow(OutcomeUnknown);
    await expect(transactions.run(write('b'))).rejects.toMatchObject({ code: '53100' });
    await expect(transactions.resolve()).rejects.toMatchObject({ code: '53100' });
    expect(transactions.isUnresolved).toBe(true);
    await transactions.resolve();
    expect([written, transactions.isUnresolved]).toEqual([['a'], false]);
  });

  test('transactions are written once if they were answered, and at most once else, whatever becomes of their attempts', async () => {
    const plan = fc.record({
      fates: fc.array(fc.constantFrom(...FATES), { maxLength: 60 }),
      retryMs: fc.constantFrom(0, 100, 1_000),
      count: fc.integer({ min: 1, max: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ fates, retryMs, count }) => {
        const { transactions, written, endOrphan } = open(fates, retryMs);
        for (let n = 0; n < count; n += 1) {
          const outcome = await transactions.run(write(`t${n}`)).then(
            () => 'committed',
            (error) => (error instanceof OutcomeUnknown ? 'unknown' : 'refused'),
          );
          if (outcome === 'committed') expect(written.filter((name) => name === `t${n}`)).toHaveLength(1);
          if (outcome === 'refused') expect(written).not.toContain(`t${n}`);
          if (outcome !== 'refused') expect(transactions.isUnresolved).toBe(outcome === 'unknown');
          const resolved = await transactions.resolve().then(
            () => true,
            () => false,
          );
          if (!resolved) continue;
          const then = [...written];
          endOrphan();
          expect(written).toEqual(then);
        }
        expect(new Set(written).size).toBe(written.length);
      }),
      { numRuns: 500 },
    );
  });
});

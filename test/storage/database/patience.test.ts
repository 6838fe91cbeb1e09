// Goal: reads wait for a database server that is back soon, and nothing else is tried again.
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import type { Driver } from '../../../storage/database/driver.ts';
import { Patience, withPatientReads } from '../../../storage/database/patience.ts';

const lost = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const crowded = () => Object.assign(new Error('too many clients'), { severity: 'FATAL', code: '53300' });
const refused = () => Object.assign(new Error('no such column'), { severity: 'ERROR', code: '42703' });

function arrange(kind: Driver['kind'] = 'postgres') {
  const clock = new VirtualClock();
  let failure: Error | null = lost();
  const asked: string[] = [];
  const query = async (text: string) => {
    asked.push(text);
    if (failure) throw failure;
    return [{ n: 1 }];
  };
  const patience = new Patience({ forMs: 1_000, clock });
  const driver = withPatientReads({ kind, query } as unknown as Driver, patience);
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      clock.advance(10);
      await new Promise(setImmediate);
    }
  };
  const fail = (error: Error | null) => {
    failure = error;
  };
  return { driver, patience, asked, pass, fail, clock };
}

const outcomeOf = (answer: Promise<unknown>) =>
  answer.then(
    () => 'read',
    (error: Error) => error.message,
  );

test('a read waits until the server answers, in pauses that grow', async () => {
  const { driver, asked, pass, fail } = arrange();
  const read = outcomeOf(driver.query('\n  SELECT 1'));
  await pass(280);
  expect(asked).toHaveLength(4);
  fail(null);
  await pass(400);
  expect(await read).toBe('read');
});

test('a read fails after the time for attempts, later ones at once, until the server has answered', async () => {
  const { driver, asked, pass, fail } = arrange();
  const read = outcomeOf(driver.query('SELECT 1'));
  await pass(1_100);
  expect(await read).toBe('connect ECONNREFUSED');
  const { length } = asked;
  expect(await outcomeOf(driver.query('SELECT 1'))).toBe('connect ECONNREFUSED');
  expect(asked).toHaveLength(length + 1);
  fail(null);
  await driver.query('SELECT 1');
  fail(lost());
  const again = outcomeOf(driver.query('SELECT 1'));
  await pass(50);
  fail(null);
  await pass(100);
  expect(await again).toBe('read');
});

test('a read waits for a free connection, and not for longer because other reads are answered', async () => {
  const { driver, asked, pass, fail } = arrange();
  fail(crowded());
  const read = outcomeOf(driver.query('SELECT 1'));
  await pass(50);
  fail(null);
  await pass(100);
  expect(await read).toBe('read');
  const others = arrange();
  const late = outcomeOf(others.driver.query('SELECT late'));
  let isOver = false;
  void late.then(() => {
    isOver = true;
  });
  for (let ms = 0; ms < 2_000; ms += 10) {
    others.fail(null);
    await others.driver.query('SELECT 1');
    others.fail(crowded());
    await others.pass(10);
  }
  expect([isOver, await late]).toEqual([true, 'too many clients']);
  expect(asked).toHaveLength(3);
});

test.each([
  ['a write', 'INSERT INTO notes VALUES (1)', lost(), 'connect ECONNREFUSED'],
  ['what may write', 'WITH gone AS (DELETE FROM notes RETURNING 1) SELECT 1', lost(), 'connect ECONNREFUSED'],
  ['a read that the server refuses', 'SELECT nonsense', refused(), 'no such column'],
])('%s is tried once', async (_, text, error, message) => {
  const { driver, asked, fail } = arrange();
  fail(error);
  expect(await outcomeOf(driver.query(text))).toBe(message);
  expect(asked).toHaveLength(1);
});

test('reads that wait fail when the server stops, and an embedded database is asked once', async () => {
  const { driver, patience, clock } = arrange();
  const reads = [outcomeOf(driver.query('SELECT 1')), outcomeOf(driver.query('SELECT 2'))];
  await new Promise(setImmediate);
  patience.end();
  expect(await Promise.all(reads)).toEqual(['connect ECONNREFUSED', 'connect ECONNREFUSED']);
  expect(clock.timers).toBe(0);
  const embedded = arrange('pglite');
  expect(await outcomeOf(embedded.driver.query('SELECT 1'))).toBe('connect ECONNREFUSED');
});

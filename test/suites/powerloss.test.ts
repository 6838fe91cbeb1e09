// Goal: commits that the embedded database has answered survive a power loss at any moment, and the database stays
// consistent; the simulated disk keeps only what was synced.
import fs from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openPglite } from '../../storage/database/pglite.ts';
import { Disk } from '../support/powerloss.ts';

/** A fixed sequence of numbers from 0 to 1. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

let root: string;
let template: string;
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'guildhall-'));
  template = join(root, 'template');
  const driver = await openPglite(template);
  await driver.script(
    'CREATE TABLE said (n bigint PRIMARY KEY, text text NOT NULL); CREATE INDEX ON said (text)',
  );
  await driver.close();
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function directory(): Promise<string> {
  const path = join(root, `disk${++count}`, 'database');
  await cp(template, path, { recursive: true });
  return path;
}

/** Numbers that a database holds, read by its table and by its index. */
async function numbersIn(path: string): Promise<number[]> {
  const driver = await openPglite(path);
  const read = async (order: string) =>
    (await driver.query<{ n: string }>(`SELECT n FROM said ORDER BY ${order}`)).map(({ n }) => Number(n));
  const [byNumber, byText] = [await read('n'), await read('text')];
  expect([...byText].sort((a, b) => a - b)).toEqual(byNumber);
  await driver.close();
  return byNumber;
}

test.each([1, 2])(
  'every answered commit survives a power loss (seed %i)',
  async (seed) => {
    const random = randomOf(seed);
    const path = await directory();
    const disk = new Disk(path);
    const lost: { path: string; answered: number[] }[] = [];
    try {
      const driver = await openPglite(path);
      const answered: number[] = [];
      const lose = () => {
        const copy = join(root, `lost${seed}-${lost.length}`);
        lost.push({ path: copy, answered: [...answered] });
        disk.lose(copy, random);
      };
      for (let n = 0; n < 24; n += 1) {
        const text = String(random()).repeat(Math.ceil(random() * 400));
        const done = driver
          .transaction((sql) => sql.query('INSERT INTO said VALUES ($1, left($2, 2000))', [n, text]))
          .then(() => answered.push(n));
        if (n % 10 === 7) await driver.script('CHECKPOINT');
        // Before the answer, and between the answer and the next commit.
        if (n % 16 === 4) lose();
        await done;
        if (n % 16 === 11) lose();
      }
      await driver.close();
      lose();
    } finally {
      disk.remove();
    }
    for (const { path: copy, answered } of lost) {
      const numbers = await numbersIn(copy);
      expect(numbers.slice(0, answered.length)).toEqual(answered);
      expect(numbers.length).toBeLessThanOrEqual(answered.length + 1);
    }
    expect(lost).toHaveLength(4);
  },
  // It copies whole databases.
  240_000,
);

test('a disk that keeps only synced data loses commits that plain PGlite has answered', async () => {
  const path = await directory();
  const disk = new Disk(path);
  const copy = join(root, 'unsynced');
  try {
    const db = await PGlite.create({ dataDir: path });
    await db.query("INSERT INTO said VALUES (1, 'lost')");
    disk.lose(copy, () => 0.999);
    await db.close();
  } finally {
    disk.remove();
  }
  expect(await numbersIn(copy)).toEqual([]);
});

test('a failed sync is reported to that commit and all later ones', async () => {
  const driver = await openPglite(await directory());
  const broken = vi
    .spyOn(fs, 'fdatasync')
    .mockImplementationOnce(((_: number, done: (error: Error) => void) =>
      done(new Error('EIO: i/o error'))) as never);
  const commit = (n: number) => driver.query("INSERT INTO said VALUES ($1, 'x')", [n]);
  await expect(commit(1)).rejects.toThrow('Syncing the log of the embedded database failed: EIO');
  broken.mockRestore();
  await expect(driver.query('SELECT 1')).rejects.toThrow('Stop the server and check the disk.');
  await driver.close().catch(() => undefined);
});

// Goal: two living processes never share a data directory, and a dead one never keeps it.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockDirectory } from '../../../storage/database/directorylock.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'guildhall-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const startOf = async (pid: number): Promise<string> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
};

test('a directory is locked once, until it is released', async () => {
  const directory = join(root, 'db');
  const unlock = await lockDirectory(directory);
  await expect(lockDirectory(`${directory}/`)).rejects.toThrow('in use by this very process');
  await unlock();
  await (await lockDirectory(directory))();
});

test('the lock of a living process is respected', async () => {
  const lock = join(root, 'db.lock');
  await writeFile(lock, `${process.ppid} ${await startOf(process.ppid)}`);
  await expect(lockDirectory(join(root, 'db'))).rejects.toThrow(`in use by process ${process.ppid}`);
  await rm(lock);
  await (await lockDirectory(join(root, 'db')))();
});

test.each([
  ['a process that has ended', '4194999 1'],
  ['an earlier process of our own number', `${process.pid} 1`],
  ['no process', ''],
  ['a malformed mark', 'garbage'],
  ['all processes', '0 '],
])('the lock of %s is taken over', async (_, text) => {
  await writeFile(join(root, 'db.lock'), text);
  const unlock = await lockDirectory(join(root, 'db'));
  expect(await readFile(join(root, 'db.lock'), 'utf8')).toMatch(new RegExp(`^${process.pid} `));
  await unlock();
});

// Goal: a table of a backup is read line by line, and a line without an end is refused before it fills the memory.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tableLines } from '../../storage/backup/archive.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-archive-'));
  await mkdir(join(folder, 'tables'));
});
afterAll(() => rm(folder, { recursive: true }));

async function linesOf(text: string | Buffer): Promise<readonly string[]> {
  await writeFile(join(folder, 'tables', 'users.ndjson.gz'), gzipSync(text, { level: 1 }));
  const lines: string[] = [];
  for await (const line of tableLines(folder, 'users')) lines.push(line);
  return lines;
}

test('a table is read line by line, wherever its pieces end', async () => {
  const lines = ['x', 'é'.repeat(100_000), 'y'.repeat(300_000), '', 'z'];
  expect(await linesOf(lines.map((line) => `${line}\n`).join(''))).toEqual(lines);
  expect(await linesOf('')).toEqual([]);
});

test('a table whose last line has no end is refused', () =>
  expect(linesOf('x\ny')).rejects.toThrow('the last line is incomplete'));

test('a line without an end is refused before it fills the memory', () =>
  expect(linesOf(Buffer.alloc(80_000_000, 'a'))).rejects.toThrow('a line has more than 67108864 characters'));

// Goal: a directory is made with all that is missing above it, or refused with what the system says; never waited for.
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDirectory } from '../directories.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-directories-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('makeDirectory', () => {
  test('makes what is missing above, with the mode that is asked for', async () => {
    const path = join(folder, 'a/b/c');
    await makeDirectory(path, 0o700);
    for (const made of ['a', 'a/b', 'a/b/c'])
      expect((await stat(join(folder, made))).mode & 0o777).toBe(0o700);
  });

  test('leaves a directory as it is, also when many make it at once', async () => {
    const path = join(folder, 'shared/data');
    await Promise.all(Array.from({ length: 8 }, () => makeDirectory(path)));
    await makeDirectory(path);
    await makeDirectory('/');
    expect((await stat(path)).isDirectory()).toBe(true);
  });

  test('names the first part of the path that cannot be made', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    await expect(makeDirectory(file)).rejects.toMatchObject({ code: 'EEXIST', path: file });
    await expect(makeDirectory(join(file, 'x/y'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  test.skipIf(process.platform !== 'linux')('does not wait for a file system that makes none', async () => {
    for (const path of ['/proc/nope', '/proc/nope/x/y'])
      await expect(makeDirectory(path)).rejects.toMatchObject({ code: 'ENOENT', path: '/proc/nope' });
  });
});

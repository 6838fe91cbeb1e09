// Goal: `init` writes a project with its name filled in, says what to do next, and overwrites nothing.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from './arrange.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-init-'));
});
afterAll(() => rm(folder, { recursive: true }));

test.each([
  ['game', ['game.js', 'bot.js', 'public/index.html', 'game.test.js'], 'open http://127.0.0.1:8080'],
  ['bot', ['bot.js', 'main.js', 'bot.test.js'], 'npx guildhall dev'],
])('init %s writes a project and prints the next steps', async (kind, files, next) => {
  const target = join(folder, `My ${kind}!`);
  const { exitCode, out } = await run(['init', kind, target, '--package', '^9.9.9']);
  expect(exitCode).toBe(0);
  expect(out.join('\n')).toContain(next);
  expect(await readdir(target, { recursive: true })).toEqual(
    expect.arrayContaining([...files, '.gitignore']),
  );
  const { name, dependencies, devDependencies } = JSON.parse(
    await readFile(join(target, 'package.json'), 'utf8'),
  );
  expect([name, { ...dependencies, ...devDependencies }.guildhall]).toEqual([`my-${kind}`, '^9.9.9']);
  expect(await readFile(join(target, 'README.md'), 'utf8')).not.toContain('{{');
});

test('init refuses a folder with files in it and changes none', async () => {
  const target = join(folder, 'filled');
  await run(['init', 'bot', target]);
  await writeFile(join(target, 'bot.js'), 'mine');
  const { exitCode, err } = await run(['init', 'bot', target]);
  expect([exitCode, err.join('\n')]).toEqual([1, expect.stringContaining('is not empty')]);
  expect(err.join('\n')).toContain('guildhall init bot my-bot');
  expect(await readFile(join(target, 'bot.js'), 'utf8')).toBe('mine');
});

test('init in a clone depends on the clone, as the package is in no registry yet', async () => {
  const { out } = await run(['init', 'bot', join(folder, 'clone'), '--json']);
  expect(JSON.parse(out[0]!)).toMatchObject({ kind: 'bot', package: expect.stringMatching(/^file:/) });
});

test('an unknown kind is refused with the list of kinds', async () => {
  const { exitCode, err } = await run(['init', 'website']);
  expect([exitCode, err.join('\n')]).toEqual([2, expect.stringMatching(/game, bot/)]);
});

// Goal: a project that `guildhall init` writes runs with the package as it is published, and its own tests pass.
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PackedPackage, packPackage, runCommand } from '../support/packed.ts';

let packed: PackedPackage;
beforeAll(async () => {
  packed = await packPackage();
});
afterAll(() => packed.remove());

test.each([
  ['game', 3],
  ['bot', 2],
])('a %s installs from the package, and its %i tests pass', async (kind, tests) => {
  const { folder } = packed;
  const cli = join(folder, 'node_modules/guildhall/dist/cli.js');
  const made = await runCommand(process.execPath, [cli, 'init', kind, `my-${kind}`], folder);
  expect(made.text).toContain('npm install');
  expect(made.code).toBe(0);
  const project = join(folder, `my-${kind}`);
  const { name, dependencies, devDependencies } = JSON.parse(
    await readFile(join(project, 'package.json'), 'utf8'),
  );
  expect([name, { ...dependencies, ...devDependencies }.guildhall]).toEqual([
    `my-${kind}`,
    expect.stringMatching(/^\^\d/),
  ]);
  await symlink(join(folder, 'node_modules'), join(project, 'node_modules'));
  const ran = await runCommand('npm', ['test'], project);
  expect(ran.text).toContain(`# pass ${tests}`);
  expect(ran.code).toBe(0);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './root.ts';

/** The package as it is published, unpacked where programs find it. */
export interface PackedPackage {
  /** A folder with `node_modules/guildhall`, and beside it the dependencies that are installed here. */
  readonly folder: string;
  readonly tarball: string;
  remove(): Promise<void>;
}

/** Runs a command to its end. @returns its exit code and all that it printed. */
export async function runCommand(
  command: string,
  args: readonly string[],
  cwd: string,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (text += data));
  const [code] = await once(child, 'close');
  return { code, text };
}

/** Packs this package as it is built, and unpacks it. */
export async function packPackage(): Promise<PackedPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-package-'));
  const pack = ['pack', '--ignore-scripts', '--pack-destination', folder];
  const packed = await runCommand('npm', pack, ROOT);
  const [name] = (await readdir(folder)).filter((file) => file.endsWith('.tgz'));
  if (name === undefined) throw new Error(packed.text);
  const tarball = join(folder, name);
  const modules = join(folder, 'node_modules');
  await mkdir(modules);
  await runCommand('tar', ['xzf', tarball], folder);
  await symlink(join(folder, 'package'), join(modules, 'guildhall'));
  // The package is not a link to this repository, but finds the dependencies that are installed here.
  for (const dependency of await readdir(join(ROOT, 'node_modules')))
    if (!dependency.startsWith('guildhall'))
      await symlink(join(ROOT, 'node_modules', dependency), join(modules, dependency));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  return { folder, tarball, remove: () => rm(folder, { recursive: true }) };
}

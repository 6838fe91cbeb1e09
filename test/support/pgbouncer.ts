/** A real PgBouncer of a test's own, on loopback, as Debian installs it; says so where there is none. */
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './freeport.ts';
import { installed } from './installed.ts';
import { endServer, unprivileged, untilAnswering } from './postgres.setup.ts';

/** Null, with a line on the console, where PgBouncer is not installed. */
export const pgbouncerBinary = installed('pgbouncer', '/usr/sbin/pgbouncer');
if (pgbouncerBinary === null)
  console.warn('suites leave out what needs PgBouncer: it is not installed (Debian: pgbouncer)');

export interface TestPooler {
  /** The URL of a database of the server, through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** @param connections Connections of the server that all transactions share. */
export async function startPgbouncer(
  binary: string,
  databaseUrl: string,
  connections: number,
): Promise<TestPooler> {
  const user = unprivileged();
  if (!user) throw new Error('There is no user but root to run PgBouncer.');
  const root = mkdtempSync(join(tmpdir(), 'guildhall-pgbouncer-'));
  const [target, port] = [new URL(databaseUrl), await freePort()];
  const settings = [
    ...['[databases]', `* = host=${target.hostname} port=${target.port}`],
    ...['[pgbouncer]', 'listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir ='],
    ...['auth_type = any', `auth_file = ${join(root, 'users.txt')}`],
    ...['pool_mode = transaction', `default_pool_size = ${connections}`, 'server_login_retry = 1'],
  ];
  settings[1] += ` user=${target.username}`;
  writeFileSync(join(root, 'users.txt'), '');
  writeFileSync(join(root, 'pgbouncer.ini'), `${settings.join('\n')}\n`);
  if (user.uid !== undefined) chownSync(root, user.uid, user.gid);
  chmodSync(root, 0o755);
  const child = spawn(binary, [join(root, 'pgbouncer.ini')], {
    ...user,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const log: string[] = [];
  child.stderr.on('data', (chunk) => log.push(String(chunk)));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  async function stop(): Promise<void> {
    await endServer(child);
    rmSync(root, { recursive: true, force: true });
  }
  try {
    await untilAnswering('PgBouncer', url.href, child, log);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: url.href, stop };
}

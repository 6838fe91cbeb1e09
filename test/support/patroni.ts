/** Two PostgreSQL servers under Patroni, with HAProxy and PgBouncer before them, all from the files of deploy/postgres. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './freeport.ts';
import { installed } from './installed.ts';
import { unprivileged } from './postgres.setup.ts';
import { ROOT } from './source.ts';

const PASSWORD = 'of-the-chaos-test';
const START_TIMEOUT_MS = 90_000;
/** A lost primary is replaced within this time: Patroni's `ttl`, and a promotion. */
const FAILOVER_MS = 60_000;
/** A former primary follows the new one within this time, or never. */
const FOLLOWS_MS = 40_000;
const STOP_TIMEOUT_MS = 10_000;
const LOG_LINES_MAX = 400;

/** The names of programs that the machine lacks. */
export const lackingForPatroni = (): readonly string[] =>
  ['patroni', 'haproxy', 'pgbouncer'].filter((name) => installed(name, `/usr/sbin/${name}`) === null);

/** The programs of one cluster, in a folder of its own. */
class Programs {
  readonly folder: string;
  readonly #user: NonNullable<ReturnType<typeof unprivileged>>;
  readonly #children: ChildProcess[] = [];
  readonly #log: string[] = [];

  constructor() {
    const user = unprivileged();
    if (!user) throw new Error('There is no user but root to run PostgreSQL.');
    this.#user = user;
    this.folder = mkdtempSync(join(tmpdir(), 'guildhall-patroni-'));
    cpSync(join(ROOT, 'deploy/postgres'), this.folder, { recursive: true });
    if (user.uid !== undefined) chownSync(this.folder, user.uid, user.gid);
    chmodSync(this.folder, 0o755);
  }

  /** The last lines that the programs wrote. */
  get log(): string {
    return this.#log.join('');
  }

  run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const PATH = `${process.env.PATH}:/usr/sbin:/usr/lib/postgresql/15/bin`;
    const child = spawn(command, [...args], {
      ...{ ...this.#user, cwd: this.folder, env: { PATH, ...env } },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#children.push(child);
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        this.#log.push(`${command} ${env.PATRONI_NAME ?? ''}: ${chunk}`);
        if (this.#log.length > LOG_LINES_MAX) this.#log.shift();
      });
    return child;
  }

  /** Replaces texts in its copy of a file of deploy/postgres. */
  edit(name: string, texts: Readonly<Record<string, string>>): void {
    const path = join(this.folder, name);
    let text = readFileSync(path, 'utf8');
    for (const [from, to] of Object.entries(texts)) text = text.replace(from, to);
    writeFileSync(path, text);
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await Promise.race([exited, delay(STOP_TIMEOUT_MS)]);
    }
  }
}

/** One server and its Patroni. */
class Server {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly #data: string;
  #patroni: ChildProcess | null = null;

  constructor(name: string, folder: string, port: number, restPort: number) {
    this.name = name;
    this.port = port;
    this.restPort = restPort;
    this.#data = join(folder, name);
  }

  start(programs: Programs, etcdUrl: string): void {
    const [address, rest] = [`127.0.0.1:${this.port}`, `127.0.0.1:${this.restPort}`];
    this.#patroni = programs.run('patroni', ['patroni.yaml'], {
      ...{ PATRONI_NAME: this.name, PATRONI_ETCD3_HOSTS: new URL(etcdUrl).host },
      ...{ PATRONI_RESTAPI_LISTEN: rest, PATRONI_RESTAPI_CONNECT_ADDRESS: rest },
      ...{ PATRONI_POSTGRESQL_LISTEN: address, PATRONI_POSTGRESQL_CONNECT_ADDRESS: address },
      ...{ PATRONI_POSTGRESQL_DATA_DIR: this.#data, PATRONI_POSTGRESQL_PGPASS: `${this.#data}.pgpass` },
      ...{ PATRONI_SUPERUSER_PASSWORD: PASSWORD, PATRONI_REPLICATION_PASSWORD: PASSWORD },
      ...{ PATRONI_REWIND_PASSWORD: PASSWORD, DATABASE_PASSWORD: PASSWORD },
    });
  }

  /** To Patroni and the postmaster, whose children end with it. */
  signal(signal: NodeJS.Signals): void {
    const file = join(this.#data, 'postmaster.pid');
    const postmaster = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0;
    for (const pid of [this.#patroni?.pid ?? 0, postmaster])
      if (pid > 0)
        try {
          process.kill(pid, signal);
        } catch {
          // It has ended.
        }
  }

  /** @source https://patroni.readthedocs.io/en/latest/rest_api.html */
  async is(role: 'primary' | 'sync'): Promise<boolean> {
    const signal = AbortSignal.timeout(2_000);
    const answer = await fetch(`http://127.0.0.1:${this.restPort}/${role}`, { signal }).catch(() => null);
    return answer?.status === 200;
  }

  async post(path: string, body: object): Promise<void> {
    const url = `http://127.0.0.1:${this.restPort}/${path}`;
    await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  }
}

export interface PatroniCluster {
  /** The database of the shards, through PgBouncer. */
  readonly url: string;
  /** Ends the primary as a loss of its machine does; a standby is promoted, and then the lost server returns. */
  loseThePrimary(): Promise<void>;
  /** Stops the primary and its Patroni until another is promoted, then lets it go on as if nothing had happened. */
  hangThePrimary(): Promise<void>;
  /** Makes the standby the primary, as before maintenance. */
  switchOver(): Promise<void>;
  stop(): Promise<void>;
}

/** @throws Error when it does not start. */
export async function startPatroni(etcdUrl: string): Promise<PatroniCluster> {
  const programs = new Programs();
  const servers: Server[] = [];
  for (const name of ['a', 'b'])
    servers.push(new Server(name, programs.folder, await freePort(), await freePort()));
  async function until(what: string, withinMs: number, isSo: () => Promise<boolean>): Promise<void> {
    for (const giveUpMs = Date.now() + withinMs; !(await isSo()); await delay(200))
      if (Date.now() > giveUpMs)
        throw new Error(`Not within ${withinMs / 1_000} s: ${what}\n${programs.log}`);
  }
  async function ofRole(role: 'primary' | 'sync'): Promise<Server | undefined> {
    for (const server of servers) if (await server.is(role)) return server;
    return undefined;
  }
  const isSynced = async (): Promise<boolean> => Boolean((await ofRole('primary')) && (await ofRole('sync')));
  const synced = (): Promise<void> =>
    until('a primary and a standby that has all commits', START_TIMEOUT_MS, isSynced);
  /** As `synced`. A server whose timeline has left that of the primary cannot follow it: it is initialized again, as an operator does. */
  async function rejoined(): Promise<void> {
    for (const giveUpMs = Date.now() + FOLLOWS_MS; Date.now() < giveUpMs; await delay(200))
      if (await isSynced()) return;
    const primary = await ofRole('primary');
    for (const server of servers) if (server !== primary) await server.post('reinitialize', { force: true });
    await synced();
  }
  /** Runs what takes the primary away, and resolves when the other server is one. */
  async function replace(
    takeAway: (primary: Server, other: Server) => Promise<void> | void,
  ): Promise<Server> {
    await rejoined();
    const primary = (await ofRole('primary')) as Server;
    const other = servers.find((server) => server !== primary) as Server;
    await takeAway(primary, other);
    await until(`${other.name} as the primary`, FAILOVER_MS, () => other.is('primary'));
    return primary;
  }
  async function stop(): Promise<void> {
    for (const server of servers) server.signal('SIGCONT');
    await programs.stop();
    for (const server of servers) server.signal('SIGKILL');
    rmSync(programs.folder, { recursive: true, force: true });
  }
  try {
    for (const server of servers) server.start(programs, etcdUrl);
    await synced();
    return {
      url: await startPooler(programs, servers as [Server, Server]),
      async loseThePrimary() {
        const lost = await replace((primary) => primary.signal('SIGKILL'));
        lost.start(programs, etcdUrl);
      },
      async hangThePrimary() {
        const hung = await replace((primary) => primary.signal('SIGSTOP'));
        hung.signal('SIGCONT');
      },
      async switchOver() {
        await replace(async (primary, other) => {
          await primary.post('switchover', { leader: primary.name, candidate: other.name });
        });
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts HAProxy before the servers and PgBouncer before HAProxy. @returns the URL for shards. */
async function startPooler(programs: Programs, [a, b]: readonly [Server, Server]): Promise<string> {
  const [bind, port] = [await freePort(), await freePort()];
  programs.run('haproxy', ['-f', 'haproxy.cfg'], {
    ...{ BIND: `127.0.0.1:${bind}`, A: `127.0.0.1:${a.port}`, B: `127.0.0.1:${b.port}` },
    ...{ A_CHECK: String(a.restPort), B_CHECK: String(b.restPort) },
  });
  const users = join(programs.folder, 'users.txt');
  writeFileSync(users, `"guildhall" "${PASSWORD}"\n`);
  programs.edit('pgbouncer.ini', {
    'host=primary port=5432': `host=127.0.0.1 port=${bind}`,
    'listen_addr = *': 'listen_addr = 127.0.0.1',
    'listen_port = 6432': `listen_port = ${port}`,
    '/etc/pgbouncer/users.txt': users,
  });
  programs.run('pgbouncer', ['pgbouncer.ini']);
  return `postgres://guildhall:${PASSWORD}@127.0.0.1:${port}/guildhall?pooler=transaction`;
}

/** A real etcd of a test's own, on loopback, with its data in a temporary folder; says so where there is none. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './freeport.ts';
import { installed } from './installed.ts';

const START_TIMEOUT_MS = 30_000;

export interface TestEtcd {
  /** URL of the first member. */
  readonly url: string;
  /** URLs of all members. */
  readonly urls: readonly string[];
  /** Stops the process where it stands, as a machine that hangs does. */
  pause(): void;
  resume(): void;
  /** Ends all members as SIGKILL does, and brings them up again over the same data. */
  restart(downMs?: number): Promise<void>;
  /** The same with so many of its members. */
  lose(count: number, downMs: number): Promise<void>;
  /** As when its database has reached its quota: it refuses writes and new leases, and answers reads and renewals. */
  setFull(isFull: boolean): Promise<void>;
  stop(): Promise<void>;
}

/** Null, with a word on the console, where etcd is not installed. */
export const etcdBinary = installed('etcd', '/usr/bin/etcd', '/usr/local/bin/etcd');
if (etcdBinary === null)
  console.warn('suites leave out what needs etcd: it is not installed (Debian: etcd-server)');

async function untilHealthy(url: string, child: ChildProcess, log: readonly string[]): Promise<void> {
  for (const giveUpMs = Date.now() + START_TIMEOUT_MS; ; await delay(50)) {
    const answer = await fetch(`${url}/health`).catch(() => null);
    if (answer?.ok) return;
    if (child.exitCode !== null || Date.now() > giveUpMs)
      throw new Error(`etcd did not start:\n${log.join('')}`);
  }
}

/** A cluster of one member unless said otherwise. */
export async function startEtcd(binary: string, members = 1): Promise<TestEtcd> {
  const root = mkdtempSync(join(tmpdir(), 'guildhall-etcd-'));
  const ports: { name: string; url: string; peerUrl: string }[] = [];
  for (let n = 0; n < members; n += 1) {
    const [client, peer] = [await freePort(), await freePort()];
    ports.push({ name: `test${n}`, url: `http://127.0.0.1:${client}`, peerUrl: `http://127.0.0.1:${peer}` });
  }
  const cluster = ports.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join();
  const all = ports.map((port) => new Member(binary, root, { ...port, cluster }));
  const start = (some: readonly Member[]) => Promise.all(some.map((member) => member.start()));
  const end = (some: readonly Member[]) => Promise.all(some.map((member) => member.end()));
  async function again(some: readonly Member[], downMs: number): Promise<void> {
    await end(some);
    await delay(downMs);
    await start(some);
  }
  await start(all);
  const urls = ports.map(({ url }) => url);
  return {
    ...{ url: urls[0] ?? '', urls },
    pause: () => all.forEach((member) => void member.signal('SIGSTOP')),
    resume: () => all.forEach((member) => void member.signal('SIGCONT')),
    restart: (downMs = 0) => again(all, downMs),
    lose: (count, downMs) => again(all.slice(0, count), downMs),
    async setFull(isFull) {
      const body = JSON.stringify({ action: isFull ? 'ACTIVATE' : 'DEACTIVATE', alarm: 'NOSPACE' });
      const answer = await fetch(`${urls[0]}/v3/maintenance/alarm`, { method: 'POST', body });
      if (!answer.ok) throw new Error(`etcd: ${answer.status} ${await answer.text()}`);
    },
    async stop() {
      await end(all);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

interface MemberGiven {
  readonly name: string;
  readonly url: string;
  readonly peerUrl: string;
  /** All members with their addresses. */
  readonly cluster: string;
}

class Member {
  readonly #binary: string;
  readonly #args: readonly string[];
  readonly #url: string;
  readonly #root: string;
  readonly #log: string[] = [];
  #child: ChildProcess | null = null;

  constructor(binary: string, root: string, { name, url, peerUrl, cluster }: MemberGiven) {
    const flags = {
      ...{ name, 'data-dir': join(root, name), 'listen-client-urls': url, 'advertise-client-urls': url },
      ...{ 'listen-peer-urls': peerUrl, 'initial-advertise-peer-urls': peerUrl, 'initial-cluster': cluster },
      // A lease may be as short as three elections of half a second.
      ...{ 'election-timeout': '500', 'heartbeat-interval': '50' },
    };
    this.#binary = binary;
    this.#args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
    this.#url = url;
    this.#root = root;
  }

  async start(): Promise<void> {
    const child = spawn(this.#binary, this.#args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: this.#root });
    this.#child = child;
    child.stderr?.on('data', (chunk) => this.#log.push(String(chunk)));
    await untilHealthy(this.#url, child, this.#log);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async end(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

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
  readonly url: string;
  /** Stops the process where it stands, as a machine that hangs does. */
  pause(): void;
  resume(): void;
  /** Ends it as SIGKILL does, and brings it up again over the same data. */
  restart(downMs?: number): Promise<void>;
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

export async function startEtcd(binary: string): Promise<TestEtcd> {
  const root = mkdtempSync(join(tmpdir(), 'guildhall-etcd-'));
  const [client, peer] = [await freePort(), await freePort()];
  const [url, peerUrl] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  const flags = {
    name: 'test',
    'data-dir': join(root, 'data'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `test=${peerUrl}`,
    // A lease may be as short as three elections of half a second.
    'election-timeout': '500',
    'heartbeat-interval': '50',
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const log: string[] = [];
  async function start(): Promise<ChildProcess> {
    const child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: root });
    child.stderr?.on('data', (chunk) => log.push(String(chunk)));
    await untilHealthy(url, child, log);
    return child;
  }
  async function end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  let child = await start();
  return {
    url,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async restart(downMs = 0) {
      await end(child);
      await delay(downMs);
      child = await start();
    },
    async stop() {
      await end(child);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCertificate, openCutter } from './cutter.mjs';
import { openWatcher } from './watcher.mjs';

const CLI = join(import.meta.dirname, '../../dist/cli.js');
const START_MS = 180_000;

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Starts `guildhall dev`, and waits for what it says of itself. */
async function startDev(port, origin, bots) {
  const free = ['voice_port=0', 'voice_udp_port=0', 'voice_webrtc_port=0'].flatMap((one) => ['--set', one]);
  const named = { port, 'admin-port': 0, 'public-url': origin, bots };
  const flags = Object.entries(named).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, [CLI, 'dev', '--json', ...flags, ...free], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'exit');
  const log = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, 'line'), exit, sleep(START_MS, [null], { ref: false })]);
  const stop = async () => {
    child.kill('SIGTERM');
    await exit;
  };
  if (typeof line === 'string') return { info: JSON.parse(line), log, stop };
  await stop();
  throw new Error(`The server did not start: ${log.join('\n')}`);
}

/**
 * A fresh `guildhall dev` with so many bots, and one more that watches their presences. It is reached through connections
 * that can be cut, with TLS when that is asked for.
 */
export async function startServer(bots, folder, isTls) {
  const port = await freePort();
  const certificate = isTls ? makeCertificate(folder) : null;
  const { origin, opcodes, cut, close } = await openCutter(port, certificate);
  const { info, log, stop: stopDev } = await startDev(port, origin, bots + 1);
  const caFile = join(folder, `ca-${port}.pem`);
  const trusted = [certificate?.cert, info.ca_file && (await readFile(info.ca_file))].filter(Boolean);
  await writeFile(caFile, trusted.join('\n'));
  const watcher = await openWatcher(port, info.bots[bots].token);
  const ask = async (authorization, method, path, body) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const url = `http://127.0.0.1:${port}/api/v10${path}`;
    const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}.`);
    return answer.status === 204 ? null : answer.json();
  };
  /** One request of the API as the first user. */
  const asUser = (method, path, body) => ask(`Bearer ${info.users[0].token}`, method, path, body);
  /** Reads something as a bot. */
  const asBot = ({ token }, path) => ask(`Bot ${token}`, 'GET', path);
  const stop = async () => {
    watcher.close();
    close();
    await stopDev();
  };
  return { info, caFile, cut, opcodes, stop, asBot, asUser, log, shown: watcher.shown };
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

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

/** Stands between the bot and the server, so that every connection of the bot can be cut. */
async function openCutter(port) {
  const sockets = new Set();
  const join = (from, to) => {
    sockets.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  };
  const server = createServer((socket) => {
    const upstream = connect(port, '127.0.0.1');
    join(socket, upstream);
    join(upstream, socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of [...sockets]) socket.destroy();
  };
  const close = () => {
    server.close();
    cut();
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, cut, close };
}

/** A fresh `guildhall dev` with so many bots, reached through connections that can be cut. */
export async function startServer(bots) {
  const port = await freePort();
  const { origin, cut, close } = await openCutter(port);
  const free = ['voice_port=0', 'voice_udp_port=0', 'voice_webrtc_port=0'].flatMap((one) => ['--set', one]);
  const flags = [
    'dev',
    '--json',
    '--port',
    String(port),
    '--admin-port',
    '0',
    '--public-url',
    origin,
    '--bots',
    String(bots),
  ];
  const child = spawn(process.execPath, [CLI, ...flags, ...free], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(child, 'exit');
  const log = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, 'line'), exit, sleep(START_MS, [null], { ref: false })]);
  const stop = async () => {
    child.kill('SIGTERM');
    close();
    await exit;
  };
  if (typeof line !== 'string') {
    await stop();
    throw new Error(`The server did not start: ${log.join('\n')}`);
  }
  const info = JSON.parse(line);
  /** One request of the API as the first user. */
  const asUser = async (method, path, body) => {
    const headers = { authorization: `Bearer ${info.users[0].token}`, 'content-type': 'application/json' };
    const url = `http://127.0.0.1:${port}/api/v10${path}`;
    const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}.`);
    return answer.json();
  };
  return { info, cut, stop, asUser, log };
}

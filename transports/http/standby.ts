import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { connect, createServer, isIPv4, Server, type Socket } from 'node:net';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import { portOf } from '../../protocol/addresses.ts';
import { refusal } from '../../protocol/refusal.ts';
import { uWS } from './uws.ts';

export interface StandbyOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Whether at least one shard listens on the port. */
  readonly served: () => boolean;
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  /** Connections at one time, waiting or passed on; further ones are closed. */
  readonly connectionsMax?: number;
  /** How long a connection may wait for a shard that listens. */
  readonly waitMs?: number;
}

/** Holds a port shared by processes while none of them listens. */
export interface Standby {
  readonly port: number;
  /** Whether a connection is accepted while no shard listens. */
  readonly accepts: boolean;
  /** Number of open connections. */
  readonly connections: number;
  /** Call when the result of `served` has changed. */
  changed(): void;
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 4096;
const WAIT_MS = 30_000;
/** Socket state of a listener in /proc/net/tcp6. */
const LISTENING = '0A';
const SHARED_PORT = 0;
const HELPER_TIMEOUT_MS = 10_000;
/** How often waiting connections are checked, besides calls of `changed`. */
const RETRY_MS = 100;

/**
 * Opens the port of the shards before any of them does, so that it never refuses a connection.
 *
 * The kernel prefers an IPv4 listener to an IPv6 listener that is bound to the same IPv4 address. This one is bound to
 * `::ffff:<address>`, so it gets a connection exactly while no shard listens, without a gap; the connection is then
 * forwarded, byte by byte, to the first shard that listens. For an IPv6 address there is no such preference, and only the
 * port is chosen.
 *
 * @throws Error when the address cannot be bound.
 * @source https://github.com/torvalds/linux/blob/master/net/ipv4/inet_hashtables.c, `compute_score`
 */
export async function openStandby(options: StandbyOptions): Promise<Standby> {
  const { host, port } = options;
  const found = await freePort(host, port);
  if (!isIPv4(host) || process.platform !== 'linux')
    return {
      port: found,
      accepts: false,
      connections: 0,
      changed: () => undefined,
      close: async () => undefined,
    };
  const held = await listenShared(`::ffff:${host}`, found);
  let server: Server;
  try {
    server = await asServer(await descriptorOf(found), options.clock);
  } finally {
    // With the connections that it has accepted meanwhile: their clients connect again.
    held.close();
  }
  return new WaitingRoom(server, found, options);
}

/**
 * A port that no other process uses: a shared one would let a second server in unnoticed. It is chosen with an exclusive
 * listener first also because the native library cannot share a port that the system picked.
 */
async function freePort(host: string, wanted: number): Promise<number> {
  // A connection to it would keep it from closing.
  const probe = createServer((socket) => socket.destroy()).listen(wanted, host);
  await once(probe, 'listening').catch((cause: Error) => {
    throw new Error(`Cannot listen on ${host}:${wanted}: ${cause.message}`, { cause });
  });
  const port = portOf(probe.address());
  probe.close();
  await once(probe, 'close');
  return port;
}

type Listen = (host: string, port: number, options: number, done: (socket: us_listen_socket) => void) => void;

/** Listens with SO_REUSEPORT, which Node 20 cannot set but the native library can. Requests are answered with 503. */
function listenShared(host: string, port: number): Promise<TemplatedApp> {
  const { status, code, message } = refusal('SERVICE_UNAVAILABLE');
  const app = uWS.App().any('/*', (res) => {
    res.writeStatus(`${status} Service Unavailable`).writeHeader('Retry-After', '1');
    res.writeHeader('Content-Type', 'application/json').end(JSON.stringify({ message, code }), true);
  });
  return new Promise((resolve, reject) => {
    (app.listen.bind(app) as unknown as Listen)(host, port, SHARED_PORT, (socket) => {
      if (socket) resolve(app);
      else
        reject(
          new Error(`Cannot listen on ${host}:${port}: the port is in use or the address is not local.`),
        );
    });
  });
}

/** The file descriptor of this process's listener on a port, found by its inode in /proc. */
async function descriptorOf(port: number): Promise<number> {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const inodes = new Set<string>();
  for (const line of (await readFile('/proc/self/net/tcp6', 'utf8')).split('\n')) {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (local?.endsWith(hex) && state === LISTENING && inode !== undefined) inodes.add(`socket:[${inode}]`);
  }
  for (const name of await readdir('/proc/self/fd')) {
    const target = await readlink(`/proc/self/fd/${name}`).catch(() => '');
    if (inodes.has(target)) return Number(name);
  }
  throw new Error(`No file descriptor of this process belongs to the listener on port ${port}.`);
}

/** Program of a helper process that gets the descriptor as fd 4 and returns it as a server, which Node cannot do alone. */
const HELPER = `const server = require('node:net').createServer();
process.on('message', () => process.exit());
server.listen({ fd: 4 }, () => process.send('listening', server));`;

/** Converts a listener of the native library to a Node server, whose connections can be forwarded. */
async function asServer(descriptor: number, clock: StandbyOptions['clock']): Promise<Server> {
  const stdio = ['ignore', 'ignore', 'ignore', 'ipc', descriptor] as const;
  const helper = spawn(process.execPath, ['-e', HELPER], { stdio: [...stdio] });
  const timer = clock.setTimer(() => helper.kill('SIGKILL'), HELPER_TIMEOUT_MS);
  try {
    const failed = once(helper, 'exit').then(() => {
      throw new Error('The helper process exited before it returned the listening socket.');
    });
    const [, server] = await Promise.race([once(helper, 'message'), failed]);
    // The helper stops listening only when its process ends.
    helper.send('received');
    await failed.catch(() => undefined);
    if (server instanceof Server) return server;
    throw new Error('The helper process did not return a listening socket.');
  } finally {
    timer.cancel();
  }
}

class WaitingRoom implements Standby {
  readonly port: number;
  readonly accepts = true;
  readonly #server: Server;
  readonly #target: string;
  readonly #options: StandbyOptions;
  readonly #sockets = new Set<Socket>();
  /** Waiting connections, with the time at which they are closed. */
  readonly #waiting = new Map<Socket, number>();
  /** Local ports of the forwarding connections to shards; one that arrives here shows that no shard listened. */
  readonly #outgoing = new Set<number>();
  #retry: Timer | null = null;

  constructor(server: Server, port: number, options: StandbyOptions) {
    this.port = port;
    this.#server = server;
    this.#target = options.host === '0.0.0.0' ? '127.0.0.1' : options.host;
    this.#options = options;
    server.on('connection', (socket) => this.#take(socket));
  }

  get connections(): number {
    return this.#sockets.size;
  }

  changed(): void {
    this.#retry?.cancel();
    this.#retry = null;
    for (const [socket, untilMs] of [...this.#waiting]) {
      if (this.#options.served()) this.#pass(socket);
      else if (this.#options.clock.monotonic() >= untilMs) socket.destroy();
    }
    if (this.#waiting.size > 0) this.#lookAgain();
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#retry?.cancel();
  }

  #lookAgain(): void {
    this.#retry ??= this.#options.clock.setTimer(() => this.changed(), RETRY_MS);
  }

  #take(socket: Socket): void {
    const { served, clock, connectionsMax = CONNECTIONS_MAX, waitMs = WAIT_MS } = this.#options;
    if (this.#sockets.size >= connectionsMax) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket
      .on('error', () => undefined)
      .once('close', () => {
        this.#sockets.delete(socket);
        this.#waiting.delete(socket);
      });
    if (served() && !this.#outgoing.has(socket.remotePort as number)) {
      this.#pass(socket);
      return;
    }
    this.#waiting.set(socket, clock.monotonic() + waitMs);
    this.#lookAgain();
  }

  #pass(socket: Socket): void {
    this.#waiting.delete(socket);
    const shard = connect({ host: this.#target, port: this.port, noDelay: true });
    let ownPort: number | undefined;
    // The system chooses the port when the connection starts, which happens in the tick queued just before.
    process.nextTick(() => {
      ownPort = shard.localPort;
      if (ownPort !== undefined) this.#outgoing.add(ownPort);
    });
    shard
      .on('error', () => undefined)
      .once('close', () => {
        if (ownPort !== undefined) this.#outgoing.delete(ownPort);
        socket.destroy();
      });
    socket.once('close', () => shard.destroy());
    socket.setNoDelay(true).pipe(shard).pipe(socket);
  }
}

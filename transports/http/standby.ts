import type { us_listen_socket } from 'uWebSockets.js';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, isIPv4, Server, type Socket } from 'node:net';
import { uWS } from './uws.ts';

export interface StandbyOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Whether one of those that share the port listens on it. */
  readonly served: () => boolean;
  /** Connections at one time, waiting or passed on; more are closed. */
  readonly connectionsMax?: number;
  /** How long a connection may wait for somebody to serve it. */
  readonly waitMs?: number;
}

/** Holds a port that processes share, for when none of them listens. */
export interface Standby {
  readonly port: number;
  /** Whether a connection finds the port open while nobody serves it. */
  readonly accepts: boolean;
  /** Connections it has now. */
  readonly connections: number;
  /** To be called when `served` has changed. */
  changed(): void;
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 4096;
const WAIT_MS = 30_000;
/** State of a listener in the kernel's list. */
const LISTENING = '0A';
const SHARED_PORT = 0;
const HELPER_TIMEOUT_MS = 10_000;
/** How often those who wait are looked at, besides when something has changed. */
const RETRY_MS = 100;

/**
 * Opens the port of shards before any of them does, and keeps it from ever refusing.
 *
 * The kernel prefers a listener of IPv4 to one of IPv6 that is bound to the same IPv4 address. So this one is bound to
 * `::ffff:<address>`: it gets a connection exactly while no shard listens, with no moment in between; the connection is
 * then passed on, byte by byte, to the first shard that does. With an address of IPv6 there is no such preference, and
 * only the port is chosen.
 *
 * @throws Error when the address cannot be had.
 * @source Linux, `compute_score` of net/ipv4/inet_hashtables.c
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
    server = await asServer(await descriptorOf(found));
  } finally {
    uWS.us_listen_socket_close(held);
  }
  return new WaitingRoom(server, found, options);
}

/**
 * A port of which nobody else has a part: shared ones would let a second server in unnoticed. It is asked for in another
 * way first also because the native library shares none that the system has picked.
 */
async function freePort(host: string, wanted: number): Promise<number> {
  const probe = createServer().listen(wanted, host);
  await once(probe, 'listening').catch((cause: Error) => {
    throw new Error(`Cannot listen on ${host}:${wanted}: ${cause.message}`, { cause });
  });
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

type Listen = (host: string, port: number, options: number, done: (socket: us_listen_socket) => void) => void;

/** Node 20 cannot set SO_REUSEPORT; this binary does. */
function listenShared(host: string, port: number): Promise<us_listen_socket> {
  const app = uWS.App();
  return new Promise((resolve, reject) => {
    (app.listen.bind(app) as unknown as Listen)(host, port, SHARED_PORT, (socket) => {
      if (socket) resolve(socket);
      else
        reject(new Error(`Cannot listen on ${host}:${port}: the port is taken or the address is not ours.`));
    });
  });
}

/** The descriptor of our listener on a port: by its inode, as the kernel lists them. */
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
  throw new Error(`The listener on port ${port} is not among the descriptors of this process.`);
}

/** Takes the descriptor as its fourth, and gives it back as a server: what a process cannot do for itself. */
const HELPER = `const server = require('node:net').createServer();
process.on('message', () => process.exit());
server.listen({ fd: 4 }, () => process.send('listening', server));`;

/** A listener of the native library as one of Node's, whose connections can be passed on unread. */
async function asServer(descriptor: number): Promise<Server> {
  const stdio = ['ignore', 'ignore', 'ignore', 'ipc', descriptor] as const;
  const helper = spawn(process.execPath, ['-e', HELPER], { stdio: [...stdio] });
  const timer = setTimeout(() => helper.kill('SIGKILL'), HELPER_TIMEOUT_MS);
  try {
    const failed = once(helper, 'exit').then(() => {
      throw new Error('The port could not be handed over.');
    });
    const [, server] = await Promise.race([once(helper, 'message'), failed]);
    // It stops listening only with its process.
    helper.send('received');
    await failed.catch(() => undefined);
    if (server instanceof Server) return server;
    throw new Error('The port could not be handed over.');
  } finally {
    clearTimeout(timer);
  }
}

class WaitingRoom implements Standby {
  readonly port: number;
  readonly accepts = true;
  readonly #server: Server;
  readonly #target: string;
  readonly #options: StandbyOptions;
  readonly #sockets = new Set<Socket>();
  /** With the time at which they are given up. */
  readonly #waiting = new Map<Socket, number>();
  /** Ports of our own connections to shards: one that comes back found none that listens. */
  readonly #outgoing = new Set<number>();
  #retry: NodeJS.Timeout | null = null;

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
    if (this.#retry) clearTimeout(this.#retry);
    this.#retry = null;
    for (const [socket, untilMs] of [...this.#waiting]) {
      if (this.#options.served()) this.#pass(socket);
      else if (performance.now() >= untilMs) socket.destroy();
    }
    if (this.#waiting.size > 0) this.#lookAgain();
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#retry) clearTimeout(this.#retry);
  }

  #lookAgain(): void {
    this.#retry ??= setTimeout(() => this.changed(), RETRY_MS);
  }

  #take(socket: Socket): void {
    const { served, connectionsMax = CONNECTIONS_MAX, waitMs = WAIT_MS } = this.#options;
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
    this.#waiting.set(socket, performance.now() + waitMs);
    this.#lookAgain();
  }

  #pass(socket: Socket): void {
    this.#waiting.delete(socket);
    const shard = connect({ host: this.#target, port: this.port, noDelay: true });
    let ownPort: number | undefined;
    // The system chooses the port when the connection is begun, which is in the tick that was asked for just now.
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

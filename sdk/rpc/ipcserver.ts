import { randomUUID } from 'node:crypto';
import { type BigIntStats, linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import { RPC_CLOSE, RPC_OP, RPC_SOCKETS } from '../../protocol/rpc.ts';
import { encodeFrame, FrameReader } from './frame.ts';
import type { RpcConnection, RpcTransport } from './host.ts';
import { type SocketEnvironment, socketPath } from './socketpath.ts';
import { SpacedWriter } from './spaced.ts';

/** A reader that is this far behind is cut off. */
const UNSENT_BYTES_MAX = 1 << 20;
/** Time for the first frame. */
const HANDSHAKE_MS = 10_000;
/** Only the person's own programs may connect. */
const SOCKET_MODE = 0o600;
const SOCKET_UMASK = 0o177;

/** Whether a server answers at the path, or why a connection fails. */
const probe = (path: string): Promise<string | null> =>
  new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(null);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'UNKNOWN'));
  });

const entryAt = (path: string): BigIntStats | null =>
  lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
/** Inode numbers are used again, so the time of creation counts too. */
const isSame = (one: BigIntStats, other: BigIntStats | null): boolean =>
  one.dev === other?.dev && one.ino === other.ino && one.mtimeNs === other.mtimeNs;

/**
 * Removes a socket of this user that no process listens on any more. Another server may have replaced it since it was
 * probed, also while this runs: the file is moved aside, and goes back when it is not the probed one.
 *
 * @param dead The entry as it was before the probe.
 */
function removeStale(path: string, dead: BigIntStats): void {
  if (!dead.isSocket() || dead.uid !== BigInt(process.getuid?.() ?? -1) || !isSame(dead, entryAt(path)))
    return;
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
    if (!isSame(dead, entryAt(aside))) linkSync(aside, path);
  } catch {
    // If another server was faster, binding the path fails.
  }
  try {
    unlinkSync(aside);
  } catch {
    // It was not moved.
  }
}

/** Listens with a mode that is set before others can connect. @returns false when another server has the path */
function listenAt(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      server.off('listening', listening);
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(false);
      else reject(error);
    };
    const listening = (): void => {
      server.off('error', failed);
      resolve(true);
    };
    server.once('error', failed);
    server.once('listening', listening);
    // The socket is bound within this call, so nothing else is made with this mask. Workers cannot set one.
    const before = isMainThread ? process.umask(SOCKET_UMASK) : null;
    try {
      server.listen(path);
    } finally {
      if (before !== null) process.umask(before);
    }
  });
}

/** Serves the local socket on the first free number. @throws Error when all are taken. */
export async function serveIpc(
  place: SocketEnvironment,
  connect: (transport: RpcTransport) => RpcConnection,
): Promise<{ readonly path: string; close(): Promise<void> }> {
  const sockets = new Map<Socket, () => void>();
  const server = createServer((socket) => {
    socket.once('close', () => sockets.delete(socket));
    sockets.set(socket, serveSocket(socket, connect));
  });
  for (let index = 0; index < RPC_SOCKETS.count; index += 1) {
    const path = socketPath(place, index);
    const entry = entryAt(path);
    const problem = await probe(path);
    if (problem === null) continue;
    if (problem === 'ECONNREFUSED' && entry !== null) removeStale(path, entry);
    if (!(await listenAt(server, path))) continue;
    if (place.platform !== 'win32') await chmod(path, SOCKET_MODE);
    return {
      path,
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          // Replies that are already written are sent before the socket closes.
          for (const [socket, end] of sockets) {
            end();
            socket.end(() => socket.destroy());
          }
        }),
    };
  }
  throw new Error(`All ${RPC_SOCKETS.count} sockets from ${socketPath(place, 0)} on are in use.`);
}

/** @returns writes what is due, and ends the socket */
function serveSocket(socket: Socket, connect: (transport: RpcTransport) => RpcConnection): () => void {
  const reader = new FrameReader();
  const writer = new SpacedWriter(socket);
  const send = (op: number, data: unknown): void => {
    if (socket.destroyed || !socket.writable) return;
    writer.write(encodeFrame(op, data));
    if (socket.writableLength > UNSENT_BYTES_MAX) socket.destroy();
  };
  const end = (): void => {
    writer.end();
    socket.end();
  };
  const connection = connect({ kind: 'ipc', origin: null, send, closed: end });
  const timer = setTimeout(() => socket.destroy(), HANDSHAKE_MS);
  socket.on('data', (bytes: Buffer) => {
    for (const { op, data } of reader.push(bytes)) {
      clearTimeout(timer);
      connection.receive(op, data);
    }
    if (reader.problem === null || socket.writableEnded) return;
    connection.lost();
    send(RPC_OP.CLOSE, { code: RPC_CLOSE.UNSUPPORTED, message: `The stream has ended: ${reader.problem}.` });
    end();
  });
  socket.on('error', () => socket.destroy());
  socket.once('close', () => {
    clearTimeout(timer);
    writer.drop();
    connection.lost();
  });
  return end;
}

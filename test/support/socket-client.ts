import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** The response on a connection, and the time of its end. */
export interface Exchanged {
  /** Status of the first answer; null when none came. */
  readonly status: number | null;
  readonly body: string;
  readonly tookMs: number;
}

/**
 * Speaks HTTP by hand: writes what `feed` says, as slowly as it likes, and reads until the server ends the
 * connection, or has answered whole and `feed` is done.
 */
export async function exchange(
  port: number,
  feed: (socket: Socket) => Promise<void> | void,
  patienceMs = 20_000,
): Promise<Exchanged> {
  const startMs = performance.now();
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('utf8').on('data', (data) => {
    text += data;
    if (isWhole(text)) socket.end();
  });
  // A reset is one way of a forced disconnect.
  socket.on('error', () => {});
  const timer = setTimeout(() => socket.destroy(), patienceMs);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await feed(socket);
  await closed;
  clearTimeout(timer);
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
  return {
    status: status === undefined ? null : Number(status),
    body: text.slice(text.indexOf('\r\n\r\n') + 4),
    tookMs: performance.now() - startMs,
  };
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const length = /^content-length: *(\d+)/im.exec(text.slice(0, headEnd))?.[1];
  return length !== undefined && Buffer.byteLength(text.slice(headEnd + 4)) >= Number(length);
}

/** Writes unless the other side has gone. */
export const put = (socket: Socket, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    if (!socket.writable) resolve();
    else socket.write(data, () => resolve());
  });

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy between a server and its database that can be cut. */
export async function openWire(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const ends = new Set<Socket>();
  let whole = true;
  let isResetDue = false;
  const server = createServer((socket) => {
    if (!whole) {
      socket.destroy();
      return;
    }
    socket.on('data', () => {
      if (isResetDue) socket.resetAndDestroy();
      isResetDue = false;
    });
    const onward = connect(Number(target.port), target.hostname);
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      ends.add(end);
      end.on('error', () => end.destroy());
      end.on('close', () => {
        ends.delete(end);
        other.destroy();
      });
      end.pipe(other);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  const cut = () => {
    whole = false;
    for (const end of ends) end.resetAndDestroy();
  };
  const mend = () => {
    whole = true;
  };
  /** Resets the connection that is used next. */
  const resetNext = () => {
    isResetDue = true;
  };
  const close = async () => {
    cut();
    server.close();
    await once(server, 'close');
  };
  return { url: url.href, cut, mend, resetNext, close };
}

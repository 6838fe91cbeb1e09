import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { SpawnedServer } from '../gateway/spawn.ts';

/** A load that runs until `until`, on the clock of `performance`. @returns its number of requests or connections. */
export type Load = (server: SpawnedServer, until: number) => Promise<number>;

const AT_ONCE = 4;
const HELD_BACK = 22;
const HELD_BYTES = 23 << 20;
const MIB = 1 << 20;

async function inParallel(times: number, until: number, once: () => Promise<void>): Promise<number> {
  let count = 0;
  const loop = async () => {
    while (performance.now() < until) {
      await once();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: times }, loop));
  return count;
}

/** Repeats a request with the same body, whatever the answer. */
const posts =
  (path: (server: SpawnedServer) => string, body: string, isSignedIn: boolean): Load =>
  (server, until) =>
    inParallel(AT_ONCE, until, async () => {
      const headers = new Headers({ 'content-type': 'application/json' });
      if (isSignedIn) headers.set('authorization', `Bot ${server.tokens[0]}`);
      const response = await fetch(server.api + path(server), { method: 'POST', headers, body }).catch(
        () => null,
      );
      await response?.arrayBuffer().catch(() => null);
    });

const open = () => '/v10/partner-sdk/token';
const messages = ({ channelId }: SpawnedServer) => `/v10/channels/${channelId}/messages`;
const fill = (unit: string, bytes: number): string => unit.repeat(Math.floor(bytes / unit.length));

/** Uploads that send nearly all of the body and then stall. When the server ends one, it is started again. */
const heldBack: Load = async (server, until) => {
  const { hostname, port } = new URL(server.api);
  const sockets = new Set<Socket>();
  let begun = 0;
  const begin = (): void => {
    if (performance.now() >= until) return;
    begun += 1;
    const socket = connect(Number(port), hostname);
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      setTimeout(begin, 250);
    });
    const head = [
      `POST /api${messages(server)} HTTP/1.1`,
      'Host: bench',
      `Authorization: Bot ${server.tokens[1]}`,
      'Content-Type: multipart/form-data; boundary=b',
      `Content-Length: ${HELD_BYTES + MIB}`,
    ];
    socket.write(
      `${head.join('\r\n')}\r\n\r\n--b\r\nContent-Disposition: form-data; name="files[0]"; filename="a"\r\n\r\n`,
    );
    socket.write(Buffer.alloc(HELD_BYTES, 'x'));
  };
  for (let n = 0; n < HELD_BACK; n += 1) begin();
  await new Promise((resolve) => setTimeout(resolve, until - performance.now()));
  for (const socket of sockets) socket.destroy();
  return begun;
};

const badIdentify = (server: SpawnedServer): Promise<void> =>
  new Promise((resolve) => {
    const socket = new WebSocket(`${server.gateway}/?v=10&encoding=json`);
    const properties = { os: 'linux', browser: 'bench', device: 'bench' };
    socket.on('message', () =>
      socket.send(JSON.stringify({ op: 2, d: { token: 'nobody.at.all', intents: 1, properties } })),
    );
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });

/** The loads, in the order in which they run. */
export const LOADS: Readonly<Record<string, Load>> = {
  'control: 50 calls a second': async () => 0,
  '5 MiB to an open operation': posts(open, JSON.stringify({ x: fill('x', 5 * MIB) }), false),
  '5 MiB of escapes to an open operation': posts(open, `{"x":"${fill('\\u0041', 5 * MIB)}"}`, false),
  '1 MiB of small values to an open operation': posts(open, `[${fill('[],', MIB)}[]]`, false),
  '15 KiB of escapes to an open operation': posts(open, `{"x":"${fill('\\u0041', 15_000)}"}`, false),
  '15 KiB of small values to an open operation': posts(open, `[${fill('[],', 15_000)}[]]`, false),
  '400 KiB of small values to a message': posts(messages, `{"x":[${fill('[],', 400_000)}[]]}`, true),
  '22 uploads held back': heldBack,
  'bad IDENTIFYs': (server, until) => inParallel(8, until, () => badIdentify(server)),
};

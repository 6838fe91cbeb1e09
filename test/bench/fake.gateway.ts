import http from 'node:http';
import type { AddressInfo } from 'node:net';
import zlib from 'node:zlib';
import { type WebSocket, WebSocketServer } from 'ws';

/** How a gateway of these tests misbehaves towards its first connection. */
export type Fault = 'none' | 'loses' | 'doubles' | 'swaps' | 'drops';

export interface FakeGateway {
  readonly url: string;
  /** IDENTIFYs that came. */
  readonly identified: () => number;
  close(): Promise<void>;
}

type Send = (payload: object) => void;

/** Another server of the protocol, as small as it can be: one guild, one channel, no limits, faults on demand. */
export async function startFakeGateway(fault: Fault = 'none', status = 200): Promise<FakeGateway> {
  const sends: Send[] = [];
  const sockets: WebSocket[] = [];
  let created = 0;
  let held: object | null = null;
  const deliver = (d: object): void => {
    created += 1;
    const payload = { t: 'MESSAGE_CREATE', s: created + 2, op: 0, d };
    for (const [index, send] of sends.entries()) {
      if (index > 0 || fault === 'none') send(payload);
      else if (fault === 'doubles') [payload, payload].forEach(send);
      else if (fault === 'loses') created === 3 || send(payload);
      else if (fault === 'drops') created === 2 ? sockets[0]?.terminate() : send(payload);
      else if (created === 2) held = payload;
      else {
        send(payload);
        if (held) send(held);
        held = null;
      }
    }
  };

  const server = http.createServer((request, response) => {
    const answer = (code: number, body: object) => response.writeHead(code).end(JSON.stringify(body));
    if (request.url?.endsWith('/gateway/bot'))
      return answer(200, { session_start_limit: { max_concurrency: 1000 } });
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      if (status === 200) deliver({ id: '1', ...JSON.parse(text) });
      answer(status, {});
    });
  });
  new WebSocketServer({ server }).on('connection', (socket, request) => {
    sockets.push(socket);
    const send = sender(socket, request.url?.includes('compress=zlib-stream') === true);
    send({ op: 10, d: { heartbeat_interval: 100 }, s: null, t: null });
    socket.on('message', (data) => {
      const { op } = JSON.parse(String(data));
      if (op === 1) send({ op: 11, d: null, s: null, t: null });
      if (op !== 2) return;
      const guild = {
        id: '10',
        member_count: 5,
        channels: [
          { id: '20', type: 4 },
          { id: '30', type: 0 },
        ],
      };
      send({ op: 0, t: 'READY', s: 1, d: { guilds: [{ id: '10', unavailable: true }] } });
      send({ op: 0, t: 'GUILD_CREATE', s: 2, d: guild });
      sends.push(send);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    identified: () => sends.length,
    close: async () => {
      for (const socket of sockets) socket.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function sender(socket: WebSocket, compresses: boolean): Send {
  if (!compresses) return (payload) => socket.send(JSON.stringify(payload));
  const deflate = zlib.createDeflate({ flush: zlib.constants.Z_SYNC_FLUSH });
  let parts: Buffer[] = [];
  deflate.on('data', (part: Buffer) => parts.push(part));
  return (payload) =>
    deflate.write(JSON.stringify(payload), () => {
      socket.send(Buffer.concat(parts));
      parts = [];
    });
}

import http from 'node:http';
import type { AddressInfo } from 'node:net';
import zlib from 'node:zlib';
import { type WebSocket, WebSocketServer } from 'ws';

/** How a gateway of these tests misbehaves towards its first connection. */
export type Fault = 'none' | 'loses' | 'doubles' | 'swaps' | 'drops' | 'invalidates';

export interface FakeLimits {
  /** Start buckets, each free again after `windowMs`; an IDENTIFY that comes too soon is answered op 9. */
  readonly maxConcurrency?: number;
  readonly windowMs?: number;
  /** Sessions that may start. */
  readonly remaining?: number;
  /** Messages of each window, as rate limit headers say it. */
  readonly sends?: { readonly limit: number; readonly windowMs: number };
}

export interface FakeGateway {
  readonly url: string;
  /** IDENTIFYs that came. */
  readonly identified: () => number;
  /** The shards that they named. */
  readonly shards: () => readonly (readonly [number, number])[];
  /** IDENTIFYs that came too soon. */
  readonly refused: () => number;
  close(): Promise<void>;
}

type Send = (payload: object) => void;

const GUILD_ID = '1574024953970294784';

/** Another server of the protocol, as small as it can be: one guild, one channel, limits and faults on demand. */
export async function startFakeGateway(
  fault: Fault = 'none',
  status = 200,
  limits: FakeLimits = {},
): Promise<FakeGateway> {
  const sends: Send[] = [];
  const sockets: WebSocket[] = [];
  const starts = startsOf(limits);
  const takeSend = sendsOf(limits);
  const deliver = delivering(fault, sends, () => sockets[0]?.terminate());
  const server = http.createServer((request, response) => {
    const answer = (code: number, body: object): void => {
      response.writeHead(code).end(JSON.stringify(body));
    };
    const path = request.url ?? '';
    if (path.endsWith('/gateway/bot')) return answer(200, starts.about());
    if (path.endsWith('/users/@me/guilds')) return answer(200, [{ id: GUILD_ID }]);
    if (path.endsWith(`/guilds/${GUILD_ID}/channels`)) return answer(200, CHANNELS);
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      const { isFree, headers } = takeSend();
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      if (!isFree) return answer(429, {});
      if (status === 200) deliver({ id: '1', ...JSON.parse(text) });
      answer(status, {});
    });
  });
  new WebSocketServer({ server }).on('connection', (socket, request) => {
    sockets.push(socket);
    const send = sender(socket, request.url?.includes('compress=zlib-stream') === true);
    send({ op: 10, d: { heartbeat_interval: 100 }, s: null, t: null });
    socket.on('message', (data) => {
      const { op, d } = JSON.parse(String(data));
      if (op === 1) send({ op: 11, d: null, s: null, t: null });
      if (op !== 2) return;
      if (!starts.take(d.shard, d.token)) return send({ op: 9, d: false, s: null, t: null });
      // A guild is on one shard only.
      if (Number((BigInt(GUILD_ID) >> 22n) % BigInt(d.shard[1])) !== d.shard[0])
        return send({ op: 0, t: 'READY', s: 1, d: { guilds: [] } });
      const guild = { id: GUILD_ID, member_count: 5, channels: CHANNELS };
      send({ op: 0, t: 'READY', s: 1, d: { guilds: [{ id: GUILD_ID, unavailable: true }] } });
      send({ op: 0, t: 'GUILD_CREATE', s: 2, d: guild });
      sends.push(send);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    identified: () => sends.length,
    shards: () => starts.shards,
    refused: () => starts.refused,
    close: async () => {
      for (const socket of sockets) socket.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Sends a message to all; the first connection gets it as the fault has it. */
function delivering(fault: Fault, sends: readonly Send[], terminate: () => void): (d: object) => void {
  let created = 0;
  let held: object | null = null;
  return (d) => {
    created += 1;
    const payload = { t: 'MESSAGE_CREATE', s: created + 2, op: 0, d };
    for (const [index, send] of sends.entries()) {
      if (index > 0 || fault === 'none') send(payload);
      else if (fault === 'doubles') [payload, payload].forEach(send);
      else if (fault === 'loses') created === 3 || send(payload);
      else if (fault === 'drops') created === 2 ? terminate() : send(payload);
      else if (fault === 'invalidates') send(created === 2 ? { op: 9, d: false, s: null, t: null } : payload);
      else if (created === 2) held = payload;
      else {
        send(payload);
        if (held) send(held);
        held = null;
      }
    }
  };
}

const CHANNELS = [
  { id: '20', type: 4 },
  { id: '30', type: 0 },
];

function startsOf({ maxConcurrency = 1000, windowMs = 0, remaining = 1000 }: FakeLimits) {
  const busyUntilMs = new Map<string, number>();
  const found = {
    shards: [] as [number, number][],
    refused: 0,
    about: () => ({
      shards: 1,
      session_start_limit: {
        max_concurrency: maxConcurrency,
        remaining: Math.max(0, remaining - found.shards.length),
      },
    }),
    take(shard: [number, number], token: string): boolean {
      const bucket = `${token} ${shard[0] % maxConcurrency}`;
      const isFree = performance.now() >= (busyUntilMs.get(bucket) ?? 0);
      if (isFree) {
        busyUntilMs.set(bucket, performance.now() + windowMs);
        found.shards.push(shard);
      } else found.refused += 1;
      return isFree;
    },
  };
  return found;
}

function sendsOf({ sends }: FakeLimits): () => { isFree: boolean; headers: Record<string, string> } {
  let used = 0;
  let endMs = 0;
  return () => {
    if (!sends) return { isFree: true, headers: {} };
    const nowMs = performance.now();
    if (nowMs >= endMs) [used, endMs] = [0, nowMs + sends.windowMs];
    used += 1;
    const headers = {
      'x-ratelimit-limit': String(sends.limit),
      'x-ratelimit-remaining': String(Math.max(0, sends.limit - used)),
      'x-ratelimit-reset-after': String((endMs - nowMs) / 1000),
    };
    return { isFree: used <= sends.limit, headers };
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

// Goal: the local socket's reader and the protocol behind it answer every stream, never throw, and never hold more than a frame.
import { RPC_COMMANDS, RPC_EVENTS, RPC_LIMITS } from '../../protocol/rpc.ts';
import { encodeFrame, FrameReader } from '../../sdk/rpc/frame.ts';
import { RpcHost } from '../../sdk/rpc/host.ts';
import { isObject } from '../../sdk/rpc/link.ts';
import type { SocketEvents } from '../../sdk/voice/wire.ts';
import { Random } from './random.ts';
import { Watch } from './watch.ts';

const COMMANDS = [...Object.keys(RPC_COMMANDS), 'NOTHING', '__proto__', 'constructor', ''];
const EVENTS = [...Object.keys(RPC_EVENTS), 'READY', '__proto__'];
const STREAM_FRAMES_MAX = 4;

function value(random: Random, depth = 0): unknown {
  if (depth > 3 || random.next() < 0.5)
    return random.pick([
      null,
      true,
      0,
      -1,
      1e300,
      '',
      'x',
      '12',
      '🂡',
      '\u0000',
      '__proto__',
      'a'.repeat(200),
    ]);
  const parts = Array.from({ length: random.below(4) }, () => value(random, depth + 1));
  if (random.next() < 0.5) return parts;
  const keys = [
    ...['v', 'client_id', 'cmd', 'args', 'nonce', 'evt', 'activity', '__proto__', 'channel_id', 'guild_id'],
    ...['user_id', 'sku_id', 'type', 'state', 'party', 'secrets', 'buttons', 'timestamps', 'scopes', 'mode'],
    ...['input', 'volume', 'mute', 'active', 'devices', 'url', 'size', 'id'],
  ];
  return Object.fromEntries(parts.map((part) => [random.pick(keys), part]));
}

function payload(random: Random): unknown {
  const kind = random.next();
  if (kind < 0.2) return value(random);
  if (kind < 0.35)
    return { v: random.pick([1, '1', 2, null]), client_id: random.pick([APPLICATION, 5, 'x', '']) };
  const args = random.next() < 0.7 ? value(random) : { access_token: 't', channel_id: '7' };
  return {
    ...{ cmd: random.pick(COMMANDS), evt: random.pick(EVENTS), args },
    nonce: random.pick(['n', '', 1, null, 'n'.repeat(500)]),
  };
}

function stream(random: Random): Buffer {
  const frames = Array.from({ length: 1 + random.below(STREAM_FRAMES_MAX) }, () =>
    Buffer.from(encodeFrame(random.below(6), payload(random))),
  );
  const bytes = Buffer.concat(frames);
  if (random.next() < 0.1) return random.bytes(64);
  return random.next() < 0.3 ? random.mangled(bytes) : bytes;
}

const APPLICATION = '5';
const SCOPES = ['identify', 'rpc', 'rpc.voice.read', 'rpc.voice.write', 'relationships.read'];
const ANSWERS: Readonly<Record<string, unknown>> = {
  [`/applications/${APPLICATION}/rpc`]: { id: APPLICATION, name: 'Game', rpc_origins: [] },
  '/oauth2/@me': { application: { id: APPLICATION }, scopes: SCOPES, expires: '', user: { id: '1' } },
};

/** A host whose server knows one application and its token, and refuses everything else. */
async function openHost(nowMs: () => number): Promise<RpcHost> {
  const answer = async (input: unknown) => {
    const path = String(input).split('/v10')[1] ?? '';
    const body = ANSWERS[path];
    return { status: body ? 200 : 404, text: async () => JSON.stringify(body ?? {}) } as Response;
  };
  let say: SocketEvents['message'] = () => undefined;
  const host = new RpcHost({
    ...{ api: 'http://fuzz.test/api', gatewayUrl: 'ws://fuzz.test', token: 't', os: 'test', audio: null },
    ...{ fetch: answer, nowMs, ended: () => undefined },
    open: (_, { message }) => {
      say = message;
      return { send: () => undefined, close: () => undefined };
    },
    page: { locale: 'en', confirm: async () => true, openExternal: () => true, consent: async () => true },
  });
  say(JSON.stringify({ op: 10, d: { heartbeat_interval: 600_000 } }));
  const ready = {
    v: 10,
    session_id: 's',
    resume_gateway_url: 'ws://fuzz.test',
    user: { id: '1', username: 'a' },
  };
  say(JSON.stringify({ op: 0, t: 'READY', s: 1, d: { ...ready, guilds: [] } }));
  await host.started();
  return host;
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const HANDSHAKE = Buffer.from(encodeFrame(0, { v: 1, client_id: APPLICATION }));
const AUTHENTICATE = Buffer.from(
  encodeFrame(1, { cmd: 'AUTHENTICATE', args: { access_token: 't' }, nonce: 'a' }),
);

/**
 * Frames in streams that are cut anywhere, to a whole host: most streams begin with a handshake, and half of those with a
 * token too, so that the commands themselves read what is generated.
 */
export async function fuzzRpc(inputs: number, seed: number): Promise<Watch> {
  const random = new Random(seed);
  const watch = new Watch();
  let nowMs = 0;
  const host = await openHost(() => nowMs);
  while (watch.inputs < inputs) {
    // A minute later, the application may connect again.
    nowMs += 60_000;
    const reader = new FrameReader();
    const connection = host.connect({
      ...{ kind: 'ipc', origin: null, closed: (code) => watch.count(`ended ${code}`) },
      send(op, data) {
        if (encodeFrame(op, data).length > 2 * RPC_LIMITS.frame_bytes_max) throw new Error('A giant answer.');
        watch.count(`sent ${op}${isObject(data) && data.evt === 'ERROR' ? ' error' : ''}`);
      },
    });
    const take = (part: Uint8Array): void => {
      for (const { op, data } of reader.push(part)) connection.receive(op, data);
    };
    const begun = random.next();
    if (begun < 0.8) {
      take(HANDSHAKE);
      await settled();
    }
    if (begun < 0.4) {
      take(AUTHENTICATE);
      await settled();
    }
    const bytes = stream(random);
    for (let at = 0; at < bytes.length; ) {
      const end = random.next() < 0.5 ? bytes.length : at + 1 + random.below(bytes.length - at);
      const part = bytes.subarray(at, end);
      at = end;
      watch.time(() => take(part));
    }
    if (bytes.length === 0) watch.time(() => reader.push(bytes));
    await settled();
    connection.lost();
    watch.count(reader.problem ?? 'read');
  }
  host.close();
  return watch;
}

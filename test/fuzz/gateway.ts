// Goal: of generated frames on the gateway's input path, none makes it throw, stall or answer with a code that is not
// documented.
import zlib from 'node:zlib';
import { CAPABILITY } from '../../protocol/capabilities.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import { expandScopes } from '../../protocol/scopes.ts';
import type { GatewaySocket } from '../../transports/gateway/socket.ts';
import { actingFor, HUMAN } from '../actors/session/harness.ts';
import { writeEtf } from '../support/codec-client.ts';
import { arrange, type FakeWire, IDENTIFY } from '../transports/gateway/harness.ts';
import { Random } from './random.ts';
import { type Target, Watch } from './watch.ts';

const FRAMES_PER_CLIENT = 200;
const CLIENTS_PER_GATEWAY = 50;
const documented = new Set<number>(Object.values(CLOSE).map((row) => row.code));

const OPS = [
  0,
  1,
  1,
  2,
  2,
  3,
  3,
  4,
  6,
  6,
  7,
  8,
  8,
  9,
  14,
  17,
  18,
  20,
  22,
  31,
  40,
  42,
  43,
  99,
  -1,
  1.5,
  '2',
  null,
  2 ** 53,
];
const TEXTS = [
  '',
  'bot',
  'human',
  'game',
  'Bearer game',
  'Bearer narrow',
  'Bot game',
  'x',
  'online',
  'dnd',
  '\ud800',
  '\u0000',
  '😀'.repeat(40),
  '__proto__',
  '1',
  '4194304',
];
const NUMBERS = [0, 1, -1, 2, 50, 100, 513, 1.5, 1e99, 2 ** 16, 2 ** 31, 2 ** 53, -(2 ** 53)];
const KEYS = [
  ...[
    'token',
    'intents',
    'capabilities',
    'lobby_id',
    'shard',
    'session_id',
    'seq',
    'status',
    'activities',
    'presence',
    'guild_id',
    'guild_ids',
  ],
  ...[
    'user_ids',
    'query',
    'limit',
    'nonce',
    'channel_id',
    'fields',
    'since',
    'afk',
    'self_mute',
    'name',
    'type',
  ],
  ...['compress', 'properties', 'large_threshold', 'presences', '__proto__', 'constructor'],
];

function value(random: Random, depth: number): unknown {
  const kind = random.below(depth > 4 ? 5 : 8);
  if (kind === 0) return null;
  if (kind === 1) return random.next() < 0.5;
  if (kind === 2) return random.pick(NUMBERS);
  if (kind < 5) return random.pick(TEXTS);
  const size = random.below(4);
  if (kind === 5) return Array.from({ length: size }, () => value(random, depth + 1));
  return Object.fromEntries(
    Array.from({ length: size + 2 }, () => [random.pick(KEYS), value(random, depth + 1)]),
  );
}

/** IDENTIFY of an application that acts for a user. */
const GAME = {
  ...IDENTIFY,
  token: 'Bearer game',
  intents: ALL_INTENTS,
  capabilities: CAPABILITY.AUTO_LOBBY_CONNECT,
};

type Shape = readonly [number, Record<string, unknown> | readonly unknown[] | number | null];
const OPENING: readonly Shape[] = [
  [2, IDENTIFY],
  [2, GAME],
  [2, { ...GAME, intents: null }],
  [2, { ...GAME, token: 'Bearer narrow' }],
  [6, { token: 'bot', session_id: '01'.repeat(16), seq: 1 }],
  [6, { token: 'Bearer game', session_id: '01'.repeat(16), seq: 1 }],
  [6, { token: 'Bearer narrow', session_id: '02'.repeat(16), seq: 0 }],
];
const USUAL: readonly Shape[] = [
  [1, 4],
  [1, null],
  [3, { since: null, status: 'idle', afk: false, activities: [{ name: 'x', type: 0 }] }],
  [8, { guild_id: '4194304', query: '', limit: 0, nonce: 'n' }],
  [8, { guild_id: '4194304', user_ids: ['1', '2'], presences: true }],
  [4, { guild_id: '4194304', channel_id: null, self_mute: true, self_deaf: false }],
  [17, [{ lobby_id: '9', self_mute: true, self_deaf: false }]],
  [17, []],
  [42, { lobby_id: '9' }],
  [18, { type: 'guild', guild_id: '4194304', channel_id: '7' }],
  [20, { stream_key: 'guild:4194304:7:8' }],
  [22, { stream_key: 'guild:4194304:7:8', paused: true }],
  [31, { guild_ids: ['4194304'] }],
  [43, { guild_id: '4194304', fields: ['status'] }],
];
const SHAPES = [OPENING, USUAL, USUAL, USUAL, USUAL, USUAL].flat();

/** A valid payload of a client, and with chance `wild` another value. */
function payload(random: Random, wild: number): unknown {
  const [op, d] = random.pick(SHAPES);
  if (random.next() >= wild) return { op, d };
  const kind = random.below(4);
  if (kind === 0) return value(random, 0);
  if (kind === 1) return { op: random.pick(OPS), d };
  if (kind === 2) return { op, d: value(random, 0) };
  return { op, d: typeof d === 'object' ? { ...d, [random.pick(KEYS)]: value(random, 1) } : d };
}

function frame(random: Random, encoding: 'json' | 'etf', wild: number): { bytes: Buffer; binary: boolean } {
  if (random.next() < wild / 10)
    return {
      bytes: random.bytes(63),
      binary: true,
    };
  const made = payload(random, wild);
  const text = Buffer.from(JSON.stringify(made) ?? '');
  const etf = encoding === 'etf' || random.next() < wild / 10;
  let bytes = etf ? writeEtf(made) : text;
  if (!etf && random.next() < 0.05)
    bytes = zlib.deflateSync(random.next() < 0.1 ? Buffer.alloc(100_000) : bytes);
  return {
    bytes: random.next() < wild ? random.mangled(bytes) : bytes,
    binary: encoding === 'etf' ? random.next() >= wild / 10 : bytes !== text || random.next() < wild,
  };
}

function check(wire: FakeWire, faults: readonly unknown[], watch: Watch): void {
  if (faults.length > 0) throw faults[0];
  if (!wire.ended) return;
  const { code } = wire.ended;
  if (!documented.has(code)) throw new Error(`Close code ${code} is not documented.`);
  watch.count(code);
}

/** One client's life: frames until it is closed, or has had its share. */
async function live(random: Random, arranged: ReturnType<typeof arrange>, watch: Watch): Promise<void> {
  const encoding = random.pick(['json', 'etf'] as const);
  // Some clients are nearly well-behaved, so that frames are tried deep into a connection's life too.
  const wild = random.pick([0.01, 0.05, 0.3]);
  const { socket, wire } = arranged.connect(encoding);
  if (random.next() < 0.7)
    greet(socket, encoding, random.pick([IDENTIFY, GAME, { ...GAME, capabilities: 0 }]));
  for (let left = FRAMES_PER_CLIENT; left > 0 && !wire.ended; left -= 1) {
    const { bytes, binary } = frame(random, encoding, wild);
    watch.time(() => socket.received(bytes, binary));
    if (random.next() < 0.3) await arranged.flush();
    if (random.next() < 0.05) {
      arranged.clock.advance(random.below(30_000));
      socket.sweep(arranged.clock.monotonic());
    }
  }
  await arranged.flush();
  check(wire, arranged.faults, watch);
  if (!wire.ended) socket.closed(random.pick([1000, 1005, 1006]));
}

function greet(socket: GatewaySocket, encoding: 'json' | 'etf', d: object): void {
  const greeting = { op: 2, d };
  socket.received(
    encoding === 'etf' ? writeEtf(greeting) : Buffer.from(JSON.stringify(greeting)),
    encoding === 'etf',
  );
}

/** @returns how often which code was closed with. */
export const fuzzGateway: Target = async (frames, seed) => {
  const random = new Random(seed);
  const watch = new Watch();
  while (watch.inputs < frames) {
    const arranged = arrange();
    const { backend } = arranged;
    backend.tokens.set('game', actingFor(HUMAN.userId, [...expandScopes(['sdk.social_layer', 'voice'])]));
    backend.tokens.set('narrow', actingFor(HUMAN.userId, ['identify', 'lobbies.write']));
    backend.lobbies = [{ id: '9' }, { id: '10' }];
    for (let clients = CLIENTS_PER_GATEWAY; clients > 0 && watch.inputs < frames; clients -= 1)
      await live(random, arranged, watch);
  }
  return watch;
};

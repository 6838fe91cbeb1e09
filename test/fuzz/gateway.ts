// Goal: a million generated frames against the gateway's input path: none makes it throw, stall or answer with a code
// that is not documented. `FUZZ_FRAMES`, `FUZZ_SEED` and `FUZZ_SLOW_MS` change what is run; a failure prints its seed.
import zlib from 'node:zlib';
import { CLOSE } from '../../protocol/closecodes.ts';
import type { GatewaySocket } from '../../transports/gateway/socket.ts';
import { writeEtf } from '../transports/gateway/codec/client.ts';
import { arrange, type FakeWire, IDENTIFY } from '../transports/gateway/harness.ts';

const FRAMES = Number(process.env.FUZZ_FRAMES ?? 1_000_000);
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
/** No frame may take longer; a pause of the machine is not told apart from work, so the bound is generous. */
const SLOW_MS = Number(process.env.FUZZ_SLOW_MS ?? 250);
const FRAMES_PER_CLIENT = 200;
const CLIENTS_PER_GATEWAY = 50;
const documented = new Set<number>(Object.values(CLOSE).map((row) => row.code));

/** A small seeded generator (mulberry32): a run is repeated by its seed alone. */
function generator(seed: number) {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (max: number): number => Math.floor(next() * max);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  return { next, below, pick };
}
type Random = ReturnType<typeof generator>;

const OPS = [0, 1, 1, 2, 2, 3, 3, 4, 6, 6, 7, 8, 8, 9, 14, 31, 40, 43, 99, -1, 1.5, '2', null, 2 ** 53];
const TEXTS = [
  '',
  'bot',
  'human',
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
const NUMBERS = [0, 1, -1, 2, 50, 100, 513, 1.5, 1e99, 2 ** 31, 2 ** 53, -(2 ** 53)];
const KEYS = [
  ...[
    'token',
    'intents',
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

type Shape = readonly [number, Record<string, unknown> | number | null];
const OPENING: readonly Shape[] = [
  [2, IDENTIFY],
  [6, { token: 'bot', session_id: '01'.repeat(16), seq: 1 }],
];
const USUAL: readonly Shape[] = [
  [1, 4],
  [1, null],
  [3, { since: null, status: 'idle', afk: false, activities: [{ name: 'x', type: 0 }] }],
  [8, { guild_id: '4194304', query: '', limit: 0, nonce: 'n' }],
  [8, { guild_id: '4194304', user_ids: ['1', '2'], presences: true }],
  [4, { guild_id: '4194304', channel_id: null, self_mute: true, self_deaf: false }],
  [31, { guild_ids: ['4194304'] }],
  [43, { guild_id: '4194304', fields: ['status'] }],
];
const SHAPES = [OPENING, USUAL, USUAL, USUAL, USUAL, USUAL].flat();

/** What a client may send, and with chance `wild` something else. */
function payload(random: Random, wild: number): unknown {
  const [op, d] = random.pick(SHAPES);
  if (random.next() >= wild) return { op, d };
  const kind = random.below(4);
  if (kind === 0) return value(random, 0);
  if (kind === 1) return { op: random.pick(OPS), d };
  if (kind === 2) return { op, d: value(random, 0) };
  return { op, d: typeof d === 'object' ? { ...d, [random.pick(KEYS)]: value(random, 1) } : d };
}

function mangled(random: Random, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let flips = random.below(4); flips > 0 && copy.length > 0; flips -= 1)
    copy[random.below(copy.length)] = random.below(256);
  return random.next() < 0.3 ? copy.subarray(0, random.below(copy.length + 1)) : copy;
}

function frame(random: Random, encoding: 'json' | 'etf', wild: number): { bytes: Buffer; binary: boolean } {
  if (random.next() < wild / 10)
    return {
      bytes: Buffer.from(Array.from({ length: random.below(64) }, () => random.below(256))),
      binary: true,
    };
  const made = payload(random, wild);
  const text = Buffer.from(JSON.stringify(made) ?? '');
  const etf = encoding === 'etf' || random.next() < wild / 10;
  let bytes = etf ? writeEtf(made) : text;
  if (!etf && random.next() < 0.05)
    bytes = zlib.deflateSync(random.next() < 0.1 ? Buffer.alloc(100_000) : bytes);
  return {
    bytes: random.next() < wild ? mangled(random, bytes) : bytes,
    binary: encoding === 'etf' ? random.next() >= wild / 10 : bytes !== text || random.next() < wild,
  };
}

interface Tally {
  frames: number;
  slowestMs: number;
  readonly closes: Map<number, number>;
}

function check(wire: FakeWire, faults: readonly unknown[], tally: Tally): void {
  if (faults.length > 0) throw faults[0];
  if (!wire.ended) return;
  const { code } = wire.ended;
  if (!documented.has(code)) throw new Error(`Close code ${code} is not documented.`);
  tally.closes.set(code, (tally.closes.get(code) ?? 0) + 1);
}

/** One client's life: frames until it is closed, or has had its share. */
async function live(random: Random, arranged: ReturnType<typeof arrange>, tally: Tally): Promise<void> {
  const encoding = random.pick(['json', 'etf'] as const);
  // Some clients are nearly well-behaved, so that frames are tried deep into a connection's life too.
  const wild = random.pick([0.01, 0.05, 0.3]);
  const { socket, wire } = arranged.connect(encoding);
  if (random.next() < 0.7) greet(socket, encoding);
  for (let left = FRAMES_PER_CLIENT; left > 0 && !wire.ended; left -= 1) {
    const { bytes, binary } = frame(random, encoding, wild);
    const startedMs = performance.now();
    socket.received(bytes, binary);
    tally.slowestMs = Math.max(tally.slowestMs, performance.now() - startedMs);
    tally.frames += 1;
    if (random.next() < 0.3) await arranged.flush();
    if (random.next() < 0.05) {
      arranged.clock.advance(random.below(30_000));
      socket.sweep(arranged.clock.monotonic());
    }
  }
  await arranged.flush();
  check(wire, arranged.faults, tally);
  if (!wire.ended) socket.closed(random.pick([1000, 1005, 1006]));
}

function greet(socket: GatewaySocket, encoding: 'json' | 'etf'): void {
  const greeting = { op: 2, d: IDENTIFY };
  socket.received(
    encoding === 'etf' ? writeEtf(greeting) : Buffer.from(JSON.stringify(greeting)),
    encoding === 'etf',
  );
}

/** Runs until so many frames have gone in. Rejects with the first frame's fault. */
export async function fuzzGateway(
  frames: number,
  seed: number,
  progress: (done: number) => void = () => {},
): Promise<Tally> {
  const random = generator(seed);
  const tally: Tally = { frames: 0, slowestMs: 0, closes: new Map() };
  let reported = 0;
  while (tally.frames < frames) {
    const arranged = arrange();
    for (let clients = CLIENTS_PER_GATEWAY; clients > 0 && tally.frames < frames; clients -= 1)
      await live(random, arranged, tally);
    if (tally.frames - reported >= frames / 20) {
      reported = tally.frames;
      progress(reported);
    }
  }
  return tally;
}

async function main(): Promise<void> {
  process.on('unhandledRejection', (error) => {
    console.error(`An unhandled rejection, seed ${SEED}:`, error);
    process.exit(1);
  });
  console.log(`Gateway input: ${FRAMES} frames, seed ${SEED}`);
  try {
    const tally = await fuzzGateway(FRAMES, SEED, (done) => console.log(`${done} frames`));
    const closes = [...tally.closes].sort(([a], [b]) => a - b).map(([code, times]) => `${code}: ${times}`);
    console.log(
      `${tally.frames} frames, slowest ${tally.slowestMs.toFixed(1)} ms, closed with ${closes.join(', ')}`,
    );
    if (tally.slowestMs > SLOW_MS) throw new Error(`A frame took ${tally.slowestMs.toFixed(1)} ms.`);
  } catch (error) {
    console.error(`Failed with seed ${SEED}:`, error);
    process.exitCode = 1;
  }
}

if (process.argv[1] && import.meta.url.endsWith(process.argv[1].split('/').at(-1) as string)) await main();

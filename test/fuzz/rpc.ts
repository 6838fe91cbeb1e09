// Goal: the local socket's reader and the protocol behind it answer every stream, never throw, and never hold more than a frame.
import { RPC_COMMANDS, RPC_EVENTS, RPC_LIMITS, RPC_SCOPE } from '../../protocol/rpc.ts';
import { encodeFrame, FrameReader } from '../../sdk/rpc/frame.ts';
import { RpcError, RpcLink } from '../../sdk/rpc/link.ts';
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
  const keys = ['v', 'client_id', 'cmd', 'args', 'nonce', 'evt', 'activity', '__proto__', 'channel_id'];
  return Object.fromEntries(parts.map((part) => [random.pick(keys), part]));
}

function payload(random: Random): unknown {
  const kind = random.next();
  if (kind < 0.2) return value(random);
  if (kind < 0.35) return { v: random.pick([1, '1', 2, null]), client_id: random.pick(['5', 5, 'x', '']) };
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

/** Frames in streams that are cut anywhere; the link of each takes what its reader finds. */
export function fuzzRpc(inputs: number, seed: number): Watch {
  const random = new Random(seed);
  const watch = new Watch();
  while (watch.inputs < inputs) {
    const bytes = stream(random);
    const reader = new FrameReader();
    const link = new RpcLink({
      ...{ scopes: [RPC_SCOPE.LOCAL], nowMs: () => 0 },
      accept: () => ({
        ready: {},
        runner: {
          authenticate: async () => ({ token: 't', scopes: new Set(['rpc']), body: {} }),
          run: () => Promise.reject(new RpcError('INVALID_USER', '')),
          subscribed: () => null,
        },
      }),
      send([op, data]) {
        if (encodeFrame(op, data).length > 2 * RPC_LIMITS.frame_bytes_max) throw new Error('A giant answer.');
        watch.count(`sent ${op}`);
      },
      ended: (code) => watch.count(`ended ${code}`),
    });
    for (let at = 0; at < bytes.length; ) {
      const end = random.next() < 0.5 ? bytes.length : at + 1 + random.below(bytes.length - at);
      const part = bytes.subarray(at, end);
      at = end;
      watch.time(() => {
        for (const { op, data } of reader.push(part)) link.receive([op, data]);
      });
    }
    if (bytes.length === 0) watch.time(() => reader.push(bytes));
    watch.count(reader.problem ?? 'read');
  }
  return watch;
}

// Goal: of generated frames on the voice gateway's input path, none makes it throw or stall, reach a session out of turn,
// or be answered with a close code that is not documented.
import { VOICE_CLOSE, VOICE_OP } from '../../protocol/voice.ts';
import { decodeServerFrame, encodeServerFrame } from '../../protocol/voiceframing.ts';
import { decodeFrame } from '../../transports/voice/decode.ts';
import { arrange, IDENTIFY } from '../transports/voice/harness.ts';
import { Random } from './random.ts';
import { type Target, Watch } from './watch.ts';

/** More than one may send at once. */
const FRAMES_PER_CLIENT = 400;
const documented = new Set<number>(Object.values(VOICE_CLOSE).map(({ code }) => code));

const OPS = [...Object.values(VOICE_OP), 10, 99, -1, 1.5, '2', null, 2 ** 53];
const NUMBERS = [0, 1, -1, 100, 101, 1.5, 65_535, 65_536, 2 ** 32, 2 ** 53, 1e99];
const TEXTS = [
  '',
  'x',
  '1',
  'udp',
  'webrtc',
  'ticket',
  '\ud800',
  '\0',
  '__proto__',
  '😀'.repeat(40),
  'x'.repeat(300),
];
const KEYS = [
  ...['server_id', 'user_id', 'session_id', 'token', 'channel_id', 'max_dave_protocol_version', 'video'],
  ...['streams', 'protocol', 'data', 'address', 'port', 'mode', 'codecs', 'speaking', 'ssrc', 'delay', 't'],
  ...['seq_ack', 'audio_ssrc', 'video_ssrc', 'rtx_ssrc', 'any', '101', 'pixelCounts', 'transition_id'],
  ...['rid', 'quality', 'name', 'type', 'priority', 'payload_type', '__proto__', 'constructor', 'toString'],
];

function value(random: Random, depth: number): unknown {
  const kind = random.below(depth > 3 ? 5 : 8);
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

const STREAM = { type: 'video', rid: '100', quality: 100, active: true, ssrc: 5, rtx_ssrc: 6 };
const CODEC = { name: 'opus', type: 'audio', priority: 1000, payload_type: 120 };
const RESUME = { server_id: '5', session_id: 'abc', token: 'ticket', seq_ack: 3 };
type Shape = readonly [number, unknown];
const OPENING: readonly Shape[] = [
  [VOICE_OP.IDENTIFY, { ...IDENTIFY, max_dave_protocol_version: 1, video: true, streams: [STREAM] }],
  [VOICE_OP.RESUME, RESUME],
];
const USUAL: readonly Shape[] = [
  [VOICE_OP.SELECT_PROTOCOL, { protocol: 'udp', data: { address: '192.0.2.1', port: 9, mode: 'x' } }],
  [VOICE_OP.SELECT_PROTOCOL, { protocol: 'webrtc', data: 'a=ice-ufrag:abcd', codecs: [CODEC] }],
  [VOICE_OP.HEARTBEAT, 7],
  [VOICE_OP.HEARTBEAT, { t: 7, seq_ack: 3 }],
  [VOICE_OP.SPEAKING, { speaking: 1, delay: 0, ssrc: 1 }],
  [VOICE_OP.VIDEO, { audio_ssrc: 1, video_ssrc: 2, rtx_ssrc: 3, streams: [STREAM] }],
  [VOICE_OP.SESSION_UPDATE, { codecs: [CODEC] }],
  [VOICE_OP.MEDIA_SINK_WANTS, { any: 100, 101: 50 }],
  [VOICE_OP.VOICE_BACKEND_VERSION, {}],
  [VOICE_OP.DAVE_TRANSITION_READY, { transition_id: 4 }],
  [VOICE_OP.DAVE_MLS_INVALID_COMMIT_WELCOME, { transition_id: 4 }],
  [VOICE_OP.NO_ROUTE, {}],
];

function payload(random: Random, wild: number): unknown {
  const [op, d] = random.pick(random.next() < wild ? OPENING : USUAL);
  if (random.next() >= wild) return { op, d };
  const kind = random.below(4);
  if (kind === 0) return value(random, 0);
  if (kind === 1) return { op: random.pick(OPS), d };
  if (kind === 2) return { op, d: value(random, 0) };
  return { op, d: typeof d === 'object' ? { ...d, [random.pick(KEYS)]: value(random, 1) } : d };
}

interface Frame {
  readonly bytes: Uint8Array;
  readonly binary: boolean;
}

function frame(random: Random, wild: number): Frame {
  if (random.next() < 0.2) {
    const op = random.next() < wild ? random.below(256) : random.pick([26, 28]);
    return { bytes: Buffer.concat([Buffer.of(op), random.bytes(40)]), binary: random.next() >= wild / 10 };
  }
  const text = Buffer.from(JSON.stringify(payload(random, wild)) ?? '');
  return {
    bytes: random.next() < wild ? random.mangled(text) : text,
    binary: random.next() < wild / 10,
  };
}

/** One client's life: frames until it is closed, or has had its share. */
function live(random: Random, watch: Watch): void {
  // Some clients are nearly well-behaved, so that frames are tried deep into a connection's life too.
  const wild = random.pick([0.001, 0.05, 0.3]);
  const pauseMs = random.pick([1, 20, 200]);
  const { socket, wire, calls, clock, faults, say } = arrange({ version: 4 + random.below(6) });
  if (random.next() < 0.8) say(VOICE_OP.IDENTIFY, { ...IDENTIFY, channel_id: '5' });
  let isOpen = calls.sink !== null;
  for (let left = FRAMES_PER_CLIENT; left > 0 && !wire.ended; left -= 1) {
    const { bytes, binary } = frame(random, wild);
    const { length } = calls.session.asked;
    watch.time(() => socket.received(bytes, binary));
    if (!isOpen && calls.session.asked.length > length)
      throw new Error('A session was asked before it was open.');
    isOpen ||= calls.sink !== null;
    clock.advance(random.below(pauseMs));
    if (random.next() < 0.02) socket.sweep(clock.monotonic());
    clock.settle();
  }
  if (faults.length > 0) throw faults[0];
  for (const [method] of calls.session.asked) watch.count(method);
  if (!wire.ended) socket.closed(random.pick([1000, 1005, 1006]));
  else if (!documented.has(wire.ended.code))
    throw new Error(`Close code ${wire.ended.code} is not documented.`);
  else watch.count(wire.ended.code);
}

/** @returns how often which code was closed with, and what sessions were asked. */
export const fuzzVoice: Target = (frames, seed) => {
  const random = new Random(seed);
  const watch = new Watch();
  while (watch.inputs < frames) live(random, watch);
  return watch;
};

/** The framing alone, with and without a header. */
export const fuzzFraming: Target = (frames, seed) => {
  const random = new Random(seed);
  const watch = new Watch();
  while (watch.inputs < frames) {
    const bytes = random.bytes(random.pick([3, 8, 60]));
    if (random.next() < 0.8 && bytes.length > 2) bytes[random.pick([0, 2])] = 24 + random.below(8);
    watch.timeAgain(() => {
      const server = decodeServerFrame(bytes);
      if (server && Buffer.compare(encodeServerFrame(server), bytes) !== 0)
        throw new Error(`Another frame than ${bytes.toString('hex')}`);
      const client = decodeFrame(bytes, true);
      watch.count('refused' in client ? client.refused.code : client.op);
    });
  }
  return watch;
};

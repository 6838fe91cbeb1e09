// Goal: a million generated datagrams and peer packets against the forwarder: none makes it throw or stall, moves media to
// a stranger, or comes between two others. `FUZZ_FRAMES`, `FUZZ_SEED` and `FUZZ_SLOW_MS` change what is run.
import type { Endpoint } from '../../media/sfu/ports.ts';
import { Arranged, type Client, GCM, rtp, XCHACHA } from '../media/sfu/harness.ts';

const FRAMES = Number(process.env.FUZZ_FRAMES ?? 1_000_000);
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
/** No packet may take longer; a pause of the machine is not told apart from work, so the bound is generous. */
const SLOW_MS = Number(process.env.FUZZ_SLOW_MS ?? 250);
const PACKETS_PER_WORLD = 5000;
const STRANGER: Endpoint = { address: '198.51.100.66', port: 6666 };

/** A small seeded generator (mulberry32): a run is repeated by its seed alone. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(max: number): number {
    return Math.floor(this.next() * max);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  bytes(max: number): Buffer {
    const bytes = Buffer.alloc(this.below(max + 1));
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = this.below(256);
    return bytes;
  }
}

interface World {
  readonly arranged: Arranged;
  /** Two who only want to talk. */
  readonly pair: readonly [Client, Client];
  /** Members of the same call, with keys, that send anything. */
  readonly hostile: readonly Client[];
  readonly ssrcs: readonly number[];
}

function build(): World {
  const arranged = new Arranged();
  const layers = (base: number) => [
    { ssrc: base + 1, rtxSsrc: base + 2, rid: '100', quality: 100 },
    { ssrc: base + 3, rtxSsrc: base + 4, rid: '50', quality: 50 },
  ];
  const pair = [arranged.client(GCM), arranged.client(XCHACHA)] as const;
  const modes = [GCM, XCHACHA, 'peer'] as const;
  const hostile = modes.map((mode, index) => arranged.client(mode, { layers: layers(1000 * (index + 3)) }));
  for (const { ssrc } of hostile) {
    const active = layers(ssrc).map((layer) => ({ ...layer, active: true }));
    arranged.forwarder.setStreams(ssrc, active);
    arranged.forwarder.setSinkWants(ssrc, 100, new Map(), arranged.nowMs);
  }
  const own = hostile.flatMap(({ ssrc }) => [ssrc, ssrc + 1, ssrc + 2, ssrc + 3, ssrc + 4]);
  return { arranged, pair, hostile, ssrcs: [...own, pair[0].ssrc, pair[1].ssrc, 0, 1, 0xffff_ffff] };
}

function rtcpCompound(random: Random, world: World): Buffer {
  const parts = Array.from({ length: 1 + random.below(4) }, () => {
    const words = random.below(30);
    const part = Buffer.alloc(8 + 4 * words);
    part[0] = 0x80 | random.below(64);
    part[1] = 200 + random.below(8);
    part.writeUInt16BE(random.next() < 0.9 ? words + 1 : random.below(65_536), 2);
    for (let at = 4; at < part.length; at += 4)
      part.writeUInt32BE(random.next() < 0.5 ? random.pick(world.ssrcs) : random.below(2 ** 32), at);
    return part;
  });
  return Buffer.concat(parts);
}

/** A packet as a member would build it, from header and rest, but with anything in them. */
function plain(random: Random, world: World, member: Client): { header: Buffer; body: Buffer } {
  if (random.next() < 0.4) {
    const bytes = rtcpCompound(random, world);
    if (random.next() < 0.9) bytes.writeUInt32BE(member.ssrc + random.below(5), 4);
    return { header: bytes.subarray(0, 8), body: bytes.subarray(8) };
  }
  const types = [120, 101, 102, 103, 104, 105, 107, 109, random.below(128)];
  const fixed = rtp(
    random.next() < 0.9 ? member.ssrc + random.below(5) : random.pick(world.ssrcs),
    random.below(65_536),
    random.below(2 ** 32),
    random.pick(types),
    random.next() < 0.5,
  );
  if (random.next() < 0.5) fixed[0] = 0x80 | random.below(64);
  const csrcs = Buffer.alloc(4 * (fixed[0]! & 15), 1);
  const extension =
    (fixed[0]! & 0x10) === 0
      ? Buffer.alloc(0)
      : Buffer.of(0xbe, 0xde, 0, random.below(random.next() < 0.9 ? 4 : 256));
  return { header: Buffer.concat([fixed, csrcs, extension]), body: random.bytes(random.pick([3, 60, 1400])) };
}

function mangled(random: Random, packet: Buffer): Buffer {
  const copy = Buffer.from(packet);
  for (let flips = random.below(4); flips > 0 && copy.length > 0; flips -= 1)
    copy[random.below(copy.length)] = random.below(256);
  return random.next() < 0.3 ? copy.subarray(0, random.below(copy.length + 1)) : copy;
}

function discovery(random: Random, world: World): Buffer {
  const bytes = Buffer.alloc(random.next() < 0.9 ? 74 : 8 + random.below(80));
  bytes.writeUInt32BE(0x0001_0046, 0);
  bytes.writeUInt32BE(random.pick(world.ssrcs), 4);
  return bytes;
}

function one(random: Random, world: World): void {
  const { arranged } = world;
  const kind = random.next();
  const member = random.pick(world.hostile);
  if (kind < 0.1) {
    const bytes = random.next() < 0.5 ? discovery(random, world) : random.bytes(random.pick([8, 74, 2100]));
    arranged.forwarder.handleUdp(bytes, bytes.length, STRANGER, arranged.nowMs);
    return;
  }
  const { header, body } = plain(random, world, member);
  const packet = member.packet(header, body);
  if (kind < 0.7) member.transmit(packet);
  else if (kind < 0.85) {
    const bytes = mangled(random, packet);
    // Unchanged, it is an authentic packet: then the member has moved.
    member.transmit(bytes, bytes.equals(packet) ? member.at : STRANGER);
  } else {
    const bytes = mangled(random, packet);
    arranged.forwarder.handlePeer(world.hostile[2]!.ssrc, bytes, bytes.length, arranged.nowMs);
  }
}

/** That the two who talk still hear each other, and nobody else was sent media. */
function check({ arranged, pair }: World): void {
  for (const client of arranged.clients.values()) client.take();
  for (const [speaker, hearer] of [pair, [pair[1], pair[0]] as const]) {
    const payload = speaker.speak();
    const heard = hearer.take().filter((packet) => packet.ssrc === speaker.ssrc && !packet.isRtcp);
    if (heard.length !== 1 || !heard[0]!.payload.equals(payload))
      throw new Error('The others no longer hear each other.');
  }
  if (arranged.astray.some(({ bytes }) => bytes[0]! >> 6 === 2))
    throw new Error('A stranger was sent media.');
  arranged.astray.length = 0;
}

export interface MediaTally {
  packets: number;
  slowestMs: number;
  readonly drops: Map<string, number>;
}

/** Runs until so many packets have gone in. Throws what the first of them provokes. */
export function fuzzMedia(packets: number, seed: number): MediaTally {
  const random = new Random(seed);
  const tally: MediaTally = { packets: 0, slowestMs: 0, drops: new Map() };
  while (tally.packets < packets) {
    const world = build();
    for (let left = PACKETS_PER_WORLD; left > 0 && tally.packets < packets; left -= 1) {
      const startedMs = performance.now();
      one(random, world);
      tally.slowestMs = Math.max(tally.slowestMs, performance.now() - startedMs);
      tally.packets += 1;
      if (left % 100 === 0) check(world);
      if (random.next() < 0.005) world.arranged.advance(random.below(300));
    }
    world.arranged.advance(1000);
    check(world);
    for (const [reason, times] of Object.entries(world.arranged.drops))
      tally.drops.set(reason, (tally.drops.get(reason) ?? 0) + times);
  }
  return tally;
}

function main(): void {
  console.log(`Media input: ${FRAMES} packets, seed ${SEED}`);
  try {
    const tally = fuzzMedia(FRAMES, SEED);
    const drops = [...tally.drops].map(([reason, times]) => `${reason}: ${times}`).join(', ');
    console.log(`${tally.packets} packets, slowest ${tally.slowestMs.toFixed(1)} ms, dropped ${drops}`);
    if (tally.slowestMs > SLOW_MS) throw new Error(`A packet took ${tally.slowestMs.toFixed(1)} ms.`);
  } catch (error) {
    console.error(`Failed with seed ${SEED}:`, error);
    process.exitCode = 1;
  }
}

if (process.argv[1] && import.meta.url.endsWith(process.argv[1].split('/').at(-1) as string)) main();

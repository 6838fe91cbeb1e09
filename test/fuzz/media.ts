// Goal: of generated datagrams and peer packets, none makes the forwarder throw or stall, moves media to a stranger, or
// comes between two others.
import type { Endpoint } from '../../media/sfu/ports.ts';
import { Arranged, type Client, GCM, rtp, XCHACHA } from '../media/sfu/harness.ts';
import { Random } from './random.ts';
import { type Target, Watch } from './watch.ts';

const PACKETS_PER_WORLD = 5000;
const STRANGER: Endpoint = { address: '198.51.100.66', port: 6666 };

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

function discovery(random: Random, world: World): Buffer {
  const bytes = Buffer.alloc(random.next() < 0.9 ? 74 : 8 + random.below(80));
  bytes.writeUInt32BE(0x0001_0046, 0);
  bytes.writeUInt32BE(random.pick(world.ssrcs), 4);
  return bytes;
}

type Send = () => void;

function anything(random: Random, world: World): Send {
  const { arranged } = world;
  const kind = random.next();
  const member = random.pick(world.hostile);
  if (kind < 0.1) {
    const bytes = random.next() < 0.5 ? discovery(random, world) : random.bytes(random.pick([8, 74, 2100]));
    return () => arranged.forwarder.handleUdp(bytes, bytes.length, STRANGER, arranged.nowMs);
  }
  const { header, body } = plain(random, world, member);
  const packet = member.packet(header, body);
  if (kind < 0.7) return () => member.transmit(packet);
  const bytes = random.mangled(packet);
  // Unchanged, it is an authentic packet: then the member has moved.
  if (kind < 0.85) return () => member.transmit(bytes, bytes.equals(packet) ? member.at : STRANGER);
  return () => arranged.forwarder.handlePeer(world.hostile[2]!.ssrc, bytes, bytes.length, arranged.nowMs);
}

function stun(random: Random, { arranged, ssrcs }: World): Send {
  const attributes = Array.from({ length: random.below(5) }, () => {
    const value = random.bytes(40);
    const head = Buffer.alloc(4);
    head.writeUInt16BE(random.pick([0x0006, 0x0008, 0x0020, 0x0024, 0x8028, 0x802a, random.below(65_536)]));
    head.writeUInt16BE(random.next() < 0.8 ? value.length : random.below(65_536), 2);
    return Buffer.concat([head, value, Buffer.alloc(-value.length & 3)]);
  });
  const body = Buffer.concat(attributes);
  const head = Buffer.alloc(20);
  head.writeUInt16BE(random.pick([0x0001, 0x0101, 0x0111, 0x0011, random.below(65_536)]));
  head.writeUInt16BE(random.next() < 0.8 ? body.length : random.below(65_536), 2);
  head.writeUInt32BE(random.next() < 0.9 ? 0x2112_a442 : random.pick(ssrcs), 4);
  head.writeUInt32BE(random.pick(ssrcs), 8);
  const bytes = random.mangled(Buffer.concat([head, body]));
  return () => arranged.forwarder.handleUdp(bytes, bytes.length, STRANGER, arranged.nowMs);
}

/** Checks that the pair still receives each other, and that no other member was sent media. */
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

/** @returns what came of the packets: how many were dropped for which reason. */
export function fuzzMedia(packets: number, seed: number, one = anything): Watch {
  const random = new Random(seed);
  const watch = new Watch();
  while (watch.inputs < packets) {
    const world = build();
    for (let left = PACKETS_PER_WORLD; left > 0 && watch.inputs < packets; left -= 1) {
      const send = one(random, world);
      watch.time(send);
      if (left % 100 === 0) check(world);
      if (random.next() < 0.005) world.arranged.advance(random.below(300));
    }
    world.arranged.advance(1000);
    check(world);
    for (const [reason, times] of Object.entries(world.arranged.drops)) watch.count(reason, times);
  }
  return watch;
}

/** Datagrams of strangers who take the port for a browsers' port: STUN, whole and broken. */
export const fuzzStun: Target = (datagrams, seed) => fuzzMedia(datagrams, seed, stun);

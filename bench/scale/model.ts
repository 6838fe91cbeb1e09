import { partitionOf } from '../../engine/placement/partition.ts';
import { rendezvous } from '../../engine/placement/rendezvous.ts';

/** What one of each costs, as docs/performance.md has measured it, unless the comment says that it is assumed. */
const COSTS = {
  /** Memory of a session, and of a process before the first one. */
  sessionBytes: 15 * 1024,
  shardBytes: 120 * 2 ** 20,
  /** A guild in memory without its sessions; assumed. */
  guildBytes: 8 * 1024,
  /** CPU of a delivery by itself, flush and system call included. */
  deliveryMicros: 7.3,
  /** What a recipient at another shard takes besides: at the owner, and at its home. */
  linkOwnerMicros: 0.06,
  linkHomeMicros: 0.15,
  /** A frame on a link, both ends together; assumed. */
  frameMicros: 60,
  /** A message created over REST: request, rules, commit, answer; assumed. */
  messageMicros: 800,
  /** A heartbeat with its answer; assumed. */
  heartbeatMicros: 12,
  /** JSON of a message, what crosses a link for it, and what a client gets of it (spliced compression). */
  messageBytes: 960,
  recipientBytes: 4,
  deliveryBytes: 534,
  /** Rows of a message: itself, the channel's activity, the command's record. */
  messageRows: 3,
  heartbeatSeconds: 41.25,
} as const;

/** Whom the world consists of. */
interface World {
  readonly seed: number;
  readonly sessions: number;
  /** Guilds that a person who is online is in. */
  readonly guildsEach: number;
  /** Seconds between two messages of a person, wherever they are written. */
  readonly secondsPerMessage: number;
  /** Of those online in a guild, who get its messages: the others are passive. */
  readonly readingShare: number;
  /** Online members of a guild: Pareto, of this exponent, between these. */
  readonly exponent: number;
  readonly onlineMin: number;
  readonly onlineMax: number;
  /** Messages a second that one guild makes at most: people read no faster, and slow mode is set. */
  readonly guildRateMax: number;
}

export const WORLD: World = {
  ...{ seed: 1, sessions: 10_000_000, guildsEach: 8, secondsPerMessage: 900, readingShare: 0.25 },
  ...{ exponent: 1.3, onlineMin: 4, onlineMax: 500_000, guildRateMax: 5 },
};

/** A cluster of so many shards under the world's load. CPU in cores, rates per second. */
export interface Outcome {
  readonly shards: number;
  readonly cores: { readonly sum: number; readonly mean: number; readonly hottest: number };
  readonly memoryBytes: { readonly sum: number; readonly hottest: number };
  readonly messages: number;
  readonly deliveries: number;
  readonly frames: number;
  readonly linkBytes: number;
  readonly rows: number;
  readonly clientBytes: number;
  readonly largestGuildCores: number;
}

/** Mulberry32: the same seed makes the same world. */
function chance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Online members of each guild, until everybody has the guilds they are in. Two bytes would not hold the largest. */
export function guildsOf({ seed, sessions, guildsEach, exponent, onlineMin, onlineMax }: World): Uint32Array {
  const next = chance(seed);
  const sizes: number[] = [];
  for (let seats = sessions * guildsEach; seats > 0; ) {
    const size = Math.floor(Math.min(onlineMax, sessions, onlineMin * (1 - next()) ** (-1 / exponent)));
    sizes.push(Math.min(size, seats));
    seats -= size;
  }
  return Uint32Array.from(sizes);
}

/** Shards of a guild's readers, on average, when each of them is at one by chance. */
export const homesOf = (readers: number, shards: number): number =>
  shards * (1 - (1 - 1 / shards) ** readers);

/** What the load of all guilds is on so many shards. Guilds are placed as the server places them. */
export function simulate(world: World, guilds: Uint32Array, shards: number, partitions: number): Outcome {
  const { sessions, guildsEach, secondsPerMessage, readingShare, guildRateMax } = world;
  const placed = Array.from({ length: shards }, (_, at) => ({
    id: `shard-${at}`,
    weight: 100,
    draining: false,
  }));
  const at = new Map(placed.map(({ id }, index) => [id, index]));
  const owners = rendezvous(partitions)(placed).map((id) => at.get(id as string) as number);
  const [owned, micros] = [new Float64Array(shards), new Float64Array(shards)];
  const sum = { messages: 0, deliveries: 0, frames: 0, linkBytes: 0, homeMicros: 0, largest: 0 };
  for (const [index, online] of guilds.entries()) {
    const owner = owners[partitionOf(String(index * 4_194_304), partitions)] as number;
    const readers = online * readingShare;
    const rate = Math.min(guildRateMax, online / (secondsPerMessage * guildsEach));
    const elsewhere = 1 - 1 / shards;
    const frames = rate * homesOf(readers, shards) * elsewhere;
    const far = rate * readers * elsewhere;
    const ownerMicros =
      rate * COSTS.messageMicros + (frames * COSTS.frameMicros) / 2 + far * COSTS.linkOwnerMicros;
    owned[owner]! += COSTS.guildBytes;
    micros[owner]! += ownerMicros;
    sum.messages += rate;
    sum.deliveries += rate * readers;
    sum.frames += frames;
    sum.linkBytes += frames * COSTS.messageBytes + far * COSTS.recipientBytes;
    sum.homeMicros += (frames * COSTS.frameMicros) / 2 + far * COSTS.linkHomeMicros;
    sum.largest = Math.max(sum.largest, ownerMicros);
  }
  // Sockets are dealt out by the kernel or a balancer, so homes are alike.
  const home =
    sum.homeMicros +
    sum.deliveries * COSTS.deliveryMicros +
    (sessions / COSTS.heartbeatSeconds) * COSTS.heartbeatMicros;
  const loads = Array.from(micros, (own) => (own + home / shards) / 1e6);
  const memory = Array.from(
    owned,
    (own) => own + COSTS.shardBytes + (sessions / shards) * COSTS.sessionBytes,
  );
  const total = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);
  return {
    shards,
    cores: { sum: total(loads), mean: total(loads) / shards, hottest: Math.max(...loads) },
    memoryBytes: { sum: total(memory), hottest: Math.max(...memory) },
    ...{ messages: sum.messages, deliveries: sum.deliveries, frames: sum.frames, linkBytes: sum.linkBytes },
    rows: sum.messages * COSTS.messageRows,
    clientBytes: sum.deliveries * COSTS.deliveryBytes,
    largestGuildCores: sum.largest / 1e6,
  };
}

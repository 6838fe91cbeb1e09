import { partitionOf } from '../../engine/placement/partition.ts';
import { rendezvous } from '../../engine/placement/rendezvous.ts';
import { present } from '../../protocol/present.ts';

/** Costs per item, as measured in docs/performance.md unless the comment says that they are assumed. */
const COSTS = {
  /** Memory of a session, and of a process without sessions. */
  sessionBytes: 8 * 1024,
  shardBytes: 104 * 2 ** 20,
  /** Memory of a guild without its sessions; assumed. */
  guildBytes: 8 * 1024,
  /** CPU of one delivery at 20 messages a second of a guild, including flush and system call. */
  deliveryMicros: 9.6,
  /** Additional CPU for a recipient at another shard: at the owner, and at its home. */
  linkOwnerMicros: 0.06,
  linkHomeMicros: 0.15,
  /** A frame on a link, both ends together: half of a request with its reply, one at a time. */
  frameMicros: 90,
  /** A message created over REST: request, rules, commit, answer. */
  messageMicros: 172,
  /** A request to the owner and its reply, both ends together, one at a time: a process that is busy pays less. */
  crossingMicros: 181,
  /** A heartbeat with its answer; assumed. */
  heartbeatMicros: 12,
  /** Bytes of a message as JSON, on a link, and at a client (with zlib-stream, one event in a hundred private). */
  messageBytes: 960,
  recipientBytes: 4,
  deliveryBytes: 166,
  /** Rows per message: the message, the channel's activity, the command's record. */
  messageRows: 3,
  heartbeatSeconds: 41.25,
} as const;

/** The users of the model. */
interface World {
  readonly seed: number;
  readonly sessions: number;
  /** Number of guilds of an online user. */
  readonly guildsEach: number;
  /** Seconds between two messages of a user, in any channel. */
  readonly secondsPerMessage: number;
  /** Share of a guild's online members who receive its messages; the others are passive. */
  readonly readingShare: number;
  /** Online members of a guild: a Pareto distribution with this exponent, between these bounds. */
  readonly exponent: number;
  readonly onlineMin: number;
  readonly onlineMax: number;
  /** Most messages per second of one guild: users read no faster, and slow mode is set. */
  readonly guildRateMax: number;
}

export const WORLD: World = {
  ...{ seed: 1, sessions: 10_000_000, guildsEach: 8, secondsPerMessage: 900, readingShare: 0.25 },
  ...{ exponent: 1.3, onlineMin: 4, onlineMax: 500_000, guildRateMax: 5 },
};

/** A cluster of this many shards under the model's load. CPU in cores, rates per second. */
export interface ClusterEstimate {
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

/** Deterministic pseudo-random numbers (mulberry32). */
function chance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Online members of each guild, until all users have their guilds. Two bytes would be too few for the largest guild. */
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

/** Average number of shards with readers of a guild, when each reader is at a random shard. */
export const homesOf = (readers: number, shards: number): number =>
  shards * (1 - (1 - 1 / shards) ** readers);

/** The load of all guilds on this many shards. Guilds are placed as the server places them. */
export function simulate(
  world: World,
  guilds: Uint32Array,
  shards: number,
  partitions: number,
): ClusterEstimate {
  const { sessions, guildsEach, secondsPerMessage, readingShare, guildRateMax } = world;
  const placed = Array.from({ length: shards }, (_, at) => ({
    id: `shard-${at}`,
    weight: 100,
    draining: false,
  }));
  const at = new Map(placed.map(({ id }, index) => [id, index]));
  const owners = rendezvous(partitions)(placed).map((id) => present(at.get(present(id))));
  const [owned, micros] = [new Float64Array(shards), new Float64Array(shards)];
  const sum = { messages: 0, deliveries: 0, frames: 0, linkBytes: 0, homeMicros: 0, largest: 0 };
  for (const [index, online] of guilds.entries()) {
    const owner = present(owners[partitionOf(String(index * 4_194_304), partitions)]);
    const readers = online * readingShare;
    const rate = Math.min(guildRateMax, online / (secondsPerMessage * guildsEach));
    const elsewhere = 1 - 1 / shards;
    const frames = rate * homesOf(readers, shards) * elsewhere;
    const far = rate * readers * elsewhere;
    const crossingMicros = (rate * elsewhere * COSTS.crossingMicros) / 2;
    const ownerMicros =
      rate * COSTS.messageMicros +
      crossingMicros +
      (frames * COSTS.frameMicros) / 2 +
      far * COSTS.linkOwnerMicros;
    owned[owner]! += COSTS.guildBytes;
    micros[owner]! += ownerMicros;
    sum.messages += rate;
    sum.deliveries += rate * readers;
    sum.frames += frames;
    // Requests arrive at any shard, and most of them go on to the owner.
    sum.linkBytes +=
      rate * elsewhere * COSTS.messageBytes + frames * COSTS.messageBytes + far * COSTS.recipientBytes;
    sum.homeMicros += crossingMicros + (frames * COSTS.frameMicros) / 2 + far * COSTS.linkHomeMicros;
    sum.largest = Math.max(sum.largest, ownerMicros);
  }
  // The kernel or a balancer distributes sockets evenly, so all homes have the same load.
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

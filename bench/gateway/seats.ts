import { LIMITS } from '../../protocol/limits.ts';

/** Session starts that `GET /gateway/bot` allows a bot. */
export interface Allowance {
  /** Sessions that may start now; the others when the day of the bot is over. */
  readonly remaining: number;
  /** Start buckets; one session of each may start in five seconds. */
  readonly maxConcurrency: number;
  /** Shards that the server wants the bot to have at least. */
  readonly shards: number;
}

/** How one session identifies. */
export interface Seat {
  readonly token: string;
  readonly shard: readonly [id: number, count: number];
  /** Sessions of one lane share a start bucket: each starts five seconds after the one before it at the earliest. */
  readonly lane: number;
}

export interface Guest {
  readonly token: string;
  /** Null for a token that no start limit is known of, such as a user's. */
  readonly allowance: Allowance | null;
}

export interface Roster {
  readonly seats: readonly Seat[];
  readonly lanes: number;
  /** How often the longest lane has to wait for its bucket. */
  readonly rounds: number;
}

const TIMESTAMP_BITS = 22n;

/**
 * Shards that all receive the same guild, each of another start bucket. A bot may be divided into any number of shards,
 * and a guild is on shard `(id >> 22) % count`; so for each bucket there is a count that puts the guild there.
 *
 * @source https://docs.discord.com/developers/events/gateway#sharding and
 * https://docs.discord.com/developers/events/gateway#sharding-max-concurrency
 */
export function shardsOfGuild(
  guildId: string | null,
  { maxConcurrency, shards }: Pick<Allowance, 'maxConcurrency' | 'shards'>,
  wanted: number,
): (readonly [number, number])[] {
  if (guildId === null) return [[0, 1]];
  const key = BigInt(guildId) >> TIMESTAMP_BITS;
  const found = new Map<number, readonly [number, number]>();
  const most = Math.max(1, Math.min(maxConcurrency, wanted));
  const first = Math.max(1, shards);
  for (let count = first; count <= Math.max(first, LIMITS.shards_max) && found.size < most; count += 1) {
    const id = Number(key % BigInt(count));
    const bucket = id % maxConcurrency;
    if (!found.has(bucket)) found.set(bucket, [id, count]);
  }
  return [...found.values()];
}

interface Host {
  readonly token: string;
  /** Null: no two of its sessions share a bucket. */
  readonly shards: readonly (readonly [number, number])[] | null;
  /** By shard: the lane of its sessions. */
  readonly lanes: number[];
  taken: number;
  left: number;
}

/** Deals sessions out to bots in turn, no bot more than it may start, and the sessions of a bot to its start buckets. */
export function seatsOf(guests: readonly Guest[], guildId: string | null, wanted: number): Roster {
  const hosts = guests.map(({ token, allowance }): Host => {
    const left = Math.min(wanted, allowance?.remaining ?? wanted);
    const shards = allowance && shardsOfGuild(guildId, allowance, left);
    return { token, shards, lanes: [], taken: 0, left };
  });
  const seats: Seat[] = [];
  let lanes = 0;
  let rounds = 0;
  let open = hosts;
  while (seats.length < wanted && open.length > 0) {
    open = open.filter(({ left }) => left > 0);
    for (const host of open.slice(0, wanted - seats.length)) {
      const { token, shards, taken } = host;
      const at = shards ? taken % shards.length : taken;
      if (host.lanes[at] === undefined) {
        host.lanes[at] = lanes;
        lanes += 1;
      }
      if (shards) rounds = Math.max(rounds, Math.floor(taken / shards.length));
      seats.push({ token, shard: shards?.[at] ?? [0, 1], lane: host.lanes[at] });
      host.taken += 1;
      host.left -= 1;
    }
  }
  return { seats, lanes, rounds };
}

import type { LiveSession } from '../../session/backend.ts';

/** A session that lives on this shard. */
export interface LocalSession {
  readonly session: LiveSession;
  /** By which the shards that deliver to it name it, by their ids. */
  readonly handles: Map<string, { readonly peer: Peer; readonly handle: number }>;
  /** Guilds that it follows. */
  readonly guildIds: Set<string>;
  /** Guilds that its user joins while it is not known yet what it follows: it has come from another home. */
  joinedMeanwhile: Set<string> | null;
}

/** A shard that delivers to sessions of this one. After a break of the link there is another for the same shard. */
export interface Peer {
  readonly shardId: string;
  readonly instance: string;
  /** Which talk it is, ascending. */
  readonly peerEpoch: number;
  readonly sessions: Map<number, LocalSession>;
}

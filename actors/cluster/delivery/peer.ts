import type { GuildId } from '../../../protocol/ids.ts';
import type { LiveSession } from '../../session/backend.ts';

/** A session that lives on this shard. */
export interface LocalSession {
  readonly session: LiveSession;
  /** The session's handle with each of the shards that deliver to it, which are few. */
  handles: readonly KnownHandle[];
  /** Guilds to which the session is subscribed. */
  readonly guildIds: Set<string>;
  /**
   * Guilds joined while the session, which moved from another shard, is being reopened and its subscriptions are not
   * known yet; null otherwise.
   */
  joinedMeanwhile: Set<GuildId> | null;
}

/** How one peer knows a session. */
interface KnownHandle {
  readonly peer: Peer;
  readonly handle: number;
}

/** A shard that delivers to local sessions. Each break of the link starts a new peer object for the same shard. */
export interface Peer {
  readonly shardId: string;
  readonly instance: string;
  /** Increases with each peer object that this shard creates. */
  readonly peerEpoch: number;
  readonly sessions: Map<number, LocalSession>;
}

import type { GuildId } from '../../../protocol/ids.ts';
import type { LiveSession } from '../../session/backend.ts';

/** A session that lives on this shard. */
export interface LocalSession {
  readonly session: LiveSession;
  /** The session's handle with each shard that delivers to it, by shard id. */
  readonly handles: Map<string, { readonly peer: Peer; readonly handle: number }>;
  /** Guilds to which the session is subscribed. */
  readonly guildIds: Set<string>;
  /**
   * Guilds joined while the session, which moved from another shard, is being reopened and its subscriptions are not
   * known yet; null otherwise.
   */
  joinedMeanwhile: Set<GuildId> | null;
}

/** A shard that delivers to local sessions. Each break of the link starts a new peer object for the same shard. */
export interface Peer {
  readonly shardId: string;
  readonly instance: string;
  /** Increases with each peer object that this shard creates. */
  readonly peerEpoch: number;
  readonly sessions: Map<number, LocalSession>;
}

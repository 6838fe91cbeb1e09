import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Mergeable } from '../provisional/ports.ts';
import type { LiveSession } from '../session/backend.ts';

/** What READY says of a person's friends, bounded by the session's scopes. */
export interface SocialOpening {
  readonly relationships: readonly object[];
  readonly gameRelationships: readonly object[];
  /** Presences of friends who are online. */
  readonly presences: readonly object[];
}

/** Relationships between people, and what hangs on them. Its REST operations come through `Services`. */
export interface Social extends Mergeable {
  opened(session: LiveSession): Promise<SocialOpening>;
  /** The user appears differently now: friends hear of it. */
  presented(userId: UserId, presence: object): void;
  blocks(userId: UserId, other: UserId): Promise<boolean>;
  /** Friends on the platform, or in this game. */
  friends(userId: UserId, other: UserId, applicationId: ApplicationId | null): Promise<boolean>;
}

import type { ApplicationId, UserId } from '../../protocol/ids.ts';

/** What moves from one account to another when they become one, or part again: each part of the house moves its own. */
export interface Mergeable {
  /**
   * Everything of `from` that is `to`'s from now on, for all applications. Durable when it resolves; doing it twice
   * does nothing more.
   */
  merge(from: UserId, to: UserId): Promise<void>;
  /** Copies what the platform copies to the new provisional account, of one application. */
  unmerge(from: UserId, to: UserId, applicationId: ApplicationId): Promise<void>;
}

/** Provisional accounts and who a player is elsewhere. Its own operations are the `/partner-sdk/` ones. */
export interface Provisional {
  isProvisional(userId: UserId): Promise<boolean>;
  /** The user was banned from the server: links end, and their identities get restricted provisional accounts. */
  banned(userId: UserId, untilMs: number | null): Promise<void>;
}

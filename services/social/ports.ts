import type { GatewayActivity } from 'discord-api-types/v10';
import type { LiveSession } from '../../actors/session/backend.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { Presence } from '../../engine/presence/merge.ts';
import type { RoleConnection, RoleConnectionMetadata, UserSettings } from '../../engine/social/facts.ts';
import type { PrivateChannel } from '../../engine/user/facts.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { Mergeable } from '../players/ports.ts';

/** Friends and presences for READY, bounded by the session's scopes. */
export interface SocialOpening {
  readonly relationships: readonly object[];
  readonly gameRelationships: readonly object[];
  /** Presences of friends who are online. */
  readonly presences: readonly object[];
}

/** A user, or an application that acts for the user. */
export interface Person {
  readonly userId: UserId;
  readonly authorization: Authorization | null;
}

/** Relationships between users, and what depends on them. */
export interface Social extends Mergeable {
  opened(session: LiveSession): Promise<SocialOpening>;
  /** A session has ended: its activities can no longer be joined. */
  ended(session: LiveSession): void;
  /**
   * Returns the visible activities in untrusted input of a session's client. Their secrets are kept here for users who
   * accept an invite. Applies to bots and users.
   */
  visibleActivities(session: LiveSession, sent: unknown): readonly GatewayActivity[];
  /** The presence of a user changed; friends are notified. Null means offline. */
  presented(userId: UserId, presence: Presence | null): void;
  blocks(userId: UserId, other: UserId): Promise<boolean>;
  /** Whether they are friends on the platform or in this game. */
  friends(userId: UserId, other: UserId, applicationId: ApplicationId | null): Promise<boolean>;
  readonly relationships: Relationships;
  readonly messages: DirectMessages;
  readonly activities: Activities;
  readonly roleConnections: RoleConnections;
  readonly settings: Settings;
}

/**
 * Friends, requests and blocks. `applicationId` null means the platform, else one game. Refusals do not reveal whether
 * a user is unknown, has blocked the caller, or has not authorized the game.
 */
export interface Relationships {
  /** Wire objects; an application gets only friends. */
  list(by: Person): Promise<readonly object[]>;
  listOfGame(by: Person, applicationId: ApplicationId): Promise<readonly object[]>;
  /** Requests friendship, or accepts a request of the other user. */
  request(by: Person, peerId: UserId, applicationId: ApplicationId | null): Promise<Reply<null>>;
  requestNamed(by: Person, username: string, applicationId: ApplicationId | null): Promise<Reply<null>>;
  block(by: Person, peerId: UserId): Promise<Reply<null>>;
  /** Ends a friendship, a request in either direction, or the caller's block. */
  remove(by: Person, peerId: UserId, applicationId: ApplicationId | null): Promise<Reply<null>>;
  rename(by: Person, peerId: UserId, nickname: string | null): Promise<Reply<null>>;
}

/** A message from one user to another. */
export interface DirectDraft {
  readonly content?: string | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
  readonly flags?: number | null;
  readonly nonce?: string | number | null;
  readonly activity?: ActivityDraft | null;
}

/** An invite to join the activity of the sender's session (1), or a request to be invited (5). */
interface ActivityDraft {
  readonly type: 1 | 5;
  readonly sessionId: string | null;
  readonly partyId: string | null;
}

/**
 * Opens the private channel of two users. With `reaches`, `a` is known to reach `b`, so `b` is shown the channel at
 * once.
 */
export type OpenChannel = (a: UserId, b: UserId, reaches?: boolean) => Promise<Reply<PrivateChannel>>;

/** Messages between two users, addressed by user id. Values are wire objects. */
export interface DirectMessages {
  /** Newest first, of the last 72 hours. */
  list(by: Person, otherId: UserId, limit: number): Promise<Reply<readonly object[]>>;
  send(by: Person, otherId: UserId, draft: DirectDraft): Promise<Reply<object>>;
  edit(by: Person, otherId: UserId, messageId: MessageId, content: string | null): Promise<Reply<object>>;
  remove(by: Person, otherId: UserId, messageId: MessageId): Promise<Reply<null>>;
  channel(by: Person, otherId: UserId): Promise<Reply<object>>;
  /** Stores the moderation metadata of the application that sent the message. */
  moderate(
    applicationId: ApplicationId,
    between: readonly [UserId, UserId],
    messageId: MessageId,
    metadata: Readonly<Record<string, string>>,
  ): Promise<Reply<null>>;
}

/** The requested secret of an activity: to join, or to spectate. */
type ActivityAction = 1 | 2;

export interface ActivityTarget {
  readonly userId: UserId;
  readonly sessionId: string;
  readonly applicationId: ApplicationId;
  readonly action: ActivityAction;
  /** The message with the invite; null for a party that is open to friends. */
  readonly invite: { readonly channelId: ChannelId; readonly messageId: MessageId } | null;
}

/** Activities that users share and let others join. */
export interface Activities {
  accept(by: Person, target: ActivityTarget): Promise<Reply<{ readonly secret: string }>>;
  /** URLs of an activity's buttons, for users who see the activity. */
  metadata(
    by: Person,
    target: Omit<ActivityTarget, 'action' | 'invite'>,
  ): Promise<Reply<{ readonly button_urls: readonly string[] }>>;
  /** Shows activities without a gateway session for 20 minutes; `token` names an earlier one to replace. */
  startHeadless(
    by: Person,
    sent: readonly unknown[],
    token: string | null,
  ): Promise<Reply<{ readonly token: string; readonly activities: readonly object[] }>>;
  endHeadless(by: Person, token: string): Promise<Reply<null>>;
  /** The application no longer acts for the user: ends its headless session. */
  takeBack(userId: UserId, applicationId: ApplicationId): void;
}

/** External accounts that users connect, for roles that require them. */
export interface RoleConnections {
  /** An empty connection if the user has none. */
  get(userId: UserId, applicationId: ApplicationId): Promise<RoleConnection>;
  /** Stores the values whose keys the application has declared. Refused if a value does not have the type of its key. */
  set(
    userId: UserId,
    applicationId: ApplicationId,
    connection: RoleConnection,
  ): Promise<Reply<RoleConnection>>;
  remove(userId: UserId, applicationId: ApplicationId): Promise<Reply<null>>;
  metadata(applicationId: ApplicationId): Promise<readonly RoleConnectionMetadata[]>;
  /** Declares the keys of an application. Refused if a key is malformed or repeats. */
  setMetadata(
    applicationId: ApplicationId,
    metadata: readonly RoleConnectionMetadata[],
  ): Promise<Reply<readonly RoleConnectionMetadata[]>>;
}

/** Settings of users. */
export interface Settings {
  get(userId: UserId): Promise<UserSettings>;
  set(userId: UserId, settings: UserSettings): Promise<void>;
}

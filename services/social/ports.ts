import type { GatewayActivity } from 'discord-api-types/v10';
import type { LiveSession } from '../../actors/session/backend.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { Presence } from '../../engine/presence/merge.ts';
import type { RoleConnection, RoleConnectionMetadata, UserSettings } from '../../engine/social/facts.ts';
import type { PrivateChannel } from '../../engine/user/facts.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { Mergeable } from '../players/ports.ts';

/** What READY says of a person's friends, bounded by the session's scopes. */
export interface SocialOpening {
  readonly relationships: readonly object[];
  readonly gameRelationships: readonly object[];
  /** Presences of friends who are online. */
  readonly presences: readonly object[];
}

/** A person who asks, or an application that acts for one. */
export interface Person {
  readonly userId: UserId;
  readonly authorization: Authorization | null;
}

/** Relationships between people, and what hangs on them. */
export interface Social extends Mergeable {
  opened(session: LiveSession): Promise<SocialOpening>;
  /** The session is over: nothing it showed can be joined any more. */
  ended(session: LiveSession): void;
  /**
   * The activities that others see, from what the session's client sent (anything at all). Secrets stay here, for
   * whoever accepts an invite. For bots as for people.
   */
  acting(session: LiveSession, sent: unknown): readonly GatewayActivity[];
  /** The user appears differently now, null: offline; friends hear of it. */
  presented(userId: UserId, presence: Presence | null): void;
  blocks(userId: UserId, other: UserId): Promise<boolean>;
  /** Friends on the platform, or in this game. */
  friends(userId: UserId, other: UserId, applicationId: ApplicationId | null): Promise<boolean>;
  readonly relationships: Relationships;
  readonly messages: DirectMessages;
  readonly activities: Activities;
  readonly roleConnections: RoleConnections;
  readonly settings: Settings;
}

/**
 * Friends, requests and blocks. `applicationId` null: of the platform; else of one game. Refusals do not tell whether
 * somebody is unknown, has blocked the caller, or has not let the game in.
 */
export interface Relationships {
  /** Wire objects; to an application only friends. */
  list(by: Person): Promise<readonly object[]>;
  listOfGame(by: Person, applicationId: ApplicationId): Promise<readonly object[]>;
  /** Asks for friendship, or accepts what the other has asked. */
  request(by: Person, peerId: UserId, applicationId: ApplicationId | null): Promise<Reply<null>>;
  requestNamed(by: Person, username: string, applicationId: ApplicationId | null): Promise<Reply<null>>;
  block(by: Person, peerId: UserId): Promise<Reply<null>>;
  /** Ends a friendship, a request of either, or one's own block. */
  remove(by: Person, peerId: UserId, applicationId: ApplicationId | null): Promise<Reply<null>>;
  rename(by: Person, peerId: UserId, nickname: string | null): Promise<Reply<null>>;
}

/** What a person's message to another says. */
export interface DirectDraft {
  readonly content?: string | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
  readonly flags?: number | null;
  readonly nonce?: string | number | null;
  readonly activity?: ActivityDraft | null;
}

/** An invite to join (1) what the sender's session does, or a request to be let in (5). */
interface ActivityDraft {
  readonly type: 1 | 5;
  readonly sessionId: string | null;
  readonly partyId: string | null;
}

/** `reaches`: it is known that the first may write to the second, who is then shown the channel at once. */
export type OpenChannel = (a: UserId, b: UserId, reaches?: boolean) => Promise<Reply<PrivateChannel>>;

/** Messages between two people, by the other's id rather than a channel's. Values are wire objects. */
export interface DirectMessages {
  /** Newest first, of the last 72 hours. */
  list(by: Person, otherId: UserId, limit: number): Promise<Reply<readonly object[]>>;
  send(by: Person, otherId: UserId, draft: DirectDraft): Promise<Reply<object>>;
  edit(by: Person, otherId: UserId, messageId: MessageId, content: string | null): Promise<Reply<object>>;
  remove(by: Person, otherId: UserId, messageId: MessageId): Promise<Reply<null>>;
  channel(by: Person, otherId: UserId): Promise<Reply<object>>;
  /** What the application's moderation says of a message that it carried. */
  moderate(
    applicationId: ApplicationId,
    between: readonly [UserId, UserId],
    messageId: MessageId,
    metadata: Readonly<Record<string, string>>,
  ): Promise<Reply<null>>;
}

/** Which secret of an activity is asked for: to join, or to watch. */
type ActivityAction = 1 | 2;

export interface ActivityTarget {
  readonly userId: UserId;
  readonly sessionId: string;
  readonly applicationId: ApplicationId;
  readonly action: ActivityAction;
  /** The message that invited; null: the party is open to friends. */
  readonly invite: { readonly channelId: ChannelId; readonly messageId: MessageId } | null;
}

/** What people do and let others join. */
export interface Activities {
  accept(by: Person, target: ActivityTarget): Promise<Reply<{ readonly secret: string }>>;
  /** Where the buttons of an activity lead, for those who see it. */
  metadata(
    by: Person,
    target: Omit<ActivityTarget, 'action' | 'invite'>,
  ): Promise<Reply<{ readonly button_urls: readonly string[] }>>;
  /** Shows activities without a session for 20 minutes; `token` names an earlier one to replace. */
  startHeadless(
    by: Person,
    sent: readonly unknown[],
    token: string | null,
  ): Promise<Reply<{ readonly token: string; readonly activities: readonly object[] }>>;
  endHeadless(by: Person, token: string): Promise<Reply<null>>;
  /** The application acts for the user no more: what it shows of them goes. */
  takeBack(userId: UserId, applicationId: ApplicationId): void;
}

/** What people link of accounts elsewhere, for roles that ask for it. */
export interface RoleConnections {
  get(userId: UserId, applicationId: ApplicationId): Promise<RoleConnection | null>;
  /** Null takes it away. */
  set(userId: UserId, applicationId: ApplicationId, connection: RoleConnection | null): Promise<Reply<null>>;
  metadata(applicationId: ApplicationId): Promise<readonly RoleConnectionMetadata[]>;
  setMetadata(
    applicationId: ApplicationId,
    metadata: readonly RoleConnectionMetadata[],
  ): Promise<Reply<null>>;
}

/** What people choose for themselves. */
export interface Settings {
  get(userId: UserId): Promise<UserSettings>;
  set(userId: UserId, settings: UserSettings): Promise<void>;
}

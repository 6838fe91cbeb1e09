import type { ApplicationId, ChannelId, TeamId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { MessageFacts, PollFacts, ReactionFacts } from '../guild/facts.ts';
import type { FactOf } from '../kernel/aggregate.ts';

export type UserFacts = {
  userCreated: { readonly user: APIUser };
  userUpdated: { readonly user: APIUser };
  tokenIssued: { readonly token: StoredToken };
  tokenRevoked: { readonly tokenId: string };
  /** The user was here on that day, in whole UTC days since 1970. */
  userSeen: { readonly day: number };
};
export type UserFact = FactOf<UserFacts>;

/** A credential as it is stored: never the secret itself. */
export interface StoredToken {
  /** Snowflake; also the creation time. */
  readonly id: string;
  readonly userId: UserId;
  readonly kind: 'bot' | 'user';
  /** SHA-256 of the whole token, hexadecimal. The secret has 256 random bits, so no slow hash is needed. */
  readonly hash: string;
}

/** An application in the wire's shape, without its bot user, which is in `users`. */
export interface Application {
  readonly id: ApplicationId;
  readonly bot_id: UserId | null;
  readonly owner_id: UserId;
  readonly name: string;
  readonly icon: string | null;
  readonly cover_image: string | null;
  readonly description: string;
  readonly bot_public: boolean;
  readonly bot_require_code_grant: boolean;
  readonly flags: number;
  /** Ed25519 public key, hexadecimal. */
  readonly verify_key: string;
  readonly tags: readonly string[];
  readonly interactions_endpoint_url: string | null;
  readonly role_connections_verification_url: string | null;
  readonly custom_install_url: string | null;
  readonly redirect_uris: readonly string[];
  readonly install_params: object | null;
  readonly integration_types_config: object | null;
  readonly event_webhooks_url: string | null;
  readonly event_webhooks_status: number;
  readonly event_webhooks_types: readonly string[];
  readonly max_participants: number | null;
  readonly explicit_content_filter: number;
  /** The team that owns it, whose owner is `owner_id`. Null or absent for an application of one person. */
  readonly team_id?: TeamId | null;
  /** The operator's settings of its OAuth2 client; never on the wire. Absent for the defaults. */
  readonly oauth2?: ClientSettings;
  /** Its activity; never on the wire. Absent for an application without one. */
  readonly activity?: ActivitySettings;
}

/** Where the origin of an application's activity leads. */
export interface UrlMapping {
  /** A path, as `/` or `/api/{room}`. */
  readonly prefix: string;
  /** A host with an optional port and path, without a scheme. */
  readonly target: string;
}

interface ActivitySettings {
  readonly urlMappings: readonly UrlMapping[];
}

interface ClientSettings {
  /**
   * A game or an app on people's devices, which can keep no secret: it may omit the client secret where PKCE protects
   * it.
   */
  readonly publicClient: boolean;
  /** Scopes for partners that it may request. */
  readonly approvedScopes: readonly Scope[];
  /** Origins of pages that may reach the person's RPC server. Absent for none. */
  readonly rpcOrigins?: readonly string[];
}

/** The signing key and the client secret's hash are stored beside the object and never leave storage's owner. */
export type ApplicationFacts = {
  applicationCreated: {
    readonly application: Application;
    /** Ed25519 private key, PKCS#8 DER in base64. */
    readonly signingKey: string;
    /** SHA-256 of the client secret, hexadecimal. */
    readonly clientSecretHash: string;
  };
  applicationUpdated: { readonly application: Application };
};
export type ApplicationFact = FactOf<ApplicationFacts>;

/** A channel of two users or of a group: the aggregate that owns its messages. */
export interface PrivateChannel {
  readonly id: ChannelId;
  readonly type: 1 | 3;
  /** Recipients: two users ascending by id, or the users of a group in the order in which they joined. */
  readonly recipientIds: readonly UserId[];
  readonly last_message_id: string | null;
  readonly last_pin_ms: number | null;
  /** The users who have written in a channel of two, so that the other may answer. Absent while neither has. */
  readonly writtenBy?: readonly UserId[];
  /** Present in a group, and only there. */
  readonly group?: GroupSettings;
}

/** A group direct message. @source https://docs.discord.com/developers/resources/channel#channel-object */
export interface GroupSettings {
  /** May remove others; the first of those who are left when the owner leaves. */
  readonly ownerId: UserId;
  readonly name: string | null;
  /** Hash of the image. */
  readonly icon: string | null;
  /** The application that opened the group and manages it; null for a group of a user. */
  readonly applicationId: ApplicationId | null;
  readonly nicks: Readonly<Record<string, string>>;
}

/** The group as it is afterwards. */
interface GroupAfter {
  readonly channelId: ChannelId;
  readonly recipientIds: readonly UserId[];
  readonly group: GroupSettings;
}

export type GroupFacts = {
  groupUpdated: GroupAfter;
  recipientAdded: GroupAfter & { readonly user: APIUser };
  recipientRemoved: GroupAfter & { readonly user: APIUser };
};

export type PrivateChannelFacts = {
  privateChannelOpened: { readonly channel: PrivateChannel };
} & GroupFacts &
  MessageFacts &
  ReactionFacts &
  PollFacts;
export type PrivateChannelFact = FactOf<PrivateChannelFacts>;

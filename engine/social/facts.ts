import type { ContactPolicy } from '../../protocol/contactpolicies.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { FactOf } from '../kernel/aggregate.ts';

/**
 * Type of a relationship, from its owner to the peer. The wire has more types; they are never stored.
 *
 * @source https://docs.discord.food/resources/relationships#relationship-type
 */
export const RELATION = { FRIEND: 1, BLOCKED: 2, INCOMING: 3, OUTGOING: 4 } as const;
export type RelationType = (typeof RELATION)[keyof typeof RELATION];

/** One side of a relationship: from its owner to the peer. */
export interface Relation {
  readonly type: RelationType;
  /** Unix milliseconds of its start. */
  readonly sinceMs: number;
  /** The owner's name for the peer; null without one. */
  readonly nickname: string | null;
  /** The application in which the relationship began; null outside applications. */
  readonly originApplicationId: ApplicationId | null;
}

/**
 * A relation with its owner. With an application id it counts in that application only; null counts on the platform.
 */
export interface StoredRelation extends Relation {
  readonly userId: UserId;
  readonly peerId: UserId;
  readonly applicationId: ApplicationId | null;
}

/** A user's account on another platform, linked to an application for role requirements. */
export interface RoleConnection {
  readonly platform_name: string;
  readonly platform_username: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A value that role requirements may compare, in the wire's shape. */
export interface RoleConnectionMetadata {
  /** 1 to 8: the comparison, which also decides the form of the value. */
  readonly type: number;
  readonly key: string;
  readonly name: string;
  readonly name_localizations?: Readonly<Record<string, string>> | null;
  readonly description: string;
  readonly description_localizations?: Readonly<Record<string, string>> | null;
}

/** Settings that users choose for themselves. Null keeps the server's default. */
export interface UserSettings {
  readonly directMessagesFrom: ContactPolicy | null;
}

/** Facts of relationships, user settings and role connections. */
export type SocialFacts = {
  /** One side has changed; a null relation is removed. Both sides of a change are in one commit. */
  relationChanged: {
    readonly userId: UserId;
    readonly peerId: UserId;
    readonly applicationId: ApplicationId | null;
    readonly relation: Relation | null;
  };
  /** Deletes every relation of one application. */
  gameRelationsForgotten: { readonly applicationId: ApplicationId };
  /** For a private channel, after two accounts were merged. */
  recipientReplaced: { readonly channelId: ChannelId; readonly from: UserId; readonly user: APIUser };
  /** For a private channel: the user has written to the peer for the first time. */
  firstWritten: { readonly channelId: ChannelId; readonly userId: UserId; readonly peerId: UserId };
  userSettingsChanged: { readonly userId: UserId; readonly settings: UserSettings };
  roleConnectionChanged: {
    readonly userId: UserId;
    readonly applicationId: ApplicationId;
    readonly connection: RoleConnection | null;
  };
  roleConnectionMetadataChanged: {
    readonly applicationId: ApplicationId;
    readonly metadata: readonly RoleConnectionMetadata[];
  };
};
export type SocialFact = FactOf<SocialFacts>;
export type RelationChanged = Extract<SocialFact, { readonly type: 'relationChanged' }>;

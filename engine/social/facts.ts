import type { ContactPolicy } from '../../protocol/contactpolicies.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { FactOf } from '../kernel/topic.ts';

/**
 * What someone is to someone else. The wire has a few more that are never stored.
 *
 * @source https://docs.discord.food/resources/relationships#relationship-type
 */
export const RELATION = { FRIEND: 1, BLOCKED: 2, INCOMING: 3, OUTGOING: 4 } as const;
export type RelationType = (typeof RELATION)[keyof typeof RELATION];

/** One side of a relationship: what the peer is to its owner. */
export interface Relation {
  readonly type: RelationType;
  /** Unix milliseconds since when. */
  readonly sinceMs: number;
  /** What the owner calls the peer. */
  readonly nickname: string | null;
  /** The application in which it began; null: none. */
  readonly originApplicationId: ApplicationId | null;
}

/** A relation with whose it is. Those of an application count in its games only; null: of the platform. */
export interface StoredRelation extends Relation {
  readonly userId: UserId;
  readonly peerId: UserId;
  readonly applicationId: ApplicationId | null;
}

/** What a user links of an account elsewhere to an application, for roles that ask for it. */
export interface RoleConnection {
  readonly platform_name: string;
  readonly platform_username: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A value that roles may ask for, in the wire's shape. */
export interface RoleConnectionMetadata {
  /** 1 to 8: how values compare, and so what they look like. */
  readonly type: number;
  readonly key: string;
  readonly name: string;
  readonly name_localizations?: Readonly<Record<string, string>> | null;
  readonly description: string;
  readonly description_localizations?: Readonly<Record<string, string>> | null;
}

/** What people choose for themselves. Null: as the server has it. */
export interface UserSettings {
  readonly directMessagesFrom: ContactPolicy | null;
}

/** Facts of relationships between people, and of what they tell applications of themselves. */
export type SocialFacts = {
  /** One side has changed; null: there is none any more. Both sides of a change are in one commit. */
  relationChanged: {
    readonly userId: UserId;
    readonly peerId: UserId;
    readonly applicationId: ApplicationId | null;
    readonly relation: Relation | null;
  };
  /** Everything that people were to each other in one game. */
  gameRelationsForgotten: { readonly applicationId: ApplicationId };
  /** Of a private channel, when two accounts have become one. */
  recipientReplaced: { readonly channelId: ChannelId; readonly from: UserId; readonly user: APIUser };
  /** Of a private channel: the user has written to the peer for the first time. */
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

import type { APIAuditLogEntry, APIRole, APIUser } from 'discord-api-types/v10';
import type { AccountFact } from '../engine/account/facts.ts';
import type { WebhookEvent, WebhookEventFact } from '../engine/application/webhookevents.ts';
import type { GuildFact } from '../engine/guild/facts.ts';
import type {
  Ban,
  GuildChannel,
  GuildInfo,
  Invite,
  Member,
  StageInstance,
  StoredMessage,
} from '../engine/guild/guild.ts';
import type { LobbyFact } from '../engine/lobby/facts.ts';
import type { OAuthFact } from '../engine/oauth/facts.ts';
import type { IdentityFact } from '../engine/provisional/facts.ts';
import type { SocialFact } from '../engine/social/facts.ts';
import type {
  Application,
  ApplicationFact,
  PrivateChannel,
  PrivateChannelFact,
  StoredToken,
  UserFact,
} from '../engine/user/facts.ts';
import type { ApplicationId, ChannelId, GuildId, MessageId, RoleId, UserId } from '../protocol/ids.ts';
import type { FilesListener } from './files.ts';
import type { AccountStore } from './ports.accounts.ts';
import type { ClusterStore, CommandRecord, Fence } from './ports.cluster.ts';
import type { IdentityStore } from './ports.identities.ts';
import type { LobbyStore } from './ports.lobbies.ts';
import type { OAuthStore } from './ports.oauth.ts';
import type { RelationshipStore } from './ports.relationships.ts';

/** What can be made durable. */
export type StoredFact =
  | GuildFact
  | UserFact
  | ApplicationFact
  | PrivateChannelFact
  | OAuthFact
  | AccountFact
  | IdentityFact
  | LobbyFact
  | SocialFact
  | WebhookEventFact;

/** The facts of one command and who owns them. `done` is called once: without an error when they are durable. */
export interface Commit {
  readonly ownerId: string;
  readonly facts: readonly StoredFact[];
  /**
   * In a cluster: the epoch of the owner's partition. A commit whose partition has a later one by now is refused inside
   * its transaction, with a `StaleEpoch`; the others of its group are not harmed.
   */
  readonly fence?: Fence;
  /** In a cluster: what the next owner must know of the command; written in the same transaction. */
  readonly record?: CommandRecord;
  done(fault: Error | null): void;
}

/**
 * Group commit: what is handed in while a transaction is under way goes into the next one. `done` callbacks run
 * in the order of `commit` calls. When the database refuses a group, it is retried commit by commit, so that a
 * poisoned commit harms no other owner. Its own owner's commits that were handed in behind it fault with it: they
 * were decided on a state that did not come to be. A fault after a lost connection means "not known": the owner
 * reads its state again, after `flush`.
 */
export interface Writer {
  commit(commit: Commit): void;
  /** Resolves when everything handed in so far is settled. */
  flush(): Promise<void>;
  /** Commits waiting; for metrics and back-pressure. */
  readonly depth: number;
}

export interface MessagePage {
  readonly before?: MessageId;
  readonly after?: MessageId;
  readonly around?: MessageId;
  readonly limit: number;
}

/** A guild as it is loaded into its actor: without members. */
export interface GuildSnapshot {
  readonly info: GuildInfo;
  readonly roles: readonly APIRole[];
  readonly channels: readonly GuildChannel[];
  readonly stageInstances: readonly StageInstance[];
  readonly memberCount: number;
}

export interface GuildStore {
  load(guildId: GuildId): Promise<GuildSnapshot | null>;
  /** Members among `userIds`; absent users are simply not in the answer. */
  members(guildId: GuildId, userIds: readonly UserId[]): Promise<Member[]>;
  /** Ascending by user id. */
  membersAfter(guildId: GuildId, after: UserId | null, limit: number): Promise<Member[]>;
  /** Members whose nick, username or display name starts with `prefix`, case-insensitively; ascending by id. */
  membersByPrefix(guildId: GuildId, prefix: string, limit: number): Promise<Member[]>;
  roleMemberCounts(guildId: GuildId): Promise<ReadonlyMap<RoleId, number>>;
  bans(guildId: GuildId, page: { before?: UserId; after?: UserId; limit: number }): Promise<Ban[]>;
  bansOf(guildId: GuildId, userIds: readonly UserId[]): Promise<Ban[]>;
  /** Unexpired at `nowMs`; of one channel, or of the guild. Oldest first. */
  invites(guildId: GuildId, channelId: ChannelId | null, nowMs: number): Promise<Invite[]>;
  invitesByCode(guildId: GuildId, codes: readonly string[]): Promise<Invite[]>;
  auditLog(
    guildId: GuildId,
    filter: {
      userId?: UserId;
      targetId?: string;
      actionType?: number;
      before?: string;
      after?: string;
      limit: number;
    },
  ): Promise<APIAuditLogEntry[]>;
}

/** Messages of a guild (`ownerId` is the guild) or of a private channel (`ownerId` is the channel). */
export interface MessageStore {
  /** Newest first; `around` and `after` pages too, as the platform answers them. */
  list(ownerId: string, channelId: ChannelId, page: MessagePage): Promise<StoredMessage[]>;
  get(
    ownerId: string,
    ids: readonly { readonly channelId: ChannelId; readonly id: MessageId }[],
  ): Promise<StoredMessage[]>;
  /** Which of `messageIds` carry a reaction of `userId`: `messageId` to reaction keys. For `me`. */
  reactionsOf(
    ownerId: string,
    userId: UserId,
    messageIds: readonly MessageId[],
  ): Promise<ReadonlyMap<MessageId, ReadonlySet<string>>>;
  /** Users who reacted with `key`, ascending by id. */
  reactors(
    ownerId: string,
    messageId: MessageId,
    key: string,
    page: { after?: UserId; limit: number },
  ): Promise<APIUser[]>;
  /** Pinned messages, newest pin first, pinned before `beforeMs`. */
  pins(
    ownerId: string,
    channelId: ChannelId,
    beforeMs: number | null,
    limit: number,
  ): Promise<StoredMessage[]>;
  pinCount(ownerId: string, channelId: ChannelId): Promise<number>;
  /** Ids of an author's messages not older than `sinceId`, by channel; at most `limit`. */
  authoredSince(
    ownerId: string,
    authorId: UserId,
    sinceId: MessageId,
    limit: number,
  ): Promise<{ channelId: ChannelId; id: MessageId }[]>;
}

export interface TemporaryMembership {
  readonly guildId: GuildId;
  readonly joinedAt: string;
}

export interface UserStore {
  /** Whether a person other than `userId` has this username, or one that is taken for it. Always false for a bot. */
  usernameTaken(username: string, userId: UserId | null): Promise<boolean>;
  get(userIds: readonly UserId[]): Promise<APIUser[]>;
  /** Guilds the user is a member of, ascending. */
  guildIds(userId: UserId): Promise<GuildId[]>;
  /** Memberships that end with the user's last session, with the `joined_at` of each. */
  temporaryGuilds(userId: UserId): Promise<TemporaryMembership[]>;
  /** How many guilds the user owns. */
  ownedGuildCount(userId: UserId): Promise<number>;
  tokens(userId: UserId): Promise<StoredToken[]>;
  /** All users (for the operator's listing), ascending by id. */
  list(after: UserId | null, limit: number): Promise<APIUser[]>;
}

export interface ApplicationStore {
  get(id: ApplicationId): Promise<Application | null>;
  byBot(botId: UserId): Promise<Application | null>;
  list(): Promise<Application[]>;
  /** SHA-256 of the client secret, hexadecimal; null for an unknown application. */
  secretHash(id: ApplicationId): Promise<string | null>;
}

export interface PrivateChannelStore {
  get(id: ChannelId): Promise<PrivateChannel | null>;
  /** The channel between two users, in any order. */
  between(a: UserId, b: UserId): Promise<PrivateChannel | null>;
  of(userId: UserId, limit: number): Promise<PrivateChannel[]>;
}

export interface WebhookEventStore {
  /** Oldest first. */
  pending(applicationId: ApplicationId, limit: number): Promise<WebhookEvent[]>;
  /** How many there are of all applications; counted up to `max`. */
  count(max: number): Promise<number>;
  /** Forgets what was sent. */
  drop(applicationId: ApplicationId, upToId: string): Promise<void>;
}

/** Where things live: which aggregate owns an id that a path names on its own. */
export interface DirectoryStore {
  /** The guild of a guild channel, or `{ private: true }` for a private channel; null when unknown. */
  channelOwner(channelId: ChannelId): Promise<{ guildId: GuildId } | { private: true } | null>;
  inviteGuild(code: string): Promise<GuildId | null>;
  guilds(after: GuildId | null, limit: number): Promise<{ readonly id: GuildId; readonly name: string }[]>;
}

/** What makes ids, as the stores see it. */
export interface IdSource {
  /** The Unix time in milliseconds that its last id bears. */
  lastMs(): number;
  /** All its ids from now on are above every id that bears this time. */
  raise(ms: number): void;
  /** The number in its ids by which they differ from those of other sources. */
  worker(): number;
}

export interface Storage {
  readonly writer: Writer;
  readonly guilds: GuildStore;
  readonly messages: MessageStore;
  readonly users: UserStore;
  readonly applications: ApplicationStore;
  readonly privateChannels: PrivateChannelStore;
  readonly oauth: OAuthStore;
  readonly accounts: AccountStore;
  readonly identities: IdentityStore;
  readonly lobbies: LobbyStore;
  readonly relationships: RelationshipStore;
  readonly webhookEvents: WebhookEventStore;
  readonly directory: DirectoryStore;
  readonly cluster: ClusterStore;
  /** Small persistent values of the server itself (its signing secrets). */
  readonly settings: {
    get(key: string): Promise<string | null>;
    /** Stores `value` unless the key is taken; answers what stands there afterwards. */
    putIfAbsent(key: string, value: string): Promise<string>;
  };
  /** Names who hears of files whose messages are durably gone, so that they can be deleted; the last one named. */
  onFilesGone(listener: FilesListener): void;
  /**
   * Raises a source above every id that was ever written here, and keeps it there: whoever takes a partition over gets
   * above the ids of its last owner too.
   */
  followIds(source: IdSource): Promise<void>;
  /** Null when the database answers; otherwise why not. */
  unready(): Promise<string | null>;
  close(): Promise<void>;
}

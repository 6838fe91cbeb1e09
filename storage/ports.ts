import type { AccountFact } from '../engine/account/facts.ts';
import type { ActivityFact } from '../engine/activity/instance.ts';
import type { AppCommandFact } from '../engine/appcommand/appcommand.ts';
import type { ApplicationEmojiFact } from '../engine/application/emojis.ts';
import type { TeamFact } from '../engine/application/teams.ts';
import type { WebhookEventFact } from '../engine/application/webhookevents.ts';
import type { GuildFact } from '../engine/guild/facts.ts';
import type { InteractionFact } from '../engine/interaction/interaction.ts';
import type { LobbyFact } from '../engine/lobby/facts.ts';
import type { OAuthFact } from '../engine/oauth/facts.ts';
import type { PremiumFact } from '../engine/premium/premium.ts';
import type { CallFact } from '../engine/privatechannel/calls.ts';
import type { IdentityFact } from '../engine/provisional/facts.ts';
import type { SocialFact } from '../engine/social/facts.ts';
import type { ApplicationFact, PrivateChannelFact, UserFact } from '../engine/user/facts.ts';
import type { ApplicationId, ChannelId, GuildId } from '../protocol/ids.ts';
import type { AccountStore } from './account/port.ts';
import type { ActivityStore } from './activity/port.ts';
import type { AppCommandStore, ApplicationStore, TeamStore, WebhookEventStore } from './application/port.ts';
import type { FilesListener } from './blob/files.ts';
import type { ClusterStore, CommandRecord } from './cluster/port.ts';
import type { Fence } from './database/driver.ts';
import type { ExpressionStore, GuildStore, TagStore } from './guild/port.ts';
import type { IdentityStore } from './identity/port.ts';
import type { InteractionStore } from './interaction/port.ts';
import type { LobbyStore } from './lobby/port.ts';
import type { MessageStore, SearchStore } from './message/port.ts';
import type { OAuthStore } from './oauth/port.ts';
import type { PremiumStore } from './premium/port.ts';
import type { PrivateChannelStore } from './privatechannel/port.ts';
import type { RelationshipStore } from './relationship/port.ts';
import type { ScheduledEventStore } from './scheduledevent/port.ts';
import type { ThreadStore } from './thread/port.ts';
import type { UserStore } from './user/port.ts';
import type { WebhookStore } from './webhook/port.ts';

/** Facts that can be stored. */
export type StoredFact =
  | GuildFact
  | UserFact
  | ApplicationFact
  | PrivateChannelFact
  | CallFact
  | OAuthFact
  | AccountFact
  | IdentityFact
  | LobbyFact
  | SocialFact
  | WebhookEventFact
  | AppCommandFact
  | ApplicationEmojiFact
  | TeamFact
  | ActivityFact
  | PremiumFact
  | InteractionFact;

/** The facts of one command and their owner. `done` is called once: with null when they are durable. */
export interface Commit {
  readonly ownerId: string;
  readonly facts: readonly StoredFact[];
  /**
   * In a cluster: the epoch of the owner's partition. A commit under a superseded epoch is refused within its transaction with
   * a `StaleEpoch`; the other commits of its group are not affected.
   */
  readonly fence?: Fence;
  /** In a cluster: what the next owner must know about the command; written in the same transaction. */
  readonly record?: CommandRecord;
  done(fault: Error | null): void;
}

/**
 * Group commit: commits submitted during a transaction go into the next one. `done` callbacks run in the order of `commit`
 * calls. When the database refuses a group, it is retried commit by commit, so that a bad commit affects no other owner.
 * Later commits of the same owner fail with it, because they were decided on a state that never became durable. After a
 * lost connection a group is repeated for a while and written once. A fault after that means that the outcome is unknown:
 * the owner must reload its state, after `flush`.
 */
export interface Writer {
  commit(commit: Commit): void;
  /**
   * Resolves when all commits submitted so far are settled and none of them can be written late.
   *
   * @throws StorageFault when that cannot be known, because the database does not answer.
   */
  flush(): Promise<void>;
  /** Number of waiting commits; for metrics and back-pressure. */
  readonly depth: number;
}

/** Looks up the aggregate that owns an id. */
export interface DirectoryStore {
  /** The guild of a guild channel, or `{ private: true }` for a private channel; null when unknown. */
  channelOwner(channelId: ChannelId): Promise<{ guildId: GuildId } | { private: true } | null>;
  /** The guild that has the code, or may have it as a vanity code, which is case-insensitive. */
  inviteGuild(code: string): Promise<GuildId | null>;
  templateGuild(code: string): Promise<GuildId | null>;
  guilds(after: GuildId | null, limit: number): Promise<{ readonly id: GuildId; readonly name: string }[]>;
}

/** A generator of ids, as the stores use it. */
export interface IdSource {
  /** The time, in Unix milliseconds, of its latest id. */
  lastMs(): number;
  /** Makes all later ids greater than every id with this time. */
  raise(ms: number): void;
  /** The worker number in its ids, which differs from that of other sources. */
  worker(): number;
}

export interface Storage {
  readonly writer: Writer;
  readonly guilds: GuildStore;
  readonly messages: MessageStore;
  readonly search: SearchStore;
  readonly threads: ThreadStore;
  readonly tags: TagStore;
  readonly users: UserStore;
  readonly applications: ApplicationStore;
  readonly teams: TeamStore;
  readonly privateChannels: PrivateChannelStore;
  readonly oauth: OAuthStore;
  readonly accounts: AccountStore;
  readonly identities: IdentityStore;
  readonly lobbies: LobbyStore;
  readonly relationships: RelationshipStore;
  readonly webhookEvents: WebhookEventStore;
  readonly appCommands: AppCommandStore;
  readonly premium: PremiumStore;
  readonly expressions: ExpressionStore;
  readonly webhooks: WebhookStore;
  readonly scheduledEvents: ScheduledEventStore;
  readonly activities: ActivityStore;
  readonly interactions: InteractionStore;
  readonly directory: DirectoryStore;
  readonly cluster: ClusterStore;
  /** Small persistent values of the server itself (its signing secrets). */
  readonly settings: {
    get(key: string): Promise<string | null>;
    /** Stores `value` unless the key exists. @returns the stored value. */
    putIfAbsent(key: string, value: string): Promise<string>;
  };
  /** Copies an embedded database for a backup. @returns the directory of the copy; null for any other database. */
  copyDatabase(): Promise<string | null>;
  /** Sets the listener for files whose messages are durably deleted, replacing an earlier listener. */
  onFilesGone(listener: FilesListener): void;
  /** Calls the listener with the applications whose webhook events have become durable here. */
  onEventsQueued(listener: (ids: readonly ApplicationId[]) => void): void;
  /**
   * Raises a source above every id ever written here, and keeps it there: a shard that takes over a partition is raised above
   * the ids of the previous owner too.
   */
  followIds(source: IdSource): Promise<void>;
  /** Null when the database answers; otherwise the reason. */
  unready(): Promise<string | null>;
  close(): Promise<void>;
}

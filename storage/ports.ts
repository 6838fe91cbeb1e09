import type { AccountFact } from '../engine/account/facts.ts';
import type { WebhookEventFact } from '../engine/application/webhookevents.ts';
import type { GuildFact } from '../engine/guild/facts.ts';
import type { LobbyFact } from '../engine/lobby/facts.ts';
import type { OAuthFact } from '../engine/oauth/facts.ts';
import type { IdentityFact } from '../engine/provisional/facts.ts';
import type { SocialFact } from '../engine/social/facts.ts';
import type { ApplicationFact, PrivateChannelFact, UserFact } from '../engine/user/facts.ts';
import type { ChannelId, GuildId } from '../protocol/ids.ts';
import type { AccountStore } from './account/port.ts';
import type { ApplicationStore, WebhookEventStore } from './application/port.ts';
import type { FilesListener } from './blob/files.ts';
import type { ClusterStore, CommandRecord } from './cluster/port.ts';
import type { Fence } from './database/driver.ts';
import type { GuildStore } from './guild/port.ts';
import type { IdentityStore } from './identity/port.ts';
import type { LobbyStore } from './lobby/port.ts';
import type { MessageStore } from './message/port.ts';
import type { OAuthStore } from './oauth/port.ts';
import type { PrivateChannelStore } from './privatechannel/port.ts';
import type { RelationshipStore } from './relationship/port.ts';
import type { UserStore } from './user/port.ts';

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

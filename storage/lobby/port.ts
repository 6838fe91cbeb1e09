import type { Listing, Lobby, LobbyMember, LobbyMessage, LobbyVoiceState } from '../../engine/lobby/lobby.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';

/** Identifies a stored secret by its hash. */
export interface SecretKey {
  readonly applicationId: ApplicationId;
  readonly hash: string;
}

/** A condition on a listed lobby's metadata. A number compares with numeric values only, a string with all values. */
export type LobbyFilter =
  | { readonly key: string; readonly is: 'equal'; readonly value: string | number }
  | { readonly key: string; readonly is: 'in'; readonly values: readonly (string | number)[] }
  /** Both ends included; null for an open end. */
  | { readonly key: string; readonly is: 'range'; readonly min: number | null; readonly max: number | null }
  | { readonly key: string; readonly is: 'exists'; readonly exists: boolean };

export interface LobbySearch {
  readonly applicationId: ApplicationId;
  /** All of these must match. */
  readonly filters: readonly LobbyFilter[];
  readonly game: string | null;
  /** Only lobbies that anyone may join now, possibly with a password. */
  readonly openOnly: boolean;
  readonly sort:
    | { readonly by: 'created' | 'members'; readonly descending: boolean }
    | { readonly by: 'metadata'; readonly key: string; readonly descending: boolean };
  readonly limit: number;
}

/** A lobby as loaded. */
interface LobbySnapshot {
  readonly lobby: Lobby;
  readonly members: readonly LobbyMember[];
  /** Voice states of the members who are in the call. */
  readonly voiceStates: readonly LobbyVoiceState[];
}

/** Stores lobbies with their members, and looks them up. */
export interface LobbyStore {
  /** Members are in the order of joining, with their current users. Members whose account was deleted are omitted. */
  load(id: ChannelId): Promise<LobbySnapshot | null>;
  /** The lobbies that belong to these secrets at `nowMs`; unknown and expired secrets are omitted. */
  bySecret(
    secrets: readonly SecretKey[],
    nowMs: number,
  ): Promise<(SecretKey & { readonly lobbyId: ChannelId; readonly expiresMs: number })[]>;
  /** Users with the number of their lobbies in the application; unknown users are omitted. */
  persons(
    asked: readonly { readonly userId: UserId; readonly applicationId: ApplicationId }[],
  ): Promise<{ readonly applicationId: ApplicationId; readonly user: APIUser; readonly lobbies: number }[]>;
  /** Lobbies of a user in one application, oldest first. */
  ofUser(userId: UserId, applicationId: ApplicationId): Promise<ChannelId[]>;
  /** Lobbies of a user in all applications. */
  all(userId: UserId): Promise<ChannelId[]>;
  /** Lobbies of an application with ids above `after`, ascending. */
  ofApplication(applicationId: ApplicationId, after: ChannelId | null, limit: number): Promise<ChannelId[]>;
  /** Listed lobbies that match. Without an equality filter only the newest ten thousand are examined. */
  search(search: LobbySearch): Promise<Listing[]>;
  /** Messages with ids of at least `sinceId`, newest first. */
  messages(id: ChannelId, sinceId: MessageId, limit: number): Promise<LobbyMessage[]>;
  message(id: ChannelId, messageId: MessageId): Promise<LobbyMessage | null>;
  /** The lobby that a channel is linked to. */
  linkedTo(channelId: ChannelId): Promise<ChannelId | null>;
  /** Lobbies whose idle timeout has passed at `nowMs`, longest overdue first. */
  due(nowMs: number, limit: number): Promise<ChannelId[]>;
  /** When the next idle lobby expires, Unix milliseconds; null if none is idle. */
  nextDueMs(): Promise<number | null>;
  /** Lobbies that were in use and not linked when last written, ascending by id. */
  inUse(after: ChannelId | null, limit: number): Promise<ChannelId[]>;
  /**
   * Deletes old messages of up to `lobbies` lobbies with ids above `after`, at most `limit` messages, and expired secrets.
   * @returns where to continue (`after` null at the end) and how many lobbies were examined.
   */
  sweep(sweep: {
    readonly after: ChannelId | null;
    readonly lobbies: number;
    readonly limit: number;
    readonly beforeId: MessageId;
    readonly nowMs: number;
  }): Promise<{ readonly after: ChannelId | null; readonly lobbies: number }>;
}

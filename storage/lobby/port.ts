import type { APIUser } from 'discord-api-types/v10';
import type { Listing, Lobby, LobbyMember, LobbyMessage } from '../../engine/lobby/lobby.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../protocol/ids.ts';

/** Names what is kept of a secret. */
export interface SecretKey {
  readonly applicationId: ApplicationId;
  readonly hash: string;
}

/** What a listed lobby's metadata must be. Numbers are compared with values that are numbers, texts with all values. */
export type LobbyFilter =
  | { readonly key: string; readonly is: 'equal'; readonly value: string | number }
  | { readonly key: string; readonly is: 'in'; readonly values: readonly (string | number)[] }
  /** Both ends included; null: open. */
  | { readonly key: string; readonly is: 'range'; readonly min: number | null; readonly max: number | null }
  | { readonly key: string; readonly is: 'exists'; readonly exists: boolean };

export interface LobbySearch {
  readonly applicationId: ApplicationId;
  /** All of these. */
  readonly filters: readonly LobbyFilter[];
  readonly game: string | null;
  /** Only what everyone may join now, with the password where there is one. */
  readonly openOnly: boolean;
  readonly sort:
    | { readonly by: 'created' | 'members'; readonly descending: boolean }
    | { readonly by: 'metadata'; readonly key: string; readonly descending: boolean };
  readonly limit: number;
}

/** Lobbies with their members, and how they are found. */
export interface LobbyStore {
  /** Members in the order of joining; their users as they are now. Members whose account is gone are left out. */
  load(id: ChannelId): Promise<{ readonly lobby: Lobby; readonly members: readonly LobbyMember[] } | null>;
  /** The lobbies that secrets name at `nowMs`; those that name none, or whose time is over, are not in the answer. */
  bySecret(
    secrets: readonly SecretKey[],
    nowMs: number,
  ): Promise<(SecretKey & { readonly lobbyId: ChannelId; readonly expiresMs: number })[]>;
  /** Users, and in how many lobbies of the application each is; unknown ones are not in the answer. */
  persons(
    asked: readonly { readonly userId: UserId; readonly applicationId: ApplicationId }[],
  ): Promise<{ readonly applicationId: ApplicationId; readonly user: APIUser; readonly lobbies: number }[]>;
  /** Lobbies of a user in one application, oldest first. */
  ofUser(userId: UserId, applicationId: ApplicationId): Promise<ChannelId[]>;
  /** Lobbies of a user in all applications. */
  all(userId: UserId): Promise<ChannelId[]>;
  /** Lobbies of an application that come after `after`, ascending. */
  ofApplication(applicationId: ApplicationId, after: ChannelId | null, limit: number): Promise<ChannelId[]>;
  /** Listed lobbies that match. Of more than ten thousand that no equality narrows down, the newest are looked at. */
  search(search: LobbySearch): Promise<Listing[]>;
  /** Newest first, none older than `sinceId`. */
  messages(id: ChannelId, sinceId: MessageId, limit: number): Promise<LobbyMessage[]>;
  message(id: ChannelId, messageId: MessageId): Promise<LobbyMessage | null>;
  /** The lobby that a channel is linked to. */
  linkedTo(channelId: ChannelId): Promise<ChannelId | null>;
  /** Idle lobbies whose time is over at `nowMs`, the longest over first. */
  due(nowMs: number, limit: number): Promise<ChannelId[]>;
  /** When the next idle lobby is over, Unix milliseconds; null when none is idle. */
  nextDueMs(): Promise<number | null>;
  /** Lobbies, ascending, that were in use when they were last written, without being linked. */
  inUse(after: ChannelId | null, limit: number): Promise<ChannelId[]>;
  /**
   * Deletes old messages of up to `lobbies` lobbies that come after `after`, at most `limit` of them, and secrets that
   * are over. Answers where to go on (`after` null: at the end) and how many lobbies it looked at.
   */
  sweep(sweep: {
    readonly after: ChannelId | null;
    readonly lobbies: number;
    readonly limit: number;
    readonly beforeId: MessageId;
    readonly nowMs: number;
  }): Promise<{ readonly after: ChannelId | null; readonly lobbies: number }>;
}

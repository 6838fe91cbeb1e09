import { deferred } from '../deferred.ts';
import type { LobbyHandle } from '../handles.ts';
import { path } from '../http.ts';
import { aborted, invalid, networkError } from '../result.ts';
import type { Disposer } from '../signal.ts';
import { adoptLobby, dropLobby } from '../store/lobbies.ts';
import { idOf, jsonOf, numberOf, textOf } from '../store/read.ts';
import type { Metadata } from '../store/store.ts';
import { isJson, type Json } from '../voice/wire.ts';
import { type Core, checkId, unexpected } from './core.ts';

export interface GuildMinimal {
  readonly id: string;
  readonly name: string;
}

export interface LinkedLobby {
  readonly applicationId: string;
  readonly lobbyId: string;
}

export interface GuildChannel {
  readonly id: string;
  readonly name: string;
  readonly type: number;
  readonly position: number;
  readonly parentId: string | null;
  /** Whether this user may link a lobby to the channel. */
  readonly isLinkable: boolean;
  /** False: linking shows the lobby's messages to people who could not read them before. */
  readonly isViewableAndWriteableByAllMembers: boolean;
  readonly linkedLobby: LinkedLobby | null;
}

const SECRET_CHARS_MAX = 250;
const METADATA_KEYS_MAX = 25;
const METADATA_CHARS_MAX = 1_024;
/** Timeout for joining a guild: a provisional user must first link an account. */
const MERGE_MS = 10 * 60_000;

/** @throws ClientError of type ValidationError. */
export function checkMetadata(name: string, metadata: Metadata): void {
  const entries = Object.entries(metadata);
  if (entries.length > METADATA_KEYS_MAX)
    throw invalid(`${name} must have at most ${METADATA_KEYS_MAX} keys.`);
  for (const [key, value] of entries) {
    if (typeof value !== 'string') throw invalid(`${name}.${key} is not a string.`);
    if (key.length > METADATA_CHARS_MAX || value.length > METADATA_CHARS_MAX)
      throw invalid(`Keys and values of ${name} must have at most ${METADATA_CHARS_MAX} characters.`);
  }
}

/** Lobbies, and the guild channels linked to them. */
export class Lobbies {
  readonly #core: Core;
  readonly #merges = new Set<(success: boolean) => void>();

  constructor(core: Core) {
    this.#core = core;
  }

  /**
   * Joins the lobby of this secret, and creates it if needed. Everyone with the secret can join.
   *
   * @returns the lobby's id. `getLobbyHandle` works when the promise resolves.
   */
  createOrJoinLobby(secret: string): Promise<string> {
    return this.#join(secret, {});
  }

  /** Like `createOrJoinLobby`; replaces the metadata of the lobby and of this member. */
  async createOrJoinLobbyWithMetadata(
    secret: string,
    lobbyMetadata: Metadata,
    memberMetadata: Metadata,
  ): Promise<string> {
    checkMetadata('lobbyMetadata', lobbyMetadata);
    checkMetadata('memberMetadata', memberMetadata);
    return this.#join(secret, { lobby_metadata: lobbyMetadata, member_metadata: memberMetadata });
  }

  /** Leaves a lobby that was joined by a secret. */
  async leaveLobby(lobbyId: string): Promise<void> {
    const id = checkId('lobbyId', lobbyId);
    await this.#core.http.call({ method: 'DELETE', path: path`/lobbies/${id}/members/@me` });
    this.#core.notify(dropLobby(this.#core.state, id));
  }

  getLobbyHandle(lobbyId: string): LobbyHandle | null {
    return this.#core.handles.lobby(lobbyId);
  }

  getLobbyIds(): string[] {
    return [...this.#core.state.lobbies.keys()];
  }

  setLobbyCreatedCallback(callback: (lobbyId: string) => void): Disposer {
    return this.#core.signals.lobbyCreated.set(callback);
  }

  setLobbyUpdatedCallback(callback: (lobbyId: string) => void): Disposer {
    return this.#core.signals.lobbyUpdated.set(callback);
  }

  setLobbyDeletedCallback(callback: (lobbyId: string) => void): Disposer {
    return this.#core.signals.lobbyDeleted.set(callback);
  }

  setLobbyMemberAddedCallback(callback: (lobbyId: string, memberId: string) => void): Disposer {
    return this.#core.signals.lobbyMemberAdded.set(callback);
  }

  setLobbyMemberUpdatedCallback(callback: (lobbyId: string, memberId: string) => void): Disposer {
    return this.#core.signals.lobbyMemberUpdated.set(callback);
  }

  setLobbyMemberRemovedCallback(callback: (lobbyId: string, memberId: string) => void): Disposer {
    return this.#core.signals.lobbyMemberRemoved.set(callback);
  }

  /** Guilds of the current user. */
  async getUserGuilds(): Promise<GuildMinimal[]> {
    const answer = await this.#core.http.call({ method: 'GET', path: '/users/@me/guilds' });
    return objects(answer).flatMap((d) => {
      const id = idOf(d, 'id');
      return id === null ? [] : [{ id, name: textOf(d, 'name') ?? '' }];
    });
  }

  /** Channels of a guild in display order. */
  async getGuildChannels(guildId: string): Promise<GuildChannel[]> {
    const id = checkId('guildId', guildId);
    const query = { with_can_link_lobby: true };
    const answer = await this.#core.http.call({ method: 'GET', path: path`/guilds/${id}/channels`, query });
    const channels = objects(answer).flatMap((d) => guildChannelOf(d) ?? []);
    return channels.sort((a, b) => a.position - b.position || (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  }

  /**
   * Links a channel: messages of either side appear in both. The game server must have created the lobby and
   * allowed this user to link.
   */
  async linkChannelToLobby(lobbyId: string, channelId: string): Promise<void> {
    return this.#link(lobbyId, { channel_id: checkId('channelId', channelId) });
  }

  unlinkChannelFromLobby(lobbyId: string): Promise<void> {
    return this.#link(lobbyId, {});
  }

  /**
   * Joins the guild of the lobby's linked channel with a personal invite, which is opened for the user.
   *
   * @param provisionalUserMergeRequired Called when a provisional user must first link an account; report the
   *   outcome with `provisionalUserMergeCompleted`.
   * @returns the URL of the invite.
   */
  async joinLinkedLobbyGuild(lobbyId: string, provisionalUserMergeRequired: () => void): Promise<string> {
    const id = checkId('lobbyId', lobbyId);
    await this.#needsAccount(provisionalUserMergeRequired);
    const answer = await this.#core.http.call({
      method: 'POST',
      path: path`/lobbies/${id}/members/@me/invites`,
    });
    const code = isJson(answer) ? textOf(answer, 'code') : null;
    if (code === null) throw unexpected('invite');
    const url = `${this.#core.webBase}/invite/${encodeURIComponent(code)}`;
    this.#core.host.openUrl(url);
    return url;
  }

  /** Reports the outcome of the account link requested by `provisionalUserMergeRequired`. */
  provisionalUserMergeCompleted(success: boolean): void {
    for (const resolve of this.#merges) resolve(success);
  }

  async #join(secret: string, more: object): Promise<string> {
    if (typeof secret !== 'string' || secret.length < 1 || secret.length > SECRET_CHARS_MAX)
      throw invalid(`A lobby's secret must have 1 to ${SECRET_CHARS_MAX} characters.`);
    const { http, log, state, notify } = this.#core;
    log.keepSecret(secret);
    const answer = await http.call({ method: 'PUT', path: '/lobbies', body: { secret, ...more } });
    const { id, notices } = adoptLobby(state, answer);
    notify(notices);
    if (id === null) throw unexpected('lobby');
    return id;
  }

  async #link(lobbyId: string, body: object): Promise<void> {
    const { http, state, notify } = this.#core;
    const id = checkId('lobbyId', lobbyId);
    const answer = await http.call({ method: 'PATCH', path: path`/lobbies/${id}/channel-linking`, body });
    notify(adoptLobby(state, answer).notices);
  }

  /** Asks a provisional user to link an account and waits for the reported outcome. */
  async #needsAccount(mergeRequired: () => void): Promise<void> {
    const { handles, state } = this.#core;
    if (handles.user(state.meId ?? '')?.isProvisional !== true) return;
    const { promise, resolve, reject } = deferred<void>();
    const settle = (success: boolean) => {
      if (success) resolve();
      else reject(aborted('The account was not connected.'));
    };
    this.#merges.add(settle);
    const timer = setTimeout(() => reject(networkError('The account was not connected in time.')), MERGE_MS);
    try {
      mergeRequired();
      await promise;
    } finally {
      clearTimeout(timer);
      this.#merges.delete(settle);
    }
  }
}

const objects = (answer: unknown): Json[] => (Array.isArray(answer) ? answer.filter(isJson) : []);

function guildChannelOf(d: Json): GuildChannel | null {
  const id = idOf(d, 'id');
  if (id === null) return null;
  const linked = jsonOf(d, 'linked_lobby');
  return {
    id,
    name: textOf(d, 'name') ?? '',
    type: numberOf(d, 'type') ?? 0,
    position: numberOf(d, 'position') ?? 0,
    parentId: idOf(d, 'parent_id'),
    isLinkable: d.is_linkable === true,
    isViewableAndWriteableByAllMembers: d.is_viewable_and_writeable_by_all_members === true,
    linkedLobby:
      linked === null
        ? null
        : { applicationId: idOf(linked, 'application_id') ?? '', lobbyId: idOf(linked, 'lobby_id') ?? '' },
  };
}

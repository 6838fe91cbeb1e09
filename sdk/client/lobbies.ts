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
  /** A lobby may be linked to it, by this user. */
  readonly isLinkable: boolean;
  /** False: linking shows what is said there to people who could not read it before. */
  readonly isViewableAndWriteableByAllMembers: boolean;
  readonly linkedLobby: LinkedLobby | null;
}

const SECRET_CHARS_MAX = 250;
const METADATA_KEYS_MAX = 25;
const METADATA_CHARS_MAX = 1_024;
/** A player who is asked to connect an account takes a while. */
const MERGE_MS = 10 * 60_000;

/** @throws ClientError, a ValidationError. */
export function checkMetadata(name: string, metadata: Metadata): void {
  const entries = Object.entries(metadata);
  if (entries.length > METADATA_KEYS_MAX) throw invalid(`${name} has at most ${METADATA_KEYS_MAX} keys.`);
  for (const [key, value] of entries) {
    if (typeof value !== 'string') throw invalid(`${name}.${key} is not a text.`);
    if (key.length > METADATA_CHARS_MAX || value.length > METADATA_CHARS_MAX)
      throw invalid(`Keys and values of ${name} have at most ${METADATA_CHARS_MAX} characters.`);
  }
}

/** Places where players are together. */
export class Lobbies {
  readonly #core: Core;
  readonly #merges = new Set<(success: boolean) => void>();

  constructor(core: Core) {
    this.#core = core;
  }

  /**
   * Joins the lobby of this secret; the first who comes makes it. Everyone with the secret can.
   *
   * @returns the lobby's id. Its handle is there by now.
   */
  createOrJoinLobby(secret: string): Promise<string> {
    return this.#join(secret, {});
  }

  /** As `createOrJoinLobby`. Metadata of the lobby and of this member take the place of what was there. */
  async createOrJoinLobbyWithMetadata(
    secret: string,
    lobbyMetadata: Metadata,
    memberMetadata: Metadata,
  ): Promise<string> {
    checkMetadata('lobbyMetadata', lobbyMetadata);
    checkMetadata('memberMetadata', memberMetadata);
    return this.#join(secret, { lobby_metadata: lobbyMetadata, member_metadata: memberMetadata });
  }

  /** Leaves a lobby that was joined by its secret. */
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

  /** The guilds that this user is in. */
  async getUserGuilds(): Promise<GuildMinimal[]> {
    const answer = await this.#core.http.call({ method: 'GET', path: '/users/@me/guilds' });
    return objects(answer).flatMap((d) => {
      const id = idOf(d, 'id');
      return id === null ? [] : [{ id, name: textOf(d, 'name') ?? '' }];
    });
  }

  /** A guild's channels in the order in which they are shown. */
  async getGuildChannels(guildId: string): Promise<GuildChannel[]> {
    const id = checkId('guildId', guildId);
    const query = { with_can_link_lobby: true };
    const answer = await this.#core.http.call({ method: 'GET', path: path`/guilds/${id}/channels`, query });
    const channels = objects(answer).flatMap((d) => guildChannelOf(d) ?? []);
    return channels.sort((a, b) => a.position - b.position || (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  }

  /** What is said in either is shown in both. Needs a lobby that the game's server made, and who may link it. */
  async linkChannelToLobby(lobbyId: string, channelId: string): Promise<void> {
    return this.#link(lobbyId, { channel_id: checkId('channelId', channelId) });
  }

  unlinkChannelFromLobby(lobbyId: string): Promise<void> {
    return this.#link(lobbyId, {});
  }

  /**
   * Brings the user into the guild of the lobby's linked channel, by an invite of their own that is opened.
   *
   * @param provisionalUserMergeRequired A player without an account must connect one first; tell of the outcome by
   *   `provisionalUserMergeCompleted`.
   * @returns the invite's address.
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

  /** Says how the connecting of an account went that a `provisionalUserMergeRequired` asked for. */
  provisionalUserMergeCompleted(success: boolean): void {
    for (const tell of this.#merges) tell(success);
  }

  async #join(secret: string, more: object): Promise<string> {
    if (typeof secret !== 'string' || secret.length < 1 || secret.length > SECRET_CHARS_MAX)
      throw invalid(`A lobby's secret has 1 to ${SECRET_CHARS_MAX} characters.`);
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

  /** A player without an account is asked to connect one; whoever asked says how that went. */
  async #needsAccount(mergeRequired: () => void): Promise<void> {
    const { handles, state } = this.#core;
    if (handles.user(state.meId ?? '')?.isProvisional !== true) return;
    const { promise, resolve, reject } = deferred<void>();
    const told = (success: boolean) => {
      if (success) resolve();
      else reject(aborted('The account was not connected.'));
    };
    this.#merges.add(told);
    const timer = setTimeout(() => reject(networkError('The account was not connected in time.')), MERGE_MS);
    try {
      mergeRequired();
      await promise;
    } finally {
      clearTimeout(timer);
      this.#merges.delete(told);
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

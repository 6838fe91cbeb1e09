import { type Core, checkId, unexpected } from './client/core.ts';
import { checkMetadata } from './client/lobbies.ts';
import { path } from './http.ts';
import { invalid } from './result.ts';
import { type Disposer, Signal } from './signal.ts';
import { adoptLobby } from './store/lobbies.ts';
import { idOf, listOf, mapOf, numberOf, textOf } from './store/read.ts';
import type { Metadata } from './store/store.ts';
import { isJson, type Json } from './voice/wire.ts';

/** Lobby fields of this server in addition to the platform's. Absent fields stay unchanged. */
export interface LobbySettings {
  readonly listed?: boolean;
  readonly maxMembers?: number | null;
  readonly locked?: boolean;
  readonly password?: string | null;
  readonly invited?: readonly string[] | null;
  readonly hostGraceSeconds?: number | null;
  readonly game?: string | null;
}

export interface LobbyListing {
  readonly id: string;
  readonly members: number;
  readonly capacity: number;
  readonly locked: boolean;
  readonly hasPassword: boolean;
  readonly inviteOnly: boolean;
  readonly game: string | null;
  readonly metadata: Metadata;
}

export type LobbyFilter =
  | { readonly key: string; readonly is: 'equal'; readonly value: string | number }
  | { readonly key: string; readonly is: 'in'; readonly values: readonly (string | number)[] }
  | { readonly key: string; readonly is: 'range'; readonly min?: number; readonly max?: number }
  | { readonly key: string; readonly is: 'exists'; readonly exists: boolean };

export interface LobbySearch {
  readonly filters?: readonly LobbyFilter[];
  readonly game?: string;
  readonly openOnly?: boolean;
  readonly sort?: {
    readonly by: 'created' | 'members' | 'metadata';
    readonly key?: string;
    readonly order?: 'ascending' | 'descending';
  };
  /** Page size, 1 to 100; default 25. */
  readonly limit?: number;
}

export interface ReadyCheck {
  readonly lobbyId: string;
  readonly id: string;
  readonly status: string;
  /** Answer of the invited user; null while there is none. */
  readonly answers: ReadonlyMap<string, boolean | null>;
}

export interface MatchTicket {
  readonly id: string;
  readonly queue: string;
  readonly status: string;
  readonly userIds: readonly string[];
  /** Lobby of the players after a match. */
  readonly lobbyId: string | null;
}

const BASE = '/guildhall/v1';
const SHOWS_HOST: ReadonlySet<string> = new Set(['LOBBY_CREATE', 'LOBBY_UPDATE', 'GUILDHALL_LOBBY_UPDATE']);

/** Lobby and matchmaking features of this server in addition to the platform's. */
export class Extensions {
  readonly #core: Core;
  readonly #hosts = new Map<string, string>();
  readonly #hostChanged;
  readonly #readyCheck;
  readonly #message;
  readonly #ticket;

  constructor(core: Core) {
    this.#core = core;
    const complain = (error: unknown) =>
      core.log.error(`A callback of the application threw: ${String(error)}`);
    this.#hostChanged = new Signal<[lobbyId: string, hostId: string | null]>(complain);
    this.#readyCheck = new Signal<[check: ReadyCheck]>(complain);
    this.#message = new Signal<[lobbyId: string, type: string, data: unknown, senderId: string | null]>(
      complain,
    );
    this.#ticket = new Signal<[ticket: MatchTicket]>(complain);
    core.dispatched.add((name, d) => this.#dispatched(name, d));
  }

  async searchLobbies({ openOnly, ...search }: LobbySearch = {}): Promise<LobbyListing[]> {
    const body = { ...search, ...(openOnly === undefined ? {} : { open_only: openOnly }) };
    const answer = await this.#core.http.call({ method: 'POST', path: `${BASE}/lobbies/search`, body });
    return isJson(answer) ? listOf(answer, 'lobbies').flatMap((d) => listingOf(d) ?? []) : [];
  }

  /** Creates a lobby without a secret. @returns the lobby's id. */
  async createOpenLobby(
    settings: LobbySettings,
    metadata: Metadata = {},
    memberMetadata: Metadata = {},
  ): Promise<string> {
    checkMetadata('metadata', metadata);
    checkMetadata('memberMetadata', memberMetadata);
    const body = { ...settingsToWire(settings), metadata, member_metadata: memberMetadata };
    return this.#entered({ method: 'POST', path: `${BASE}/lobbies`, body });
  }

  /** Joins a listed lobby, or a lobby that invited this player. @returns the lobby's id. */
  async joinOpenLobby(lobbyId: string, password: string | null = null): Promise<string> {
    const id = checkId('lobbyId', lobbyId);
    const body = password === null ? {} : { password };
    if (password !== null) this.#core.log.keepSecret(password);
    return this.#entered({ method: 'PUT', path: path`/guildhall/v1/lobbies/${id}/members/@me`, body });
  }

  /** Allowed for the lobby's host; for its creator while there is no host. */
  async updateLobbySettings(lobbyId: string, settings: LobbySettings): Promise<void> {
    const id = checkId('lobbyId', lobbyId);
    const body = settingsToWire(settings);
    await this.#core.http.call({ method: 'PATCH', path: path`/guildhall/v1/lobbies/${id}`, body });
  }

  /** User id of the host, from gateway dispatches; null without a host. */
  getLobbyHostId(lobbyId: string): string | null {
    return this.#hosts.get(lobbyId) ?? null;
  }

  async setLobbyHost(lobbyId: string, userId: string): Promise<void> {
    const id = checkId('lobbyId', lobbyId);
    const body = { user_id: checkId('userId', userId) };
    await this.#core.http.call({ method: 'PUT', path: path`/guildhall/v1/lobbies/${id}/host`, body });
  }

  async startReadyCheck(lobbyId: string, timeoutSeconds = 30): Promise<ReadyCheck> {
    const id = checkId('lobbyId', lobbyId);
    const body = { timeout_seconds: timeoutSeconds };
    return checkOr(
      await this.#core.http.call({
        method: 'POST',
        path: path`/guildhall/v1/lobbies/${id}/ready-check`,
        body,
      }),
    );
  }

  async answerReadyCheck(lobbyId: string, ready: boolean): Promise<ReadyCheck> {
    const id = checkId('lobbyId', lobbyId);
    const route = path`/guildhall/v1/lobbies/${id}/ready-check/@me`;
    return checkOr(await this.#core.http.call({ method: 'PUT', path: route, body: { ready } }));
  }

  async cancelReadyCheck(lobbyId: string): Promise<ReadyCheck> {
    const id = checkId('lobbyId', lobbyId);
    return checkOr(
      await this.#core.http.call({ method: 'DELETE', path: path`/guildhall/v1/lobbies/${id}/ready-check` }),
    );
  }

  /**
   * Sends data to the game server of a lobby, or, if it has none, to the other members. The server stores nothing.
   */
  async sendLobbyGameMessage(lobbyId: string, type: string, data: unknown = null): Promise<void> {
    const id = checkId('lobbyId', lobbyId);
    if (typeof type !== 'string' || type === '') throw invalid('type must be a non-empty string.');
    const body = { type, data };
    await this.#core.http.call({ method: 'POST', path: path`/guildhall/v1/lobbies/${id}/messages`, body });
  }

  /** Enters a matchmaking queue, alone or with the members of a lobby. */
  async createMatchTicket(
    queue: string,
    properties: Readonly<Record<string, string | number>> = {},
    lobbyId: string | null = null,
  ): Promise<MatchTicket> {
    const body = {
      queue,
      properties,
      ...(lobbyId === null ? {} : { lobby_id: checkId('lobbyId', lobbyId) }),
    };
    return ticketOr(
      await this.#core.http.call({ method: 'POST', path: `${BASE}/matchmaking/tickets`, body }),
    );
  }

  async getMatchTicket(ticketId: string): Promise<MatchTicket> {
    const id = checkId('ticketId', ticketId);
    return ticketOr(
      await this.#core.http.call({ method: 'GET', path: path`/guildhall/v1/matchmaking/tickets/${id}` }),
    );
  }

  async cancelMatchTicket(ticketId: string): Promise<MatchTicket> {
    const id = checkId('ticketId', ticketId);
    return ticketOr(
      await this.#core.http.call({ method: 'DELETE', path: path`/guildhall/v1/matchmaking/tickets/${id}` }),
    );
  }

  setLobbyHostChangedCallback(callback: (lobbyId: string, hostId: string | null) => void): Disposer {
    return this.#hostChanged.set(callback);
  }

  setReadyCheckCallback(callback: (check: ReadyCheck) => void): Disposer {
    return this.#readyCheck.set(callback);
  }

  /** `senderId` is null when the game server sent the data. */
  setLobbyGameMessageCallback(
    callback: (lobbyId: string, type: string, data: unknown, senderId: string | null) => void,
  ): Disposer {
    return this.#message.set(callback);
  }

  /** A ticket of this player ended, with or without a match. */
  setMatchTicketCallback(callback: (ticket: MatchTicket) => void): Disposer {
    return this.#ticket.set(callback);
  }

  async #entered(call: Parameters<Core['http']['call']>[0]): Promise<string> {
    const answer = await this.#core.http.call(call);
    const { id, notices } = adoptLobby(this.#core.state, answer);
    this.#core.notify(notices);
    if (id === null) throw unexpected('lobby');
    return id;
  }

  #dispatched(name: string, d: Json): void {
    const lobbyId = idOf(d, 'lobby_id');
    if (name === 'READY') {
      this.#hosts.clear();
      for (const lobby of listOf(d, 'lobbies')) this.#keepHost(lobby);
    } else if (SHOWS_HOST.has(name)) this.#keepHost(d);
    else if (name === 'LOBBY_DELETE') this.#hosts.delete(idOf(d, 'id') ?? '');
    else if (name === 'GUILDHALL_MATCHMAKING_UPDATE') {
      const ticket = ticketOf(d);
      if (ticket) this.#ticket.emit(ticket);
    } else if (name === 'GUILDHALL_LOBBY_READY') {
      const check = checkOf(d);
      if (check) this.#readyCheck.emit(check);
    } else if (lobbyId === null) return;
    else if (name === 'GUILDHALL_LOBBY_HOST') {
      const hostId = idOf(d, 'host_id');
      if (hostId === null) this.#hosts.delete(lobbyId);
      else this.#hosts.set(lobbyId, hostId);
      this.#hostChanged.emit(lobbyId, hostId);
    } else if (name === 'GUILDHALL_LOBBY_MESSAGE')
      this.#message.emit(lobbyId, textOf(d, 'type') ?? '', d.data ?? null, idOf(d, 'user_id'));
  }

  #keepHost(lobby: Json): void {
    const [id, hostId] = [idOf(lobby, 'id'), idOf(lobby, 'host_id')];
    if (id !== null && hostId !== null) this.#hosts.set(id, hostId);
  }
}

/** Drops absent keys, so that the request changes only fields that are named. */
function settingsToWire({ maxMembers, hostGraceSeconds, ...same }: LobbySettings): object {
  return {
    ...same,
    ...(maxMembers === undefined ? {} : { max_members: maxMembers }),
    ...(hostGraceSeconds === undefined ? {} : { host_grace_seconds: hostGraceSeconds }),
  };
}

function listingOf(d: Json): LobbyListing | null {
  const id = idOf(d, 'id');
  if (id === null) return null;
  return {
    id,
    members: numberOf(d, 'members') ?? 0,
    capacity: numberOf(d, 'capacity') ?? 0,
    locked: d.locked === true,
    hasPassword: d.has_password === true,
    inviteOnly: d.invite_only === true,
    game: textOf(d, 'game'),
    metadata: mapOf(d, 'metadata'),
  };
}

function checkOf(d: Json): ReadyCheck | null {
  const [lobbyId, id] = [idOf(d, 'lobby_id'), idOf(d, 'id')];
  if (lobbyId === null || id === null) return null;
  const answers = listOf(d, 'answers').map(
    (entry) => [idOf(entry, 'user_id') ?? '', typeof entry.ready === 'boolean' ? entry.ready : null] as const,
  );
  return { lobbyId, id, status: textOf(d, 'status') ?? '', answers: new Map(answers) };
}

function ticketOf(d: Json): MatchTicket | null {
  const id = idOf(d, 'id');
  if (id === null) return null;
  const userIds = Array.isArray(d.user_ids) ? d.user_ids.filter((each) => typeof each === 'string') : [];
  const { status, queue } = { status: textOf(d, 'status') ?? '', queue: textOf(d, 'queue') ?? '' };
  return { id, queue, status, userIds, lobbyId: idOf(d, 'lobby_id') };
}

function checkOr(answer: unknown): ReadyCheck {
  const check = isJson(answer) ? checkOf(answer) : null;
  if (check === null) throw unexpected('ready check');
  return check;
}

function ticketOr(answer: unknown): MatchTicket {
  const ticket = isJson(answer) ? ticketOf(answer) : null;
  if (ticket === null) throw unexpected('ticket');
  return ticket;
}

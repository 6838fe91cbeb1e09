import { isJson, type Json } from '../voice/wire.ts';
import { keepUser } from './people.ts';
import { idOf, jsonOf, listOf, mapOf, numberOf, textOf } from './read.ts';
import type { LinkedChannel, LobbyMemberRecord, LobbyRecord, Notice, State } from './store.ts';

const CAN_LINK_LOBBY = 1 << 0;

/** A member as in HTTP responses, with an id, or as in dispatches, with a user. */
function memberOf(state: State, d: Json, before?: LobbyMemberRecord): LobbyMemberRecord | null {
  const user = jsonOf(d, 'user');
  if (user !== null) keepUser(state, user);
  const id = idOf(d, 'id') ?? (user && idOf(user, 'id'));
  if (id === null) return null;
  const flags = numberOf(d, 'flags');
  return {
    id,
    metadata: 'metadata' in d ? mapOf(d, 'metadata') : (before?.metadata ?? {}),
    canLinkLobby: flags === null ? (before?.canLinkLobby ?? false) : (flags & CAN_LINK_LOBBY) !== 0,
    additionalName: 'additional_name' in d ? textOf(d, 'additional_name') : (before?.additionalName ?? null),
    connected: typeof d.connected === 'boolean' ? d.connected : (before?.connected ?? false),
  };
}

function linkedChannelOf(d: Json): LinkedChannel | null {
  const channel = jsonOf(d, 'linked_channel');
  const id = channel && idOf(channel, 'id');
  if (channel === null || id === null) return null;
  return { id, name: textOf(channel, 'name') ?? '', guildId: idOf(channel, 'guild_id') ?? '' };
}

/** Adds or updates a lobby. @returns null when the data is no lobby. */
function keepLobby(state: State, d: Json, whole: boolean): LobbyRecord | null {
  const id = idOf(d, 'id');
  if (id === null) return null;
  const before = state.lobbies.get(id);
  const members = new Map<string, LobbyMemberRecord>();
  for (const entry of listOf(d, 'members')) {
    const entryId = idOf(entry, 'id') ?? idOf(jsonOf(entry, 'user') ?? {}, 'id');
    const member = memberOf(state, entry, entryId === null ? undefined : before?.members.get(entryId));
    if (member !== null) members.set(member.id, member);
  }
  const lobby: LobbyRecord = {
    id,
    applicationId: idOf(d, 'application_id') ?? before?.applicationId ?? '',
    metadata: mapOf(d, 'metadata'),
    linkedChannel: linkedChannelOf(d),
    members: Array.isArray(d.members) ? members : (before?.members ?? members),
    whole,
  };
  state.lobbies.set(id, lobby);
  return lobby;
}

/**
 * Applies a lobby of an HTTP response. Data of the gateway is kept, because it may be newer.
 *
 * @returns the lobby's id and the changes to emit.
 */
export function adoptLobby(state: State, answer: unknown): { id: string | null; notices: Notice[] } {
  const id = isJson(answer) ? idOf(answer, 'id') : null;
  if (!isJson(answer) || id === null) return { id: null, notices: [] };
  const before = state.lobbies.get(id);
  if (before?.whole) return { id, notices: [] };
  keepLobby(state, answer, false);
  return { id, notices: before === undefined ? [{ type: 'lobbyCreated', lobbyId: id }] : [] };
}

/** Removes a lobby that the user left, or that was deleted. */
export const dropLobby = (state: State, lobbyId: string): Notice[] =>
  state.lobbies.delete(lobbyId) ? [{ type: 'lobbyDeleted', lobbyId }] : [];

function created(state: State, d: Json): Notice[] {
  const id = idOf(d, 'id');
  const isNew = id !== null && !state.lobbies.has(id);
  if (keepLobby(state, d, true) === null) return [];
  return isNew ? [{ type: 'lobbyCreated', lobbyId: id }] : [];
}

function updated(state: State, d: Json): Notice[] {
  const lobby = keepLobby(state, d, true);
  return lobby === null ? [] : [{ type: 'lobbyUpdated', lobbyId: lobby.id }];
}

function memberChanged(state: State, d: Json, connected?: boolean): Notice[] {
  const lobbyId = idOf(d, 'lobby_id');
  const lobby = lobbyId === null ? undefined : state.lobbies.get(lobbyId);
  const entry = jsonOf(d, 'member');
  if (lobby === undefined || entry === null) return [];
  const entryId = idOf(entry, 'id') ?? idOf(jsonOf(entry, 'user') ?? {}, 'id');
  const before = entryId === null ? undefined : lobby.members.get(entryId);
  const member = memberOf(state, connected === undefined ? entry : { ...entry, connected }, before);
  if (member === null) return [];
  lobby.members.set(member.id, member);
  const type = before === undefined ? 'lobbyMemberAdded' : 'lobbyMemberUpdated';
  return [{ type, lobbyId: lobby.id, memberId: member.id }];
}

function memberRemoved(state: State, d: Json): Notice[] {
  const lobbyId = idOf(d, 'lobby_id');
  const lobby = lobbyId === null ? undefined : state.lobbies.get(lobbyId);
  const entry = jsonOf(d, 'member') ?? d;
  const memberId = idOf(entry, 'id') ?? idOf(jsonOf(entry, 'user') ?? {}, 'id') ?? idOf(d, 'user_id');
  if (lobby === undefined || memberId === null || !lobby.members.delete(memberId)) return [];
  return [{ type: 'lobbyMemberRemoved', lobbyId: lobby.id, memberId }];
}

/** Applies the lobbies of READY; lobbies not listed were left or deleted while disconnected. */
export function lobbiesReady(state: State, d: Json): Notice[] {
  const before = new Set(state.lobbies.keys());
  const now = new Set(listOf(d, 'lobbies').map((lobby) => idOf(lobby, 'id')));
  const gone = [...before].filter((id) => !now.has(id)).flatMap((id) => dropLobby(state, id));
  const present = listOf(d, 'lobbies').flatMap((entry): Notice[] => {
    const lobby = keepLobby(state, entry, true);
    if (lobby === null) return [];
    return [{ type: before.has(lobby.id) ? 'lobbyUpdated' : 'lobbyCreated', lobbyId: lobby.id }];
  });
  return [...gone, ...present];
}

/** Without its members, and only of a lobby that is known: LOBBY_CREATE or READY came before. */
const changed = (state: State, d: Json): Notice[] =>
  state.lobbies.has(idOf(d, 'id') ?? '') ? updated(state, d) : [];

export const lobbies = {
  LOBBY_CREATE: created,
  LOBBY_UPDATE: updated,
  GUILDHALL_LOBBY_UPDATE: changed,
  LOBBY_DELETE: (state: State, d: Json): Notice[] => dropLobby(state, idOf(d, 'id') ?? ''),
  LOBBY_MEMBER_ADD: (state: State, d: Json) => memberChanged(state, d),
  LOBBY_MEMBER_UPDATE: (state: State, d: Json) => memberChanged(state, d),
  GUILDHALL_LOBBY_MEMBER_UPDATE: (state: State, d: Json) => memberChanged(state, d),
  LOBBY_MEMBER_REMOVE: memberRemoved,
  LOBBY_MEMBER_CONNECT: (state: State, d: Json) => memberChanged(state, d, true),
  LOBBY_MEMBER_DISCONNECT: (state: State, d: Json) => memberChanged(state, d, false),
};

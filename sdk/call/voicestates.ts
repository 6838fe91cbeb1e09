import { isJson, type Json } from '../voice/wire.ts';

export interface VoiceStateHandle {
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
}

/** A lobby's call as every member sees it. */
export interface CallInfoHandle {
  readonly channelId: string;
  /** Always null: a lobby's call belongs to no guild. */
  readonly guildId: string | null;
  getParticipants(): string[];
  getVoiceStateHandle(userId: string): VoiceStateHandle | null;
}

type VoiceChange = 'added' | 'changed' | 'removed';

/** Voice state of one user in one lobby's call. */
export interface VoiceNews {
  readonly lobbyId: string;
  readonly userId: string;
  readonly change: VoiceChange;
  /** The gateway session in the call; null when the server did not name it. */
  readonly sessionId: string | null;
}

interface VoiceState extends VoiceStateHandle {
  readonly sessionId: string | null;
}

/** Voice states by lobby, from the dispatches of one gateway session. */
export class VoiceStates {
  readonly #lobbies = new Map<string, Map<string, VoiceState>>();

  /** Applies a dispatch. Its data is validated, not trusted. */
  apply(name: string, d: Json): VoiceNews[] {
    if (name === 'READY') return this.#begin(d);
    if (name === 'LOBBY_CREATE' || name === 'LOBBY_UPDATE') return this.#lobby(d);
    if (name === 'LOBBY_DELETE') return this.#replace(String(d.id), []);
    const lobbyId = String(d.lobby_id);
    if (name === 'LOBBY_VOICE_STATE_UPDATE') return this.#state(lobbyId, d);
    if (name === 'LOBBY_MEMBER_REMOVE') {
      const { member } = d;
      return isJson(member) ? this.#remove(lobbyId, userIdOf(member)) : [];
    }
    return [];
  }

  participants(lobbyId: string): string[] {
    return [...(this.#lobbies.get(lobbyId)?.keys() ?? [])];
  }

  state(lobbyId: string, userId: string): VoiceStateHandle | null {
    const member = this.#lobbies.get(lobbyId)?.get(userId);
    return member === undefined ? null : { selfMute: member.selfMute, selfDeaf: member.selfDeaf };
  }

  #begin({ lobbies }: Json): VoiceNews[] {
    const named = Array.isArray(lobbies) ? lobbies.filter(isJson) : [];
    const kept = new Set(named.map(({ id }) => String(id)));
    const gone = [...this.#lobbies.keys()].filter((lobbyId) => !kept.has(lobbyId));
    return [
      ...gone.flatMap((lobbyId) => this.#replace(lobbyId, [])),
      ...named.flatMap((lobby) => this.#lobby(lobby)),
    ];
  }

  /** A complete lobby; one without `voice_states` changes nothing. */
  #lobby(lobby: Json): VoiceNews[] {
    const { id, voice_states: states } = lobby;
    return Array.isArray(states) ? this.#replace(String(id), states.filter(isJson)) : [];
  }

  #replace(lobbyId: string, states: readonly Json[]): VoiceNews[] {
    const present = new Set(states.map(userIdOf));
    const gone = this.participants(lobbyId).filter((userId) => !present.has(userId));
    return [
      ...gone.flatMap((userId) => this.#remove(lobbyId, userId)),
      ...states.flatMap((state) => this.#state(lobbyId, state)),
    ];
  }

  #state(lobbyId: string, d: Json): VoiceNews[] {
    const userId = userIdOf(d);
    if (d.channel_id === null || d.lobby_id === null) return this.#remove(lobbyId, userId);
    const members = this.#lobbies.get(lobbyId) ?? new Map<string, VoiceState>();
    const change = members.has(userId) ? 'changed' : 'added';
    const sessionId = typeof d.session_id === 'string' ? d.session_id : null;
    this.#lobbies.set(lobbyId, members);
    members.set(userId, { selfMute: d.self_mute === true, selfDeaf: d.self_deaf === true, sessionId });
    return [{ lobbyId, userId, change, sessionId }];
  }

  #remove(lobbyId: string, userId: string): VoiceNews[] {
    const members = this.#lobbies.get(lobbyId);
    const member = members?.get(userId);
    if (members === undefined || member === undefined) return [];
    members.delete(userId);
    if (members.size === 0) this.#lobbies.delete(lobbyId);
    return [{ lobbyId, userId, change: 'removed', sessionId: member.sessionId }];
  }
}

/** User id of a voice state or a member. */
export const userIdOf = (d: Json): string => String(isJson(d.user) ? d.user.id : (d.user_id ?? d.id));

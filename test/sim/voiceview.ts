import type { Ticket } from './voicelines.ts';

interface ShownVoice {
  readonly user_id: string;
  readonly session_id: string;
  readonly channel_id: string | null;
  readonly guild_id?: string | null;
  readonly lobby_id?: string;
}

interface ShownTicket {
  readonly token: string;
  readonly endpoint: string | null;
  readonly guild_id?: string;
  readonly channel_id?: string;
  readonly lobby_id?: string;
  readonly stream_key?: string;
}

interface ShownStream {
  readonly stream_key: string;
  readonly rtc_server_id?: string;
}

/** What a session does with what it is shown of its own voice. */
interface VoiceActs {
  connect(ticket: Ticket): void;
  leave(serverId: string): void;
}

/** The calls of the lobbies of one session, its own places, and the streams that it is in, as its client knows them. */
export class VoiceView {
  /** By stream key: the server of its call. */
  readonly streams = new Map<string, string>();
  /** By lobby: who is in its call, with the session. */
  readonly lobbies = new Map<string, Map<string, string>>();
  /** The places of the session's own user: by guild, private channel or lobby, the channel. Other sessions' are left out. */
  readonly places = new Map<string, string>();
  /** Addresses of places that the session is not shown to be in. */
  readonly #tickets = new Map<string, Ticket>();
  readonly #userId: string;
  readonly #isPerson: boolean;
  readonly #sessionId: () => string | null;
  readonly #acts: VoiceActs;

  constructor(userId: string, isPerson: boolean, sessionId: () => string | null, acts: VoiceActs) {
    this.#userId = userId;
    this.#isPerson = isPerson;
    this.#sessionId = sessionId;
    this.#acts = acts;
  }

  heard(t: string, d: object): void {
    this.#changes[t]?.(d as never);
  }

  readonly #changes: Record<string, (d: never) => void> = {
    VOICE_STATE_UPDATE: (state: ShownVoice) => this.#own(state, state.guild_id ?? state.channel_id),
    GUILD_CREATE: ({
      id,
      voice_states: states = [],
    }: {
      id: string;
      voice_states?: readonly ShownVoice[];
    }) => {
      const own = states.find(({ user_id, session_id }) => this.#isOwn(user_id, session_id));
      if (own?.channel_id) this.#entered(id, own.channel_id);
      else this.#lost(id);
    },
    LOBBY_VOICE_STATE_UPDATE: (state: ShownVoice) => {
      const { lobby_id: lobbyId = '', user_id: userId, session_id: sessionId } = state;
      const states = this.#statesOf(lobbyId);
      if (state.channel_id === null) states.delete(userId);
      else states.set(userId, sessionId);
      this.#own(state, lobbyId);
    },
    LOBBY_CREATE: ({
      id,
      voice_states: states = [],
    }: {
      id: string;
      voice_states?: readonly ShownVoice[];
    }) => {
      this.lobbies.set(id, new Map(states.map(({ user_id, session_id }) => [user_id, session_id])));
      // A lobby that is shown again may be from before the session joined its call, whose address may have arrived first.
      if (!states.some(({ user_id, session_id }) => this.#isOwn(user_id, session_id))) this.places.delete(id);
    },
    LOBBY_DELETE: ({ id }: { id: string }) => {
      this.lobbies.delete(id);
      this.#leave(id);
    },
    GUILD_DELETE: ({ id, unavailable }: { id: string; unavailable?: boolean }) => {
      if (!unavailable) this.#lost(id);
    },
    CHANNEL_DELETE: ({ id }: { id: string }) => this.#lost(id),
    CALL_DELETE: ({ channel_id: id }: { channel_id: string }) => this.#leave(id),
    VOICE_SERVER_UPDATE: (shown: ShownTicket) => this.#ticket(shown, shown.guild_id ?? shown.channel_id),
    LOBBY_VOICE_SERVER_UPDATE: (shown: ShownTicket) => this.#ticket(shown, shown.lobby_id),
    STREAM_CREATE: ({ stream_key: key, rtc_server_id: serverId = '' }: ShownStream) => {
      this.streams.set(key, serverId);
    },
    STREAM_DELETE: ({ stream_key: key }: ShownStream) => {
      const serverId = this.streams.get(key);
      this.streams.delete(key);
      if (serverId !== undefined) this.#acts.leave(serverId);
    },
    STREAM_SERVER_UPDATE: (shown: ShownTicket) =>
      this.#ticket(shown, this.streams.get(shown.stream_key ?? '')),
  };

  #statesOf(lobbyId: string): Map<string, string> {
    const known = this.lobbies.get(lobbyId) ?? new Map<string, string>();
    this.lobbies.set(lobbyId, known);
    return known;
  }

  #own({ user_id, session_id, channel_id }: ShownVoice, serverId: string | null): void {
    if (user_id !== this.#userId) return;
    if (this.#isOwn(user_id, session_id) && channel_id !== null && serverId !== null)
      this.#entered(serverId, channel_id);
    else if (serverId !== null) this.#leave(serverId);
    // The end of a private call names no channel; a user is in one at a time.
    else
      for (const [id, channelId] of [...this.places])
        if (id === channelId && !this.lobbies.has(id)) this.#leave(id);
  }

  /** The client of a person has one voice connection besides those of streams, as stock clients do, and the game has those of lobbies. */
  #entered(serverId: string, channelId: string): void {
    if (this.#isPerson && !this.lobbies.has(serverId))
      for (const id of [...this.places.keys()]) if (id !== serverId && !this.lobbies.has(id)) this.#leave(id);
    this.places.set(serverId, channelId);
    this.#connect(serverId);
  }

  /** The guild or channel was lost, and voice with it: nothing else ends the streams. */
  #lost(serverId: string): void {
    this.#leave(serverId);
    for (const [key, callId] of [...this.streams]) {
      if (key.split(':')[1] !== serverId) continue;
      this.streams.delete(key);
      this.#acts.leave(callId);
    }
  }

  #isOwn(userId: string, sessionId: string): boolean {
    return userId === this.#userId && sessionId === this.#sessionId();
  }

  #leave(serverId: string): void {
    this.places.delete(serverId);
    this.#tickets.delete(serverId);
    this.#acts.leave(serverId);
  }

  #ticket({ token, endpoint }: ShownTicket, serverId: string | undefined): void {
    const sessionId = this.#sessionId();
    if (serverId === undefined || endpoint === null || !sessionId) return;
    this.#tickets.set(serverId, { serverId, userId: this.#userId, sessionId, token, endpoint });
    this.#connect(serverId);
  }

  /** Clients connect when they are shown to be in a place and have the address of its call. */
  #connect(serverId: string): void {
    const ticket = this.#tickets.get(serverId);
    const isStream = [...this.streams.values()].includes(serverId);
    if (!ticket || !(isStream || this.places.has(serverId))) return;
    this.#tickets.delete(serverId);
    this.#acts.connect(ticket);
  }
}

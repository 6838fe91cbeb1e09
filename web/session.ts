import { INTENTS } from '../protocol/intents.ts';
import { OP } from '../protocol/opcodes.ts';
import { messageOf } from '../protocol/thrown.ts';
import { createBrowserAudio } from '../sdk/call/browser/audio.ts';
import type { CallAudio } from '../sdk/call/media.ts';
import { GatewayLink } from '../sdk/voice/gatewaylink.ts';
import type { Json } from '../sdk/voice/wire.ts';
import { SessionActivities, SPEAKING } from './activityhosts.ts';
import { Call } from './call.ts';
import { Chat } from './chat/chat.ts';
import { chosenInput, chosenOutput, cleanAsChosen } from './devices.tsx';
import { type Directory, EMPTY, heardOf } from './directory.ts';
import { openSocket, socketUrl } from './socket.ts';
import { createStore } from './store.ts';

export interface VoiceChannelRef {
  readonly guildId: string;
  readonly channelId: string;
}

export interface SessionState {
  readonly phase: 'connecting' | 'online' | 'offline';
  readonly directory: Directory;
  /** The channel that the user wants to join; the call exists once the server has admitted the user. */
  readonly place: VoiceChannelRef | null;
  readonly call: Call | null;
  readonly muted: boolean;
  readonly deafened: boolean;
  readonly complaint: string | null;
}

/** Events of its gateway connection that the session handles. */
export interface LinkEvents {
  /** A session began. It may be a new one: the state of an earlier one is lost. */
  ready(d: Json): void;
  /** Every other dispatch, RESUMED included. */
  dispatch(name: string, d: Json): void;
  online(isOnline: boolean): void;
  /** The connection is closed for good. */
  ended(code: number, reason: string): void;
}

/** The session's gateway connection. */
export interface Link {
  readonly sessionId: string | null;
  /** Payloads that are sent while disconnected are lost. */
  send(op: number, d: unknown): void;
  close(): void;
}

interface SessionOptions {
  readonly token: string;
  /** Opens the gateway connection; by default one of its own. */
  readonly link?: (events: LinkEvents) => Link;
  /** Called when the session has ended, with the reason as a sentence. */
  readonly ended: (reason: string) => void;
}

/** Wait for admission: the server does not answer when a channel is full or the user may not join it. */
const ANSWER_MS = 6000;
/** Most automatic rejoins per minute after a call ended. */
const REJOINS_MAX = 5;
const REASONS: Readonly<Record<number, string>> = {
  4004: 'The server does not know this token.',
  4014: 'You were disconnected from the channel.',
  4017: 'The server requires end-to-end encryption.',
  4021: 'The server says this page asks too much.',
  4022: 'The call has ended.',
};

/** Intents that rooms and channels need. */
export const ROOM_INTENTS =
  INTENTS.GUILDS |
  INTENTS.GUILD_VOICE_STATES |
  INTENTS.GUILD_MESSAGES |
  INTENTS.MESSAGE_CONTENT |
  INTENTS.GUILD_EMBEDDED_ACTIVITIES;

const ownLink = (token: string) => (events: LinkEvents) =>
  new GatewayLink({
    ...{ url: socketUrl('/?v=10&encoding=json'), token, intents: ROOM_INTENTS },
    ...{ open: openSocket, events },
  });

/** The session of the signed-in user: the gateway, its state, and at most one call. */
export class Session {
  readonly store = createStore<SessionState>({
    phase: 'connecting',
    directory: EMPTY,
    place: null,
    call: null,
    muted: false,
    deafened: false,
    complaint: null,
  });
  readonly #link: Link;
  readonly #token: string;
  readonly #listeners = new Set<(t: string, d: Json) => void>();
  #audio: CallAudio | null = null;
  /** From this user's own VOICE_STATE_UPDATE. */
  #voiceSessionId: string | null = null;
  #waiting: ReturnType<typeof setTimeout> | null = null;
  #rejoinsMs: number[] = [];

  constructor(options: SessionOptions) {
    this.#token = options.token;
    const events: LinkEvents = {
      ready: (d) => this.#ready(d),
      dispatch: (name, d) => this.#dispatched(name, d),
      online: (isOnline) => this.store.set({ phase: isOnline ? 'online' : 'offline' }),
      ended: (code, reason) =>
        options.ended(REASONS[code] ?? (reason || 'The server closed the connection.')),
    };
    const { link = ownLink(options.token) } = options;
    this.#link = link(events);
  }

  /** Joins a channel. Call it from a click handler, because browsers start audio only then. */
  join(place: VoiceChannelRef): void {
    // A failure to load is reported where the audio is awaited.
    this.#sound().catch(() => {});
    this.#leaveCall();
    this.store.set({ place, complaint: null });
    this.#ask();
  }

  /** A text channel with its applications, private without a guild; null while there is no session. */
  chat(guildId: string | null, channelId: string): Chat | null {
    const { sessionId } = this.#link;
    const { self } = this.store.value.directory;
    if (sessionId === null || self === null) return null;
    const listen = (listener: (t: string, d: Json) => void) => this.listen(listener);
    return new Chat({ token: this.#token, selfId: self.id, guildId, channelId, sessionId, listen });
  }

  /** Passes every dispatch on. @returns a function that ends it. */
  listen(listener: (t: string, d: Json) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The activities of this user's channels. */
  activities(): SessionActivities {
    return new SessionActivities({
      token: this.#token,
      listen: (listener) => this.listen(listener),
      setPresence: (activity) => {
        const activities = activity === null ? [] : [activity];
        this.#link.send(OP.PRESENCE_UPDATE, { since: null, activities, status: 'online', afk: false });
      },
    });
  }

  leave(): void {
    const { place } = this.store.value;
    this.#leaveCall();
    this.store.set({ place: null });
    if (place !== null) this.#seat(place.guildId, null, false, false);
  }

  mute(muted: boolean): void {
    this.store.set({ muted });
    this.store.value.call?.mute(muted);
    this.#tell();
  }

  deafen(deafened: boolean): void {
    this.store.set({ deafened });
    this.store.value.call?.deafen(deafened);
    this.#tell();
  }

  close(): void {
    this.#leaveCall();
    this.#link.close();
    this.#audio?.close();
  }

  #ready(d: Json): void {
    for (const listener of this.#listeners) listener('READY', d);
    this.store.set({ directory: heardOf(this.store.value.directory, 'READY', d) });
    // A new gateway session is in no channel, so a user who was in a call must join it again.
    this.#leaveCall();
    if (this.store.value.place !== null) this.#ask();
  }

  /** Asks the server for admission; without a connection this happens after reconnecting. */
  #ask(): void {
    if (this.#waiting !== null) clearTimeout(this.#waiting);
    if (this.store.value.phase !== 'online') return;
    this.#waiting = setTimeout(() => {
      if (this.store.value.call !== null) return;
      this.#refused('The server did not let you in: the channel may be full, or closed to you.');
    }, ANSWER_MS);
    this.#tell();
  }

  #tell(): void {
    const { place, muted, deafened } = this.store.value;
    if (place !== null) this.#seat(place.guildId, place.channelId, muted, deafened);
  }

  #dispatched(name: string, d: Json): void {
    for (const listener of this.#listeners) listener(name, d);
    const { directory, place, call } = this.store.value;
    const next = heardOf(directory, name, d);
    if (next !== directory) this.store.set({ directory: next });
    if (name === 'RESUMED' && place !== null && call === null) this.#ask();
    if (place === null || d.guild_id !== place.guildId) return;
    if (name === 'VOICE_STATE_UPDATE' && d.user_id === next.self?.id) this.#channelChanged(place, d);
    else if (name === 'VOICE_SERVER_UPDATE' && typeof d.token === 'string' && d.endpoint !== null)
      this.#begin(place, d.token);
  }

  #seat(guildId: string, channelId: string | null, selfMute: boolean, selfDeaf: boolean): void {
    const d = { guild_id: guildId, channel_id: channelId, self_mute: selfMute, self_deaf: selfDeaf };
    this.#link.send(OP.VOICE_STATE_UPDATE, d);
  }

  /** Updates the user's channel, which a moderator may have changed. */
  #channelChanged(place: VoiceChannelRef, d: Json): void {
    if (d.session_id === this.#link.sessionId) this.#voiceSessionId = String(d.session_id);
    if (typeof d.channel_id === 'string') {
      if (d.channel_id !== place.channelId) {
        this.#leaveCall();
        this.store.set({ place: { ...place, channelId: d.channel_id } });
      }
    } else if (this.store.value.call !== null) this.#refused(REASONS[4014]!);
  }

  #begin(place: VoiceChannelRef, token: string): void {
    this.#leaveCall();
    this.#sound().then(
      (audio) => {
        if (this.store.value.place?.channelId === place.channelId) this.#call(audio, place, token);
      },
      (error: unknown) => {
        this.#refused(messageOf(error));
        this.#seat(place.guildId, null, false, false);
      },
    );
  }

  /** The page's audio, ready for calls. Browsers start it only from a click handler. */
  async #sound(): Promise<CallAudio> {
    this.#audio ??= createBrowserAudio({
      openWorker: () => new Worker(new URL('./media.worker.ts', import.meta.url), { type: 'module' }),
    });
    await this.#audio.load();
    return this.#audio;
  }

  #call(audio: CallAudio, { guildId, channelId }: VoiceChannelRef, token: string): void {
    const { directory, muted, deafened } = this.store.value;
    const { self } = directory;
    const sessionId = this.#voiceSessionId ?? this.#link.sessionId;
    if (self === null || sessionId === null) return;
    this.#leaveCall();
    cleanAsChosen(audio);
    const call = new Call({
      ticket: { serverId: guildId, channelId, userId: self.id, sessionId, token },
      audio,
      muted,
      deafened,
      speaking: (userId, isSpeaking) => {
        const d = { user_id: userId, channel_id: channelId, speaking: isSpeaking };
        for (const listener of this.#listeners) listener(SPEAKING, d);
      },
      ended: ({ code, reason, retry }) => {
        if (this.store.value.call !== call) return;
        this.store.set({ call: null });
        if (retry) this.#rejoin();
        else this.#refused(REASONS[code] ?? (reason || `The voice server closed the connection (${code}).`));
      },
    });
    this.store.set({ call });
    void call.useInput(chosenInput());
    void audio.useOutput(chosenOutput());
  }

  /** Joins again, because only that yields a new voice ticket. */
  #rejoin(): void {
    const { place } = this.store.value;
    if (place === null) return;
    const nowMs = performance.now();
    this.#rejoinsMs = [...this.#rejoinsMs.filter((atMs) => nowMs - atMs < 60_000), nowMs];
    this.#seat(place.guildId, null, false, false);
    if (this.#rejoinsMs.length <= REJOINS_MAX) this.#ask();
    else
      this.#refused(
        'The call could not be kept up: the voice server is not reached, or gives it up again and again.',
      );
  }

  #refused(complaint: string): void {
    this.#leaveCall();
    this.store.set({ place: null, complaint });
  }

  #leaveCall(): void {
    if (this.#waiting !== null) clearTimeout(this.#waiting);
    const { call } = this.store.value;
    this.store.set({ call: null });
    call?.leave();
  }
}

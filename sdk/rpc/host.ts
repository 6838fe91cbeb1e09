import { dropOldest } from '../../protocol/oldest.ts';
import {
  RPC_CLOSE,
  RPC_LIMITS,
  RPC_OP,
  RPC_SCOPE,
  type RpcEvent,
  type VoiceConnectionState,
} from '../../protocol/rpc.ts';
import type { CallAudio } from '../call/media.ts';
import type { OpenSocket } from '../voice/wire.ts';
import { Applications } from './applications.ts';
import { type CallApi, type Prompts, rpcUser } from './commands.ts';
import { createGameRunner, type RpcApplication } from './games.ts';
import { type Accepted, type Args, RpcClosed, RpcLink } from './link.ts';
import { Person } from './person.ts';
import { inTurn } from './prompts.ts';
import { Room } from './room.ts';
import { rpcEvents } from './rpcevents.ts';
import { VoiceCall } from './voicecall.ts';
import { VoiceControl } from './voicecontrol.ts';
import type { VoiceSettings } from './voicesettings.ts';

interface RpcHostOptions {
  /** Base URL of the API, which ends in `/api`. */
  readonly api: string;
  readonly gatewayUrl: string;
  /** The person's own token. */
  readonly token: string;
  readonly os: string;
  readonly open: OpenSocket;
  readonly fetch: typeof fetch;
  readonly page: Prompts;
  /** Connects the person to calls; null: a host without sound, which does not know who speaks. */
  readonly audio: CallAudio | null;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** The server has ended the person's session. */
  ended(reason: string): void;
}

/** How an application is connected. */
export interface RpcTransport {
  readonly kind: 'ipc' | 'websocket' | 'http';
  /** Origin of the page that connects; null for programs. */
  readonly origin: string | null;
  /** Sends an opcode and its payload. */
  send(op: number, data: unknown): void;
  /** The connection is over; its CLOSE has been sent. */
  closed(code: number, message: string): void;
}

/** The application's side of a connection. */
export interface RpcConnection {
  receive(op: number, data: unknown): void;
  /** The transport is gone. */
  lost(): void;
  close(code?: number, message?: string): void;
}

interface Connected {
  readonly link: RpcLink;
  application: RpcApplication | null;
  activity: Args | null;
}

const CONNECTIONS_MAX = 64;
const WINDOW_MS = 60_000;
const [CLIENTS_KEPT_MAX, ORIGIN_CHARS_MAX] = [1_000, 256];
const CALL_MS = 15_000;
const ID = /^\d{1,20}$/;

/** Serves the applications of one person on the person's own machine, as a client of the server that the person uses. */
export class RpcHost {
  readonly #options: RpcHostOptions;
  readonly #person: Person;
  readonly #voice: VoiceControl;
  readonly #voiceCall: VoiceCall | null;
  /** The voice-room page that has the person's call, when one is linked. */
  readonly room: Room;
  readonly #connections = new Set<Connected>();
  readonly #applications: Applications;
  /** Times of the connections of the last minute, by client id and origin. */
  readonly #admitted = new Map<string, number[]>();
  readonly #cdn: string;
  readonly #page: Prompts;

  constructor(options: RpcHostOptions) {
    this.#options = options;
    this.#cdn = options.api.replace(/\/api$/, '');
    this.#page = inTurn(options.page);
    this.#applications = new Applications({
      call: (...request) => this.#call(...request),
      nowMs: options.nowMs,
    });
    this.#person = new Person({
      ...{ gatewayUrl: options.gatewayUrl, token: options.token, open: options.open, os: options.os },
      dispatched: (t, d, before) => {
        const seen = {
          person: this.#person,
          before,
          cdn: this.#cdn,
          local: (id: string) => this.#voice.of(id),
        };
        for (const event of rpcEvents(t, d, seen))
          this.#emit(event.name, event.data, event.of ?? null, event.applicationId ?? null);
        this.#voiceCall?.dispatch(t, d);
      },
      ended: (reason) => {
        for (const { link } of this.#connections) link.close(RPC_CLOSE.TOKEN_REVOKED, reason);
        this.#connections.clear();
        options.ended(reason);
      },
    });
    this.#voiceCall = options.audio === null ? null : this.#calls(options.audio);
    this.#voice = new VoiceControl({
      changed: (settings) => this.#emit('VOICE_SETTINGS_UPDATE', settings),
      apply: (settings) => this.#applyVoice(settings),
      changedUser: (userId, settings) => {
        const gain = settings.mute ? 0 : settings.volume / 100;
        if (this.room.isLinked) this.room.send({ op: 'user', user_id: userId, gain });
        else this.#voiceCall?.setGain(userId, gain);
      },
      hold: (isHeld) => {
        if (this.room.isLinked) this.room.send({ op: 'hold', active: isHeld });
        else this.#voiceCall?.hold(isHeld);
        return this.room.isLinked || this.#voiceCall !== null;
      },
    });
    this.room = new Room({
      ...{ selfId: () => this.#selfId(), nowMs: options.nowMs },
      settings: (settings) => this.#voice.adopt(settings),
      speaking: (channelId, userId, isSpeaking) => this.#speaking(channelId, userId, isSpeaking),
      connection: (state, ping) => this.#connectionStatus(state, this.#cdn.replace(/^https?:\/\//, ''), ping),
    });
  }

  /** Resolves with the person once the session has begun. */
  started(): Promise<Args> {
    return this.#person.started();
  }

  connect(transport: RpcTransport): RpcConnection {
    const connected: Connected = {
      application: null,
      activity: null,
      link: new RpcLink({
        scopes: transport.kind === 'ipc' ? [RPC_SCOPE.LOCAL] : [],
        accept: (handshake) => this.#accept(handshake, transport, connected),
        nowMs: this.#options.nowMs,
        send: ([op, data]) => transport.send(op, data),
        ended: (code, message) => {
          this.#drop(connected);
          transport.closed(code, message);
        },
      }),
    };
    this.#connections.add(connected);
    const close = (code: number = RPC_CLOSE.NORMAL, message?: string): void => {
      connected.link.close(code, message);
      this.#drop(connected);
    };
    if (this.#connections.size > CONNECTIONS_MAX) {
      close(RPC_CLOSE.RATELIMITED, 'There are too many connections.');
      transport.closed(RPC_CLOSE.RATELIMITED, 'There are too many connections.');
    }
    return {
      receive: (op, data) => {
        if (op === RPC_OP.PING) transport.send(RPC_OP.PONG, data);
        else connected.link.receive([op, data]);
      },
      lost: () => this.#drop(connected),
      close,
    };
  }

  close(): void {
    this.room.close();
    for (const { link } of this.#connections) link.close();
    this.#connections.clear();
    this.#voiceCall?.close();
    this.#person.close();
  }

  #calls(audio: CallAudio): VoiceCall {
    const { open, gatewayUrl } = this.#options;
    return new VoiceCall({
      ...{ audio, open, gatewayUrl, selfId: () => this.#selfId(), sessionId: () => this.#person.sessionId },
      rejoin: (guildId, channelId, { mute, deaf }) => {
        this.#person.joinVoice(guildId, null, mute, deaf);
        this.#person.joinVoice(guildId, channelId, mute, deaf);
      },
      speaking: (channelId, userId, isSpeaking) => this.#speaking(channelId, userId, isSpeaking),
      connection: (state, hostname) => this.#connectionStatus(state, hostname, null),
    });
  }

  #speaking(channelId: string, userId: string, isSpeaking: boolean): void {
    const data = { channel_id: channelId, user_id: userId };
    this.#emit(isSpeaking ? 'SPEAKING_START' : 'SPEAKING_STOP', data, channelId);
  }

  #connectionStatus(state: VoiceConnectionState, hostname: string, pingMs: number | null): void {
    const ping = pingMs ?? 0;
    this.#emit('VOICE_CONNECTION_STATUS', {
      ...{ state, hostname, average_ping: ping, last_ping: ping },
      pings: pingMs === null ? [] : [{ time: Date.now(), value: pingMs }],
    });
  }

  /** To the page's call when one is linked, else to this host's own. A call of another client is left alone. */
  #applyVoice(settings: VoiceSettings): void {
    if (this.room.isLinked) {
      this.room.send({ op: 'settings', settings });
      return;
    }
    const own = this.#person.voices.get(this.#selfId() ?? '');
    if (own?.state.session_id === this.#person.sessionId)
      this.#person.joinVoice(own.guildId, own.channelId, settings.mute, settings.deaf);
    this.#voiceCall?.apply(settings);
  }

  #joinVoice(guildId: string, channelId: string | null): void {
    const { mute, deaf } = this.#voice.settings;
    if (!this.room.isLinked) this.#person.joinVoice(guildId, channelId, mute, deaf);
    else if (channelId === null) this.room.send({ op: 'leave' });
    else this.room.send({ op: 'select', guild_id: guildId, channel_id: channelId });
  }

  async #accept(handshake: Args, { kind, origin }: RpcTransport, connected: Connected): Promise<Accepted> {
    const { client_id: clientId } = handshake;
    if (connected.application !== null)
      throw new RpcClosed('INVALID_CLIENTID', 'A connection has one handshake.');
    if (typeof clientId !== 'string' || !ID.test(clientId))
      throw new RpcClosed('INVALID_CLIENTID', 'client_id must be the id of an application.');
    // A request over HTTP is no connection that lasts.
    if (kind !== 'http') this.#admit(clientId, origin);
    const [application, user] = await Promise.all([
      this.#applications.of(clientId, kind !== 'ipc'),
      this.#person.started(),
    ]);
    if (kind !== 'ipc' && (origin === null || !application.origins.includes(origin)))
      throw new RpcClosed('INVALID_ORIGIN', 'The origin is not among the rpc_origins of the application.');
    connected.application = application;
    const config = { cdn_host: this.#cdn.replace(/^https?:\/\//, ''), environment: 'production' };
    return {
      ready: {
        v: 1,
        config: { ...config, api_endpoint: this.#options.api.replace(/^https?:/, '') },
        // A page learns who the person is by AUTHENTICATE alone.
        ...(kind === 'ipc' && { user: rpcUser(user) }),
      },
      runner: createGameRunner({
        ...{ application, applicationId: application.id, connection: connected, cdn: this.#cdn },
        ...{ person: this.#person, voice: this.#voice, page: this.#page, call: this.#call },
        selfId: () => this.#selfId(),
        joinVoice: (guildId, channelId) => this.#joinVoice(guildId, channelId),
        show: (activity) => {
          // After the connection has ended, nothing would take the activity away.
          if (!this.#connections.has(connected)) return;
          connected.activity = activity;
          this.#showAll(connected);
        },
        shown: () => connected.activity,
        joined: (applicationId, secret) => this.#emit('ACTIVITY_JOIN', { secret }, null, applicationId),
      }),
    };
  }

  /**
   * Counts pages of each origin apart, so that a page that may not connect takes no connection away from a game.
   *
   * @throws RpcClosed RATELIMITED when this client id connects too often.
   */
  #admit(clientId: string, origin: string | null): void {
    const nowMs = this.#options.nowMs();
    const key = `${clientId} ${origin?.slice(0, ORIGIN_CHARS_MAX) ?? ''}`;
    const recent = (this.#admitted.get(key) ?? []).filter((ms) => nowMs - ms < WINDOW_MS);
    if (recent.length >= RPC_LIMITS.connections_per_minute)
      throw new RpcClosed('RATELIMITED', 'An application may connect twice a minute.');
    this.#admitted.delete(key);
    this.#admitted.set(key, [...recent, nowMs]);
    dropOldest(this.#admitted, CLIENTS_KEPT_MAX);
  }

  /** Shows the activities of all connections, the latest change first. */
  #showAll(latest: Connected | null): void {
    const others = [...this.#connections].filter((one) => one !== latest).reverse();
    const all = latest === null ? others : [latest, ...others];
    this.#person.show(all.flatMap(({ activity }) => (activity === null ? [] : [activity])));
  }

  #drop(connected: Connected): void {
    if (!this.#connections.delete(connected)) return;
    this.#voice.release(connected);
    if (connected.activity !== null) this.#showAll(null);
  }

  #emit(event: RpcEvent, data: object, of: string | null = null, applicationId: string | null = null): void {
    for (const { link, application } of this.#connections)
      if (applicationId === null || application?.id === applicationId) link.emit(event, data, of);
  }

  #selfId(): string | null {
    const { user } = this.#person;
    return user === null ? null : String(user.id);
  }

  readonly #call: CallApi = async (method, path, { body, token, form } = {}) => {
    const { api, token: own, fetch } = this.#options;
    const sent = form ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`${api}/v10${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token ?? own}`,
        ...(sent !== undefined && !form && { 'content-type': 'application/json' }),
      },
      ...(sent !== undefined && { body: sent }),
      signal: AbortSignal.timeout(CALL_MS),
    });
    const answer = await response.text();
    const parsed: unknown = answer === '' ? null : JSON.parse(answer);
    return { status: response.status, body: parsed };
  };
}

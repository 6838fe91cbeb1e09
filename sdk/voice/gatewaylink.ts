import { CLOSE } from '../../protocol/closecodes.ts';
import { OP } from '../../protocol/opcodes.ts';
import {
  backoffMs,
  isJson,
  type Json,
  type OpenSocket,
  readFrame,
  type Timer,
  type WireSocket,
} from './wire.ts';

export interface GatewayLinkOptions {
  /** With `v` and `encoding`; no compression is spoken here. */
  readonly url: string;
  readonly token: string;
  readonly intents: number;
  readonly open: OpenSocket;
  readonly events: GatewayLinkEvents;
}

export interface GatewayLinkEvents {
  /** A session began. It may be another one than before: what belonged to the earlier is gone. */
  ready(d: Json): void;
  dispatch(name: string, d: Json): void;
  /** False while the connection is being made again. */
  online(online: boolean): void;
  /** There will be no connection: the token is wrong, or the server does not want this client. */
  ended(code: number, reason: string): void;
}

const FINAL = new Set(Object.values(CLOSE).flatMap(({ code, reconnect }) => (reconnect ? [] : [code])));
const NEW_SESSION = new Set(Object.values(CLOSE).flatMap(({ code, resumable }) => (resumable ? [] : [code])));
/** Closing with another code than 1000 and 1001 keeps the session for a RESUME. */
const CLOSE_TO_RESUME = 4900;

/** A client's connection to the gateway: identifies, beats, and resumes by itself until it is closed. */
export class GatewayLink {
  readonly #options: GatewayLinkOptions;
  #socket: WireSocket | null = null;
  #beating: Timer | null = null;
  #retrying: Timer | null = null;
  #acknowledged = true;
  #attempt = 0;
  #sessionId: string | null = null;
  #seq: number | null = null;
  #closed = false;

  constructor(options: GatewayLinkOptions) {
    this.#options = options;
    this.#connect();
  }

  get sessionId(): string | null {
    return this.#sessionId;
  }

  /** Joins, moves or, with null, leaves. */
  setVoiceState(guildId: string, channelId: string | null, selfMute: boolean, selfDeaf: boolean): void {
    const d = { guild_id: guildId, channel_id: channelId, self_mute: selfMute, self_deaf: selfDeaf };
    this.#send(OP.VOICE_STATE_UPDATE, d);
  }

  close(): void {
    this.#closed = true;
    this.#rest();
    this.#socket?.close(1000);
    this.#socket = null;
  }

  #connect(): void {
    const socket: WireSocket = this.#options.open(this.#options.url, {
      message: (data) => {
        if (this.#socket === socket && typeof data === 'string') this.#heard(data);
      },
      closed: (code, reason) => {
        if (this.#socket === socket) this.#lost(code, reason);
      },
    });
    this.#socket = socket;
  }

  #heard(text: string): void {
    const frame = readFrame(text);
    if (frame === null) return;
    const { op, d } = frame;
    if (typeof frame.s === 'number') this.#seq = frame.s;
    if (op === OP.HELLO && isJson(d)) this.#greeted(Number(d.heartbeat_interval));
    else if (op === OP.HEARTBEAT) this.#send(OP.HEARTBEAT, this.#seq);
    else if (op === OP.HEARTBEAT_ACK) this.#acknowledged = true;
    else if (op === OP.RECONNECT) this.#again();
    else if (op === OP.INVALID_SESSION) {
      if (d !== true) this.#forget();
      this.#again();
    } else if (op === OP.DISPATCH && isJson(d)) this.#dispatched(String(frame.t), d);
  }

  #greeted(intervalMs: number): void {
    const { token, intents } = this.#options;
    const seq = this.#seq;
    if (this.#sessionId !== null && seq !== null)
      this.#send(OP.RESUME, { token, session_id: this.#sessionId, seq });
    else {
      const properties = { os: 'web', browser: 'guildhall', device: 'guildhall' };
      this.#send(OP.IDENTIFY, { token, intents, properties });
    }
    this.#acknowledged = true;
    this.#beatEvery(intervalMs);
  }

  #beatEvery(intervalMs: number): void {
    this.#beating = setTimeout(() => {
      if (!this.#acknowledged) {
        this.#again();
        return;
      }
      this.#acknowledged = false;
      this.#send(OP.HEARTBEAT, this.#seq);
      this.#beatEvery(intervalMs);
    }, intervalMs);
  }

  #dispatched(name: string, d: Json): void {
    const { events } = this.#options;
    if (name === 'READY') this.#sessionId = String(d.session_id);
    if (name === 'READY' || name === 'RESUMED') {
      this.#attempt = 0;
      events.online(true);
    }
    if (name === 'READY') events.ready(d);
    else events.dispatch(name, d);
  }

  /** Leaves this connection for another, and keeps the session. */
  #again(): void {
    this.#socket?.close(CLOSE_TO_RESUME);
    this.#lost(CLOSE_TO_RESUME, '');
  }

  #lost(code: number, reason: string): void {
    this.#rest();
    this.#socket = null;
    if (this.#closed) return;
    if (FINAL.has(code)) {
      this.#closed = true;
      this.#options.events.ended(code, reason);
      return;
    }
    if (NEW_SESSION.has(code)) this.#forget();
    this.#options.events.online(false);
    this.#retrying = setTimeout(() => this.#connect(), backoffMs(this.#attempt++));
  }

  #forget(): void {
    this.#sessionId = null;
    this.#seq = null;
  }

  #rest(): void {
    if (this.#beating !== null) clearTimeout(this.#beating);
    if (this.#retrying !== null) clearTimeout(this.#retrying);
  }

  #send(op: number, d: unknown): void {
    this.#socket?.send(JSON.stringify({ op, d }));
  }
}

import { VOICE_CLOSE, VOICE_OP } from '../../protocol/voice.ts';
import {
  backoffMs,
  isJson,
  type Json,
  type OpenSocket,
  readFrame,
  type Timer,
  type WireSocket,
} from './wire.ts';

export interface VoiceLinkOptions {
  /** Without a query: the version is added here. */
  readonly url: string;
  readonly ticket: VoiceTicket;
  readonly open: OpenSocket;
  readonly events: VoiceLinkEvents;
}

/** What the gateway gave: VOICE_STATE_UPDATE and VOICE_SERVER_UPDATE. */
export interface VoiceTicket {
  readonly serverId: string;
  readonly channelId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly token: string;
  /** 0: no end-to-end encryption. */
  readonly maxDaveVersion: number;
}

export interface VoiceLinkEvents {
  /** READY. */
  ready(d: Json): void;
  /** Every other JSON message but those of the connection itself. */
  json(op: number, d: Json): void;
  /** Ops 25, 27, 29 and 30, without sequence number and opcode. */
  binary(op: number, payload: Uint8Array): void;
  /** The connection broke, or was closed with `code`, and is being made again. */
  lost(code: number): void;
  /** The session goes on, and what was missed has come. */
  resumed(): void;
  /** `retry`: another ticket may do better, so ask the gateway again. */
  ended(end: { readonly code: number; readonly reason: string; readonly retry: boolean }): void;
}

const VERSION = 9;
const RESUMES_MAX = 8;
/** Closed for a reason that another ticket would meet again. */
const FINAL: ReadonlySet<number> = new Set(
  [
    VOICE_CLOSE.AUTHENTICATION_FAILED,
    VOICE_CLOSE.SERVER_NOT_FOUND,
    VOICE_CLOSE.UNKNOWN_PROTOCOL,
    VOICE_CLOSE.DISCONNECTED,
    VOICE_CLOSE.UNKNOWN_ENCRYPTION_MODE,
    VOICE_CLOSE.E2EE_REQUIRED,
    VOICE_CLOSE.BAD_REQUEST,
    VOICE_CLOSE.RATE_LIMITED,
    VOICE_CLOSE.CALL_TERMINATED,
  ].map(({ code }) => code),
);
const NEW_TICKET: ReadonlySet<number> = new Set(
  [VOICE_CLOSE.SESSION_INVALID, VOICE_CLOSE.SESSION_TIMEOUT, VOICE_CLOSE.NOT_AUTHENTICATED].map(
    ({ code }) => code,
  ),
);

/** A connection to the voice gateway, version 9: identifies, beats, acknowledges, and resumes by itself. */
export class VoiceLink {
  readonly #options: VoiceLinkOptions;
  #socket: WireSocket | null = null;
  #beating: Timer | null = null;
  #retrying: Timer | null = null;
  #attempt = 0;
  #seq = -1;
  #nonce = 0;
  #unanswered = 0;
  #identified = false;
  #over = false;

  constructor(options: VoiceLinkOptions) {
    this.#options = options;
    this.#connect();
  }

  send(op: number, d: unknown): void {
    this.#socket?.send(JSON.stringify({ op, d }));
  }

  sendBinary(op: number, payload: Uint8Array): void {
    const frame = new Uint8Array(payload.length + 1);
    frame[0] = op;
    frame.set(payload, 1);
    this.#socket?.send(frame);
  }

  close(): void {
    this.#over = true;
    this.#rest();
    this.#socket?.close(1000);
    this.#socket = null;
  }

  #connect(): void {
    const socket: WireSocket = this.#options.open(`${this.#options.url}?v=${VERSION}`, {
      message: (data) => {
        if (this.#socket !== socket) return;
        if (typeof data === 'string') this.#heard(data);
        else this.#heardBinary(data);
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
    const { op } = frame;
    const d: Json = isJson(frame.d) ? frame.d : {};
    if (typeof frame.seq === 'number') this.#seq = frame.seq;
    if (op === VOICE_OP.HELLO) this.#greeted(Number(d.heartbeat_interval));
    else if (op === VOICE_OP.HEARTBEAT_ACK) this.#unanswered = 0;
    else if (op === VOICE_OP.READY) {
      this.#identified = true;
      this.#attempt = 0;
      this.#options.events.ready(d);
    } else if (op === VOICE_OP.RESUMED) {
      this.#attempt = 0;
      this.#options.events.resumed();
    } else this.#options.events.json(op, d);
  }

  #heardBinary(frame: Uint8Array): void {
    if (frame.length < 3) return;
    this.#seq = (frame[0]! << 8) | frame[1]!;
    this.#options.events.binary(frame[2]!, frame.slice(3));
  }

  #greeted(intervalMs: number): void {
    const { serverId, channelId, userId, sessionId, token, maxDaveVersion } = this.#options.ticket;
    const common = { server_id: serverId, channel_id: channelId, session_id: sessionId, token };
    if (this.#identified) this.send(VOICE_OP.RESUME, { ...common, seq_ack: this.#seq });
    else {
      const identity = { user_id: userId, max_dave_protocol_version: maxDaveVersion, video: false };
      this.send(VOICE_OP.IDENTIFY, { ...common, ...identity });
    }
    this.#unanswered = 0;
    this.#beatEvery(intervalMs);
  }

  #beatEvery(intervalMs: number): void {
    this.#beating = setTimeout(() => {
      if (this.#unanswered > 1) {
        this.#socket?.close(4900);
        this.#lost(1006, '');
        return;
      }
      this.#unanswered++;
      this.send(VOICE_OP.HEARTBEAT, { t: ++this.#nonce, seq_ack: this.#seq });
      this.#beatEvery(intervalMs);
    }, intervalMs);
  }

  #lost(code: number, reason: string): void {
    this.#rest();
    this.#socket = null;
    if (this.#over) return;
    const isFinal = FINAL.has(code);
    if (isFinal || NEW_TICKET.has(code) || this.#attempt >= RESUMES_MAX) {
      this.#over = true;
      this.#options.events.ended({ code, reason, retry: !isFinal });
      return;
    }
    this.#options.events.lost(code);
    this.#retrying = setTimeout(() => this.#connect(), backoffMs(this.#attempt++));
  }

  #rest(): void {
    if (this.#beating !== null) clearTimeout(this.#beating);
    if (this.#retrying !== null) clearTimeout(this.#retrying);
  }
}

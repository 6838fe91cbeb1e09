import { VOICE_CLOSE, VOICE_OP } from '../../protocol/voice.ts';
import { decodeServerFrame, encodeClientFrame } from '../../protocol/voiceframing.ts';
import { asNumber, isJson, type Json, type OpenSocket, readFrame, Wire } from './wire.ts';

interface VoiceLinkOptions {
  /** URL without a query: the version is added here. */
  readonly url: string;
  readonly ticket: VoiceTicket;
  readonly open: OpenSocket;
  readonly events: VoiceLinkEvents;
}

/** From VOICE_STATE_UPDATE and VOICE_SERVER_UPDATE. */
export interface VoiceTicket {
  readonly serverId: string;
  readonly channelId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly token: string;
  /** 0: no end-to-end encryption. */
  readonly maxDaveVersion: number;
}

interface VoiceLinkEvents {
  /** READY. */
  ready(d: Json): void;
  /** Every other JSON message except those of the connection itself. */
  json(op: number, d: Json): void;
  /** Ops 25, 27, 29 and 30, without sequence number and opcode: a view of the received bytes. */
  binary(op: number, payload: Uint8Array): void;
  /** The connection broke, or was closed with `code`, and is being retried. */
  lost(code: number): void;
  /** The session was resumed, and missed messages have arrived. */
  resumed(): void;
  /** `retry`: a new ticket may work, so ask the gateway again. */
  ended(end: { readonly code: number; readonly reason: string; readonly retry: boolean }): void;
}

const VERSION = 9;
const RESUMES_MAX = 8;
/** Close codes that a new ticket would meet again. */
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

/** A connection to the voice gateway, version 9: identifies, sends heartbeats, acknowledges and resumes. */
export class VoiceLink {
  readonly #url: string;
  readonly #ticket: VoiceTicket;
  readonly #events: VoiceLinkEvents;
  readonly #wire: Wire;
  #seq = -1;
  #nonce = 0;
  #unanswered = 0;
  #identified = false;

  constructor({ url, ticket, open, events }: VoiceLinkOptions) {
    this.#url = `${url}?v=${VERSION}`;
    this.#ticket = ticket;
    this.#events = events;
    this.#wire = new Wire(open, {
      message: (data) => {
        if (typeof data === 'string') this.#received(data);
        else this.#heardBinary(data);
      },
      closed: (code, reason) => this.#lost(code, reason),
    });
    this.#wire.connect(this.#url);
  }

  send(op: number, d: unknown): void {
    this.#wire.send(JSON.stringify({ op, d }));
  }

  sendBinary(op: number, payload: Uint8Array): void {
    this.#wire.send(encodeClientFrame({ op, payload }));
  }

  close(): void {
    this.#wire.close();
  }

  #received(text: string): void {
    const frame = readFrame(text);
    if (frame === null) return;
    const { op } = frame;
    const d: Json = isJson(frame.d) ? frame.d : {};
    if (typeof frame.seq === 'number') this.#seq = frame.seq;
    if (op === VOICE_OP.HELLO) this.#hello(asNumber(d.heartbeat_interval));
    else if (op === VOICE_OP.HEARTBEAT_ACK) this.#unanswered = 0;
    else if (op === VOICE_OP.READY) {
      this.#identified = true;
      this.#wire.succeeded();
      this.#events.ready(d);
    } else if (op === VOICE_OP.RESUMED) {
      this.#wire.succeeded();
      this.#events.resumed();
    } else this.#events.json(op, d);
  }

  #heardBinary(data: Uint8Array): void {
    const frame = decodeServerFrame(data);
    if (frame === null) return;
    this.#seq = frame.seq;
    this.#events.binary(frame.op, frame.payload);
  }

  #hello(intervalMs: number): void {
    const { serverId, channelId, userId, sessionId, token, maxDaveVersion } = this.#ticket;
    const common = { server_id: serverId, channel_id: channelId, session_id: sessionId, token };
    if (this.#identified) this.send(VOICE_OP.RESUME, { ...common, seq_ack: this.#seq });
    else {
      const identity = { user_id: userId, max_dave_protocol_version: maxDaveVersion, video: false };
      this.send(VOICE_OP.IDENTIFY, { ...common, ...identity });
    }
    this.#unanswered = 0;
    this.#wire.startHeartbeat(intervalMs, (wasSuspended) => this.#heartbeat(wasSuspended));
  }

  #heartbeat(wasSuspended: boolean): boolean {
    if (wasSuspended) this.#unanswered = 0;
    if (this.#unanswered > 1) return false;
    this.#unanswered++;
    this.send(VOICE_OP.HEARTBEAT, { t: ++this.#nonce, seq_ack: this.#seq });
    return true;
  }

  #lost(code: number, reason: string): void {
    const isFinal = FINAL.has(code);
    if (isFinal || NEW_TICKET.has(code) || this.#wire.attempt >= RESUMES_MAX) {
      this.#events.ended({ code, reason, retry: !isFinal });
      return;
    }
    this.#events.lost(code);
    this.#wire.connectLater(() => this.#url);
  }
}

import { CLOSE } from '../../protocol/closecodes.ts';
import { OP } from '../../protocol/opcodes.ts';
import { asNumber, isJson, type Json, type OpenSocket, readFrame, Wire } from './wire.ts';

/** Fields of IDENTIFY. */
export interface GatewayIdentity {
  /** Token in the gateway's form: a bot's or a user's as it is, an OAuth2 token as `Bearer …`. */
  readonly token: string;
  readonly intents: number;
  readonly capabilities?: number;
  /** The body of op 3, set from the beginning of a session. */
  readonly presence?: Json;
  readonly properties?: Json;
}

interface GatewayLinkOptions extends GatewayIdentity {
  /** URL with `v` and `encoding`; compression is not supported here. */
  readonly url: string;
  readonly open: OpenSocket;
  readonly events: GatewayLinkEvents;
}

interface GatewayLinkEvents {
  /** HELLO arrived; IDENTIFY or RESUME was sent. */
  hello?(): void;
  /** A session began. It may be a new one: the state of an earlier one is lost. */
  ready(d: Json): void;
  /** Every other dispatch, RESUMED included. */
  dispatch(name: string, d: Json): void;
  /** False while reconnecting. */
  online(online: boolean): void;
  /** There will be no connection: the token is wrong, or the server rejects this client. */
  ended(code: number, reason: string): void;
}

const FINAL = new Set(Object.values(CLOSE).flatMap(({ code, reconnect }) => (reconnect ? [] : [code])));
const NEW_SESSION = new Set(Object.values(CLOSE).flatMap(({ code, resumable }) => (resumable ? [] : [code])));
const PROPERTIES: Json = { os: 'web', browser: 'guildhall', device: 'guildhall' };

/** A client's connection to the gateway: identifies, sends heartbeats and resumes until it is closed. */
export class GatewayLink {
  readonly #url: string;
  readonly #events: GatewayLinkEvents;
  readonly #wire: Wire;
  #identity: GatewayIdentity;
  #acknowledged = true;
  #sessionId: string | null = null;
  /** Resume URL of READY; dropped when no server answers there. */
  #resumeUrl: string | null = null;
  #greetedHere = false;
  #seq: number | null = null;

  constructor({ url, open, events, ...identity }: GatewayLinkOptions) {
    this.#url = url;
    this.#events = events;
    this.#identity = identity;
    this.#wire = new Wire(open, {
      message: (data) => {
        if (typeof data === 'string') this.#received(data);
      },
      closed: (code, reason) => this.#lost(code, reason),
    });
    this.#wire.connect(url);
  }

  get sessionId(): string | null {
    return this.#sessionId;
  }

  /** Messages sent while disconnected are lost; `online` reports the next connection. */
  send(op: number, d: unknown): void {
    this.#wire.send(JSON.stringify({ op, d }));
  }

  /** Changes the next IDENTIFY or RESUME; a presence is also sent to the current session with op 3. */
  change(identity: Partial<GatewayIdentity>): void {
    this.#identity = { ...this.#identity, ...identity };
  }

  close(): void {
    this.#wire.close();
  }

  #received(text: string): void {
    const frame = readFrame(text);
    if (frame === null) return;
    const { op, d } = frame;
    if (typeof frame.s === 'number') this.#seq = frame.s;
    if (op === OP.HELLO && isJson(d)) this.#hello(asNumber(d.heartbeat_interval));
    else if (op === OP.HEARTBEAT) this.send(OP.HEARTBEAT, this.#seq);
    else if (op === OP.HEARTBEAT_ACK) this.#acknowledged = true;
    else if (op === OP.RECONNECT) this.#wire.disconnect();
    else if (op === OP.INVALID_SESSION) {
      if (d !== true) this.#forget();
      this.#wire.disconnect();
    } else if (op === OP.DISPATCH && isJson(d)) this.#dispatched(String(frame.t), d);
  }

  #hello(intervalMs: number): void {
    const { token, intents, capabilities, presence, properties = PROPERTIES } = this.#identity;
    const seq = this.#seq;
    this.#greetedHere = true;
    if (this.#sessionId !== null && seq !== null)
      this.send(OP.RESUME, { token, session_id: this.#sessionId, seq });
    else this.send(OP.IDENTIFY, { token, intents, capabilities, presence, properties });
    this.#acknowledged = true;
    this.#wire.startHeartbeat(intervalMs, (wasSuspended) => this.#heartbeat(wasSuspended));
    this.#events.hello?.();
  }

  #heartbeat(wasSuspended: boolean): boolean {
    if (!this.#acknowledged && !wasSuspended) return false;
    this.#acknowledged = false;
    this.send(OP.HEARTBEAT, this.#seq);
    return true;
  }

  #dispatched(name: string, d: Json): void {
    const events = this.#events;
    if (name === 'READY') {
      this.#sessionId = String(d.session_id);
      this.#resumeUrl = typeof d.resume_gateway_url === 'string' ? d.resume_gateway_url : null;
    }
    if (name === 'READY' || name === 'RESUMED') {
      this.#wire.succeeded();
      events.online(true);
    }
    if (name === 'READY') events.ready(d);
    else events.dispatch(name, d);
  }

  #lost(code: number, reason: string): void {
    if (FINAL.has(code)) {
      this.#events.ended(code, reason);
      return;
    }
    if (NEW_SESSION.has(code)) this.#forget();
    if (!this.#greetedHere) this.#resumeUrl = null;
    this.#greetedHere = false;
    this.#events.online(false);
    this.#wire.connectLater(() => this.#nextUrl());
  }

  #nextUrl(): string {
    if (this.#sessionId === null || this.#resumeUrl === null || !URL.canParse(this.#resumeUrl))
      return this.#url;
    const url = new URL(this.#resumeUrl);
    url.search = new URL(this.#url).search;
    return url.href;
  }

  #forget(): void {
    this.#sessionId = null;
    this.#resumeUrl = null;
    this.#seq = null;
  }
}

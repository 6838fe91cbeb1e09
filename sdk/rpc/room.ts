import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { VOICE_CONNECTION_STATES, type VoiceConnectionState } from '../../protocol/rpc.ts';
import { type Args, isObject, RpcError } from './link.ts';
import { challengeOf, ROOM_LINK, type ToRoom } from './roomlink.ts';
import { reportedVoice, type VoiceSettings } from './voicesettings.ts';

interface RoomPorts {
  readonly selfId: () => string | null;
  readonly nowMs: () => number;
  /** The settings of the page's call; null: no page is linked any more. */
  settings(settings: VoiceSettings | null): void;
  speaking(channelId: string, userId: string, isSpeaking: boolean): void;
  connection(state: VoiceConnectionState, pingMs: number | null): void;
}

/** A page's WebSocket. */
interface RoomSocket {
  send(text: string): void;
  close(code: number, reason: string): void;
}

/** The page's side of a connection. */
interface RoomConnection {
  receive(text: string): void;
  isProved(): boolean;
  /** The socket is gone. */
  lost(): void;
}

const SECRET_BYTES = 16;
const NONCE = /^[0-9a-f]{32}$/;
const ID = /^\d{1,20}$/;
const [MESSAGES_MAX, WINDOW_MS] = [600, 5_000];
/** @source https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1 */
const CLOSE = { GONE: 1001, UNSUPPORTED: 1003, POLICY: 1008 } as const;

/** A message that breaks the protocol of the link. */
const broken = (message: string) => new RpcError('INVALID_PAYLOAD', message);

/** The voice-room page that carries out the voice commands of this RPC server; the latest page that has proved itself counts. */
export class Room {
  readonly #secret = randomBytes(SECRET_BYTES).toString('hex');
  readonly #ports: RoomPorts;
  #linked: RoomSocket | null = null;

  constructor(ports: RoomPorts) {
    this.#ports = ports;
  }

  get isLinked(): boolean {
    return this.#linked !== null;
  }

  /** The address that links a page of this server. */
  linkFor(origin: string, port: number): string {
    return `${origin}/voice-room/#${ROOM_LINK.fragment}=${port}.${this.#secret}`;
  }

  send(message: ToRoom): void {
    this.#linked?.send(JSON.stringify(message));
  }

  close(): void {
    this.#linked?.close(CLOSE.GONE, 'guildhall rpc has ended.');
    this.#linked = null;
  }

  connect(socket: RoomSocket): RoomConnection {
    const nonce = randomBytes(SECRET_BYTES).toString('hex');
    const window = { sinceMs: this.#ports.nowMs(), count: 0 };
    let [isChallenged, isOver] = [false, false];
    const take = (message: Args): void => {
      if (this.#linked === socket) this.#take(message);
      else if (!isChallenged) {
        isChallenged = true;
        this.#challenge(socket, message, nonce);
      } else this.#link(socket, message, nonce);
    };
    return {
      receive: (text) => {
        if (isOver) return;
        try {
          if (!this.#isWithinRate(window)) throw broken('The page sends too much.');
          const message: unknown = JSON.parse(text);
          if (!isObject(message)) throw broken('A message must be an object.');
          take(message);
        } catch (error) {
          isOver = true;
          const isKnown = error instanceof RpcError;
          socket.close(
            isKnown ? CLOSE.POLICY : CLOSE.UNSUPPORTED,
            isKnown ? error.message : 'Messages are JSON.',
          );
          this.#unlink(socket);
        }
      },
      isProved: () => this.#linked === socket,
      lost: () => this.#unlink(socket),
    };
  }

  #proof(side: 'page' | 'helper', nonce: string): string {
    return createHmac('sha256', this.#secret).update(challengeOf(side, nonce)).digest('hex');
  }

  #challenge(socket: RoomSocket, { op, nonce: theirs }: Args, nonce: string): void {
    if (op !== 'hello' || typeof theirs !== 'string' || !NONCE.test(theirs))
      throw broken('The first message must be hello with a nonce.');
    const challenge: ToRoom = { op: 'challenge', proof: this.#proof('helper', theirs), nonce };
    socket.send(JSON.stringify(challenge));
  }

  #link(socket: RoomSocket, { op, proof, user_id: userId }: Args, nonce: string): void {
    const expected = Buffer.from(this.#proof('page', nonce));
    const given = Buffer.from(typeof proof === 'string' ? proof : '');
    if (op !== 'proof' || given.length !== expected.length || !timingSafeEqual(given, expected))
      throw broken('The page does not know the secret. Open the link of guildhall rpc again.');
    if (userId !== this.#ports.selfId()) throw broken('The page is signed in as another person.');
    this.#linked?.close(CLOSE.POLICY, 'Another page has been linked.');
    this.#linked = socket;
  }

  #take({ op, ...d }: Args): void {
    if (op === 'settings') this.#ports.settings(reportedVoice(d.settings));
    else if (op === 'speaking') {
      const { channel_id: channelId, user_id: userId, speaking } = d;
      if (!isId(channelId) || !isId(userId)) throw broken('speaking must name a channel and a user.');
      this.#ports.speaking(channelId, userId, speaking === true);
    } else if (op === 'connection') {
      const state = VOICE_CONNECTION_STATES.find((one) => one === d.state);
      if (state === undefined) throw broken('There is no such state of a connection.');
      this.#ports.connection(state, typeof d.ping === 'number' ? d.ping : null);
    } else throw broken('There is no such message.');
  }

  #unlink(socket: RoomSocket): void {
    if (this.#linked !== socket) return;
    this.#linked = null;
    this.#ports.connection('DISCONNECTED', null);
    this.#ports.settings(null);
  }

  #isWithinRate(window: { sinceMs: number; count: number }): boolean {
    const nowMs = this.#ports.nowMs();
    if (nowMs - window.sinceMs >= WINDOW_MS) Object.assign(window, { sinceMs: nowMs, count: 0 });
    window.count += 1;
    return window.count <= MESSAGES_MAX;
  }
}

const isId = (value: unknown): value is string => typeof value === 'string' && ID.test(value);

import type { DispatchBody } from '../../engine/fanout/body.ts';
import type { WebhookId } from '../../protocol/ids.ts';
import { OP } from '../../protocol/opcodes.ts';
import type { Lane } from '../../transports/gateway/codec/lane.ts';
import type { GatewaySocket, RawSocket } from '../../transports/gateway/socket.ts';
import { hits } from './bounds.ts';
import type { Judge } from './judge.ts';
import type { Host, World } from './world.ts';

/** The content of one frame, as a client reads it. */
export interface ReceivedDispatch {
  readonly op: number;
  readonly t: string | null;
  readonly s: number;
  readonly d: unknown;
}

const payloads = new WeakMap<DispatchBody, unknown>();

/** The frame as a client would parse it; parsed once for all clients, which only read it. */
function payloadOf(body: DispatchBody): unknown {
  if (!payloads.has(body)) payloads.set(body, JSON.parse(body.json));
  return payloads.get(body);
}

/** A frame that is not encoded: only its content crosses the simulated network. */
class SimFrame extends Uint8Array {
  heard: ReceivedDispatch = { op: -1, t: null, s: 0, d: null };
}

const frame = (heard: ReceivedDispatch): SimFrame => {
  const made = new SimFrame(0);
  made.heard = heard;
  return made;
};

/** The lane of the simulation: payloads as they are, read at the moment of sending. */
export const SIM_LANE: Lane = {
  dispatch: (body, seq) => frame({ op: OP.DISPATCH, t: body.t, s: seq, d: payloadOf(body) }),
  control: (op, d) => frame({ op, t: null, s: 0, d }),
  header: new Uint8Array(0),
  ack: frame({ op: OP.HEARTBEAT_ACK, t: null, s: 0, d: null }),
  isBinary: () => false,
  leave: () => undefined,
  withPayloadCompression: () => SIM_LANE,
};

/** The client's end of a connection. */
export interface WireEnd {
  readonly name: string;
  heard(heard: ReceivedDispatch): void;
  /** 1006: the connection broke. */
  closed(code: number): void;
}

const WAY_MS = { from: 1, to: 40 };

/** A connection between a client and a shard: in order both ways, until it breaks. */
export class Wire implements RawSocket {
  socket: GatewaySocket | null = null;
  readonly #world: World;
  readonly #host: Host;
  readonly #client: WireEnd;
  #toClientMs = 0;
  #toServerMs = 0;
  /** From this time on nothing arrives in either direction. */
  #cutMs = Number.POSITIVE_INFINITY;
  #ended = false;
  #over = false;
  readonly #judge: Judge;
  readonly #bufferedMax: number;
  /** Frames that the client does not read for now; null while it reads. */
  #unread: SimFrame[] | null = null;
  #buffered = 0;
  /** When the client last stopped reading, by the world's clock; null when it never did. */
  slowSinceMs: number | null = null;

  constructor(world: World, host: Host, client: WireEnd, judge: Judge, bufferedMax: number) {
    this.#world = world;
    this.#host = host;
    this.#client = client;
    this.#judge = judge;
    this.#bufferedMax = bufferedMax;
  }

  // The server's end

  send(sent: Uint8Array): number {
    const frame = sent as SimFrame;
    if (!this.#unread) {
      this.#toClient(() => this.#client.heard(frame.heard));
      return 1;
    }
    const isBounded = this.#buffered <= this.#bufferedMax;
    this.#judge.expect(
      isBounded,
      'bounds',
      () => `${this.#client.name}: ${this.#buffered} bytes are buffered`,
    );
    this.#unread.push(frame);
    this.#buffered += JSON.stringify(frame.heard).length;
    if (this.#buffered > this.#bufferedMax) hits.add('bytes of a socket');
    return 0;
  }

  cork(write: () => void): void {
    write();
  }

  getBufferedAmount(): number {
    return this.#buffered;
  }

  end(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#toClient(() => this.#finish(code));
    this.socket?.closed(code);
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#toClient(() => this.#finish(1006));
    this.socket?.closed(1006);
  }

  // The client's end

  say(op: number, d: unknown): void {
    const bytes = Buffer.from(JSON.stringify({ op, d }));
    this.#toServer(() => this.socket?.received(bytes, false));
  }

  /** @returns false when the client has already stopped reading, or the connection is over. */
  stopReading(): boolean {
    if (this.#unread || this.#over) return false;
    this.#unread = [];
    this.slowSinceMs = this.#world.nowMs;
    return true;
  }

  /** Reads the waiting frames, and then new ones. */
  readOn(): void {
    const unread = this.#unread ?? [];
    this.#unread = null;
    this.#buffered = 0;
    if (this.#over || this.#ended) return;
    for (const { heard } of unread) this.#toClient(() => this.#client.heard(heard));
    this.#toServer(() => this.socket?.drained());
  }

  /** The client receives nothing more. */
  leave(code: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#toServer(() => this.#gone(code));
  }

  // Faults

  /** The server's process dies; some of the frames in flight still arrive. */
  died(): void {
    this.#cutMs = this.#world.nowMs + this.#world.between(0, WAY_MS.to);
    this.#world.after(this.#world.between(WAY_MS.to, WAY_MS.to * 3), () => this.#finish(1006));
  }

  /** The connection is lost; each end detects it after its own delay. */
  lose(clientMs: number, serverMs: number): void {
    this.#cutMs = Math.min(this.#cutMs, this.#world.nowMs);
    this.#world.after(clientMs, () => this.#finish(1006));
    this.#world.after(serverMs, () => this.#gone(1006), this.#host);
  }

  #gone(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.socket?.closed(code);
  }

  #finish(code: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#client.closed(code);
  }

  #toClient(run: () => void): void {
    const world = this.#world;
    this.#toClientMs = Math.max(this.#toClientMs, world.nowMs + world.between(WAY_MS.from, WAY_MS.to));
    world.after(this.#toClientMs - world.nowMs, () => {
      if (!this.#over && world.nowMs < this.#cutMs) run();
    });
  }

  #toServer(run: () => void): void {
    const world = this.#world;
    this.#toServerMs = Math.max(this.#toServerMs, world.nowMs + world.between(WAY_MS.from, WAY_MS.to));
    world.after(
      this.#toServerMs - world.nowMs,
      () => {
        if (world.nowMs < this.#cutMs && !this.#ended) run();
      },
      this.#host,
    );
  }
}

/** An interaction as a bot receives it. */
export interface ReceivedInteraction {
  readonly id: string;
  /** Used as the id of a webhook together with the token. */
  readonly application_id: WebhookId;
  readonly token?: string;
}

/** The content of the message that answers an interaction. */
export const answerOf = (interactionId: string): string => `answer ${interactionId}`;

/** The content of the message that follows the answer of an interaction. */
export const followUpOf = (interactionId: string): string => `more of ${interactionId}`;

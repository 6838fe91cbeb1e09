import zlib from 'node:zlib';
import { nowNs } from '../wire/pace.ts';
import { WebSocketWire } from '../wire/websocket.ts';

export interface ConnectionPlan {
  readonly url: URL;
  /** As the gateway expects it, without a scheme. */
  readonly token: string;
  readonly intents: number;
  readonly compress: boolean;
  /** The capabilities in IDENTIFY; omitted when absent. */
  readonly capabilities?: number;
  readonly localAddress?: string;
  /** Default: a single shard. */
  readonly shard?: readonly [id: number, count: number];
  /** Whether to read the guild's data; one connection of a run does. */
  readonly scouts: boolean;
}

interface ConnectionEvents {
  /** Called when READY and every guild it announced have arrived. */
  ready(guilds: readonly ScoutedGuild[]): void;
  /** Called for each payload after `ready`: decoded, or null from a connection that only counts. */
  payload(payload: Buffer | null, payloadBytes: number, arrivedMicros: number): void;
  /** Called once. `op` is 9 or 7 when the server sent that op before. */
  closed(code: number, reason: string, op: 7 | 9 | null): void;
}

export interface ScoutedGuild {
  readonly id: string;
  readonly textChannelId: string | null;
  readonly members: number;
}

interface GuildPayload {
  readonly id: string;
  readonly member_count?: number;
  readonly channels?: readonly { readonly id: string; readonly type: number }[];
}

interface Envelope {
  readonly op: number;
  readonly t: string | null;
  readonly d: unknown;
  readonly s: number | null;
}

const OP = { dispatch: 0, heartbeat: 1, identify: 2, reconnect: 7, invalid: 9, hello: 10, ack: 11 } as const;
const GUILD_CREATE = Buffer.from('"t":"GUILD_CREATE"');
const SEQUENCE = /"s":\s*(\d+)/;
const MICROS = 1000;
/** Larger than a heartbeat acknowledgement in any encoding. */
const ACK_BYTES_MAX = 128;

/** One bot's gateway connection: identifies, sends heartbeats, and passes on payloads. */
export class GatewayConnection {
  readonly #plan: ConnectionPlan;
  readonly #events: ConnectionEvents;
  readonly #wire: WebSocketWire;
  #inflate: zlib.Inflate | null;
  #inflated: Buffer[] = [];
  #counts = false;
  /** Number of unanswered heartbeats. */
  #unanswered = 0;
  #awaited = -1;
  #isReady = false;
  #endedBy: 7 | 9 | null = null;
  #lastSeq: number | null = null;
  #guilds: ScoutedGuild[] = [];
  #heart: NodeJS.Timeout | null = null;

  constructor(plan: ConnectionPlan, events: ConnectionEvents) {
    this.#plan = plan;
    this.#events = events;
    const url = new URL(plan.url);
    url.searchParams.set('v', '10');
    url.searchParams.set('encoding', 'json');
    if (plan.compress) url.searchParams.set('compress', 'zlib-stream');
    this.#inflate = plan.compress ? this.#newInflate() : null;
    this.#wire = new WebSocketWire(
      url,
      {
        open: () => {},
        message: (payload, bytes) => this.#message(payload, bytes),
        closed: (code, reason) => this.#closed(code, reason),
      },
      plan.localAddress,
    );
  }

  /** Only counts frames from now on. Requests of the server by op are no longer handled. */
  countOnly(): void {
    this.#counts = true;
    this.#wire.collecting = false;
    this.#inflate?.close();
    this.#inflate = null;
  }

  close(): void {
    this.#stopHeart();
    this.#wire.close();
  }

  #newInflate(): zlib.Inflate {
    const inflate = zlib.createInflate({ flush: zlib.constants.Z_SYNC_FLUSH });
    inflate.on('data', (chunk: Buffer) => this.#inflated.push(chunk));
    inflate.on('error', (error) => this.#fail(`The compressed stream is broken: ${error.message}`));
    return inflate;
  }

  #message(payload: Buffer | null, bytes: number): void {
    const arrivedMicros = Math.floor(nowNs() / MICROS);
    if (payload === null || this.#counts) {
      // A short message mistaken for the acknowledgement is compensated when the acknowledgement is counted as a message.
      if (this.#unanswered > 0 && bytes <= ACK_BYTES_MAX) this.#unanswered -= 1;
      else this.#events.payload(null, bytes, arrivedMicros);
      return;
    }
    if (!this.#inflate) {
      this.#payload(payload, bytes, arrivedMicros);
      return;
    }
    // The time is taken here: the view is valid only during this call, and inflating happens later.
    this.#inflate.write(Buffer.from(payload), () => {
      const inflated = this.#inflated.length === 1 ? this.#inflated[0]! : Buffer.concat(this.#inflated);
      this.#inflated = [];
      if (!this.#counts) this.#payload(inflated, bytes, arrivedMicros);
    });
  }

  #payload(payload: Buffer, bytes: number, arrivedMicros: number): void {
    if (this.#isReady && this.#lookedAt(payload)) return;
    if (this.#isReady) {
      // The place of `s` depends on the server; in every known one it is near one of the ends.
      const seq = SEQUENCE.exec(payload.toString('latin1', Math.max(0, payload.length - 64)));
      if (seq) this.#lastSeq = Number(seq[1]);
      this.#events.payload(payload, bytes, arrivedMicros);
      return;
    }
    if (!this.#plan.scouts && payload.indexOf(GUILD_CREATE) >= 0) {
      this.#guildCame();
      return;
    }
    this.#heed(payload);
  }

  /** Handles payloads that may be other ops than dispatches, which are short. */
  #lookedAt(payload: Buffer): boolean {
    if (payload.length > 256 || payload.indexOf('"op":0') >= 0) return false;
    this.#heed(payload);
    return true;
  }

  #heed(payload: Buffer): void {
    let envelope: Envelope;
    try {
      envelope = JSON.parse(payload.toString()) as Envelope;
    } catch {
      this.#fail('The server sent something that is not JSON.');
      return;
    }
    const { op, t, d } = envelope;
    if (op === OP.hello) {
      this.#hello(d as { heartbeat_interval: number });
      return;
    }
    if (op === OP.ack) this.#unanswered = 0;
    if (op === OP.heartbeat) {
      this.#beat();
      return;
    }
    if (op === OP.invalid || op === OP.reconnect) {
      this.#endedBy = op;
      this.#fail('The server asked to start again.');
      return;
    }
    if (op !== OP.dispatch) return;
    this.#lastSeq = envelope.s;
    if (t === 'READY') this.#readyCame(d as { guilds: readonly object[] });
    if (t === 'GUILD_CREATE') this.#guildCame(d as GuildPayload);
  }

  #hello({ heartbeat_interval: intervalMs }: { heartbeat_interval: number }): void {
    this.#heart = setTimeout(() => {
      this.#beat();
      this.#heart = setInterval(() => this.#beat(), intervalMs);
    }, intervalMs * Math.random());
    const { token, intents, capabilities, shard = [0, 1] } = this.#plan;
    const properties = { os: process.platform, browser: 'guildhall-bench', device: 'guildhall-bench' };
    const identify = { token, intents, capabilities, properties, shard };
    this.#wire.send(JSON.stringify({ op: OP.identify, d: identify }));
  }

  #beat(): void {
    this.#unanswered += 1;
    this.#wire.send(JSON.stringify({ op: OP.heartbeat, d: this.#lastSeq }));
  }

  #readyCame({ guilds }: { guilds: readonly object[] }): void {
    this.#awaited = guilds.length;
    this.#checkReady();
  }

  #guildCame(guild?: GuildPayload): void {
    if (guild)
      this.#guilds.push({
        id: guild.id,
        textChannelId: guild.channels?.find(({ type }) => type === 0)?.id ?? null,
        members: guild.member_count ?? 0,
      });
    this.#awaited -= 1;
    this.#checkReady();
  }

  #checkReady(): void {
    if (this.#awaited !== 0 || this.#isReady) return;
    this.#isReady = true;
    this.#events.ready(this.#guilds);
    this.#guilds = [];
  }

  #fail(reason: string): void {
    this.#stopHeart();
    this.#wire.destroy();
    this.#closed(1006, reason);
  }

  #closed(code: number, reason: string): void {
    this.#stopHeart();
    this.#inflate?.close();
    this.#inflate = null;
    if (this.#awaited === -2) return;
    this.#awaited = -2;
    this.#events.closed(code, reason, this.#endedBy);
  }

  #stopHeart(): void {
    if (this.#heart) clearTimeout(this.#heart);
    this.#heart = null;
  }
}

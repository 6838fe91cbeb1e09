import { once } from 'node:events';
import { inflateSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { ALL_INTENTS, INTENTS } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import { readEtf, StreamInflate, writeEtf } from '../transports/gateway/codec/client.ts';

export interface Received {
  readonly op: number;
  readonly t: string | null;
  readonly s: number | null;
  // Payloads are read as what the test knows them to be.
  readonly d: Record<string, unknown>;
}

export interface Dialect {
  readonly v?: number;
  readonly encoding?: 'json' | 'etf';
  readonly compress?: 'zlib-stream';
}

const PATIENCE_MS = 10_000;
let nonces = 0;

/** A gateway client without comfort: it keeps all that it received, and does nothing by itself but beat on request. */
export class GatewayClient {
  /** Everything, in order. */
  readonly received: Received[] = [];
  /** Resolves when the connection is gone. 1006: it was cut. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  /** The last sequence number. */
  seq: number | null = null;
  sessionId = '';
  userId = '';
  readonly #ws: WebSocket;
  /** The close code. */
  #end: number | null = null;
  readonly #etf: boolean;
  readonly #waiting = new Set<() => void>();
  readonly #taken = new Set<Received>();
  #beating: NodeJS.Timeout | undefined;

  private constructor(url: string, dialect: Dialect) {
    const { v = 10, encoding = 'json', compress } = dialect;
    this.#etf = encoding === 'etf';
    this.#ws = new WebSocket(
      `${url}/?v=${v}&encoding=${encoding}${compress === undefined ? '' : `&compress=${compress}`}`,
      { maxPayload: 64 << 20 },
    );
    const inflate = compress === undefined ? null : new StreamInflate();
    let turn = Promise.resolve();
    this.#ws.on('message', (data: Buffer, binary: boolean) => {
      // What is compressed by itself, as IDENTIFY may ask for, comes in a binary frame.
      if (!inflate) this.#take(binary && !this.#etf ? inflateSync(data) : data);
      else {
        turn = turn.then(async () => this.#take(await inflate.message(data)));
        turn.catch((error) => this.#ws.emit('error', error));
      }
    });
    this.#ws.on('error', () => this.#ws.terminate());
    this.closed = once(this.#ws, 'close').then(([code, reason]) => {
      clearInterval(this.#beating);
      this.#end = Number(code);
      for (const check of this.#waiting) check();
      return { code: Number(code), reason: String(reason) };
    });
  }

  /** Connects and waits for HELLO. */
  static async connect(url: string, dialect: Dialect = {}): Promise<GatewayClient> {
    const client = new GatewayClient(url, dialect);
    const hello = await client.next(({ op }) => op === OP.HELLO, 'HELLO');
    client.#beating = setInterval(
      () => client.send(OP.HEARTBEAT, client.seq),
      Number(hello.d.heartbeat_interval),
    );
    return client;
  }

  /** Connects, identifies and waits for READY, and for every guild that comes with it. */
  static async ready(
    url: string,
    identify: { readonly token: string; readonly intents?: number } & Readonly<Record<string, unknown>>,
    dialect: Dialect = {},
  ): Promise<GatewayClient> {
    const client = await GatewayClient.connect(url, dialect);
    client.identify({ intents: ALL_INTENTS, ...identify });
    const { guilds } = await client.dispatch<{ guilds: { id: string }[] }>('READY');
    if (((identify.intents ?? ALL_INTENTS) & INTENTS.GUILDS) !== 0)
      for (const { id } of guilds) await client.dispatch('GUILD_CREATE', (d) => d.id === id);
    return client;
  }

  identify(d: Readonly<Record<string, unknown>>): void {
    this.send(OP.IDENTIFY, { properties: { os: 'linux', browser: 'test', device: 'test' }, ...d });
  }

  resume(token: string, sessionId: string, seq: number): void {
    this.send(OP.RESUME, { token, session_id: sessionId, seq });
  }

  send(op: number, d: unknown): void {
    if (this.#ws.readyState !== WebSocket.OPEN) return;
    this.#ws.send(this.#etf ? writeEtf({ op, d }) : JSON.stringify({ op, d }));
  }

  /** Sends bytes as they are. */
  sendRaw(data: string | Uint8Array, binary = typeof data !== 'string'): void {
    this.#ws.send(data, { binary });
  }

  /** Sends no more heartbeats. */
  silence(): void {
    clearInterval(this.#beating);
  }

  /** Stops reading. */
  pause(): void {
    this.#ws.pause();
  }

  wake(): void {
    this.#ws.resume();
  }

  close(code = 1000): Promise<{ readonly code: number }> {
    this.#ws.close(code);
    return this.closed;
  }

  /** Drops the connection without a word. */
  terminate(): Promise<{ readonly code: number }> {
    this.#ws.terminate();
    return this.closed;
  }

  /** Names of the dispatches, in order. */
  get names(): string[] {
    return this.received.flatMap(({ t }) => (t === null ? [] : [t]));
  }

  /** The first that matches and was not asked for before: already here, or yet to come. */
  next(matches: (payload: Received) => boolean, wanted = 'a payload'): Promise<Received> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        this.#waiting.delete(check);
      };
      const fail = (why: string) => {
        stop();
        const last = this.received.slice(-8).map(({ op, t }) => t ?? `op ${op}`);
        reject(new Error(`${why} while ${wanted} was awaited; last came ${last.join(', ')}`));
      };
      const check = () => {
        const found = this.received.find((payload) => !this.#taken.has(payload) && matches(payload));
        if (found) {
          stop();
          this.#taken.add(found);
          resolve(found);
        } else if (this.#end !== null) fail(`The connection was closed with ${this.#end}`);
      };
      const timer = setTimeout(() => fail('Time ran out'), PATIENCE_MS);
      this.#waiting.add(check);
      check();
    });
  }

  /** The next dispatch of that name. */
  async dispatch<T = Record<string, unknown>>(
    t: string,
    matches: (d: Record<string, unknown>) => boolean = () => true,
  ): Promise<T> {
    return (await this.next((payload) => payload.t === t && matches(payload.d), t)).d as T;
  }

  /**
   * Resolves when everything the server had for this session until now has come: it asks for a member list, which is
   * answered in order behind the rest.
   */
  async settled(guildId: string): Promise<void> {
    nonces += 1;
    const nonce = `settled ${nonces}`;
    this.send(OP.REQUEST_GUILD_MEMBERS, { guild_id: guildId, user_ids: ['1'], nonce });
    await this.dispatch('GUILD_MEMBERS_CHUNK', (d) => d.nonce === nonce);
  }

  #take(data: Buffer): void {
    const payload = (this.#etf ? readEtf(data) : JSON.parse(data.toString())) as Received;
    this.received.push(payload);
    if (payload.s !== null) this.seq = payload.s;
    if (payload.t === 'READY') {
      this.sessionId = String(payload.d.session_id);
      this.userId = String((payload.d.user as { id: string }).id);
    }
    if (payload.op === OP.HEARTBEAT) this.send(OP.HEARTBEAT, this.seq);
    for (const check of [...this.#waiting]) check();
  }
}

import { inflateSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { ALL_INTENTS, INTENTS } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import { readEtf, StreamInflate, writeEtf } from './codec-client.ts';
import { Inbox } from './inbox.ts';

interface Received {
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

let nonces = 0;

/** A gateway client without comfort: it keeps all that it received, and does nothing by itself but beat on request. */
export class GatewayClient extends Inbox<Received> {
  /** The last sequence number. */
  seq: number | null = null;
  sessionId = '';
  userId = '';
  /** Bytes of all frames. */
  bytes = 0;
  readonly #etf: boolean;

  private constructor(url: string, dialect: Dialect) {
    const { v = 10, encoding = 'json', compress } = dialect;
    const query = `?v=${v}&encoding=${encoding}${compress === undefined ? '' : `&compress=${compress}`}`;
    const ws = new WebSocket(`${url}/${query}`, { maxPayload: 64 << 20 });
    super(ws);
    this.#etf = encoding === 'etf';
    const inflate = compress === undefined ? null : new StreamInflate();
    let turn = Promise.resolve();
    ws.on('message', (data: Buffer, binary: boolean) => {
      this.bytes += data.length;
      // A binary frame on an uncompressed connection is a payload compressed by itself, as IDENTIFY may ask for.
      if (!inflate) this.#take(binary && !this.#etf ? inflateSync(data) : data);
      else {
        turn = turn.then(async () => this.#take(await inflate.message(data)));
        turn.catch((error) => ws.emit('error', error));
      }
    });
  }

  /** Connects and waits for HELLO. */
  static async connect(url: string, dialect: Dialect = {}): Promise<GatewayClient> {
    const client = new GatewayClient(url, dialect);
    const hello = await client.next(({ op }) => op === OP.HELLO, 'HELLO');
    client.beatEvery(Number(hello.d.heartbeat_interval), () => client.send(OP.HEARTBEAT, client.seq));
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
    this.sendRaw(this.#etf ? writeEtf({ op, d }) : JSON.stringify({ op, d }));
  }

  /** Names of the dispatches, in order. */
  get names(): string[] {
    return this.received.flatMap(({ t }) => (t === null ? [] : [t]));
  }

  protected override nameOf({ op, t }: Received): string {
    return t ?? `op ${op}`;
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
    if (payload.s !== null) this.seq = payload.s;
    if (payload.t === 'READY') {
      this.sessionId = String(payload.d.session_id);
      this.userId = String((payload.d.user as { id: string }).id);
    }
    if (payload.op === OP.HEARTBEAT) this.send(OP.HEARTBEAT, this.seq);
    this.put(payload);
  }
}

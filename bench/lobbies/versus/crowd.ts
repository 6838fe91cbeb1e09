import { CAPABILITY } from '../../../protocol/capabilities.ts';
import { INTENTS } from '../../../protocol/intents.ts';
import { present } from '../../../protocol/present.ts';
import { WebSocketWire } from '../../wire/websocket.ts';
import { Api, inParallel } from '../api.ts';
import type { CrowdNews, CrowdOrder } from './orders.ts';

/** Connections being opened at a time. */
const AT_ONCE = 16;
const LOBBY_INTENTS = (1 << 27) | (1 << 28);
const BOT_INTENTS = INTENTS.GUILDS | INTENTS.GUILD_MESSAGES | INTENTS.MESSAGE_CONTENT;
/** First byte of the message that a room greets with, and of the answer to it. */
const JOIN_ROOM = 10;
/** Digits of a dispatch's number, and the brace after them, with which each of its frames ends. */
const SEQ_BYTES = 11;
/** With zlib-stream the number is uncompressed, and the mark of a flush follows. */
const SYNC_BYTES = 5;

/** Number of a dispatch of this server; null for other frames. */
function sequenceOf(payload: Buffer, afterBytes: number): number | null {
  const end = payload.length - afterBytes;
  const tail = payload.toString('latin1', end - SEQ_BYTES, end);
  return /^ *[0-9]+\}$/.test(tail) ? Number(tail.slice(0, -1)) : null;
}

type Gathering = Extract<CrowdOrder, { kind: 'gather' }>;

/** Connections that only count. That all get as many messages in the same order is what makes counting enough. */
class Crowd {
  readonly #crowd: number;
  readonly #counts: number[] = [];
  /** By message: how many connections have it. */
  #reached: number[] = [];
  #payloadBytes = 0;
  #messages = 0;
  /** 0 until armed. */
  #every = 0;

  constructor(crowd: number) {
    this.#crowd = crowd;
  }

  async gather(order: Gathering): Promise<void> {
    const { url, manner, tokens } = order;
    const first = this.#counts.length;
    for (const _ of tokens) this.#counts.push(0);
    const open =
      manner === 'colyseus'
        ? this.#client(url)
        : manner === 'guildhall'
          ? this.#player(order)
          : this.#bot(order);
    await inParallel(tokens.length, AT_ONCE, (index) => open(first + index, present(tokens[index])));
  }

  arm(every: number): void {
    this.#counts.fill(0);
    this.#reached = [];
    this.#payloadBytes = 0;
    this.#messages = 0;
    this.#every = every;
  }

  tell(): CrowdNews {
    return { kind: 'told', crowd: this.#crowd, payloadBytes: this.#payloadBytes };
  }

  /** Identifies at the gateway, then joins by secret. */
  #player(order: Gathering): (index: number, token: string) => Promise<void> {
    const { url, membersEach } = order;
    const api = new Api(new URL('/api', url), AT_ONCE);
    const form = {
      intents: LOBBY_INTENTS,
      capabilities: CAPABILITY.AUTO_LOBBY_CONNECT | CAPABILITY.LOBBY_CHANGES,
    };
    return async (index, token) => {
      const authorization = `Bearer ${token}`;
      // HELLO and READY.
      await this.#identify(order, index, { ...form, token: authorization }, 2);
      const secret = `lobby ${Math.floor(index / membersEach)}`;
      const body = { secret, idle_timeout_seconds: 3600 };
      const { status } = await api.ask('PUT', '/lobbies', authorization, body);
      if (status !== 200) this.#lost(`a join was answered ${status}`);
    };
  }

  /** Identifies at the gateway, and waits for HELLO, READY and its guild. */
  #bot(order: Gathering): (index: number, token: string) => Promise<void> {
    return (index, token) => this.#identify(order, index, { token, intents: BOT_INTENTS }, 3);
  }

  /** @param greetings Frames until the session is open. Heartbeats name the last dispatch, as clients do. */
  #identify(
    { url, manner, beatMs }: Gathering,
    index: number,
    form: object,
    greetings: number,
  ): Promise<void> {
    const isCompressed = manner === 'zlib-stream';
    const query = isCompressed ? '/?v=10&encoding=json&compress=zlib-stream' : '/?v=10&encoding=json';
    const properties = { os: 'linux', browser: 'count', device: 'count' };
    return new Promise((resolve) => {
      let frames = 0;
      let seq: number | null = null;
      const wire = this.#wire(new URL(query, url.replace(/^http/, 'ws')), index, (payload) => {
        frames += 1;
        if (frames === 1) wire.send(JSON.stringify({ op: 2, d: { ...form, properties } }));
        seq = (payload && sequenceOf(payload, isCompressed ? SYNC_BYTES : 0)) ?? seq;
        if (frames !== greetings) return;
        if (beatMs !== null) setInterval(() => wire.send(JSON.stringify({ op: 1, d: seq })), beatMs);
        resolve();
      });
    });
  }

  /** Asks the match-maker for a seat, takes it, and says that it has the state's layout. */
  #client(url: string): (index: number) => Promise<void> {
    return async (index) => {
      const reply = await fetch(`${url}/matchmake/joinOrCreate/lobby`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      const seat = (await reply.json()) as Record<'processId' | 'roomId' | 'sessionId', string>;
      const socket = new URL(
        `/${seat.processId}/${seat.roomId}?sessionId=${seat.sessionId}`,
        url.replace(/^http/, 'ws'),
      );
      await new Promise<void>((resolve) => {
        const wire = this.#wire(socket, index, (payload) => {
          if (payload?.[0] !== JOIN_ROOM) return;
          wire.sendBinary(Uint8Array.of(JOIN_ROOM));
          resolve();
        });
      });
    };
  }

  /** @param opening Sees what comes until its promise is resolved and after; frames are counted once armed. */
  #wire(url: URL, index: number, opening: (payload: Buffer | null) => void): WebSocketWire {
    return new WebSocketWire(url, {
      open: () => {},
      message: (payload, payloadBytes) => {
        if (this.#every > 0) this.#count(index, payloadBytes);
        else opening(payload);
      },
      closed: (code, reason) => this.#lost(`${code} ${reason}`),
    });
  }

  #count(index: number, payloadBytes: number): void {
    const message = present(this.#counts[index]);
    this.#counts[index] = message + 1;
    this.#payloadBytes += payloadBytes;
    const reached = (this.#reached[message] ?? 0) + 1;
    this.#reached[message] = reached;
    if (reached < this.#counts.length) return;
    this.#messages += 1;
    if (this.#messages % this.#every === 0) say({ kind: 'reached', crowd: this.#crowd });
  }

  #lost(reason: string): void {
    say({ kind: 'lost', crowd: this.#crowd, reason });
  }
}

const say = (news: CrowdNews): void => void process.send?.(news);
const crowds = new Map<number, Crowd>();

process.on('message', async (order: CrowdOrder) => {
  const crowd = crowds.get(order.crowd) ?? new Crowd(order.crowd);
  crowds.set(order.crowd, crowd);
  if (order.kind === 'gather') {
    await crowd.gather(order);
    say({ kind: 'gathered', crowd: order.crowd });
  } else if (order.kind === 'arm') crowd.arm(order.every);
  else say(crowd.tell());
});
process.on('disconnect', () => process.exit());

import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { INTENTS } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import type { Hearing, ReceivedDispatch, Written } from './judge.ts';
import { ADMIN_TOKEN, type Shard } from './shard.ts';

const ANSWER_MS = 15_000;
/** Between two attempts. */
const AGAIN_MS = 250;

/** Guilds with a channel each, and a bot that is in all of them. */
export interface World {
  readonly token: string;
  readonly guilds: readonly { readonly id: string; readonly channelId: string }[];
}

async function admin<T>(shard: Shard, path: string, body: object): Promise<T> {
  const response = await fetch(`${shard.adminUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} was answered ${response.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

export async function seedWorld(shard: Shard, guildCount: number): Promise<World> {
  const { user } = await admin<{ user: { id: string } }>(shard, '/users', { username: 'keeper' });
  const { bot } = await admin<{ bot: { id: string; token: string } }>(shard, '/applications', {
    ...{ name: 'Writer', owner_id: user.id },
  });
  const guilds: { id: string; channelId: string }[] = [];
  for (let n = 0; n < guildCount; n += 1) {
    const { guild } = await admin<{ guild: { id: string } }>(shard, '/guilds', {
      ...{ name: `Guild ${n}`, owner_id: user.id },
    });
    await admin(shard, `/guilds/${guild.id}/members`, { user_id: bot.id, permissions: '8' });
    const headers = { authorization: `Bot ${bot.token}` };
    const listed = await fetch(`${shard.api}/guilds/${guild.id}/channels`, { headers });
    const channels = (await listed.json()) as { id: string; type: number }[];
    const channel = channels.find(({ type }) => type === 0);
    if (!channel) throw new Error('A guild has no text channel.');
    guilds.push({ id: guild.id, channelId: channel.id });
  }
  return { token: bot.token, guilds };
}

/** The response to an attempt. */
interface Answered {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly id: string | null;
}

/** One attempt; null when there was no answer. */
async function post(
  shard: Shard,
  {
    token,
    channelId,
    content,
  }: { readonly token: string; readonly channelId: string; readonly content: string },
): Promise<Answered | null> {
  try {
    const response = await fetch(`${shard.api}/channels/${channelId}/messages`, {
      method: 'POST',
      headers: { authorization: `Bot ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ content, nonce: content.slice(-25), enforce_nonce: true }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const text = await response.text();
    const id = response.ok ? (JSON.parse(text) as { id: string }).id : null;
    return { status: response.status, retryAfter: response.headers.get('retry-after'), id };
  } catch {
    return null;
  }
}

/** Writes in one channel, message by message, each until it is acknowledged, under the same nonce, at any shard. */
export class ChannelWriter {
  readonly written: Written[] = [];
  /** Count of responses by status, without success and 503. */
  readonly refused = new Map<number, number>();
  /** Number of 503 responses, and of the ones with a Retry-After. */
  later = 0;
  laterWithHint = 0;
  readonly #running: Promise<void>;
  #over = false;

  constructor(given: {
    readonly shards: readonly Shard[];
    readonly token: string;
    readonly channelId: string;
    readonly everyMs: number;
    readonly random: () => number;
  }) {
    this.#running = this.#run(given);
  }

  async #run({
    shards,
    token,
    channelId,
    everyMs,
    random,
  }: {
    readonly shards: readonly Shard[];
    readonly token: string;
    readonly channelId: string;
    readonly everyMs: number;
    readonly random: () => number;
  }): Promise<void> {
    for (let n = 0; !this.#over; n += 1) {
      const content = `chaos ${channelId.slice(-6)} ${n}`;
      for (;;) {
        const shard = shards[Math.floor(random() * shards.length)] as Shard;
        const answer = await post(shard, { token, channelId, content });
        if (answer?.id) {
          this.written.push({ content, id: answer.id });
          break;
        }
        if (answer && answer.status === 503) {
          this.later += 1;
          if (answer.retryAfter !== null) this.laterWithHint += 1;
        } else if (answer) this.refused.set(answer.status, (this.refused.get(answer.status) ?? 0) + 1);
        await delay(AGAIN_MS);
      }
      await delay(everyMs);
    }
  }

  /** Resolves when its last message is acknowledged. */
  stop(): Promise<void> {
    this.#over = true;
    return this.#running;
  }
}

interface Payload {
  readonly op: number;
  readonly t: string | null;
  readonly s: number | null;
  readonly d: Readonly<Record<string, unknown>> & { readonly heartbeat_interval?: number };
}

const BEAT_MS = 1_000;
/** Without an answer to a heartbeat for so long a client gives its connection up. */
const SILENT_MS = 4_000;

/** A gateway session that resumes, at any shard, as long as it may; it identifies again only after op 9. */
export class Listener {
  readonly #given: {
    readonly shards: readonly Shard[];
    readonly token: string;
    readonly name: string;
    readonly random: () => number;
  };
  readonly #hearings: { heard: ReceivedDispatch[]; fromStart: boolean }[] = [];
  /** When and as which `s` each message was first received since the last READY. */
  readonly #heardAs = new Map<string, string>();
  #socket: WebSocket | null = null;
  #sessionId = '';
  #seq = 0;
  #over = false;
  #channelIds: ReadonlySet<string>;
  resumed = 0;
  /** When its sessions were invalidated, Unix milliseconds. */
  readonly anewAtMs: number[] = [];
  /** History of its connections, line by line. */
  readonly diary: string[] = [];
  /** It has all its guilds: READY comes before they are subscribed. */
  readonly ready: Promise<void>;
  readonly #guilds = new Set<string>();
  #isReady: () => void = () => undefined;

  constructor(
    given: {
      readonly shards: readonly Shard[];
      readonly token: string;
      readonly name: string;
      readonly random: () => number;
      readonly channelIds: readonly string[];
    },
    first: Shard,
  ) {
    this.#given = given;
    this.#channelIds = new Set(given.channelIds);
    this.ready = new Promise((resolve) => {
      this.#isReady = resolve;
    });
    this.#connect(first);
  }

  get heardLast(): ReadonlySet<string> {
    return new Set(this.#hearings.at(-1)?.heard.flatMap(({ message }) => (message ? [message.id] : [])));
  }

  hearings(): Hearing[] {
    const { name } = this.#given;
    return this.#hearings.map((each, at) => ({
      ...each,
      session: `${name}.${at}`,
      toEnd: at === this.#hearings.length - 1,
    }));
  }

  stop(): void {
    this.#over = true;
    this.#socket?.terminate();
  }

  #connect(shard: Shard): void {
    if (this.#over) return;
    const socket = new WebSocket(`${shard.gateway}/?v=10&encoding=json`, { handshakeTimeout: SILENT_MS });
    this.#socket = socket;
    this.#note(`goes to ${shard.id} with ${this.#seq}`);
    let heardMs = Date.now();
    const beating = setInterval(() => {
      if (Date.now() - heardMs > SILENT_MS) socket.terminate();
      else if (socket.readyState === WebSocket.OPEN) this.#send(socket, OP.HEARTBEAT, this.#seq || null);
    }, BEAT_MS);
    socket.on('error', () => socket.terminate());
    socket.on('message', (data: Buffer) => {
      heardMs = Date.now();
      if (socket === this.#socket) this.#take(socket, JSON.parse(data.toString()) as Payload);
    });
    socket.on('close', (code) => {
      clearInterval(beating);
      this.#note(`is closed with ${code}, at ${this.#seq}`);
      const { shards, random } = this.#given;
      const next = shards[Math.floor(random() * shards.length)] as Shard;
      setTimeout(() => this.#connect(next), AGAIN_MS + random() * AGAIN_MS);
    });
  }

  #note(what: string): void {
    this.diary.push(`${new Date().toISOString()} ${this.#given.name} ${what}`);
  }

  #send(socket: WebSocket, op: number, d: unknown): void {
    socket.send(JSON.stringify({ op, d }));
  }

  #take(socket: WebSocket, { op, t, s, d }: Payload): void {
    const { token } = this.#given;
    if (op === OP.HELLO && this.#sessionId !== '')
      this.#send(socket, OP.RESUME, { token, session_id: this.#sessionId, seq: this.#seq });
    else if (op === OP.HELLO) this.#identify(socket);
    else if (op === OP.RECONNECT) socket.close(4000);
    else if (op === OP.INVALID_SESSION) {
      if ((d as unknown) !== true) {
        if (this.#sessionId !== '') this.anewAtMs.push(Date.now());
        this.#sessionId = '';
        this.#seq = 0;
      }
      socket.close(4000);
    } else if (op === OP.DISPATCH && s !== null) this.#hear(t, s, d);
  }

  #identify(socket: WebSocket): void {
    this.#send(socket, OP.IDENTIFY, {
      token: this.#given.token,
      intents: INTENTS.GUILDS | INTENTS.GUILD_MESSAGES | INTENTS.MESSAGE_CONTENT,
      properties: { os: 'linux', browser: 'chaos', device: 'chaos' },
    });
  }

  #hear(t: string | null, s: number, d: Payload['d']): void {
    if (t === 'READY') {
      this.#sessionId = String(d.session_id);
      this.#heardAs.clear();
      this.#hearings.push({ heard: [], fromStart: this.#hearings.length === 0 });
    }
    if (t === 'RESUMED') this.resumed += 1;
    if (t === 'RESUMED' || t === 'GUILD_CREATE' || t === 'GUILD_DELETE')
      this.#note(`hears ${t} ${d.id ?? ''} as ${s}`);
    this.#seq = s;
    const isOurs =
      t === 'MESSAGE_CREATE' &&
      this.#channelIds.has(String(d.channel_id)) &&
      String(d.content).startsWith('chaos ');
    const message = isOurs ? { id: String(d.id), channelId: String(d.channel_id) } : null;
    const before = message && this.#heardAs.get(message.id);
    if (message && before) this.#note(`hears ${message.id} again as ${s}, at first ${before}`);
    else if (message) this.#heardAs.set(message.id, `as ${s} at ${new Date().toISOString()}`);
    const anew = t === 'GUILD_CREATE' ? String(d.id) : null;
    if (anew && this.#guilds.add(anew).size === this.#channelIds.size) this.#isReady();
    this.#hearings.at(-1)?.heard.push({ s, anew, message });
  }
}

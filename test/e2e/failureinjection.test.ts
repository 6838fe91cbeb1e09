// Goal: unmodified libraries meet each injected failure, and the table of docs/failure-injection.md says what they do.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Events, GatewayIntentBits } from 'discord.js';
import Eris from 'eris';
import { Client as OceanicClient } from 'oceanic.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { oggOpus } from '../support/ogg.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { read } from '../support/source.ts';
import { toneFrames } from '../support/tone.ts';
import { VoiceBot } from '../support/voicebot.ts';

const TIMEOUT_MS = 25_000;
/** One of each library for all failures, and one for each fatal close code. */
const CHAT_BOTS = 3 + 3 * 6;
const BOTS = CHAT_BOTS + 2;

let server: TestServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-chaos-'));
  const scenario = join(folder, 'scenario.yaml');
  await writeFile(scenario, 'seed: 7\nrules: []\n');
  // Answers that the published file does not have are the point here, so no relay compares them.
  const set = { heartbeat_interval_ms: 2000 };
  server = await startServer({ bots: BOTS, chaos: scenario, relayed: false, set });
});
afterAll(async () => {
  await server.finish();
  await rm(folder, { recursive: true, force: true });
});

/** A bot of some library. */
interface Bot {
  readonly userId: string;
  send(content: string): Promise<unknown>;
  /** Resolves when it receives a message with this content. */
  receives(content: string): Promise<unknown>;
  end(): void;
}

const intents = ['guilds', 'guildMessages', 'messageContent'] as const;

const LIBRARIES: Readonly<Record<string, (index: number) => Promise<Bot>>> = {
  async 'discord.js'(index) {
    const { api, bots, guild } = server.info;
    const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits;
    const client = new Client({
      intents: [Guilds, GuildMessages, MessageContent],
      rest: { api, version: '10' },
    });
    client.on(Events.Error, () => undefined);
    client.setMaxListeners(0);
    const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
    await client.login(bots[index]!.token);
    await ready;
    const channel = await client.channels.fetch(guild.text_channel_id);
    return {
      userId: bots[index]!.id,
      send: (content) =>
        channel?.isSendable() ? channel.send(content) : Promise.reject(new Error('no channel')),
      receives: (content) =>
        new Promise((resolve) =>
          client.on(Events.MessageCreate, (message) => message.content === content && resolve(null)),
        ),
      end: () => void client.destroy(),
    };
  },
  async eris(index) {
    const { api, bots, guild } = server.info;
    const { hostname, port, pathname } = new URL(api);
    // Eris always asks for https.
    const agent = Object.assign(new http.Agent(), { protocol: 'https:', defaultPort: Number(port) });
    const client = Eris(`Bot ${bots[index]!.token}`, {
      intents: [...intents],
      rest: {
        domain: hostname,
        baseURL: `${pathname}/v10`,
        agent: agent as unknown as import('node:https').Agent,
      },
    });
    client.on('error', () => undefined);
    // Eris takes eventemitter3 where another package has brought it, which has no such bound.
    client.setMaxListeners?.(0);
    const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
    await client.connect();
    await ready;
    return {
      userId: bots[index]!.id,
      send: (content) => client.createMessage(guild.text_channel_id, content),
      receives: (content) =>
        new Promise((resolve) =>
          client.on('messageCreate', (message) => message.content === content && resolve(null)),
        ),
      end: () => client.disconnect({ reconnect: false }),
    };
  },
  async 'oceanic.js'(index) {
    const { api, bots, guild } = server.info;
    const client = new OceanicClient({
      auth: `Bot ${bots[index]!.token}`,
      gateway: { intents: ['GUILDS', 'GUILD_MESSAGES', 'MESSAGE_CONTENT'] },
      rest: { baseURL: `${api}/v10` },
    });
    client.on('error', () => undefined);
    client.setMaxListeners(0);
    const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
    await client.connect();
    await ready;
    return {
      userId: bots[index]!.id,
      send: (content) => client.rest.channels.createMessage(guild.text_channel_id, { content }),
      receives: (content) =>
        new Promise((resolve) =>
          client.on('messageCreate', (message) => message.content === content && resolve(null)),
        ),
      end: () => client.disconnect(false),
    };
  },
};

const GATEWAY: readonly (readonly [string, object])[] = [
  ['op 7', { do: 'reconnect' }],
  ['op 9, resumable', { do: 'invalid_session', resumable: true }],
  ['op 9, not resumable', { do: 'invalid_session', resumable: false }],
  ['close 4000', { do: 'close', code: 4000 }],
  ...[4001, 4002, 4003, 4005, 4007, 4008, 4009].map(
    (code) => [`close ${code}`, { do: 'close', code }] as const,
  ),
  ['a dead connection', { do: 'zombie' }],
];
const REST: readonly (readonly [string, object])[] = [
  ['429 user', { do: 'rate_limit', scope: 'user', retry_after: 0.5 }],
  ['429 shared', { do: 'rate_limit', scope: 'shared', retry_after: 0.5 }],
  ['429 global', { do: 'rate_limit', scope: 'global', retry_after: 0.5 }],
  ['500', { do: 'error', status: 500 }],
  ['502', { do: 'error', status: 502 }],
  ['503', { do: 'error', status: 503 }],
  ['a second of latency', { do: 'latency', ms: 1000 }],
];
/** Codes that no session may return from: the token, the shards, the version or the intents are wrong. */
const FATAL = [4004, 4010, 4011, 4012, 4013, 4014];
/** A library that returns is back within this time; one that does not is not waited for longer. */
const FATAL_MS = 8_000;

async function within<T>(running: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  return Promise.race([running, late]).finally(() => clearTimeout(timer));
}

async function inject(rule: object): Promise<string> {
  const { id } = await server.admin<{ id: string }>('/chaos', rule);
  return id;
}

/** How often each rule has struck. */
async function strikes(): Promise<Readonly<Record<string, number>>> {
  const { url, token } = server.info.admin;
  const response = await fetch(`${url}/chaos`, { headers: { authorization: `Bearer ${token}` } });
  const { rules } = (await response.json()) as { rules: { id: string; strikes: number }[] };
  return Object.fromEntries(rules.map(({ id, strikes: count }) => [id, count]));
}

const say = (content: string) =>
  server.user().call('create_message', {
    params: { channel_id: server.info.guild.text_channel_id },
    body: { content },
  });

/** Writes until the bot receives it, as people do; a dead connection loses what is written before it is noticed. */
async function isReached(bot: Bot, content: string, patienceMs = TIMEOUT_MS): Promise<boolean> {
  const received = bot.receives(content);
  for (let tried = 0; tried < patienceMs / 1000; tried += 1) {
    await say(content);
    if ((await within(received, 1000)) !== 'late') return true;
  }
  return false;
}

/** Meets every failure once. @returns what the library did, by the failure's name. */
async function outcomesOf(name: string, index: number): Promise<ReadonlyMap<string, string>> {
  const bot = await LIBRARIES[name]!(index);
  const outcomes = new Map<string, string>();
  const { userId: user } = bot;
  for (const [title, action] of REST) {
    await inject({ on: 'rest', operation: 'create_message', user, times: 1, ...action });
    const sent = bot.send(`after ${title}`).then(
      () => (title.includes('latency') ? 'waits' : 'waits and sends again'),
      () => 'reports an error',
    );
    const outcome = await within(sent, TIMEOUT_MS);
    outcomes.set(title, outcome === 'late' ? 'waits for ever' : outcome);
  }
  for (const [title, action] of GATEWAY) {
    const id = await inject({ on: 'gateway', user, times: 1, event: 'MESSAGE_CREATE', ...action });
    // Messages strike no connection that replays what it has missed, so that one may not be enough.
    await expect
      .poll(
        async () => {
          await say(`strike ${name}`);
          return (await strikes())[id];
        },
        { timeout: TIMEOUT_MS, interval: 300, message: `${name}, ${title}` },
      )
      .toBe(1);
    const isBack = await isReached(bot, `${name}, are you back after ${title}?`);
    outcomes.set(title, isBack ? 'is back' : 'stays away');
  }
  await inject({ on: 'gateway', do: 'delay', ms: 1500, user, times: 1, event: 'MESSAGE_CREATE' });
  const late = bot.receives(`late for ${name}`);
  await say(`late for ${name}`);
  const early = await within(late, 1000);
  outcomes.set(
    'a delayed message',
    early === 'late' && (await within(late, TIMEOUT_MS)) !== 'late' ? 'gets it late' : 'differs',
  );
  await inject({ on: 'gateway', do: 'drop', user, times: 1, event: 'MESSAGE_CREATE' });
  const lost = bot.receives(`lost for ${name}`);
  await say(`lost for ${name}`);
  const goesOn = await isReached(bot, `after the loss for ${name}`);
  outcomes.set(
    'a dropped message',
    goesOn && (await within(lost, 100)) === 'late' ? 'misses it, goes on' : 'differs',
  );
  bot.end();
  return outcomes;
}

/** Meets one fatal close code. @returns what the library did. */
async function fatal(name: string, index: number, code: number): Promise<string> {
  const bot = await LIBRARIES[name]!(index);
  await inject({ on: 'gateway', do: 'close', code, user: bot.userId, times: 1, event: 'MESSAGE_CREATE' });
  await say(`strike ${name} with ${code}`);
  const isBack = await isReached(bot, `${name}, are you back after ${code}?`, FATAL_MS);
  bot.end();
  return isBack ? 'is back' : 'gives up';
}

test('unmodified libraries recover from every injected failure as the table in the docs says', async () => {
  const names = Object.keys(LIBRARIES);
  const outcomes = await Promise.all(names.map((name, index) => outcomesOf(name, index)));
  const fatals = await Promise.all(
    names.map(async (name, at) => {
      const first = names.length + at * FATAL.length;
      return Promise.all(FATAL.map((code, index) => fatal(name, first + index, code)));
    }),
  );
  const titles = [...REST, ...GATEWAY].map(([title]) => title);
  const rows = [...titles, 'a delayed message', 'a dropped message'].map(
    (title) => `| ${title} | ${outcomes.map((each) => each.get(title)).join(' | ')} |`,
  );
  rows.push(...FATAL.map((code, at) => `| close ${code} | ${fatals.map((each) => each[at]).join(' | ')} |`));
  const page = read('docs/failure-injection.md');
  expect(rows.filter((row) => row.includes('stays away') || row.includes('for ever'))).toEqual([]);
  expect(rows.filter((row) => !page.includes(row))).toEqual([]);
}, 180_000);

const FRAMES = toneFrames(440, 1);
const SILENCE = Buffer.from([0xf8, 0xff, 0xfe]);
/** All frames and what a loaded machine adds. */
const PLAY_MS = 4_000;
/** A join without loss takes a fraction of it. */
const JOIN_MS = 4_000;

/** A bot that plays, and one that listens and meets the failures. */
class VoicePair {
  readonly #bots: readonly VoiceBot[];
  readonly #ids: readonly string[];
  readonly #file: string;

  constructor(file: string) {
    const { api, ca_file: caFile, bots } = server.info;
    const own = bots.slice(CHAT_BOTS);
    this.#bots = own.map(({ token }) => new VoiceBot({ api, token, caFile: caFile! }));
    this.#ids = own.map(({ id }) => id);
    this.#file = file;
  }

  get #speaker(): VoiceBot {
    return this.#bots[0]!;
  }
  get listener(): VoiceBot {
    return this.#bots[1]!;
  }
  get listenerId(): string {
    return this.#ids[1]!;
  }

  async join(bot: VoiceBot, withinMs = 20_000): Promise<void> {
    const { id: guildId, voice_channel_id: channelId } = server.info.guild;
    await bot.do('join', { guildId, channelId, withinMs });
  }

  async open(): Promise<void> {
    for (const bot of this.#bots) await bot.do('login');
    for (const bot of this.#bots) await this.join(bot);
    await this.secured();
  }

  /** @returns how many of the speaker's frames the listener receives. */
  async heard(): Promise<number> {
    const from = this.#ids[0]!;
    await this.listener.do('record', { userId: from });
    await this.#speaker.do('play', { file: this.#file });
    let count = 0;
    for (const endMs = Date.now() + PLAY_MS; count < FRAMES.length && Date.now() < endMs; await sleep(100))
      count = (await this.listener.heard(from)).filter((frame) => !frame.equals(SILENCE)).length;
    return count;
  }

  /** Closes the listener's voice connection. @returns what the library did. */
  async closed(code: number): Promise<string> {
    const sinceMs = Date.now();
    const id = await inject({ on: 'voice', do: 'close', code, at: 0, user: this.listenerId });
    await expect.poll(async () => (await strikes())[id], { timeout: TIMEOUT_MS }).toBe(1);
    await server.admin('/chaos/remove', { id });
    // The close frame is on its way.
    await sleep(500);
    const isBack = await this.listener.do('enters', { status: 'ready', withinMs: 8000 }).then(
      () => true,
      () => false,
    );
    if (!isBack) return 'stays away';
    await this.secured();
    const log = await this.listener.do<{ atMs: number; what: string }[]>('log');
    const since = log.filter(({ atMs }) => atMs >= sinceMs).map(({ what }) => what);
    const how = since.some((what) => what.includes('>> {"op":0')) ? 'with a new session' : 'resumes';
    return (await this.heard()) === FRAMES.length ? `is back, ${how}` : 'hears nothing';
  }

  /** Waits until both are in the encrypted group of the call. */
  async secured(): Promise<void> {
    for (const bot of this.#bots) await bot.do('secured', { userIds: this.#ids });
  }

  async end(): Promise<void> {
    for (const bot of this.#bots) bot.end();
  }
}

/** Audio heard while packets are lost, and afterwards. */
async function whileLost(pair: VoicePair, rule: object): Promise<readonly [during: number, after: number]> {
  const id = await inject({ on: 'udp', do: 'loss', ...rule });
  const during = await pair.heard();
  await server.admin('/chaos/remove', { id });
  return [during, await pair.heard()];
}

test('@discordjs/voice does what the table of the docs says when calls break and packets are lost', async () => {
  const file = join(folder, 'tone.ogg');
  await writeFile(file, oggOpus(FRAMES));
  const pair = new VoicePair(file);
  try {
    await pair.open();
    const rows: [string, string][] = [];
    const [some, afterSome] = await whileLost(pair, { probability: 0.2, direction: 'out' });
    const missesSome = some > 0 && some < FRAMES.length && afterSome === FRAMES.length;
    rows.push(['a fifth of the packets lost', missesSome ? 'plays on, without the lost packets' : 'differs']);
    const [none, afterAll] = await whileLost(pair, {});
    const goesOn = none === 0 && afterAll === FRAMES.length;
    rows.push([
      'all packets lost for seconds',
      goesOn ? 'stays, and receives audio again afterwards' : 'differs',
    ]);
    for (const code of [4015, 4006, 4009]) rows.push([`voice close ${code}`, await pair.closed(code)]);
    rows.push(['voice close 4014', await pair.closed(4014)]);
    await pair.listener.do('leave');
    const id = await inject({ on: 'udp', do: 'loss' });
    const joining = pair.join(pair.listener, 2 * JOIN_MS);
    await sleep(JOIN_MS);
    await server.admin('/chaos/remove', { id });
    const joined = await joining.then(
      () => 'joins once they pass',
      () => 'waits for ever',
    );
    rows.push(['all packets lost while it joins', joined]);
    const page = read('docs/failure-injection.md');
    const lines = rows.map(([failure, outcome]) => `| ${failure} | ${outcome} |`);
    expect(lines.filter((line) => !page.includes(line))).toEqual([]);
  } finally {
    await pair.end();
  }
}, 120_000);

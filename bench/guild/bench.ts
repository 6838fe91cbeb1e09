import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { present } from '../../protocol/present.ts';
import { lostOf } from '../gateway/bench.ts';
import { percentilesOf } from '../gateway/report.ts';
import { Sender } from '../gateway/sender.ts';
import { type SpawnedServer, spawnServer } from '../gateway/spawn.ts';
import type { Progress } from '../progress.ts';
import { Latencies } from '../wire/histogram.ts';
import { nowNs } from '../wire/pace.ts';
import { usageOf } from '../wire/process.ts';
import { Crowd } from './crowd.ts';
import { addMembers, nameOf } from './members.ts';
import { type Chunked, Observer } from './observer.ts';
import type { GuildReport, Lap } from './report.ts';
import { type Viewed, Viewers } from './viewers.ts';

interface GuildBenchOptions {
  /** An empty PostgreSQL database, or one of an earlier run. */
  readonly databaseUrl: string;
  readonly members: number;
  readonly online: number;
  /** Sessions that receive messages while passive sessions connect. */
  readonly active: number;
  readonly passive: number;
  readonly chunkers: number;
  /** Members beside those online who watch the member list. */
  readonly viewers: number;
  readonly shards: number;
  readonly perSecond: number;
  readonly durationSeconds: number;
  readonly identifyPerSecond: number;
  readonly settings: readonly string[];
  readonly onProgress: (progress: Progress) => void;
}

/** GUILDS, GUILD_MESSAGES and MESSAGE_CONTENT. */
const READING = 1 | 512 | 32_768;
const GUILDS_ONLY = 1;
/** GUILDS, GUILD_MEMBERS and GUILD_PRESENCES. */
const OBSERVING = 1 | 2 | 256;
const CONTENT_BYTES = 200;
const START_DELAY_MS = 300;
const SETTLE_MS = 1500;
const WATCH_MS = 500;
/** Wait for garbage collection after a burst of sessions. */
const CALM_MS = 4000;

/** Timeout of each step, longer than any step of a run. */
const PATIENCE_MS = 120_000;

/** Awaits a job. @throws Error when it takes too long, so that a run always ends. */
async function inTime<T>(job: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It takes too long ${what}.`)), PATIENCE_MS);
  });
  return Promise.race([job, late]).finally(() => clearTimeout(timer));
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Measures a large guild: its GUILD_CREATE, the cost of messages to everyone, and mutual delays of its clients. */
export async function benchGuild(options: GuildBenchOptions): Promise<GuildReport> {
  const directory = mkdtempSync(join(tmpdir(), 'guildhall-bench-'));
  try {
    const { databaseUrl, members, online, viewers, onProgress } = options;
    const phase = (name: string): void => onProgress({ phase: name, done: 0, of: 1 });
    phase('the guild is made');
    const first = await start(options, directory);
    const { guildId } = first;
    await first.stop();
    const startNs = nowNs();
    const added = (done: number): void => onProgress({ phase: 'adding members', done, of: members });
    const plan = { databaseUrl, guildId: present(guildId), count: members, tokens: online + viewers };
    const people = await addMembers({ ...plan, onProgress: added });
    const insertSeconds = (nowNs() - startNs) / 1e9;
    phase('the server starts');
    const server = await start(options, directory);
    const run = new Run(options, server, people);
    try {
      return { insertSeconds, ...(await run.all()) };
    } finally {
      run.abandon();
      await server.stop();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function start({ databaseUrl, shards, chunkers, settings }: GuildBenchOptions, directory: string) {
  return spawnServer(process.execPath, [
    fileURLToPath(new URL('../../cli.js', import.meta.url)),
    ...['dev', '--json', '--port', '0', '--no-rate-limits', '--data', directory],
    ...['--bots', String(chunkers + 1), ...(shards === 1 ? [] : ['--shards', String(shards)])],
    // Heartbeats of many idle sessions would be counted as a cost of messages.
    ...['--set', 'heartbeat_interval_ms=600000', '--set', 'sockets_per_ip_max=1000000'],
    ...['--set', `database_url=${databaseUrl}`, ...settings.flatMap((pair) => ['--set', pair])],
  ]);
}

/** The tokens in the order of their members' names in a member list. `tokens` has them by number. */
function byNameOf(tokens: readonly string[]): string[] {
  const named = tokens.map((token, index) => ({ token, name: nameOf(index + 1) }));
  return named.sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ token }) => token);
}

/** One server with its sessions. */
class Run {
  readonly #options: GuildBenchOptions;
  readonly #server: SpawnedServer;
  /** Tokens of those who watch the list, whose names are its first, and of those who receive messages. */
  readonly #viewers: readonly string[];
  readonly #people: readonly string[];
  readonly #runId = randomBytes(4).toString('hex');
  readonly #total: number;
  readonly #laps: Lap[] = [];
  readonly #crowds: Crowd[] = [];

  constructor(options: GuildBenchOptions, server: SpawnedServer, people: readonly string[]) {
    this.#options = options;
    this.#server = server;
    const byName = byNameOf(people);
    this.#viewers = byName.slice(0, options.viewers);
    this.#people = byName.slice(options.viewers);
    this.#total = Math.ceil(options.perSecond * options.durationSeconds);
  }

  async all(): Promise<Omit<GuildReport, 'insertSeconds'>> {
    const { active, passive, online, members, shards } = this.#options;
    const empty = await this.#rss();
    const before = await this.#introduction();
    const loaded = await this.#rss();
    const few = this.#crowd(0, active, READING);
    await few.connect();
    await this.#lap('', [few], 0);
    const quiet = this.#crowd(active, active + passive, GUILDS_ONLY);
    await quiet.connect();
    await this.#lap('', [few], passive);
    await quiet.end();
    const many = this.#crowd(active, online, READING);
    const connectSeconds = await many.connect();
    const full = await this.#rss();
    await this.#lap('', [few, many], 0);
    const after = await this.#introduction();
    const chunked = await this.#besideChunks([few, many]);
    const rssBytes = { empty, loaded, online: full, chunked: await this.#rss() };
    const viewed = await this.#besideViewers([few, many]);
    const received = this.#laps.every((lap) => lap.lost + lap.duplicated === 0 && lap.answered === lap.sent);
    const kept = received && viewed?.same !== false;
    const sizes = {
      members,
      shards,
      sessions: online,
      rssBytes,
      connectSeconds: (connectSeconds * online) / many.size,
    };
    return {
      ...sizes,
      introductions: { empty: before, online: after },
      laps: this.#laps,
      viewed,
      chunked,
      kept,
    };
  }

  async #rss(): Promise<number> {
    await sleep(CALM_MS);
    return usageOf(this.#server.pids)?.rssBytes ?? 0;
  }

  #observer(bot: number): Observer {
    const { gateway, tokens, guildId } = this.#server;
    return new Observer(new URL(gateway), present(tokens[bot]), OBSERVING, present(guildId));
  }

  async #introduction() {
    const observer = this.#observer(0);
    const introduction = await inTime(observer.introduced, 'to be shown the guild');
    observer.close();
    return introduction;
  }

  #crowd(from: number, to: number, intents: number): Crowd {
    const tokens = this.#people.slice(from, to);
    const { identifyPerSecond, onProgress } = this.#options;
    const plan = { url: this.#server.gateway, tokens, intents, runId: this.#runId, total: this.#total };
    const crowd = new Crowd({ ...plan, identifyPerSecond }, (done) =>
      onProgress({ phase: `connecting ${tokens.length}`, done, of: tokens.length }),
    );
    this.#crowds.push(crowd);
    return crowd;
  }

  /** Kills the processes of all sessions, without which this process would not end. */
  abandon(): void {
    for (const crowd of this.#crowds) crowd.abandon();
  }

  /** Sends the same stream of messages while members watch the list and some of them come and go. */
  async #besideViewers(crowds: readonly Crowd[]): Promise<Viewed | null> {
    const { gateway, guildId, channelId } = this.#server;
    const { identifyPerSecond, onProgress } = this.#options;
    const tokens = this.#viewers;
    if (tokens.length === 0) return null;
    onProgress({ phase: `connecting ${tokens.length} who watch the list`, done: 0, of: 1 });
    const place = { guildId: present(guildId), channelId: present(channelId) };
    const viewers = new Viewers({ url: gateway, ...place, tokens, identifyPerSecond });
    try {
      await inTime(viewers.open(), 'to be sent the member list');
      let isOver = false;
      const changing = viewers.comeAndGo(() => isOver);
      await this.#lap(`while ${tokens.length} watch the list`, crowds, 0).finally(() => {
        isOver = true;
      });
      await changing;
      return await inTime(viewers.result(), 'to be sent the member list again');
    } finally {
      viewers.close();
    }
  }

  /** Sends the same stream of messages while clients request all members concurrently. */
  async #besideChunks(crowds: readonly Crowd[]): Promise<Chunked[]> {
    const observers = Array.from({ length: this.#options.chunkers }, (_, index) => this.#observer(index + 1));
    await inTime(Promise.all(observers.map(({ introduced }) => introduced)), 'to be shown the guild');
    const chunking = Promise.all(observers.map((observer) => observer.chunkAll()));
    chunking.catch(() => undefined);
    await this.#lap(`while ${observers.length} get all members`, crowds, 0);
    const chunked = await inTime(chunking, 'to get all members');
    for (const observer of observers) observer.close();
    return chunked;
  }

  async #lap(name: string, crowds: readonly Crowd[], passive: number): Promise<void> {
    const { api, channelId, tokens, pids } = this.#server;
    const { perSecond } = this.#options;
    const runId = this.#runId;
    const total = this.#total;
    const sending = { runId, perSecond, total, contentBytes: CONTENT_BYTES, channelId: present(channelId) };
    const sender = new Sender({
      ...sending,
      retriesMax: 0,
      api: new URL(api),
      authorization: `Bot ${tokens[0]}`,
    });
    const phase = `messages to ${crowds.reduce((sum, { size }) => sum + size, 0)}`;
    const watch = setInterval(
      () => this.#options.onProgress({ phase, done: sender.sent, of: total }),
      WATCH_MS,
    );
    const startNs = nowNs() + START_DELAY_MS * 1e6;
    for (const crowd of crowds) crowd.start(startNs);
    const before = usageOf(pids);
    const sends = await sender.run(startNs).finally(() => clearInterval(watch));
    await sleep(SETTLE_MS);
    const after = usageOf(pids);
    const laps = Promise.all(crowds.map((crowd) => crowd.lap()));
    const results = (await inTime(laps, 'to gather what sessions heard')).flat();
    const sessions = crowds.reduce((sum, { size }) => sum + size, 0);
    const latencies = new Latencies();
    for (const result of results) latencies.merge(result.latencies);
    const deliveries = results.reduce((sum, each) => sum + each.deliveries, 0);
    const cpuMicros = (after?.cpuMicros ?? 0) - (before?.cpuMicros ?? 0);
    this.#laps.push({
      ...{ name, sessions, passive, sent: sends.sent, answered: sends.answered, deliveries },
      lost: lostOf(sends.confirmed, results, sessions),
      duplicated: results.reduce((sum, each) => sum + each.duplicated, 0),
      latencyMs: percentilesOf(latencies),
      cpuMicrosPerDelivery: cpuMicros / Math.max(1, deliveries),
      cpuMsPerMessage: cpuMicros / 1000 / Math.max(1, sends.sent),
      rssBytes: after?.rssBytes ?? 0,
    });
  }
}

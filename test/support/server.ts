import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { freePort } from './freeport.ts';
import { openRelay, type Relay } from './relay.ts';
import { RestClient } from './rest-client.ts';
import { ROOT } from './root.ts';
import { createServerDatabase } from './serverdatabase.ts';

/** The line of `guildhall dev --json`. */
interface DevInfo {
  readonly api: string;
  readonly gateway: string;
  readonly cdn: string;
  readonly admin: { readonly url: string; readonly token: string };
  /** A one-time link; absent with several shards. */
  readonly console?: string;
  readonly playground: { readonly url: string; readonly link: string | null };
  readonly application: {
    readonly id: string;
    readonly public_key: string;
    readonly client_secret: string;
  };
  readonly bot: { readonly id: string; readonly token: string };
  readonly bots: readonly { readonly id: string; readonly token: string; readonly application_id: string }[];
  readonly users: readonly { readonly id: string; readonly name: string; readonly token: string }[];
  readonly player: { readonly token: string };
  readonly guild: {
    readonly id: string;
    readonly text_channel_id: string;
    readonly voice_channel_id: string;
  };
  readonly ca_file: string | null;
  readonly voice: { readonly endpoint: string; readonly udp_port: number } | null;
  /** The processes of a cluster. */
  readonly shards?: readonly { readonly id: string; readonly pid: number }[];
}

interface ServerOptions {
  readonly bots?: number;
  /** Keeps everything there, in the embedded database. */
  readonly dataDir?: string;
  /** In memory by the embedded database; else in a new PostgreSQL database, which a server starts over sooner. */
  readonly embedded?: boolean;
  /** Off unless a test is about them. */
  readonly rateLimits?: boolean;
  /** Whether the built-in bot lives in the demo guild; it does not, unless said otherwise. */
  readonly guide?: boolean;
  /** The main port, for a server that comes again where another was; else a free one. */
  readonly port?: number;
  /** So many processes, over that database. */
  readonly shards?: number;
  readonly databaseUrl?: string;
  /** Settings of `config/config.ts`. */
  readonly set?: Readonly<Record<string, string | number | boolean>>;
  /** A file of failures to inject. */
  readonly chaos?: string;
  /** Whether clients are sent through the relay that checks every answer; they are, unless said otherwise. */
  readonly relayed?: boolean;
}

export interface NewBot {
  readonly id: string;
  readonly token: string;
}

/** A server of ours in a process of its own, as `guildhall dev --json` brings it up. */
/** The native server's, once in a process whose activities open WebSockets; `Inbound.upgrade` has the reason. */
const CORK_WARNING = 'Warning: uWS.HttpResponse writes must be made from within a corked callback.';

export class TestServer {
  readonly info: DevInfo;
  readonly child: ChildProcess;
  readonly port: number;
  readonly relay: Relay | null;
  readonly exit: Promise<number | null>;
  readonly #log: readonly string[];
  readonly #end: () => Promise<unknown>;

  constructor(given: {
    info: DevInfo;
    child: ChildProcess;
    port: number;
    relay: Relay | null;
    log: readonly string[];
    exit: Promise<number | null>;
    /** Called once it has ended. */
    end: () => Promise<unknown>;
  }) {
    this.info = given.info;
    this.child = given.child;
    this.port = given.port;
    this.relay = given.relay;
    this.exit = given.exit;
    this.#log = given.log;
    this.#end = given.end;
  }

  /** The API as one of the demo's bots, or a user. */
  bot(index = 0): RestClient {
    return this.restOf(`Bot ${this.info.bots[index]!.token}`);
  }

  user(index = 0): RestClient {
    return this.restOf(`Bearer ${this.info.users[index]!.token}`);
  }

  restOf(authorization: string | null): RestClient {
    return new RestClient(this.info.api, authorization);
  }

  /** A POST of the admin API. */
  async admin<T = undefined>(path: string, body: object): Promise<T> {
    const { url, token } = this.info.admin;
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) expect.fail(`${path} was answered ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /** One more bot that is a member of the demo guild, without any permission beyond everyone's unless given. */
  async newBot(name: string, given: { permissions?: bigint; flags?: number } = {}): Promise<NewBot> {
    const { permissions, flags } = given;
    const { bot } = await this.admin<{ bot: NewBot }>('/applications', {
      name,
      ...(flags !== undefined && { flags }),
    });
    const granted = permissions !== undefined && { permissions: String(permissions) };
    await this.admin(`/guilds/${this.info.guild.id}/members`, { user_id: bot.id, ...granted });
    return bot;
  }

  /** Complaints of the server: log lines from `error` up, and anything that is no log line. */
  get complaints(): string[] {
    return this.#log.filter((line) => {
      if (line.startsWith(CORK_WARNING)) return false;
      const level = /^\{"level":(\d+)/.exec(line)?.[1];
      return level === undefined || Number(level) >= 50;
    });
  }

  /** Lines of the log in which a text stands. */
  logged(text: string): readonly string[] {
    return this.#log.filter((line) => line.includes(text));
  }

  /** Resident memory in bytes. */
  async rssBytes(): Promise<number> {
    const text = await (await fetch(`${this.info.admin.url}/metrics`)).text();
    return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]);
  }

  /** Asks it to end and waits until it has. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    const code = await this.exit;
    await this.#end();
    return code;
  }

  async kill9(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exit;
    await this.#end();
  }

  /** The end of every test file: all answers fitted the published file, nothing went wrong inside, and it ends well. */
  async finish(): Promise<void> {
    const code = await this.stop();
    const { complaints } = this;
    const mismatches = [...new Set(this.relay?.mismatches ?? [])];
    expect({ code, complaints, mismatches }).toEqual({ code: 0, complaints: [], mismatches: [] });
  }
}

/** Servers that a failed test has not stopped must not outlive its process. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

const CLI = join(ROOT, 'dist/cli.js');
/** Flags of Node that the program starts with, in its first line: they shorten a start. */
const FLAGS =
  readFileSync(join(ROOT, 'cli.ts'), 'utf8')
    .split('\n', 1)[0]!
    .match(/--wasm\S+/g) ?? [];
const START_TIMEOUT_MS = 110_000;

/** Others look for ports too, and may have taken one that was free a moment ago. */
const PORTS_TRIED_MAX = 3;

/** @throws when it ends, or says nothing, before it listens; with what it complained of. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await startOn(options.port ?? (await freePort()), options);
    } catch (error) {
      const isTaken = /cannot listen/.test(String(error)) && options.port === undefined;
      if (!isTaken || tried === PORTS_TRIED_MAX) throw error;
    }
  }
}

async function startOn(port: number, options: ServerOptions): Promise<TestServer> {
  const { bots = 1, dataDir, rateLimits = false, guide = false, set = {}, relayed = true } = options;
  const { shards, chaos, embedded = dataDir !== undefined } = options;
  const relay = relayed ? await openRelay(() => port) : null;
  const database = embedded || options.databaseUrl !== undefined ? null : await createServerDatabase();
  const databaseUrl = options.databaseUrl ?? database?.url;
  const end = () => Promise.all([relay?.close(), database?.drop()]);
  const free = { voice_port: 0, voice_udp_port: 0, voice_webrtc_port: 0 };
  const settings = Object.entries({ ...free, ...set }).flatMap(([key, value]) => [
    '--set',
    `${key}=${value}`,
  ]);
  const child = spawn(
    process.execPath,
    [
      ...[...FLAGS, CLI, 'dev', '--json', '--port', String(port), '--admin-port', '0'],
      ...['--bots', String(bots)],
      ...(dataDir === undefined ? [] : ['--data', dataDir]),
      ...(shards === undefined ? [] : ['--shards', String(shards)]),
      ...(rateLimits ? [] : ['--no-rate-limits']),
      ...(guide ? ['--guide'] : []),
      ...(chaos === undefined ? [] : ['--chaos', chaos]),
      ...(relay ? ['--public-url', relay.origin] : []),
      ...settings,
    ],
    {
      ...{ cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] },
      env: { ...process.env, ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }) },
    },
  );
  const log: string[] = [];
  createInterface({ input: child.stderr! }).on('line', (line) => log.push(line));
  running.add(child);
  const exit = once(child, 'exit').then(([code]) => {
    running.delete(child);
    return code as number | null;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT_MS);
  try {
    const lines = createInterface({ input: child.stdout! });
    const [line] = await Promise.race([
      once(lines, 'line'),
      exit.then((code) => Promise.reject(new Error(`It ended with ${code}: ${log.join('\n')}`))),
    ]);
    const said = JSON.parse(String(line)) as DevInfo | { readonly error: { readonly message: string } };
    if ('error' in said) throw new Error(said.error.message);
    return new TestServer({ info: said, child, port, relay, log, exit, end });
  } catch (error) {
    await end();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

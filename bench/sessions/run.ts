import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isRecord } from '../../protocol/json.ts';
import { present } from '../../protocol/present.ts';
import { type SpawnedServer, spawnServer } from '../gateway/spawn.ts';
import { markOf, stampOf } from '../gateway/stamp.ts';
import { addMembers } from '../guild/members.ts';
import { nowNs } from '../wire/pace.ts';
import { residentOnce, usageOf } from '../wire/process.ts';
import { Client, type ClientCounts, type Delays, delayAt, sumOf } from './client.ts';
import { compileClient } from './compile.ts';
import { GUILDS_MAX, mostSessions, type Plan } from './plan.ts';

/** The server's memory and CPU at a time of the run. */
export interface Sample {
  readonly seconds: number;
  readonly phase: string;
  readonly ready: number;
  readonly rssMib: number;
  /** Share of one core since the previous sample. */
  readonly cpuShare: number;
}

/** A message in each guild: when it reached each of its sessions. */
export interface Round {
  readonly sent: number;
  readonly expected: number;
  readonly received: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Sessions of the killed process, how long they were away, how many came back without RESUME, and a further message in each guild. */
interface Killed {
  readonly sessions: number;
  readonly backSeconds: number;
  readonly identified: number;
  readonly after: Round;
}

export interface Figures {
  readonly connectSeconds: number;
  readonly emptyRssMib: number;
  /** Memory of all processes, pages that they share counted once: without sessions, and at the end of idling. */
  readonly onceMib: { readonly empty: number; readonly idle: number };
  readonly samples: readonly Sample[];
  /** Share of one core without sessions, and the mean while nothing happened but heartbeats. */
  readonly emptyShare: number;
  readonly idleShare: number;
  readonly before: Round;
  /** Null when the other processes could not have held all sessions. */
  readonly killed: Killed | null;
  readonly counts: ClientCounts;
}

type Progress = (text: string) => void;

interface Guild {
  readonly id: string;
  readonly channelId: string;
}

const MIB = 2 ** 20;
const SAMPLE_MS = 5000;
const LONG_MS = 30 * 60_000;
/** For how long CPU is measured without sessions, after a start that has settled. */
const SETTLE_MS = 20_000;
const EMPTY_MS = 40_000;
/** Messages are complete when none has come for so long. */
const QUIET_MS = 3000;
const GUILDS_AT_ONCE = 4;

/** Waits until something is so. @throws Error after half an hour. */
async function until(what: string, isSo: () => boolean): Promise<number> {
  const startMs = performance.now();
  while (!isSo()) {
    if (performance.now() - startMs > LONG_MS)
      throw new Error(`In half an hour it did not come to be: ${what}.`);
    await pause(100);
  }
  return (performance.now() - startMs) / 1000;
}

function start({ databaseUrl, shards }: Plan, folder: string): Promise<SpawnedServer> {
  return spawnServer(process.execPath, [
    fileURLToPath(new URL('../../cli.js', import.meta.url)),
    ...[
      'dev',
      '--json',
      '--port',
      '0',
      '--no-rate-limits',
      '--log-level',
      'error',
      '--data',
      join(folder, 'data'),
    ],
    ...(shards === 1 ? [] : ['--shards', String(shards)]),
    ...['--set', 'sockets_per_ip_max=1000000', '--set', 'sockets_max=1000000', '--set', 'voice=false'],
    ...['--set', `guilds_owned_max=${GUILDS_MAX}`],
    ...['--set', `database_url=${databaseUrl}`],
  ]);
}

async function post(server: SpawnedServer, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.api}/v10${path}`, {
    method: 'POST',
    headers: { authorization: present(server.people[0]), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer: unknown = await response.json();
  if (!response.ok || !isRecord(answer))
    throw new Error(`POST ${path} was answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Guilds of one owner, with a text channel each. */
async function makeGuilds(server: SpawnedServer, count: number): Promise<Guild[]> {
  const guilds: Guild[] = [];
  for (let no = 0; no < count; no += 1) {
    const { id } = await post(server, '/guilds', { name: `Guild ${no}` });
    const channel = await post(server, `/guilds/${String(id)}/channels`, { name: 'hall', type: 0 });
    guilds.push({ id: String(id), channelId: String(channel.id) });
  }
  return guilds;
}

/** Samples the server every few seconds until `stop`. */
class Watch {
  readonly samples: Sample[] = [];
  phase = 'connecting';
  readonly #pids: () => readonly number[];
  readonly #ready: () => number;
  readonly #startMs = performance.now();
  readonly #timer: NodeJS.Timeout;
  #last: { readonly atMs: number; readonly cpuMicros: number; readonly processes: number } | null = null;

  constructor(pids: () => readonly number[], ready: () => number) {
    this.#pids = pids;
    this.#ready = ready;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#sample();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    const pids = this.#pids();
    const usage = usageOf(pids);
    if (usage === null) return;
    const atMs = performance.now();
    // The CPU of fewer processes cannot be compared with that of all.
    const last = this.#last?.processes === pids.length ? this.#last : null;
    const cpuShare = last ? (usage.cpuMicros - last.cpuMicros) / ((atMs - last.atMs) * 1000) : 0;
    this.#last = { atMs, cpuMicros: usage.cpuMicros, processes: pids.length };
    this.samples.push({
      seconds: Math.round((atMs - this.#startMs) / 1000),
      phase: this.phase,
      ready: this.#ready(),
      rssMib: usage.rssBytes / MIB,
      cpuShare,
    });
  }
}

/** Starts a server on an empty database and runs all phases. */
export async function measureSessions(plan: Plan, folder: string, progress: Progress): Promise<Figures> {
  const program = compileClient(folder);
  progress(`${plan.guilds} guilds of ${plan.membersOfGuild} are made …`);
  const first = await start(plan, folder);
  const guilds = await makeGuilds(first, plan.guilds).finally(() => first.stop());
  const tokens: string[] = [];
  for (const [at, { id }] of guilds.entries()) {
    const count = Math.min(plan.membersOfGuild, plan.sessions - at * plan.membersOfGuild);
    const members = { guildId: id, first: at * plan.membersOfGuild + 1, count, tokens: count };
    tokens.push(
      ...(await addMembers({ databaseUrl: plan.databaseUrl, ...members, onProgress: () => undefined })),
    );
  }
  const server = await start(plan, folder);
  const run = new SessionsRun(plan, { server, guilds, progress });
  try {
    return await run.all(program, tokens, folder);
  } finally {
    await run.stop();
    await server.stop();
  }
}

class SessionsRun {
  readonly #plan: Plan;
  readonly #server: SpawnedServer;
  readonly #guilds: readonly Guild[];
  readonly #progress: Progress;
  readonly #runId = randomBytes(4).toString('hex');
  #clients: readonly Client[] = [];
  #alive: readonly number[];
  #watch: Watch | null = null;

  constructor(
    plan: Plan,
    { server, guilds, progress }: { server: SpawnedServer; guilds: readonly Guild[]; progress: Progress },
  ) {
    this.#plan = plan;
    this.#server = server;
    this.#guilds = guilds;
    this.#progress = progress;
    this.#alive = server.pids;
  }

  async all(program: string, tokens: readonly string[], folder: string): Promise<Figures> {
    const { sessions, minutes } = this.#plan;
    const emptyRssMib = (usageOf(this.#alive)?.rssBytes ?? 0) / MIB;
    const emptyOnceMib = this.#onceMib();
    const emptyShare = await this.#emptyShare();
    const watch = new Watch(
      () => this.#alive,
      () => this.#counts.ready,
    );
    this.#watch = watch;
    this.#progress(`${sessions} sessions connect, ${this.#plan.perSecond} a second …`);
    this.#clients = this.#start(program, tokens, folder);
    const connectSeconds = await until('all sessions are ready', () => this.#counts.ready === sessions);
    this.#progress(`They took ${connectSeconds.toFixed(0)} s. They stay ${minutes} minutes …`);
    watch.phase = 'idle';
    await pause(minutes * 60_000);
    const onceMib = { empty: emptyOnceMib, idle: this.#onceMib() };
    const idle = watch.samples.filter(({ phase }) => phase === 'idle').slice(1);
    const idleShare = idle.reduce((sum, { cpuShare }) => sum + cpuShare, 0) / Math.max(1, idle.length);
    watch.phase = 'messages';
    this.#progress('A message is sent to each guild …');
    const before = await this.#round(0);
    const killed = sessions <= mostSessions(this.#plan.shards - 1) ? await this.#kill(watch) : null;
    watch.stop();
    const counts = this.#counts;
    const { samples } = watch;
    return { connectSeconds, emptyRssMib, onceMib, samples, emptyShare, idleShare, before, killed, counts };
  }

  async stop(): Promise<void> {
    this.#watch?.stop();
    await Promise.all(this.#clients.map((client) => client.stop()));
  }

  /** What the processes spend by themselves. */
  async #emptyShare(): Promise<number> {
    this.#progress(`The server is idle for ${(SETTLE_MS + EMPTY_MS) / 1000} s …`);
    await pause(SETTLE_MS);
    const [startMs, before] = [performance.now(), usageOf(this.#alive)];
    await pause(EMPTY_MS);
    const after = usageOf(this.#alive);
    if (before === null || after === null) return 0;
    return (after.cpuMicros - before.cpuMicros) / ((performance.now() - startMs) * 1000);
  }

  #onceMib(): number {
    return (residentOnce(this.#alive) ?? 0) / MIB;
  }

  get #counts(): ClientCounts {
    return sumOf(this.#clients.map(({ counts }) => counts));
  }

  /** Each client has a source address of its own, because an address has fewer ports than there are sessions. */
  #start(program: string, tokens: readonly string[], folder: string): Client[] {
    const { clients, perSecond } = this.#plan;
    const share = (index: number): number => Math.floor((tokens.length * index) / clients);
    return Array.from(
      { length: clients },
      (_, index) =>
        new Client({
          program,
          gateway: new URL(this.#server.gateway),
          sourceAddress: `127.0.0.${index + 2}`,
          tokens: tokens.slice(share(index), share(index + 1)),
          tokensFile: join(folder, `tokens-${index}`),
          perSecond: perSecond / clients,
          mark: markOf(this.#runId),
        }),
    );
  }

  /** A message in every guild, a few at a time, and the delays until each of its sessions has it. */
  async #round(firstNumber: number): Promise<Round> {
    const expected = this.#plan.sessions;
    const startCount = this.#counts.messages;
    const queue = [...this.#guilds.entries()];
    const send = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const [at, { channelId }] = next;
        const content = stampOf(this.#runId, firstNumber + at, Math.floor(nowNs() / 1000));
        await post(this.#server, `/channels/${channelId}/messages`, { content });
      }
    };
    await Promise.all(Array.from({ length: GUILDS_AT_ONCE }, send));
    const received = (): number => this.#counts.messages - startCount;
    let seen = -1;
    while (received() < expected && received() !== seen) {
      seen = received();
      await pause(QUIET_MS);
    }
    const laps: readonly Delays[] = await Promise.all(this.#clients.map((client) => client.lap()));
    return {
      ...{ sent: this.#guilds.length, expected, received: received() },
      ...{ p50Ms: delayAt(0.5, laps), p99Ms: delayAt(0.99, laps), maxMs: delayAt(1, laps) },
    };
  }

  async #kill(watch: Watch): Promise<Killed> {
    watch.phase = 'killed';
    const victim = present(this.#server.shards[0]).pid;
    const { identified, closed } = this.#counts;
    this.#progress('One process is killed …');
    this.#alive = this.#alive.filter((pid) => pid !== victim);
    process.kill(victim, 'SIGKILL');
    const startMs = performance.now();
    await until('the connections of the killed process end', () => this.#counts.closed > closed);
    await pause(1500);
    await until('its sessions are back', () => this.#counts.ready === this.#plan.sessions);
    const counts = this.#counts;
    const backSeconds = (performance.now() - startMs) / 1000;
    watch.phase = 'messages';
    const after = await this.#round(this.#guilds.length);
    return {
      ...{ sessions: counts.closed - closed, backSeconds, after },
      identified: counts.identified - identified,
    };
  }
}

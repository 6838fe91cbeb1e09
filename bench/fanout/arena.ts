import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { present } from '../../protocol/present.ts';
import type { Entrant } from './entrant.ts';
import { READING, seeingMember } from './house.ts';
import type { CrowdNews, CrowdOrder, HostNews, HostOrder } from './orders.ts';

export const SERVER_CPU = '0';
export const LOAD_CPU = '1';

/** Whether processes can be pinned to processors; without pinning the figures vary more. */
export const canPin = availableParallelism() >= 2 && spawnSync('taskset', ['--version']).status === 0;

const scriptOf = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url));

const isOf = <News extends { readonly kind: string }, K extends News['kind']>(
  news: News,
  kind: K,
): news is Extract<News, { kind: K }> => news.kind === kind;

/** A process of the benchmark, controlled by messages. */
export class Worker<Order extends object, News extends { readonly kind: string }> {
  readonly #child: ChildProcess;
  /** Each takes the message that it waits for, and only that one. */
  readonly #waiting: ((news: News) => boolean)[] = [];

  /** @param flags Flags for Node. */
  constructor(script: string, args: readonly string[], cpu: string, flags: readonly string[] = []) {
    const pinned = canPin
      ? { execPath: 'taskset', execArgv: ['-c', cpu, process.execPath, ...flags] }
      : { execArgv: [...flags] };
    this.#child = fork(script, [...args], { ...pinned, stdio: 'inherit' });
    this.#child.on('message', (news: News) => this.#hear(news));
    this.#child.on('exit', (code) => {
      if (code) throw new Error(`${script} ended with code ${code}.`);
    });
  }

  get pid(): number {
    return present(this.#child.pid);
  }

  order(order: Order): void {
    this.#child.send(order);
  }

  /** Waits for the next message of a kind. */
  next<K extends News['kind']>(
    kind: K,
    matches: (news: Extract<News, { kind: K }>) => boolean = () => true,
  ): Promise<Extract<News, { kind: K }>> {
    return new Promise((resolve) => {
      this.#waiting.push((news) => {
        if (!isOf(news, kind) || !matches(news)) return false;
        resolve(news);
        return true;
      });
    });
  }

  end(): void {
    this.#child.removeAllListeners('exit');
    this.#child.disconnect();
  }

  #hear(news: News): void {
    if (news.kind === 'lost') throw new Error(`A connection was lost: ${JSON.stringify(news)}`);
    const index = this.#waiting.findIndex((take) => take(news));
    if (index >= 0) this.#waiting.splice(index, 1);
  }
}

export interface Heat {
  readonly cpuMicrosPerDelivery: number;
  readonly deliveriesPerSecond: number;
  readonly payloadBytesPerDelivery: number;
}

export interface PacedHeat {
  /** For each message, the time from its intended sending to the receipt at the last connection. */
  readonly latencyMs: readonly number[];
  readonly cpuShare: number;
}

/** A contender in its own process, with its connections in the load process. */
export class Stand {
  readonly entrant: Entrant;
  readonly connections: number;
  readonly #host: Worker<HostOrder, HostNews>;
  readonly #load: Load;
  readonly #crowd: number;
  #sent = 0;

  private constructor(entrant: Entrant, connections: number, load: Load, crowd: number) {
    this.entrant = entrant;
    this.connections = connections;
    this.#load = load;
    this.#crowd = crowd;
    this.#host = new Worker(scriptOf('host'), [entrant.name], SERVER_CPU);
  }

  static async open(entrant: Entrant, connections: number, load: Load, crowd: number): Promise<Stand> {
    const stand = new Stand(entrant, connections, load, crowd);
    const opened = stand.#host.next('opened');
    stand.#host.order({ kind: 'open' });
    const { port } = await opened;
    const gathered = load.next('gathered', (news) => news.crowd === crowd);
    const tokens = Array.from({ length: connections }, (_, index) => String(seeingMember(index)));
    const url = `ws://127.0.0.1:${port}${entrant.path}`;
    load.order({ kind: 'gather', crowd, url, manner: entrant.manner, tokens, intents: READING });
    await gathered;
    return stand;
  }

  /**
   * Sends `flushes` times `perFlush` messages. Each flush starts when the previous one has reached every connection, so that
   * queues favour no contender.
   */
  async heat(flushes: number, perFlush: number): Promise<Heat> {
    const crowd = this.#crowd;
    this.#load.order({ kind: 'arm', crowd, every: perFlush });
    this.#host.order({ kind: 'begin' });
    for (let flush = 0; flush < flushes; flush += 1) {
      const reached = this.#load.next('reached', (news) => news.crowd === crowd);
      this.#host.order({ kind: 'broadcast', first: this.#sent, count: perFlush });
      this.#sent += perFlush;
      await reached;
    }
    const { cpuMicros, wallMicros } = await this.#end();
    const { payloadBytes } = await this.#tell();
    const deliveries = flushes * perFlush * this.connections;
    return {
      cpuMicrosPerDelivery: cpuMicros / deliveries,
      deliveriesPerSecond: (deliveries * 1e6) / wallMicros,
      payloadBytesPerDelivery: payloadBytes / deliveries,
    };
  }

  /** Sends at a fixed rate. */
  async paced(perSecond: number, total: number, startNs: number): Promise<PacedHeat> {
    const crowd = this.#crowd;
    this.#load.order({ kind: 'arm', crowd, every: total });
    const reached = this.#load.next('reached', (news) => news.crowd === crowd);
    this.#host.order({ kind: 'begin' });
    this.#host.order({ kind: 'pace', perSecond, total, startNs });
    await reached;
    const { cpuMicros, wallMicros } = await this.#end();
    const { lastNs } = await this.#tell();
    const intervalNs = 1e9 / perSecond;
    return {
      latencyMs: lastNs.map((atNs, index) => (atNs - startNs - index * intervalNs) / 1e6),
      cpuShare: cpuMicros / wallMicros,
    };
  }

  close(): void {
    this.#host.end();
  }

  #end() {
    const ended = this.#host.next('ended');
    this.#host.order({ kind: 'end' });
    return ended;
  }

  #tell() {
    const crowd = this.#crowd;
    const told = this.#load.next('told', (news) => news.crowd === crowd);
    this.#load.order({ kind: 'tell', crowd });
    return told;
  }
}

/** The process that holds all connections. */
export class Load extends Worker<CrowdOrder, CrowdNews> {
  constructor() {
    super(scriptOf('crowd'), [], LOAD_CPU);
  }
}

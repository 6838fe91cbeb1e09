import { fileURLToPath } from 'node:url';
import { LOAD_CPU, SERVER_CPU, Worker } from '../../fanout/arena.ts';
import {
  BEATS_MS,
  type CrowdNews,
  type CrowdOrder,
  type HostNews,
  type HostOrder,
  type Life,
  type Manner,
  MEMBERS_EACH,
  messagesOf,
  type Update,
} from './orders.ts';

const scriptOf = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url));

/** The process that holds every connection. */
export class Load extends Worker<CrowdOrder, CrowdNews> {
  constructor() {
    super(scriptOf('crowd'), [], LOAD_CPU);
  }
}

export interface Use {
  readonly cpuMicros: number;
  readonly wallMicros: number;
}

export interface Weight {
  readonly rssBytes: number;
  readonly heapBytes: number;
}

/** A contender in a process of its own, with its crowd of connections in the load process. */
export class Stand {
  readonly manner: Manner;
  connections = 0;
  readonly #life: Life;
  readonly #host: Worker<HostOrder, HostNews>;
  readonly #load: Load;
  readonly #crowd: number;
  #url = '';
  #sent = 0;

  private constructor(manner: Manner, life: Life, load: Load, crowd: number) {
    this.manner = manner;
    this.#life = life;
    this.#load = load;
    this.#crowd = crowd;
    this.#host = new Worker(scriptOf('host'), [manner], SERVER_CPU, ['--expose-gc']);
  }

  static async open(manner: Manner, life: Life, load: Load, crowd: number): Promise<Stand> {
    const stand = new Stand(manner, life, load, crowd);
    const opened = stand.#host.next('opened');
    stand.#host.order({ kind: 'open', life });
    stand.#url = (await opened).url;
    return stand;
  }

  /** Joins so many more connections; what that took, accounts apart. */
  async join(count: number): Promise<Use> {
    const prepared = this.#host.next('prepared');
    this.#host.order({ kind: 'prepare', count });
    const { tokens } = await prepared;
    const crowd = this.#crowd;
    const gathered = this.#load.next('gathered', (news) => news.crowd === crowd);
    const { manner } = this;
    this.#host.order({ kind: 'begin' });
    const seats = {
      url: this.#url,
      manner,
      membersEach: MEMBERS_EACH,
      tokens,
      beatMs: BEATS_MS[this.#life],
    };
    this.#load.order({ kind: 'gather', crowd, ...seats });
    await gathered;
    this.connections += count;
    return this.#end();
  }

  async weigh(): Promise<Weight> {
    const weighed = this.#host.next('weighed');
    this.#host.order({ kind: 'weigh' });
    const { rssBytes, heapBytes } = await weighed;
    return { rssBytes, heapBytes };
  }

  /** Sends an update so many times in every lobby, each when the one before has reached everybody. */
  async heat(update: Update, times: number): Promise<Use & { readonly payloadBytes: number }> {
    const crowd = this.#crowd;
    this.#load.order({ kind: 'arm', crowd, every: messagesOf(update) });
    this.#host.order({ kind: 'begin' });
    for (let turn = 0; turn < times; turn += 1) {
      const reached = this.#load.next('reached', (news) => news.crowd === crowd);
      this.#host.order({ kind: 'update', update, index: this.#sent });
      this.#sent += 1;
      await reached;
    }
    const use = await this.#end();
    const told = this.#load.next('told', (news) => news.crowd === crowd);
    this.#load.order({ kind: 'tell', crowd });
    return { ...use, payloadBytes: (await told).payloadBytes };
  }

  close(): void {
    this.#host.end();
  }

  async #end(): Promise<Use> {
    const ended = this.#host.next('ended');
    this.#host.order({ kind: 'end' });
    const { cpuMicros, wallMicros } = await ended;
    return { cpuMicros, wallMicros };
  }
}

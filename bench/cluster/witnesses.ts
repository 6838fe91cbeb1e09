import { Worker } from 'node:worker_threads';
import type { ArenaAddresses } from './arena.ts';
import type { Quantiles } from './crowd.ts';

export interface WitnessPlan {
  readonly addresses: ArenaAddresses;
  readonly sessions: number;
  /** Messages of the guild per second. */
  readonly perSecond: number;
}

/** `killed`: a shard has just been killed. Each order is answered with what has been seen until then. */
export type WitnessOrder = 'connect' | 'write' | 'killed' | 'look' | 'finish';

export interface Witnessed {
  /** Sessions whose connections ended after the kill and that are not back. */
  readonly away: number;
  readonly ready: number;
  readonly resumed: number;
  /** Latencies of messages at the other sessions: sent before the kill, and after it while sessions were away. */
  readonly before: Quantiles;
  readonly meanwhile: Quantiles;
}

/**
 * Sessions in a thread of their own, which also writes the guild's messages and measures how late they arrive: the thread
 * of the other sessions stops for hundreds of milliseconds when thousands of its connections end at once.
 */
export class Witnesses {
  readonly #worker: Worker;

  constructor(plan: WitnessPlan) {
    this.#worker = new Worker(new URL('./witness.js', import.meta.url), { workerData: plan });
  }

  order(order: WitnessOrder): Promise<Witnessed> {
    this.#worker.postMessage(order);
    return new Promise((resolve) => this.#worker.once('message', resolve));
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

import { parentPort, workerData } from 'node:worker_threads';
import { Crowd, keepWriting } from './crowd.ts';
import type { Witnessed, WitnessOrder, WitnessPlan } from './witnesses.ts';

const LOOK_MS = 10;

/** The sessions of this thread, and what became of them after the kill. */
class Witness {
  readonly #plan: WitnessPlan;
  readonly #crowd: Crowd;
  readonly #lost = new Set<number>();
  #killedMs = Number.POSITIVE_INFINITY;
  /** When the last lost session was back, as far as is known. */
  #backMs = Number.POSITIVE_INFINITY;
  #stop: (() => Promise<void>) | null = null;
  #looking: NodeJS.Timeout | null = null;

  constructor(plan: WitnessPlan) {
    this.#plan = plan;
    this.#crowd = new Crowd(plan.addresses, plan.sessions);
  }

  async obey(order: WitnessOrder): Promise<Witnessed> {
    if (order === 'connect') await this.#crowd.connect();
    if (order === 'write') this.#stop = keepWriting(this.#plan.addresses, this.#plan.perSecond);
    if (order === 'killed') {
      this.#killedMs = performance.now();
      this.#looking = setInterval(() => this.#look(), LOOK_MS);
    }
    if (order === 'finish') await this.#finish();
    return this.#seen();
  }

  #look(): void {
    for (const [index, { isOpen }] of this.#crowd.clients.entries()) if (!isOpen) this.#lost.add(index);
  }

  async #finish(): Promise<void> {
    this.#backMs = performance.now();
    if (this.#looking) clearInterval(this.#looking);
    await this.#stop?.();
  }

  #seen(): Witnessed {
    const { ready, resumed, clients } = this.#crowd;
    const away = [...this.#lost].filter((index) => !clients[index]?.isOpen).length;
    const stays = (index: number) => !this.#lost.has(index);
    return {
      ...{ away, ready, resumed },
      before: this.#crowd.latencies((index, sentMs) => stays(index) && sentMs < this.#killedMs),
      meanwhile: this.#crowd.latencies(
        (index, sentMs) => stays(index) && sentMs >= this.#killedMs && sentMs < this.#backMs,
      ),
    };
  }
}

const plan: WitnessPlan = workerData;
const witness = new Witness(plan);
parentPort?.on('message', async (order: WitnessOrder) => {
  parentPort?.postMessage(await witness.obey(order));
});

// Goal: whatever body is answered 2xx, a stock client takes in what comes of it. Bodies are sent in batches; after each
// one a sentinel message must be seen by every bot. A batch that a library complains of is halved until the body is found.
import { bodiesOf, type Sent } from './bodies.ts';
import { World } from './world.ts';

const BATCH = 250;
/** Bots log in again after so many batches, and the server restarts after so many bodies. */
const BATCHES_PER_LOGIN = 10;
const BODIES_PER_SERVER = 20_000;
const AT_ONCE = 8;
const FAULTS_MAX = 20;
const SHOWN_CHARS_MAX = 1_000;

export interface Found {
  /** The number of the body in the run; null when no single body provokes it. */
  readonly index: number | null;
  readonly sent: Sent | null;
  readonly fault: string;
}

interface ClientsRun {
  readonly bodies: number;
  /** By operation and status. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly found: readonly Found[];
}

/** Ends of a run: after so many bodies, or after some with different faults. */
export async function runClients(
  bodies: number,
  seed: number,
  given: {
    readonly from?: number;
    readonly progress?: (done: number, found: number) => void;
    readonly onFound?: (found: Found) => void;
  } = {},
): Promise<ClientsRun> {
  const run = new Run(seed, given.onFound);
  const { from = 0, progress } = given;
  let done = 0;
  while (done < bodies && run.found.length < FAULTS_MAX) {
    const world = await World.start();
    try {
      const end = Math.min(bodies, done + BODIES_PER_SERVER);
      for (let batches = 1; done < end && run.found.length < FAULTS_MAX; batches += 1) {
        const size = Math.min(BATCH, end - done);
        await run.batch(world, from + done, size);
        done += size;
        progress?.(done, run.found.length);
        if (batches % BATCHES_PER_LOGIN === 0) await run.relogin(world, from + done);
      }
      for (const complaint of world.complaints)
        run.add({ index: null, sent: null, fault: `server: ${complaint}` });
    } finally {
      await world.stop();
    }
  }
  return { bodies: done, outcomes: run.outcomes, found: run.found };
}

class Run {
  readonly outcomes = new Map<string, number>();
  readonly found: Found[] = [];
  readonly #known = new Set<string>();
  readonly #bodyAt: (index: number) => Sent;

  readonly #onFound: (found: Found) => void;

  constructor(seed: number, onFound: (found: Found) => void = () => {}) {
    this.#onFound = onFound;
    this.#bodyAt = bodiesOf(seed);
  }

  /** Keeps one of each kind of fault. */
  add(found: Found): void {
    const kind = signature(found.fault);
    if (this.#known.has(kind)) return;
    this.#known.add(kind);
    this.found.push(found);
    this.#onFound(found);
  }

  async relogin(world: World, before: number): Promise<void> {
    try {
      await world.restartBots();
    } catch (error) {
      this.add({ index: null, sent: null, fault: `after body ${before}: ${(error as Error).message}` });
      throw error;
    }
  }

  async batch(world: World, from: number, size: number): Promise<void> {
    const indexes = Array.from({ length: size }, (_, at) => from + at);
    const faults = await this.#put(world, indexes, true);
    const unknown = faults.filter((fault) => !this.#known.has(signature(fault)));
    if (unknown.length > 0) await this.#bisect(world, indexes, unknown);
  }

  /** Sends bodies and waits for the bots; what these complained of. Faults of answers are those of their bodies. */
  async #put(world: World, indexes: readonly number[], counts: boolean): Promise<string[]> {
    await world.prepare();
    const left = [...indexes];
    const work = async () => {
      for (let index = left.shift(); index !== undefined; index = left.shift()) {
        const sent = this.#bodyAt(index);
        const wrong: string[] = [];
        const status = await world.send(sent, wrong);
        for (const fault of wrong) this.add({ index, sent, fault });
        if (counts) this.#count(`${sent.to} ${status === null ? 'sent' : status}`);
      }
    };
    await Promise.all(Array.from({ length: indexes.length < AT_ONCE ? 1 : AT_ONCE }, work));
    return world.settle();
  }

  async #bisect(world: World, indexes: readonly number[], faults: readonly string[]): Promise<void> {
    if (indexes.length === 1) {
      for (const fault of faults) this.add({ index: indexes[0]!, sent: this.#bodyAt(indexes[0]!), fault });
      return;
    }
    const middle = indexes.length >> 1;
    let isFound = false;
    for (const half of [indexes.slice(0, middle), indexes.slice(middle)]) {
      const again = (await this.#put(world, half, false)).filter(
        (fault) => !this.#known.has(signature(fault)),
      );
      if (again.length === 0) continue;
      isFound = true;
      await this.#bisect(world, half, again);
    }
    const [first, last] = [indexes[0], indexes.at(-1)];
    if (isFound) return;
    for (const fault of faults)
      this.add({ index: null, sent: null, fault: `only of bodies ${first} to ${last} together: ${fault}` });
  }

  #count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }
}

/** Faults that differ in ids, numbers and quoted values alone are of one kind. */
const signature = (fault: string): string =>
  fault
    .replaceAll(/"[^"]*"|'[^']*'/g, '""')
    .replaceAll(/\d+/g, '0')
    .split('\n')
    .slice(0, 3)
    .join('\n')
    .slice(0, 300);

/** A fault with what repeats it. */
export const described = ({ index, sent, fault }: Found, seed: number): string =>
  index === null
    ? `${fault}\n  (seed ${seed})`
    : `${fault}\n  body ${index} of seed ${seed}: npm run fuzz -- clients --seed ${seed} --from ${index} --inputs 1\n  ${JSON.stringify(sent).slice(0, SHOWN_CHARS_MAX)}`;

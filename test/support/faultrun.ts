import fc from 'fast-check';
import { expect } from 'vitest';
import type { ClusterInstance, TestCluster } from './cluster.ts';
import type { ResumingClient } from './resumingclient.ts';

/** An event of the run, so many virtual milliseconds after the one before. */
type Fault =
  | { readonly kind: 'kill' | 'roam' | 'move' | 'part'; readonly after: number }
  | { readonly kind: 'break'; readonly after: number; readonly pair: readonly [number, number] };

export const SHARDS = 4;
const MESSAGES = 60;
const DEAD_MAX = 2;

const after = fc.integer({ min: 1, max: 120 });
const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constantFrom('kill' as const, 'roam', 'move', 'part'), after }),
  fc.record({
    kind: fc.constant('break' as const),
    after,
    pair: fc.tuple(fc.nat(SHARDS - 1), fc.nat(SHARDS - 1)),
  }),
);

interface FaultSetting {
  readonly cluster: TestCluster;
  readonly clients: readonly ResumingClient[];
  /** Id of the aggregate that moves from shard to shard with its stream. */
  readonly streamId: string;
  /** Users, whose owners change as well. */
  readonly userIds: readonly string[];
  /** Sends the text to everyone, by way of this shard. */
  say(instance: ClusterInstance, text: string): Promise<{ readonly ok: boolean }>;
  /** The texts that a client received. */
  textsOf(client: ResumingClient): readonly string[];
}

/** Gapless and begun once: nothing of what a client was sent has been lost over its connections. */
export function inOrder({ received }: ResumingClient): void {
  expect(received.map(({ seq }) => seq)).toEqual(received.map((_, at) => at + 1));
  expect(received.filter(({ t }) => t === 'READY').length).toBe(1);
}

/** Texts are said while shards die, links break and everything moves; clients resume, and hear each once and in order. */
class FaultRun {
  readonly #setting: FaultSetting;
  readonly #random: (most: number) => number;
  readonly #dead = new Set<ClusterInstance>();
  readonly #asked: string[] = [];
  readonly #acknowledged: string[] = [];

  constructor(setting: FaultSetting, random: (most: number) => number) {
    this.#setting = setting;
    this.#random = random;
  }

  async play(faults: readonly Fault[]): Promise<void> {
    const { cluster, clients, textsOf } = this.#setting;
    cluster.net.delayMs = () => this.#random(15);
    const flow = this.#flow();
    for (const each of faults) {
      await cluster.pass(each.after);
      await this.#happen(each);
    }
    await cluster.while(flow);
    await cluster.pass(3000);
    expect(this.#acknowledged.length).toBeGreaterThan(0);
    for (const client of clients) {
      const asked = textsOf(client).map((text) => this.#asked.indexOf(text));
      expect(asked).toEqual([...new Set(asked)].sort((a, b) => a - b));
      expect(textsOf(client)).toEqual(expect.arrayContaining(this.#acknowledged));
      inOrder(client);
    }
  }

  #any(): ClusterInstance {
    const living = this.#setting.cluster.instances.filter((instance) => !this.#dead.has(instance));
    return living[this.#random(living.length)] as ClusterInstance;
  }

  async #flow(): Promise<void> {
    const { cluster, say } = this.#setting;
    for (let index = 0; index < MESSAGES; index += 1) {
      const text = `text ${index}`;
      this.#asked.push(text);
      const instance = this.#any();
      // The outcome of a request through a shard that dies is unknown.
      const lost = cluster.until(() => this.#dead.has(instance)).then(() => null);
      const said = say(instance, text).catch(() => null);
      const reply = await Promise.race([said, lost.catch(() => null)]);
      if (reply?.ok) this.#acknowledged.push(text);
    }
  }

  async #happen(event: Fault): Promise<void> {
    const { cluster, clients, streamId, userIds } = this.#setting;
    const client = clients[this.#random(clients.length)] as ResumingClient;
    if (event.kind === 'break') {
      const [a, b] = event.pair.map((index) => cluster.instance(index)) as [ClusterInstance, ClusterInstance];
      if (a !== b && !this.#dead.has(a) && !this.#dead.has(b)) cluster.net.break(a.id, b.id);
    } else if (event.kind === 'move') await cluster.move(streamId, this.#any());
    else if (event.kind === 'part')
      await cluster.move(userIds[this.#random(userIds.length)] as string, this.#any());
    else if (event.kind === 'roam') expect(await client.resume(this.#any())).toBe('open');
    else if (this.#dead.size < DEAD_MAX) await this.#kill(this.#any());
  }

  async #kill(victim: ClusterInstance): Promise<void> {
    const { cluster, clients } = this.#setting;
    this.#dead.add(victim);
    const homeless = clients.filter(({ home }) => home === victim);
    for (const client of homeless) client.lose();
    const orphaned = cluster.kill(victim);
    await cluster.pass(this.#random(200));
    await cluster.adopt(this.#any(), orphaned);
    for (const client of homeless) expect(await client.resume(this.#any())).toBe('open');
  }
}

/** A property over seeds and mishaps. `arrange` opens a cluster, and answers what ends it too. */
export async function holdsOverFaults(
  arrange: () => Promise<FaultSetting & { readonly close: () => Promise<void> }>,
): Promise<void> {
  const run = async (seed: number, faults: readonly Fault[]): Promise<void> => {
    let state = seed;
    const random = (most: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state >>> 8) % most;
    };
    const setting = await arrange();
    try {
      await new FaultRun(setting, random).play(faults);
    } finally {
      await setting.close();
    }
  };
  const numRuns = Number(process.env.CRASH_RUNS ?? 5);
  await fc.assert(fc.asyncProperty(fc.nat(), fc.array(fault, { maxLength: 8 }), run), {
    numRuns,
    endOnFailure: true,
  });
}

// Goal: whatever order shards die, links break and guilds move in, a client that resumes hears every message once, in order.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { UserId } from '../../protocol/ids.ts';
import { type ClusterHouse, openCluster, type TestCluster } from '../support/cluster.ts';
import type { RecordingSink } from '../support/house.ts';

beforeAll(async () => (await openCluster(1)).close(), 60_000);

type World = Awaited<ReturnType<TestCluster['found']>>;

/** A client with a memory: it resumes wherever it is let, and keeps what it has heard over all its connections. */
class Client {
  readonly heard: RecordingSink['dispatches'][number][] = [];
  readonly #cluster: TestCluster;
  readonly #token: string;
  #sink: RecordingSink | null = null;
  #id = '';
  home: ClusterHouse;

  constructor(cluster: TestCluster, token: string, home: ClusterHouse) {
    this.#cluster = cluster;
    this.#token = token;
    this.home = home;
  }

  async identify(): Promise<void> {
    const { sink, session } = await this.#cluster.while(this.home.connect(this.#token));
    this.#sink = sink;
    this.#id = session.id;
    await this.#cluster.until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  }

  /** What its connection has brought; nothing comes over it any more. */
  lose(): void {
    this.heard.push(...(this.#sink?.dispatches.splice(0) ?? []));
    this.#sink = null;
  }

  async resume(home: ClusterHouse): Promise<void> {
    this.lose();
    this.home = home;
    const seq = this.heard.at(-1)?.seq ?? 0;
    const { sink, outcome } = await this.#cluster.while(home.resume(this.#token, this.#id, seq));
    expect(outcome.kind).toBe('open');
    this.#sink = sink;
  }

  get renames(): string[] {
    return [...this.heard, ...(this.#sink?.dispatches ?? [])].flatMap(({ t, d }) =>
      t === 'GUILD_UPDATE' ? [(d as { name: string }).name] : [],
    );
  }
}

type Event =
  | { readonly kind: 'kill' | 'roam' | 'move' | 'part'; readonly after: number }
  | { readonly kind: 'break'; readonly after: number; readonly pair: readonly [number, number] };

const SHARDS = 4;
const after = fc.integer({ min: 1, max: 120 });
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constantFrom('kill' as const, 'roam', 'move', 'part'), after }),
  fc.record({
    kind: fc.constant('break' as const),
    after,
    pair: fc.tuple(fc.nat(SHARDS - 1), fc.nat(SHARDS - 1)),
  }),
);

class Run {
  readonly #cluster: TestCluster;
  readonly #world: World;
  readonly #random: (most: number) => number;
  readonly #dead = new Set<ClusterHouse>();
  readonly #clients: Client[];
  readonly #acknowledged: string[] = [];
  readonly #asked: string[] = [];

  constructor(cluster: TestCluster, world: World, random: (most: number) => number) {
    this.#cluster = cluster;
    this.#world = world;
    this.#random = random;
    this.#clients = cluster.houses.map((home) => new Client(cluster, world.botToken, home));
  }

  async play(events: readonly Event[]): Promise<void> {
    const cluster = this.#cluster;
    for (const client of this.#clients) await client.identify();
    cluster.net.delayMs = () => this.#random(15);
    const flow = this.#flow(60);
    for (const each of events) {
      await cluster.pass(each.after);
      await this.#happen(each);
    }
    await cluster.while(flow);
    await cluster.pass(1000);
    for (const { renames } of this.#clients) {
      const asked = renames.map((name) => this.#asked.indexOf(name));
      expect(asked).toEqual([...new Set(asked)].sort((a, b) => a - b));
      expect(renames).toEqual(expect.arrayContaining(this.#acknowledged));
    }
    for (const client of this.#clients) {
      client.lose();
      const { heard } = client;
      expect(heard.map(({ seq }) => seq)).toEqual(heard.map((_, at) => at + 1));
      expect(heard.filter(({ t }) => t === 'READY').length).toBe(1);
    }
  }

  get #living(): ClusterHouse[] {
    return this.#cluster.houses.filter((house) => !this.#dead.has(house));
  }

  #any(): ClusterHouse {
    return this.#living[this.#random(this.#living.length)] as ClusterHouse;
  }

  async #flow(names: number): Promise<void> {
    const { guildId, ownerId } = this.#world;
    const by = {
      userId: ownerId as UserId,
      bot: false,
      applicationId: null,
      applicationFlags: 0,
      reason: null,
    };
    for (let index = 0; index < names; index += 1) {
      const name = `guild ${index}`;
      this.#asked.push(name);
      const house = this.#any();
      const renamed = house.guilds.call(guildId, 'updateGuild', { draft: { name } }, { by, requires: 0n });
      // Asked through a shard that dies, nobody knows what became of it.
      const lost = this.#cluster.until(() => this.#dead.has(house)).then(() => null);
      const reply = await Promise.race([renamed.catch(() => null), lost.catch(() => null)]);
      if (reply?.ok) this.#acknowledged.push(name);
    }
  }

  async #happen(event: Event): Promise<void> {
    const cluster = this.#cluster;
    const client = this.#clients[this.#random(this.#clients.length)] as Client;
    if (event.kind === 'break') {
      const [a, b] = event.pair.map((index) => cluster.house(index)) as [ClusterHouse, ClusterHouse];
      if (a !== b && !this.#dead.has(a) && !this.#dead.has(b)) cluster.net.break(a.id, b.id);
    } else if (event.kind === 'move') await cluster.move(this.#world.guildId, this.#any());
    else if (event.kind === 'part') await cluster.move(this.#world.botId, this.#any());
    else if (event.kind === 'roam') await client.resume(this.#any());
    else if (this.#dead.size < 2) await this.#kill(this.#any());
  }

  async #kill(victim: ClusterHouse): Promise<void> {
    const cluster = this.#cluster;
    this.#dead.add(victim);
    const homeless = this.#clients.filter(({ home }) => home === victim);
    for (const client of homeless) client.lose();
    const orphaned = cluster.kill(victim);
    await cluster.pass(this.#random(200));
    await cluster.adopt(this.#any(), orphaned);
    for (const client of homeless) await client.resume(this.#any());
  }
}

describe('clients of a cluster', () => {
  it('miss nothing, and hear nothing twice, over crashes, moves and breaks', async () => {
    const run = async (seed: number, events: readonly Event[]): Promise<void> => {
      const folder = await mkdtemp(join(tmpdir(), 'guildhall-crashes-'));
      const cluster = await openCluster(SHARDS, { journal_dir: folder });
      let state = seed;
      const random = (most: number): number => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return (state >>> 8) % most;
      };
      try {
        await new Run(cluster, await cluster.found(), random).play(events);
      } finally {
        cluster.close();
        await rm(folder, { recursive: true });
      }
    };
    const arbitrary = fc.array(event, { maxLength: 8 });
    const numRuns = Number(process.env.CRASH_RUNS ?? 5);
    await fc.assert(fc.asyncProperty(fc.nat(), arbitrary, run), { numRuns, endOnFailure: true });
  }, 300_000);
});

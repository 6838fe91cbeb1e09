// Goal: what people are told directly is heard once, in order and whole, whichever shard dies, moves or is cut off.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Authority } from '../../engine/authority.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { type ClusterHouse, openCluster, type TestCluster } from '../support/cluster.ts';
import { Roamer } from '../support/roamer.ts';

beforeAll(async () => (await openCluster(1)).close(), 60_000);

let cluster: TestCluster;
let folder: string;
let names = 0;
afterEach(async () => {
  cluster.close();
  await rm(folder, { recursive: true });
});

async function open(shards: number): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-direct-'));
  cluster = await openCluster(shards, { journal_dir: folder });
}

const wait = <T>(promise: Promise<T>): Promise<T> => cluster.while(promise);

interface Person {
  readonly userId: UserId;
  readonly token: string;
  readonly authority: Authority;
}

/** @param owner The shard that is to own the user. */
async function person(owner?: ClusterHouse): Promise<Person> {
  for (;;) {
    const { user, token } = await wait(cluster.house(0).operator.createUser({ username: `one${names++}` }));
    const userId = user.id as UserId;
    if (owner && cluster.ownerOf(userId) !== owner) continue;
    const by = { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
    return { userId, token, authority: { by, requires: 0n } };
  }
}

/** Two people and the channel between them. */
async function pair(annOwner?: ClusterHouse, bobOwner?: ClusterHouse, channelOwner?: ClusterHouse) {
  for (;;) {
    const [ann, bob] = [await person(annOwner), await person(bobOwner)];
    const opened = await wait(cluster.house(0).openPrivate(ann.userId, bob.userId));
    if (!opened.ok) throw new Error(opened.refusal.message);
    const { id: channelId } = opened.value;
    if (channelOwner && cluster.ownerOf(channelId) !== channelOwner) continue;
    return { ann, bob, channelId };
  }
}

const say = (house: ClusterHouse, channelId: ChannelId, content: string, { authority }: Person) => {
  const draft = { content, flags: null, nonce: null };
  const input = { ...{ channelId, draft }, ...{ carried: {}, attachments: [], forward: null } };
  return house.inPrivate(channelId, 'createMessage', input as never, authority);
};

const contents = ({ heard }: Roamer): string[] =>
  heard.flatMap(({ t, d }) => (t === 'MESSAGE_CREATE' ? [(d as { content: string }).content] : []));

const inOrder = ({ heard }: Roamer): void => {
  expect(heard.map(({ seq }) => seq)).toEqual(heard.map((_, at) => at + 1));
  expect(heard.filter(({ t }) => t === 'READY').length).toBe(1);
};

async function roamer({ token }: Person, home: ClusterHouse): Promise<Roamer> {
  const made = new Roamer(cluster, token, home);
  await made.identify('READY');
  return made;
}

const texts = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `text ${from + index}`);

describe('a direct message', () => {
  it('that was written and not told when its owner died is told by who owns the readers', async () => {
    await open(3);
    const [first, second, third] = cluster.houses as [ClusterHouse, ClusterHouse, ClusterHouse];
    const { ann, bob, channelId } = await pair(first, second, third);
    const clients = [await roamer(ann, first), await roamer(bob, first), await roamer(bob, second)];
    await wait(say(first, channelId, 'text 0', ann));
    await cluster.until(() => clients.every((each) => contents(each).length === 1), 'the first');
    // From here on nothing that the owner of the channel says gets through.
    cluster.net.delayMs = () => 60_000;
    const lost = say(third, channelId, 'text 1', ann);
    expect(await wait(lost)).toMatchObject({ ok: true });
    cluster.net.delayMs = () => 0;
    const orphaned = cluster.kill(third);
    await cluster.adopt(second, orphaned);
    await cluster.until(() => clients.every((each) => contents(each).length === 2), 'the second');
    await wait(say(first, channelId, 'text 2', bob));
    await cluster.until(() => clients.every((each) => contents(each).length === 3), 'the third');
    for (const client of clients) {
      expect(contents(client)).toEqual(texts(3));
      inOrder(client);
    }
  });

  it('that the owner of its reader did not pass on before it died comes from the next one', async () => {
    await open(3);
    const [first, second, third] = cluster.houses as [ClusterHouse, ClusterHouse, ClusterHouse];
    const { ann, bob, channelId } = await pair(first, second, third);
    const client = await roamer(bob, first);
    await wait(say(third, channelId, 'text 0', ann));
    await cluster.until(() => contents(client).length === 1, 'the first');
    const orphaned = cluster.kill(second);
    for (const text of texts(3, 1)) await wait(say(third, channelId, text, ann));
    await cluster.adopt(third, orphaned);
    await cluster.until(() => contents(client).length === 4, 'what was said meanwhile');
    expect(contents(client)).toEqual(texts(4));
    inOrder(client);
  });

  it('of while a home was dead comes with RESUME, and never again', async () => {
    await open(3);
    const [first, second, third] = cluster.houses as [ClusterHouse, ClusterHouse, ClusterHouse];
    const { ann, bob, channelId } = await pair(first, second, third);
    const client = await roamer(bob, first);
    await wait(say(third, channelId, 'text 0', ann));
    await cluster.until(() => contents(client).length === 1, 'the first');
    client.lose();
    const orphaned = cluster.kill(first);
    for (const text of texts(2, 1)) await wait(say(third, channelId, text, ann));
    await cluster.adopt(second, orphaned);
    expect(await client.resume(third)).toBe('open');
    await cluster.until(() => contents(client).length === 3, 'what was said meanwhile');
    await wait(say(second, channelId, 'text 3', ann));
    // A home that lives gives the session away.
    expect(await client.resume(second)).toBe('open');
    await wait(say(second, channelId, 'text 4', ann));
    await cluster.until(() => contents(client).length === 5, 'the last');
    await cluster.pass(200);
    expect(contents(client)).toEqual(texts(5));
    inOrder(client);
  });

  it('of before a session began is not told it, whatever moves', async () => {
    await open(2);
    const { ann, bob, channelId } = await pair();
    for (const text of texts(2)) await wait(say(cluster.house(0), channelId, text, ann));
    await cluster.pass(5000);
    const client = await roamer(bob, cluster.house(0));
    await cluster.move(bob.userId, cluster.strangerTo(bob.userId));
    await cluster.move(channelId, cluster.strangerTo(channelId));
    await cluster.pass(500);
    expect(contents(client)).toEqual([]);
    await wait(say(cluster.house(1), channelId, 'text 2', ann));
    await cluster.until(() => contents(client).length === 1, 'the next');
    expect(contents(client)).toEqual(texts(1, 2));
  });

  it('is followed by its changes, in order', async () => {
    await open(2);
    const { ann, bob, channelId } = await pair();
    const client = await roamer(bob, cluster.strangerTo(bob.userId));
    const said = await wait(say(cluster.house(0), channelId, 'text 0', ann));
    if (!said.ok) throw new Error(said.refusal.message);
    const messageId = (said.value as { message: { id: string } }).message.id as never;
    await cluster.until(() => contents(client).length === 1, 'the message');
    const orphaned = cluster.kill(cluster.ownerOf(bob.userId));
    const { house } = { house: cluster.strangerTo(bob.userId) };
    const edit = { content: 'changed' };
    const edited = house.inPrivate(
      channelId,
      'updateMessage',
      { ...{ channelId, messageId, edit }, ...{ keep: null, attachments: [], carried: {} } } as never,
      ann.authority,
    );
    await cluster.adopt(house, orphaned);
    expect(await wait(edited)).toMatchObject({ ok: true });
    const gone = house.inPrivate(channelId, 'deleteMessage', { channelId, messageId }, ann.authority);
    expect(await wait(gone)).toMatchObject({ ok: true });
    const names = () => client.heard.flatMap(({ t }) => (t.startsWith('MESSAGE') ? [t] : []));
    await cluster.until(() => names().length === 3, 'the changes');
    expect(names()).toEqual(['MESSAGE_CREATE', 'MESSAGE_UPDATE', 'MESSAGE_DELETE']);
    inOrder(client);
  });
});

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

/** Two people write to each other while shards die, links break and everything moves. */
class Run {
  readonly #random: (most: number) => number;
  readonly #talk: Awaited<ReturnType<typeof pair>>;
  readonly #dead = new Set<ClusterHouse>();
  readonly #asked: string[] = [];
  readonly #acknowledged: string[] = [];
  #clients: Roamer[] = [];

  constructor(talk: Awaited<ReturnType<typeof pair>>, random: (most: number) => number) {
    this.#talk = talk;
    this.#random = random;
  }

  async play(events: readonly Event[]): Promise<void> {
    const { ann, bob } = this.#talk;
    for (const [index, house] of cluster.houses.entries())
      this.#clients.push(await roamer(index % 2 === 0 ? ann : bob, house));
    cluster.net.delayMs = () => this.#random(15);
    const flow = this.#flow(60);
    for (const each of events) {
      await cluster.pass(each.after);
      await this.#happen(each);
    }
    await wait(flow);
    await cluster.pass(3000);
    expect(this.#acknowledged.length).toBeGreaterThan(0);
    for (const client of this.#clients) {
      const asked = contents(client).map((text) => this.#asked.indexOf(text));
      expect(asked).toEqual([...new Set(asked)].sort((a, b) => a - b));
      expect(contents(client)).toEqual(expect.arrayContaining(this.#acknowledged));
      inOrder(client);
    }
  }

  get #living(): ClusterHouse[] {
    return cluster.houses.filter((house) => !this.#dead.has(house));
  }

  #any(): ClusterHouse {
    return this.#living[this.#random(this.#living.length)] as ClusterHouse;
  }

  async #flow(count: number): Promise<void> {
    const { ann, channelId } = this.#talk;
    for (const text of texts(count)) {
      this.#asked.push(text);
      const house = this.#any();
      // Asked through a shard that dies, nobody knows what became of it.
      const lost = cluster.until(() => this.#dead.has(house)).then(() => null);
      const said = say(house, channelId, text, ann).catch(() => null);
      const reply = await Promise.race([said, lost.catch(() => null)]);
      if (reply?.ok) this.#acknowledged.push(text);
    }
  }

  async #happen(event: Event): Promise<void> {
    const { ann, bob, channelId } = this.#talk;
    const client = this.#clients[this.#random(this.#clients.length)] as Roamer;
    if (event.kind === 'break') {
      const [a, b] = event.pair.map((index) => cluster.house(index)) as [ClusterHouse, ClusterHouse];
      if (a !== b && !this.#dead.has(a) && !this.#dead.has(b)) cluster.net.break(a.id, b.id);
    } else if (event.kind === 'move') await cluster.move(channelId, this.#any());
    else if (event.kind === 'part')
      await cluster.move(this.#random(2) === 0 ? ann.userId : bob.userId, this.#any());
    else if (event.kind === 'roam') expect(await client.resume(this.#any())).toBe('open');
    else if (this.#dead.size < 2) await this.#kill(this.#any());
  }

  async #kill(victim: ClusterHouse): Promise<void> {
    this.#dead.add(victim);
    const homeless = this.#clients.filter(({ home }) => home === victim);
    for (const client of homeless) client.lose();
    const orphaned = cluster.kill(victim);
    await cluster.pass(this.#random(200));
    await cluster.adopt(this.#any(), orphaned);
    for (const client of homeless) expect(await client.resume(this.#any())).toBe('open');
  }
}

describe('people who write to each other', () => {
  it('hear everything once and in order, over crashes, moves and breaks', async () => {
    const run = async (seed: number, events: readonly Event[]): Promise<void> => {
      await open(SHARDS);
      let state = seed;
      const random = (most: number): number => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return (state >>> 8) % most;
      };
      try {
        await new Run(await pair(), random).play(events);
      } finally {
        cluster.close();
        await rm(folder, { recursive: true });
      }
    };
    const numRuns = Number(process.env.CRASH_RUNS ?? 5);
    await fc.assert(fc.asyncProperty(fc.nat(), fc.array(event, { maxLength: 8 }), run), {
      numRuns,
      endOnFailure: true,
    });
    await open(1);
  }, 300_000);
});

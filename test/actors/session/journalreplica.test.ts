// Goal: when a machine is gone with its disk, its sessions go on from the copy that another shard has kept.
import { describe, expect, it } from 'vitest';
import type { OwnershipChange, Router, ShardInfo } from '../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { CrashedJournals } from '../../../actors/session/crashedjournals.ts';
import { Journal } from '../../../actors/session/journal.ts';
import { JournalReplicas, JournalReplication } from '../../../actors/session/journalreplica.ts';
import { plainOf } from '../../../actors/session/record.ts';
import type { GatewaySessionActor } from '../../../actors/session/session.shell.ts';
import { LinkFault } from '../../../protocol/faults.ts';
import { MemoryJournals } from '../../support/memoryjournals.ts';
import { arrange, BOT, dispatchOf, FakeSink, identifyWith, settled } from './harness.ts';

const AGE_MS = 150_000;

class Net {
  readonly clock = new VirtualClock();
  readonly shards = new Map<string, ReturnType<typeof shard>>();
  readonly gone = new Set<string>();
  /** Shards that do not answer; `losing`: of the next question only the answer is lost. */
  readonly silent = new Set<string>();
  readonly losing = new Set<string>();
  /** Shards that answer to an append only after this. */
  readonly held = new Map<string, Promise<void>>();
  /** The sizes of the chunks that arrived, in bytes. */
  readonly sizes: number[] = [];
  readonly bytesMax: number;

  constructor(bytesMax = 64 << 20) {
    this.bytesMax = bytesMax;
  }

  add(id: string, place: string, host = id) {
    const added = shard(this, { id, instance: `${id}-run`, host } as ShardInfo, place);
    this.shards.set(id, added);
    this.change({ came: [added.self] });
    return added;
  }

  get view() {
    const shards = [...this.shards.values()].map(({ self }) => self).filter(({ id }) => !this.gone.has(id));
    return { revision: 1, shards, owners: [] };
  }

  change(change: Partial<OwnershipChange>): void {
    for (const { hearers } of this.shards.values())
      for (const hear of hearers) hear({ moved: [], gone: [], came: [], ...change });
  }

  kill(id: string): void {
    const killed = this.shards.get(id);
    this.gone.add(id);
    if (killed) this.change({ gone: [killed.self] });
  }

  async ask(to: string, method: string, args: readonly unknown[]): Promise<unknown> {
    await (method === 'journals.append' ? this.held.get(to) : undefined);
    if (this.silent.has(to) || this.gone.has(to)) throw new LinkFault('unreachable', 'planted');
    const chunk = args[4];
    if (chunk instanceof Uint8Array) this.sizes.push(chunk.length);
    const answer = await this.shards.get(to)?.handlers.get(method)?.(structuredClone(args) as never);
    if (this.losing.delete(to)) throw new LinkFault('lost', 'planted');
    return answer;
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      await settled();
      this.clock.advance(50);
    }
    await settled();
  }
}

function shard(net: Net, self: ShardInfo, place: string) {
  const { clock } = net;
  const wheel = new TimerWheel(clock);
  const store = new MemoryJournals(() => clock.now(), place);
  const handlers = new Map<string, (args: never) => unknown>();
  const hearers = new Set<(change: OwnershipChange) => void>();
  const faults: unknown[] = [];
  const ports = {
    ownership: {
      self,
      get view() {
        return net.view;
      },
      onChange(run: (change: OwnershipChange) => void) {
        hearers.add(run);
        return () => void hearers.delete(run);
      },
    },
    router: {
      askShard: (to, method, args) => net.ask(to, method, args) as Promise<never>,
      serve: (method, run) => void handlers.set(method, run as (args: never, ...rest: never[]) => unknown),
    } satisfies Pick<Router, 'askShard' | 'serve'>,
    ...{ store, clock, wheel },
    settings: { bytesMax: net.bytesMax, ageMs: AGE_MS },
    onFault: (error: unknown) => faults.push(error),
  };
  const buddy = new JournalReplication({
    ...ports,
    rotate: () => journal.rotate(),
    score: (_, peer) => peer.charCodeAt(0),
  });
  const copies = new JournalReplicas(ports);
  const journal = new Journal(store.begin(self.id, self.instance), {
    ...{ settings: ports.settings, clock, wheel, onFault: ports.onFault },
    tap: (batch, segment, at) => buddy.append(batch, segment, at),
  });
  let made = self.id.charCodeAt(0);
  const randomBytes = (size: number) => new Uint8Array(size).fill(++made);
  const instance = arrange({}, { journal, randomBytes }, clock);
  const dead = new CrashedJournals({
    ...{ store, clock, settings: { framesMax: 512, ageMs: AGE_MS } },
    hasCrashed: async ({ instance }) => !net.view.shards.some((live) => live.instance === instance),
    onDamage: (_, damages) => faults.push(damages),
  });
  async function open() {
    const outcome = await instance.sessions.identify(identifyWith(), new FakeSink());
    await settled();
    if (outcome.kind !== 'open') throw new Error('not open');
    return outcome.session as GatewaySessionActor;
  }
  const take = async ({ id: sessionId }: GatewaySessionActor, seq: number) => {
    const taking = dead.take({ sessionId, principal: plainOf(BOT), seq }, '', true);
    await net.pass(200);
    return taking;
  };
  /** Closes the replicas and opens them again over the same disk. */
  const startAgain = (): { readonly bytes: number } => {
    copies.close();
    return new JournalReplicas(ports);
  };
  return { self, store, handlers, hearers, faults, buddy, copies, startAgain, journal, instance, open, take };
}

/** Two shards of which each is the other's buddy, and a session of one. */
async function paired() {
  const net = new Net();
  const a = net.add('a', 'disk-1');
  const b = net.add('b', 'disk-2');
  await net.pass(2000);
  const session = await a.open();
  await net.pass(500);
  return { net, a, b, session };
}

const jsons = (taking: Awaited<ReturnType<ReturnType<typeof shard>['take']>>) =>
  taking.kind === 'taken'
    ? taking.record.missed.map(({ json }) => (JSON.parse(json) as { content: string }).content)
    : taking.kind;

describe('a replica of a journal', () => {
  it('is kept by one shard on another disk, on another machine if there is one', () => {
    const net = new Net();
    const a = net.add('a', 'disk-1', 'machine-1');
    net.add('x', 'disk-1', 'machine-2');
    net.add('c', 'disk-2', 'machine-1');
    net.add('b', 'disk-3', 'machine-3');
    return net.pass(100).then(() => expect(a.buddy.shardId).toBe('b'));
  });

  it('is not created when all shards share one disk', async () => {
    const net = new Net();
    const a = net.add('a', 'disk');
    net.add('b', 'disk');
    const session = await a.open();
    await net.pass(3000);
    expect([a.buddy.shardId, a.buddy.waitingBytes, session.over]).toEqual([null, 0, false]);
  });

  it('contains only sequence numbers of dispatches from before its start, and all later dispatches', async () => {
    const net = new Net();
    const a = net.add('a', 'disk-1');
    const early = await a.open();
    early.deliver(dispatchOf('before', net.clock.monotonic()));
    await net.pass(500);
    const b = net.add('b', 'disk-2');
    await net.pass(2000);
    const seq = early.seq;
    early.deliver(dispatchOf('after', net.clock.monotonic()));
    const late = await a.open();
    await net.pass(500);
    net.kill('a');
    expect(jsons(await b.take(early, seq))).toEqual(['after']);
    expect(jsons(await b.take(late, late.seq))).toEqual([]);
    expect(b.faults).toEqual([]);
  });

  it('loses and duplicates no dispatch with lost responses and pauses', async () => {
    const { net, a, b, session } = await paired();
    const { seq } = session;
    const said: string[] = [];
    for (let round = 0; round < 30; round += 1) {
      if (round % 7 === 0) net.losing.add('b');
      if (round % 10 === 3) net.silent.add('b');
      if (round % 10 === 6) net.silent.delete('b');
      if (round % 11 === 0) a.journal.rotate();
      said.push(`no. ${round}`);
      session.deliver(dispatchOf(`no. ${round}`, net.clock.monotonic()));
      await net.pass(250);
    }
    net.silent.clear();
    await net.pass(5000);
    expect(a.buddy.waitingBytes).toBe(0);
    net.kill('a');
    expect(jsons(await b.take(session, seq))).toEqual(said);
    expect(b.faults).toEqual([]);
  });

  it('restarts when it has fallen too far behind, and never replays wrong dispatches', async () => {
    const { net, a, b, session } = await paired();
    net.silent.add('b');
    const { seq } = session;
    for (let count = 0; count < 20; count += 1) {
      session.deliver(dispatchOf('x'.repeat(1 << 20), net.clock.monotonic()));
      await net.pass(50);
      expect(a.buddy.waitingBytes).toBeLessThanOrEqual(a.buddy.waitingBytesMax);
    }
    net.silent.clear();
    await net.pass(8000);
    const before = session.seq;
    session.deliver(dispatchOf('after', net.clock.monotonic()));
    await net.pass(1000);
    net.kill('a');
    expect(jsons(await b.take(session, before))).toEqual(['after']);
    expect(seq).toBeLessThan(before);
  });

  it('has up to 16 MiB that wait, and starts again without them beyond that', async () => {
    const { net, a } = await paired();
    net.silent.add('b');
    a.buddy.append(new Uint8Array(16 << 20), 9, 0);
    expect(a.buddy.waitingBytes).toBe(16 << 20);
    a.buddy.append(new Uint8Array(1), 9, 16 << 20);
    expect(a.buddy.waitingBytes).toBe(0);
  });

  it('is sent in requests of up to 4 MiB', async () => {
    const { net, a } = await paired();
    let answer = (): void => undefined;
    net.held.set('b', new Promise((resolve) => (answer = resolve)));
    net.sizes.splice(0);
    for (let at = 0; at < 6; at += 1) a.buddy.append(new Uint8Array(1 << 20), 9, at << 20);
    answer();
    await net.pass(100);
    expect(net.sizes).toEqual([1 << 20, 4 << 20, 1 << 20]);
    expect(a.buddy.waitingBytes).toBe(0);
  });

  it('is continued by a shard that restarts with its disk', async () => {
    const { net, a, b, session } = await paired();
    const { seq } = session;
    session.deliver(dispatchOf('before', net.clock.monotonic()));
    await net.pass(500);
    const copies = b.startAgain();
    session.deliver(dispatchOf('meanwhile', net.clock.monotonic()));
    await net.pass(5000);
    const since = session.seq;
    session.deliver(dispatchOf('after', net.clock.monotonic()));
    await net.pass(1000);
    expect([a.buddy.waitingBytes, copies.bytes > 0, b.faults]).toEqual([0, true, []]);
    net.kill('a');
    expect(jsons(await b.take(session, since))).toEqual(['after']);
    expect(since).toBeGreaterThan(seq);
  });

  it('moves to a better shard while the previous one still has a request to answer', async () => {
    const { net, a, session } = await paired();
    let answer = (): void => undefined;
    net.held.set('b', new Promise((resolve) => (answer = resolve)));
    session.deliver(dispatchOf('before', net.clock.monotonic()));
    await net.pass(500);
    const c = net.add('c', 'disk-3');
    await net.pass(3000);
    expect([a.buddy.shardId, a.buddy.waitingBytes > 0, c.copies.bytes]).toEqual(['c', true, 0]);
    answer();
    await net.pass(50);
    expect([a.buddy.waitingBytes, c.copies.bytes > 0]).toEqual([0, true]);
    net.kill('a');
    expect(jsons(await c.take(session, session.seq))).toEqual([]);
  });

  it('does not restart when a shard joins that is no better', async () => {
    const { net, a, b } = await paired();
    const segments = () => a.store.segments({ shardId: 'a', instance: 'a-run', copy: false, writtenMs: 0 });
    const before = await segments();
    net.add('x', 'disk-1');
    await net.pass(3000);
    expect([a.buddy.shardId, await segments(), b.faults]).toEqual(['b', before, []]);
  });

  it('does not resume a session whose client has a later sequence number', async () => {
    const { net, b, session } = await paired();
    net.kill('a');
    expect((await b.take(session, session.seq + 1)).kind).toBe('unknown');
    expect((await b.take(session, session.seq)).kind).toBe('taken');
  });

  it('rejects a chunk that leaves a gap in its segment, and ignores a repeated one of an earlier segment', async () => {
    const net = new Net();
    const { store } = net.add('b', 'disk-2');
    const append = (segment: number, at: number, text: string) =>
      net.ask('b', 'journals.append', ['a', 'a-run', segment, at, Buffer.from(text)]);
    const folder = { shardId: 'a', instance: 'a-run', copy: true, writtenMs: 0 };
    const texts = async () => [String(await store.read(folder, 1)), String(await store.read(folder, 2))];
    expect([await append(1, 0, 'abcd'), await append(1, 8, 'ijkl')]).toEqual([true, false]);
    expect(await texts()).toEqual(['abcd', '']);
    expect([await append(1, 4, 'efgh'), await append(2, 0, 'ij')]).toEqual([true, true]);
    expect([await append(1, 4, 'efgh'), await texts()]).toEqual([true, ['abcdefgh', 'ij']]);
  });

  it('keeps its previous segment beyond the age bound until a later segment has ended', async () => {
    const net = new Net();
    const { store } = net.add('b', 'disk-2');
    const append = (segment: number, at: number) =>
      net.ask('b', 'journals.append', ['a', 'a-run', segment, at, Buffer.from('x')]);
    const segments = () => store.segments({ shardId: 'a', instance: 'a-run', copy: true, writtenMs: 0 });
    for (const segment of [1, 2]) await append(segment, 0);
    net.clock.advance(AGE_MS + 1000);
    await append(2, 1);
    expect(await segments()).toEqual([1, 2]);
    await append(3, 0);
    expect(await segments()).toEqual([2, 3]);
  });

  it('grows up to its size bound, and then drops its oldest segments but not the previous one', async () => {
    const net = new Net(100);
    const { store } = net.add('b', 'disk-2');
    const append = (segment: number, at: number, size: number) =>
      net.ask('b', 'journals.append', ['a', 'a-run', segment, at, Buffer.alloc(size)]);
    const segments = () => store.segments({ shardId: 'a', instance: 'a-run', copy: true, writtenMs: 0 });
    await append(1, 0, 40);
    await append(2, 0, 40);
    await append(3, 0, 20);
    expect(await segments()).toEqual([1, 2, 3]);
    await append(3, 20, 1);
    expect(await segments()).toEqual([2, 3]);
    await append(3, 21, 100);
    expect(await segments()).toEqual([2, 3]);
  });

  it('ends if its shard does not return', async () => {
    const net = new Net();
    const a = net.add('a', 'disk-1');
    const b = net.add('b', 'disk-2');
    await net.pass(2000);
    await a.open();
    await net.pass(1000);
    expect(b.copies.bytes).toBeGreaterThan(0);
    net.kill('a');
    net.clock.advance(AGE_MS + 1000);
    expect(b.copies.bytes).toBe(0);
  });
});

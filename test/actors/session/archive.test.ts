// Goal: a session is found wherever it is, one of those who ask gets it, and nothing of it is lost on the way.
import { describe, expect, it } from 'vitest';
import type { OwnershipChange, Router, ShardInfo, ShardState } from '../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { ClusterArchive } from '../../../actors/session/archive.ts';
import type { Reopening } from '../../../actors/session/backend.ts';
import type { TakeResult } from '../../../actors/session/journal.ports.ts';
import { Journal } from '../../../actors/session/journal.ts';
import { type RejoinPorts, watchRejoins } from '../../../actors/session/rejoin.ts';
import type { GatewaySessionActor } from '../../../actors/session/session.shell.ts';
import { sessionIdAt, workerOf } from '../../../engine/session/sessionid.ts';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import { INTENTS } from '../../../protocol/intents.ts';
import type { ClaimedSession } from '../../../storage/journal/port.ts';
import { actingFor, arrange, dispatchOf, FakeSink, identifyWith, settled } from './harness.ts';

type Handler = (args: never, context: never) => unknown;
type Shard = ReturnType<typeof shard>;

/** Shards that ask each other; each can be made silent, gone, or to lose its answers. */
class Net {
  readonly clock = new VirtualClock();
  readonly shards: Shard[] = [];
  readonly silent = new Set<string>();
  readonly gone = new Set<string>();
  readonly losing = new Set<string>();
  readonly asked: string[] = [];
  readonly hearers = new Set<(change: OwnershipChange) => void>();
  /** State of every shard. */
  state: ShardState = 'serving';

  constructor(count: number) {
    for (let index = 0; index < count; index += 1) this.shards.push(shard(this, index));
  }

  get view() {
    const shards = this.shards.map(({ self }) => self).filter(({ id }) => !this.gone.has(id));
    return { revision: 1, shards, owners: [] };
  }

  change(): void {
    for (const hear of [...this.hearers]) hear({ moved: [], gone: [], came: [] });
  }

  async ask(from: string, to: string, method: string, args: readonly unknown[]): Promise<unknown> {
    this.asked.push(`${from}>${to} ${method}`);
    await Promise.resolve();
    if (this.silent.has(to) || this.gone.has(to)) throw new LinkFault('unreachable', 'planted');
    const target = this.shards.find(({ self }) => self.id === to);
    const answer = await target?.handlers.get(method)?.(structuredClone(args) as never, { from } as never);
    if (this.losing.delete(to)) throw new LinkFault('lost', 'planted');
    return structuredClone(answer);
  }

  /** Lets time pass in which nothing else happens. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      await settled();
      this.clock.advance(50);
    }
    await settled();
  }
}

/** Starts the rejoin of a shard that was declared dead and has come back. */
function returning(net: Net, self: ShardInfo, ports: Pick<RejoinPorts, 'router' | 'sessions'>) {
  const taken: ClaimedSession[] = [];
  const hearers = new Set<(change: OwnershipChange) => void>();
  let state: ShardState = 'joining';
  watchRejoins({
    ...ports,
    ownership: {
      self,
      get state() {
        return state;
      },
      get view() {
        return net.view;
      },
      onChange(run) {
        hearers.add(run);
        return () => void hearers.delete(run);
      },
    },
    taken: async () => taken,
    onFault: (error) => {
      throw error;
    },
  });
  const become = (next: ShardState): void => {
    state = next;
    for (const hear of hearers) hear({ moved: [], gone: [], came: [] });
  };
  return { taken, become };
}

function shard(net: Net, index: number) {
  const { clock } = net;
  const wheel = new TimerWheel(clock);
  const self = { id: `shard-${index}`, instance: `run-${index}`, worker: index } as ShardInfo;
  const handlers = new Map<string, Handler>();
  const buried = new Map<string, TakeResult>();
  const router: Pick<Router, 'askShard' | 'serve'> = {
    askShard: (to, method, args) => net.ask(self.id, to, method, args) as Promise<never>,
    serve: (method, run) => void handlers.set(method, run as Handler),
  };
  const journal = new Journal(null, {
    ...{ clock, wheel, settings: { bytesMax: 1, ageMs: 1000 } },
    onFault: () => undefined,
  });
  const archive = new ClusterArchive({
    ownership: {
      self,
      get knowsMembers() {
        return net.state === 'serving';
      },
      get view() {
        return net.view;
      },
      onChange(run) {
        net.hearers.add(run);
        return () => void net.hearers.delete(run);
      },
    },
    journals: {
      take: async ({ sessionId }, _key, copy) => {
        const key = `${sessionId} ${copy}`;
        const taking = buried.get(key) ?? ({ kind: 'unknown' } as const);
        buried.delete(key);
        return taking;
      },
    },
    transferOut: (claim, key) => instance.sessions.transferOut(claim, key),
    ...{ router, clock, wheel },
    deadlineMs: 10_000,
    onFault: () => undefined,
  });
  let made = 0;
  const randomBytes = (size: number) => new Uint8Array(size).fill(16 * (index + 1) + ++made);
  const instance = arrange({}, { journal, archive, worker: () => index, randomBytes }, clock);
  const back = returning(net, self, { router, sessions: () => instance.sessions });
  return { self, handlers, buried, instance, ...back, ...clientsOf(instance) };
}

function clientsOf({ sessions }: ReturnType<typeof arrange>) {
  async function open() {
    const sink = new FakeSink();
    const outcome = await sessions.identify(identifyWith({ intents: INTENTS.GUILDS }), sink);
    await settled();
    if (outcome.kind !== 'open') throw new Error('not open');
    return { sink, session: outcome.session as GatewaySessionActor };
  }
  function resume(sessionId: string, seq: number, token = 'bot') {
    const sink = new FakeSink();
    return { sink, outcome: sessions.resume({ token, sessionId, seq }, sink) };
  }
  return { open, resume };
}

const contents = (sink: FakeSink) =>
  sink.sent.map(({ t, d }) => (t === 'MESSAGE_CREATE' ? (d as { content: string }).content : t));

function three() {
  const net = new Net(3);
  const [a, b, c] = net.shards as [Shard, Shard, Shard];
  return { net, a, b, c };
}

describe('a session that is resumed at another shard', () => {
  it('moves there with the dispatches that its client missed, and ends here without a notification', async () => {
    const { net, a, b } = three();
    const { session, sink } = await a.open();
    session.following('1', 70);
    session.deliver(dispatchOf('missed'));
    const { outcome, sink: there } = b.resume(session.id, 4);
    await net.pass(100);
    expect((await outcome).kind).toBe('open');
    expect(contents(there)).toEqual(['missed', 'RESUMED']);
    expect(there.seqs).toEqual([5, 6]);
    expect(sink.closedWith).toBe(4000);
    expect([a.instance.sessions.size, b.instance.sessions.size]).toEqual([0, 1]);
    expect([
      a.instance.backend.named('ended').length,
      a.instance.backend.named('surrendered').length,
    ]).toEqual([0, 1]);
    const [[, { presence, cursors }], ...more] = b.instance.backend.named('reopen') as [[string, Reopening]];
    expect([presence?.status, cursors(), more]).toEqual(['online', [['1', 70]], []]);
    expect(net.asked).toEqual(['shard-1>shard-0 sessions.take']);
  });

  it('is found after it has moved on, although its id names its first shard', async () => {
    const { net, a, b, c } = three();
    const { session } = await a.open();
    const first = b.resume(session.id, 4);
    await net.pass(100);
    expect((await first.outcome).kind).toBe('open');
    const second = c.resume(session.id, 5);
    await net.pass(100);
    expect((await second.outcome).kind).toBe('open');
    expect(contents(second.sink)).toEqual(['RESUMED']);
    expect(workerOf(session.id)).toBe(0);
  });

  it('is taken by exactly one of two shards that request it at once', async () => {
    const { net, a, b, c } = three();
    const { session } = await a.open();
    const asked = [b.resume(session.id, 4), c.resume(session.id, 4)];
    await net.pass(12_000);
    const kinds = await Promise.all(asked.map(async ({ outcome }) => (await outcome).kind));
    const homes = [a, b, c].map(({ instance }) => instance.sessions.size);
    expect(homes.reduce((sum, size) => sum + size)).toBe(1);
    // The second caller may find the session at the first one, whose client is then disconnected.
    expect(kinds.filter((kind) => kind === 'open').length).toBeGreaterThanOrEqual(1);
  });

  it('is taken by one of two connections of a shard at a time', async () => {
    const { net, a, b } = three();
    const { session } = await a.open();
    const asked = [b.resume(session.id, 4), b.resume(session.id, 4)];
    await net.pass(1000);
    const kinds = await Promise.all(asked.map(async ({ outcome }) => (await outcome).kind));
    expect(kinds).toEqual(['open', 'open']);
    expect(asked.map(({ sink }) => sink.closedWith)).toEqual([4000, null]);
    expect(b.instance.backend.named('reopen')).toHaveLength(1);
  });

  it('survives the loss of the reply that carried it', async () => {
    const { net, a, b } = three();
    const { session } = await a.open();
    net.losing.add('shard-0');
    const { outcome, sink } = b.resume(session.id, 4);
    await net.pass(2000);
    expect((await outcome).kind).toBe('open');
    expect(contents(sink)).toEqual(['RESUMED']);
  });

  /** The first shard is cut off, and the second one continues the session from the journal. */
  async function continued() {
    const { net, a, b, c } = three();
    const { session } = await a.open();
    net.gone.add('shard-0');
    const record = { ...session.record, missed: [], cursors: [] };
    b.buried.set(`${session.id} false`, { kind: 'taken', record });
    const first = b.resume(session.id, 4);
    await net.pass(100);
    const there = await first.outcome;
    if (there.kind !== 'open') throw new Error(there.kind);
    (there.session as GatewaySessionActor).deliver(dispatchOf('seen'));
    net.gone.delete('shard-0');
    return { net, a, b, c, session };
  }

  it.each([
    ['returns to', 'a'],
    ['moves to a third shard past', 'c'],
  ] as const)('continues when its client %s the first shard, which has an old copy', async (_, at) => {
    const shards = await continued();
    const { outcome, sink } = shards[at].resume(shards.session.id, 6);
    await shards.net.pass(100);
    expect((await outcome).kind).toBe('open');
    expect([contents(sink), sink.seqs]).toEqual([['RESUMED'], [7]]);
    expect([shards[at].instance.sessions.size, shards.b.instance.sessions.size]).toEqual([1, 0]);
  });

  it('waits while its shard does not respond, and then resumes from the journal of that shard', async () => {
    const { net, a, b } = three();
    const { session } = await a.open();
    const { identity, manner } = session.record;
    net.silent.add('shard-0');
    const { outcome, sink } = b.resume(session.id, 4);
    await net.pass(3000);
    const record = { identity, manner, seq: 4, missed: [], cursors: [] };
    b.buried.set(`${session.id} false`, { kind: 'taken', record });
    net.gone.add('shard-0');
    net.change();
    await net.pass(100);
    expect((await outcome).kind).toBe('open');
    expect(contents(sink)).toEqual(['RESUMED']);
  });

  it('is refused when its shard does not respond within the time limit', async () => {
    const { net, a, b } = three();
    const { session } = await a.open();
    net.silent.add('shard-0');
    const { outcome } = b.resume(session.id, 4);
    await net.pass(12_000);
    expect((await outcome).kind).toBe('invalid');
  });

  it('is resumed by another shard only after the shard that took it is in the cluster again', async () => {
    for (const back of [0, 2]) {
      const { net, a, b } = three();
      const { session } = await a.open();
      const first = b.resume(session.id, 4);
      await net.pass(100);
      expect((await first.outcome).kind).toBe('open');
      net.gone.add('shard-1');
      const { outcome, sink } = net.shards[back]!.resume(session.id, 5);
      await net.pass(3_000);
      net.gone.delete('shard-1');
      net.change();
      await net.pass(1_000);
      expect((await outcome).kind).toBe('open');
      expect(contents(sink)).toEqual(['RESUMED']);
    }
  });

  it('cannot be resumed when the shard that took it stays out of the cluster', async () => {
    const { net, a, b } = three();
    const { session } = await a.open();
    const first = b.resume(session.id, 4);
    await net.pass(100);
    await first.outcome;
    net.gone.add('shard-1');
    const { outcome } = a.resume(session.id, 5);
    await net.pass(12_000);
    expect((await outcome).kind).toBe('invalid');
  });

  it('is resumed on its own shard only when that is in the cluster, and its window waits for its client', async () => {
    const { net, a } = three();
    const { session, sink: first } = await a.open();
    session.detach(first, true);
    net.state = 'suspended';
    net.clock.advance(a.instance.sessions.resumeWindowMs * 0.9);
    await expect(a.resume(session.id, 4).outcome).rejects.toThrow(NotServed);
    net.clock.advance(a.instance.sessions.resumeWindowMs * 0.9);
    net.state = 'serving';
    await expect(a.resume(session.id, 4).outcome).resolves.toMatchObject({ kind: 'open' });
  });

  it('waits while no shard knows which runs have ended', async () => {
    const { net, a, b, c } = three();
    const { session } = await a.open();
    net.gone.add('shard-0');
    net.state = 'suspended';
    const { outcome } = b.resume(session.id, 4);
    await net.pass(1000);
    net.state = 'serving';
    const record = { ...session.record, missed: [], cursors: [] };
    c.buried.set(`${session.id} false`, { kind: 'taken', record });
    net.change();
    await net.pass(1000);
    expect((await outcome).kind).toBe('open');
  });

  it('waits while its shard is shutting down, and then resumes from the journal of that shard', async () => {
    const { net, a, b, c } = three();
    const { session } = await a.open();
    const record = { ...session.record, missed: [], cursors: [] };
    a.instance.sessions.close();
    const { outcome } = b.resume(session.id, 4);
    await net.pass(1000);
    net.gone.add('shard-0');
    c.buried.set(`${session.id} false`, { kind: 'taken', record });
    net.change();
    await net.pass(1000);
    expect((await outcome).kind).toBe('open');
  });

  it('is read from the disk of another shard, and last from a replica', async () => {
    const { net, a, b, c } = three();
    const { session } = await a.open();
    const other = await a.open();
    net.gone.add('shard-0');
    for (const [{ record }, copy] of [
      [session, false],
      [other.session, true],
    ] as const) {
      const taken = { ...record, missed: [], cursors: [] };
      c.buried.set(`${record.identity.sessionId} ${copy}`, { kind: 'taken', record: taken });
    }
    const asked = [b.resume(session.id, 4), b.resume(other.session.id, 4)];
    await net.pass(1000);
    expect(await Promise.all(asked.map(async ({ outcome }) => (await outcome).kind))).toEqual([
      'open',
      'open',
    ]);
  });

  it('is refused to other users with the reply for an unknown session', async () => {
    const { net, a, b } = three();
    const { session } = await a.open();
    const { outcome } = b.resume(session.id, 4, 'other');
    await net.pass(100);
    expect((await outcome).kind).toBe('invalid');
    expect(a.instance.sessions.size).toBe(1);
  });

  it.each([
    ['an unsent sequence number', 99, { kind: 'closed', code: 4007 }],
    ['an invalid number', -1, { kind: 'closed', code: 4007 }],
  ])('ends when its client claims %s', async (_, seq, expected) => {
    const { net, a, b } = three();
    const { session } = await a.open();
    const { outcome } = b.resume(session.id, seq);
    await net.pass(100);
    expect(await outcome).toMatchObject(expected);
    expect(a.instance.sessions.size + b.instance.sessions.size).toBe(0);
  });

  it('is transferred only after its lobbies were sent', async () => {
    const { net, a, b } = three();
    const acting = actingFor('102', ['identify', 'gateway.connect', 'lobbies.write']);
    for (const { instance } of [a, b]) instance.backend.tokens.set('acting', acting);
    a.instance.backend.lobbies = [{ id: '5' }];
    const sink = new FakeSink();
    sink.room = false;
    await a.instance.sessions.identify(identifyWith({ token: 'acting', intents: INTENTS.LOBBIES }), sink);
    const [ready] = sink.sent as unknown as [{ d: { session_id: string } }];
    const { session_id: sessionId } = ready.d;
    const { outcome, sink: there } = b.resume(sessionId, 1, 'acting');
    await net.pass(1000);
    expect(b.instance.sessions.size).toBe(0);
    sink.makeRoom();
    await net.pass(1000);
    expect((await outcome).kind).toBe('open');
    expect(there.names).toEqual(['LOBBY_CREATE', 'RESUMED']);
  });
});

describe('a shard that was declared dead', () => {
  it('drops sessions that other shards took over, which continue to receive dispatches there', async () => {
    const { net, a, b } = three();
    const [moved, stayed] = [await a.open(), await a.open()];
    a.become('serving');
    const { record } = moved.session;
    net.gone.add('shard-0');
    b.buried.set(`${moved.session.id} false`, {
      kind: 'taken',
      record: { ...record, missed: [], cursors: [] },
    });
    const { outcome } = b.resume(moved.session.id, 4);
    await net.pass(100);
    expect((await outcome).kind).toBe('open');
    a.become('joining');
    net.gone.delete('shard-0');
    a.become('serving');
    await net.pass(100);
    expect([moved.session.over, stayed.session.over]).toEqual([true, false]);
    expect(a.instance.backend.named('ended')).toEqual([]);
    expect([b.instance.sessions.size, b.instance.backend.named('reopen').length]).toEqual([1, 2]);
  });

  it.each([
    ['keeps a session that it took and continued, although its first shard has it', 2, false, [true, false]],
    ['drops a session that another shard has, if neither continued it', 0, false, [false, true]],
    ['keeps a session that its first shard still has, but lists as taken', 0, true, [true, false]],
  ])('%s', async (_how, counted, marked, over) => {
    const { net, a, b } = three();
    const { session: old } = await a.open();
    if (marked) a.taken.push({ sessionId: old.id, handle: old.handle });
    b.become('serving');
    net.gone.add('shard-0');
    const record = { ...old.record, missed: [], cursors: [] };
    b.buried.set(`${old.id} false`, { kind: 'taken', record });
    const { outcome } = b.resume(old.id, 4);
    await net.pass(100);
    const resumed = await outcome;
    if (resumed.kind !== 'open') throw new Error(resumed.kind);
    const taken = resumed.session as GatewaySessionActor;
    for (let at = 0; at < counted; at += 1) taken.deliver(dispatchOf('next'));
    for (let at = taken.seq; at > old.seq && counted === 0; at -= 1) old.deliver(dispatchOf('same'));
    b.become('joining');
    net.gone.delete('shard-0');
    b.become('serving');
    await net.pass(100);
    expect([old.over, taken.over]).toEqual(over);
  });

  it('drops sessions that its own journal lists as taken', async () => {
    const { net, a } = three();
    const { session } = await a.open();
    a.become('serving');
    a.become('joining');
    const came = (await a.open()).session;
    a.taken.push({ sessionId: session.id, handle: session.handle });
    a.taken.push({ sessionId: came.id, handle: came.handle - 1 });
    a.become('serving');
    await net.pass(100);
    // The other has come back since, under another handle.
    expect([session.over, came.over]).toEqual([true, false]);
  });
});

describe('the id of a session', () => {
  it.each([
    [0, '000'],
    [1023, '3ff'],
  ])('names the shard %i', (worker, digits) => {
    const id = sessionIdAt(worker, 'f'.repeat(32));
    expect([id.slice(0, 3), id.length, workerOf(id)]).toEqual([digits, 32, worker]);
  });

  it('contains no shard in a single-shard server, and a malformed id names none', () => {
    expect(sessionIdAt(null, 'ab'.repeat(16))).toBe('ab'.repeat(16));
    expect(workerOf('x')).toBeNull();
  });
});

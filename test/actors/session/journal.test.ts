// Goal: who resumes from the journal of a process that is gone gets what was missed, in order and once, and nothing else.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { CrashedJournals } from '../../../actors/session/crashedjournals.ts';
import type { SessionArchive, TakeResult } from '../../../actors/session/journal.ports.ts';
import { Journal } from '../../../actors/session/journal.ts';
import type { GatewaySessionActor } from '../../../actors/session/session.shell.ts';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import { INTENTS } from '../../../protocol/intents.ts';
import { MemoryJournals } from '../../support/memoryjournals.ts';
import { arrange, FakeSink, identifyWith, settled } from './harness.ts';

const AGE_MS = 150_000;

/** Runs of one server, one after the other, over the same disk. */
class Server {
  readonly clock = new VirtualClock();
  readonly store = new MemoryJournals(() => this.clock.now());
  readonly faults: unknown[] = [];
  readonly damages: number[] = [];
  run = 0;
  journal!: Journal;
  instance!: ReturnType<typeof arrange>;
  dead!: CrashedJournals;
  /** The result of taking the session from another home. */
  elsewhere: TakeResult | null = null;
  readonly #bytesMax: number;

  constructor(bytesMax = 64 << 20) {
    this.#bytesMax = bytesMax;
    this.start();
  }

  /** Starts a process after one that ended without closing anything. */
  start(): void {
    for (const folder of this.store.made.values()) folder.isWritten = false;
    this.run += 1;
    const clock = this.clock;
    const { run } = this;
    const isAlive = () => run === this.run;
    const wheel = new TimerWheel(clock);
    this.journal = new Journal(this.store.begin('shard-0', `run${this.run}`), {
      settings: { bytesMax: this.#bytesMax, ageMs: AGE_MS },
      clock,
      wheel: {
        add: (then, delayMs) => wheel.add(() => isAlive() && then(), delayMs),
        after: (then, delayMs) => wheel.after(() => isAlive() && then(), delayMs),
        pause: (delayMs) => wheel.pause(delayMs),
      },
      onFault: (error) => this.faults.push(error),
    });
    this.dead = new CrashedJournals({
      ...{ store: this.store, clock },
      settings: { framesMax: 512, ageMs: AGE_MS },
      hasCrashed: async ({ instance }) => instance !== `run${this.run}`,
      onDamage: (_folder, damages) => this.damages.push(damages),
    });
    const dead = this.dead;
    const archive: SessionArchive = {
      take: async (claim) => this.elsewhere ?? dead.take(claim, '', false),
      close: () => undefined,
      keepsSessions: true,
    };
    const seed = this.run;
    let made = 0;
    const randomBytes = (size: number) => new Uint8Array(size).fill(16 * seed + ++made);
    this.instance = arrange({}, { journal: this.journal, archive, randomBytes }, clock);
  }

  tick(): void {
    this.clock.settle();
  }

  /** As a shard sees the journals that takes every run for crashed. */
  asCrashed(): CrashedJournals {
    return new CrashedJournals({
      ...{ store: this.store, clock: this.clock },
      settings: { framesMax: 512, ageMs: AGE_MS },
      hasCrashed: async () => true,
      onDamage: () => undefined,
    });
  }

  async open(token = 'bot') {
    const sink = new FakeSink();
    const outcome = await this.instance.sessions.identify(
      identifyWith({ token, intents: INTENTS.GUILDS }),
      sink,
    );
    await settled();
    if (outcome.kind !== 'open') throw new Error('not open');
    return { sink, session: outcome.session as GatewaySessionActor };
  }

  /** The client resumes; reading journals takes turns of the clock. */
  async resume(sessionId: string, seq: number, token = 'bot') {
    const sink = new FakeSink();
    const resuming = this.instance.sessions.resume({ token, sessionId, seq }, sink);
    let done = false;
    const end = () => {
      done = true;
    };
    resuming.then(end, end);
    while (!done) {
      await settled();
      this.tick();
    }
    const outcome = await resuming;
    await settled();
    this.tick();
    return { outcome, sink };
  }

  say(text: string, ...to: readonly GatewaySessionActor[]): void {
    const body = new DispatchBody('MESSAGE_CREATE', { text }, this.clock.monotonic());
    for (const session of to) session.deliver(body);
  }
}

const texts = (sink: FakeSink) =>
  sink.sent.map(({ t, d }) => (t === 'MESSAGE_CREATE' ? (d as { text: string }).text : t));

describe('a session whose process was killed', () => {
  it('is resumed from the journal: missed dispatches in order, ephemeral ones included, then RESUMED', async () => {
    const server = new Server();
    const { session, sink } = await server.open();
    server.say('seen', session);
    server.tick();
    const seen = sink.seqs.at(-1) as number;
    session.detach(sink, true);
    server.say('missed 1', session);
    session.deliver(new DispatchBody('TYPING_START', {}, server.clock.monotonic()));
    server.say('missed 2', session);
    server.tick();
    server.start();
    const { outcome, sink: again } = await server.resume(session.id, seen);
    expect(outcome.kind).toBe('open');
    expect(texts(again)).toEqual(['missed 1', 'TYPING_START', 'missed 2', 'RESUMED']);
    expect(again.seqs).toEqual([seen + 1, seen + 2, seen + 3, seen + 4]);
    expect(server.instance.backend.named('reopen')).toMatchObject([
      ['reopen', { presence: { status: 'online' } }],
    ]);
  });

  it('is resumed after a second crash, with its latest presence', async () => {
    const server = new Server();
    const { session } = await server.open();
    server.tick();
    server.start();
    const { outcome } = await server.resume(session.id, 4);
    if (outcome.kind !== 'open') throw new Error('not open');
    outcome.session.ask({
      name: 'presence',
      input: { since: null, activities: [], status: 'dnd', afk: false } as never,
    });
    server.say('between', outcome.session as GatewaySessionActor);
    server.tick();
    server.start();
    const { sink } = await server.resume(session.id, 5);
    expect(texts(sink)).toEqual(['between', 'RESUMED']);
    expect(server.instance.backend.named('reopen')).toMatchObject([
      ['reopen', { presence: { status: 'dnd' } }],
    ]);
  });

  it('is restored for one of several claims at the same time', async () => {
    const server = new Server();
    const { session } = await server.open();
    server.tick();
    server.start();
    const claim = { sessionId: session.id, principal: session.record.identity.principal, seq: 4 };
    const other = server.asCrashed();
    const kinds = await Promise.all([server.dead.take(claim, '', false), other.take(claim, '', false)]);
    expect(kinds.map(({ kind }) => kind).sort()).toEqual(['taken', 'unknown']);
  });

  it('is returned again to the shard that claimed it, if the process ends before the response is received', async () => {
    const server = new Server();
    const { session, sink } = await server.open();
    session.following('1', 70);
    session.detach(sink, true);
    server.say('missed', session);
    const claim = { sessionId: session.id, principal: session.record.identity.principal, seq: 4 };
    expect(server.instance.sessions.transferOut(claim, 'run9:1').kind).toBe('taken');
    server.tick();
    server.start();
    expect((await server.dead.take(claim, 'run9:2', false)).kind).toBe('unknown');
    expect(await server.dead.take(claim, 'run9:1', false)).toMatchObject({
      kind: 'taken',
      record: { seq: 5, missed: [{ t: 'MESSAGE_CREATE' }], cursors: [['1', 70]] },
    });
    expect((await server.dead.take(claim, 'run9:1', false)).kind).toBe('unknown');
  });

  it('is restored again after it returned to the run that it was taken from', async () => {
    const server = new Server();
    const { session } = await server.open();
    server.tick();
    const claim = { sessionId: session.id, principal: session.record.identity.principal, seq: 4 };
    const others = () => server.asCrashed();
    server.elsewhere = await others().take(claim, '', false);
    expect(server.elsewhere.kind).toBe('taken');
    server.instance.sessions.abandon(session.id, session.handle);
    expect((await server.resume(session.id, 4)).outcome.kind).toBe('open');
    server.tick();
    expect((await others().take(claim, '', false)).kind).toBe('taken');
    expect((await others().take(claim, '', false)).kind).toBe('unknown');
  });

  it.each([
    ['has received more than was written', 99, 'closed'],
    ['claims an invalid number', 1.5, 'closed'],
    ['authenticates as another user', 4, 'invalid'],
  ])('cannot be resumed when its client %s', async (what, seq, kind) => {
    const server = new Server();
    const { session } = await server.open();
    server.tick();
    server.start();
    const token = what === 'authenticates as another user' ? 'other' : 'bot';
    expect((await server.resume(session.id, seq, token)).outcome.kind).toBe(kind);
  });

  it('cannot be resumed when it ended before the crash', async () => {
    const server = new Server();
    const { session, sink } = await server.open();
    session.detach(sink, false);
    server.tick();
    server.start();
    expect((await server.resume(session.id, 4)).outcome.kind).toBe('invalid');
  });

  it('cannot be resumed when the missed dispatches or its last heartbeat are too old', async () => {
    const server = new Server();
    const { session } = await server.open();
    server.tick();
    server.start();
    server.clock.advance(AGE_MS + 1);
    expect((await server.resume(session.id, 1)).outcome.kind).toBe('invalid');
  });

  it('is kept when it cannot be opened at once, and opened by the next RESUME', async () => {
    const server = new Server();
    const { session } = await server.open();
    server.tick();
    server.start();
    server.instance.backend.fault = 'reopen';
    await expect(server.resume(session.id, 4)).rejects.toThrow(/planted/);
    server.instance.backend.fault = null;
    const { outcome, sink } = await server.resume(session.id, 4);
    expect([outcome.kind, texts(sink)]).toEqual(['open', ['RESUMED']]);
  });

  it('is requested again when it cannot be opened in time', async () => {
    const server = new Server();
    const { session } = await server.open();
    server.tick();
    server.start();
    const { backend } = server.instance;
    const reopen = backend.reopen.bind(backend);
    backend.reopen = () => new Promise(() => {});
    const claim = { token: 'bot', sessionId: session.id, seq: 4 };
    const outcome = server.instance.sessions.resume(claim, new FakeSink()).catch((fault) => fault.name);
    for (let turn = 0; turn < 10; turn += 1) {
      await settled();
      server.clock.advance(2500);
    }
    expect(await outcome).toBe('NotServed');
    backend.reopen = reopen;
    expect((await server.resume(session.id, 4)).outcome.kind).toBe('open');
  });

  it('ends when dispatches that it missed at other shards are not available', async () => {
    const server = new Server();
    const { session } = await server.open();
    server.tick();
    server.start();
    server.instance.backend.reopening = () => false;
    expect((await server.resume(session.id, 4)).outcome.kind).toBe('invalid');
    expect(server.instance.sessions.size).toBe(0);
  });

  it('receives new dispatches after the missed ones while it is opened again', async () => {
    const server = new Server();
    const { session } = await server.open();
    session.detach(new FakeSink(), true);
    server.say('missed', session);
    server.tick();
    server.start();
    server.instance.backend.reopening = (reopened) => {
      server.say('since', reopened as GatewaySessionActor);
      return true;
    };
    const { sink } = await server.resume(session.id, 4);
    expect(texts(sink)).toEqual(['missed', 'since', 'RESUMED']);
  });

  it('misses no dispatch, whenever and however often the process is killed', async () => {
    const act = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant('say'), to: fc.integer({ min: 0, max: 3 }) }) },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constantFrom('tick', 'drop', 'rotate'),
          to: fc.integer({ min: 0, max: 1 }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill'), to: fc.constant(0) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 40 }), async (acts) => {
        const server = new Server();
        const clients = [];
        for (const token of ['bot', 'other']) {
          const { session, sink } = await server.open(token);
          clients.push({
            token,
            id: session.id,
            session,
            sink,
            got: [] as [number, string][],
            said: [] as string[],
          });
        }
        type Client = (typeof clients)[number];
        const collect = (client: Client) => {
          const names = texts(client.sink);
          client.got.push(...client.sink.seqs.map((seq, at): [number, string] => [seq, names[at] as string]));
          client.sink.sent.length = 0;
        };
        const back = async (client: Client) => {
          collect(client);
          const { outcome, sink } = await server.resume(client.id, client.got.at(-1)?.[0] ?? 0, client.token);
          expect(outcome.kind).toBe('open');
          if (outcome.kind === 'open') client.session = outcome.session as GatewaySessionActor;
          client.sink = sink;
        };
        let said = 0;
        for (const { kind, to } of acts) {
          const some = clients.filter((_, at) => ((to >> at) & 1) === 1);
          if (kind === 'say') {
            said += 1;
            server.say(`no. ${said}`, ...some.map(({ session }) => session));
            for (const client of some) client.said.push(`no. ${said}`);
          } else if (kind === 'tick') server.tick();
          else if (kind === 'rotate') server.journal.rotate();
          else if (kind === 'drop') clients[to]?.session.detach(clients[to]?.sink as FakeSink, true);
          else {
            // The frames of a tick leave when its journal is written; who is killed before has sent none of them.
            server.journal.flush();
            server.start();
            for (const client of clients) await back(client);
          }
        }
        for (const client of clients) await back(client);
        for (const client of clients) {
          collect(client);
          expect(client.got.map(([seq]) => seq)).toEqual(client.got.map((_, at) => at + 1));
          expect(client.got.map(([, text]) => text).filter((text) => text.startsWith('no.'))).toEqual(
            client.said,
          );
        }
        expect([server.faults, server.damages]).toEqual([[], []]);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a session whose process is killed again', () => {
  it('is resumed with all missed dispatches, although its client had received none of them', async () => {
    const server = new Server();
    const { session, sink } = await server.open();
    server.say('seen', session);
    server.tick();
    const seen = sink.seqs.at(-1) as number;
    session.detach(sink, true);
    server.say('missed 1', session);
    server.say('missed 2', session);
    server.tick();
    for (let kills = 0; kills < 3; kills += 1) {
      server.start();
      const { outcome, sink: next } = await server.resume(session.id, seen);
      expect(outcome.kind).toBe('open');
      expect(texts(next).slice(0, 2)).toEqual(['missed 1', 'missed 2']);
    }
  });
});

it('is resumed whole from a journal that a run taken for crashed has written on since it was first read', async () => {
  const server = new Server();
  const { session: first } = await server.open();
  const { session } = await server.open('bot');
  server.say('early', first, session);
  server.tick();
  const dead = server.asCrashed();
  const claimOf = ({ id, record }: GatewaySessionActor, seq: number) => {
    const { principal } = record.identity;
    return { sessionId: id, principal, seq };
  };
  expect(await dead.take(claimOf(first, 4), '', false)).toMatchObject({ kind: 'taken' });
  for (const text of ['seen', 'missed']) server.say(text, session);
  server.tick();
  const { seq } = session;
  expect(await dead.take(claimOf(session, seq - 1), '', false)).toMatchObject({
    kind: 'taken',
    record: { seq, missed: [{ json: JSON.stringify({ text: 'missed' }) }] },
  });
});

describe('the journal', () => {
  const sizeOf = (server: Server) => [...server.store.made.values()].at(-1)?.segments.size ?? 0;

  it('stays within its size bound, and each session in it can be resumed', async () => {
    const server = new Server(1 << 20);
    const { session } = await server.open();
    for (let count = 0; count < 200; count += 1) {
      server.say('x'.repeat(20_000), session);
      server.tick();
      expect(server.journal.bytes).toBeLessThanOrEqual((1 << 20) + 30_000);
    }
    server.start();
    expect((await server.resume(session.id, 204)).outcome.kind).toBe('open');
  });

  it('pauses when the records of its sessions exceed its size bound, and each can be resumed', async () => {
    const server = new Server(4096);
    const opened = [];
    for (let count = 0; count < 60; count += 1) opened.push(await server.open());
    for (let count = 0; count < 20; count += 1) {
      server.say(`said ${count}`, ...opened.map(({ session }) => session));
      server.tick();
    }
    expect(sizeOf(server)).toBeLessThan(4);
    const seqs = opened.map(({ sink }) => sink.seqs.at(-1) as number);
    server.start();
    for (const [at, { session }] of opened.entries())
      expect((await server.resume(session.id, seqs[at] as number)).outcome.kind).toBe('open');
  });

  it('evicts dispatches that are too old to be replayed, and stays valid without traffic', async () => {
    const server = new Server();
    const { session } = await server.open();
    server.say('old', session);
    server.tick();
    server.clock.advance(AGE_MS * 4);
    expect(sizeOf(server)).toBeLessThan(12);
    server.start();
    expect((await server.resume(session.id, 5)).outcome.kind).toBe('open');
  });

  it('stops on a full disk, reports it, frees its space, and restarts later', async () => {
    const server = new Server();
    const { session } = await server.open();
    server.tick();
    server.store.full = true;
    server.say('lost', session);
    server.tick();
    expect([server.faults.length, server.journal.faults, server.journal.bytes]).toEqual([1, 1, 0]);
    server.say('lost too', session);
    server.tick();
    server.store.full = false;
    server.clock.advance(4_999);
    expect(server.journal.bytes).toBe(0);
    server.clock.advance(1);
    server.say('kept', session);
    server.tick();
    const { seq } = session;
    server.start();
    const { outcome, sink } = await server.resume(session.id, seq - 1);
    expect([outcome.kind, texts(sink)]).toEqual(['open', ['kept', 'RESUMED']]);
  });

  it('is deleted when its run is too old', async () => {
    const server = new Server();
    await server.open();
    server.tick();
    server.start();
    await server.dead.clean();
    expect(server.store.made.size).toBe(2);
    server.clock.advance(AGE_MS * 3);
    await server.dead.clean();
    expect([...server.store.made.values()].map(({ instance }) => instance)).toEqual(['run2']);
  });

  it('keeps its sessions resumable when its process ends', async () => {
    const server = new Server();
    const { session, sink } = await server.open();
    server.say('last', session);
    server.instance.sessions.close();
    expect(sink.closedWith).toBe(4000);
    expect(server.instance.backend.named('ended')).toEqual([]);
    server.start();
    expect(texts((await server.resume(session.id, 4)).sink)).toEqual(['last', 'RESUMED']);
  });
});

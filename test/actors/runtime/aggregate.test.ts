// Goal: an aggregate of a shard keeps for its next owner what no table holds, keeps no more than it may, is not read
// when nothing waits for it any more, and answers every command when it ends.
import { describe, expect, it } from 'vitest';
import type { AggregatePorts, OutgoingDispatch } from '../../../actors/runtime/aggregate.ports.ts';
import { AggregateShell } from '../../../actors/runtime/aggregate.ts';
import type { AggregateOwnership } from '../../../actors/runtime/aggregateownership.ts';
import { oldestFirst, Window, Windows } from '../../../actors/runtime/cache.ts';
import { LoadQueue } from '../../../actors/runtime/loadqueue.ts';
import { Registry, type Send } from '../../../actors/runtime/registry.ts';
import { residentMachine, type Work } from '../../../actors/runtime/resident.machine.ts';
import { createSupervisor } from '../../../actors/runtime/supervisor.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { rethrow } from '../../../actors/runtime/work.ts';
import type { DispatchBody } from '../../../engine/fanout/body.ts';
import { accepted, type Reply } from '../../../engine/kernel/aggregate.ts';
import { refusal } from '../../../protocol/refusal.ts';
import type { Commit } from '../../../storage/ports.ts';

interface Tally {
  count: number;
  /** Every row may be evicted, unless its commit is under way. */
  readonly rows: Window<string, number>;
}

/** `shown` is stored nowhere; `removed` deletes the tally. */
interface TallyFact {
  readonly type: 'counted' | 'shown' | 'removed';
}

const RULES = {
  missing: refusal('UNKNOWN_GUILD'),
  applyAndDispatch: (state: Tally, { type }: TallyFact): readonly number[] => {
    if (type === 'counted') {
      state.count += 1;
      state.rows.set('written', state.count);
    }
    return [state.count];
  },
  isDurable: ({ type }: TallyFact) => type !== 'shown',
  ends: ({ type }: TallyFact) => type === 'removed',
};

/** What the tallies of a test read and sent, in order. */
interface Log {
  readonly reads: string[];
  readonly sent: string[];
  /** The counts that an embedding program was shown, each with its tally. */
  readonly tapped: (readonly [t: string, d: object, id: string])[];
  /** How each tally ended. */
  readonly endings: string[];
  /** Rows cannot be read while it is set. */
  isBroken: boolean;
  /** The next work reads this row first; null: it needs none. */
  absentRow: string | null;
  /** How many recalls of recorded dispatches there were. */
  recalls: number;
  /** Answers every read, after which rows are absent again; null: reads are answered as above. */
  answerRead: (() => Promise<void>) | null;
}

class TallyShell extends AggregateShell<Tally, TallyFact, number> {
  protected override readonly keptMax: number;
  readonly #log: Log;
  readonly #windows = new Windows();

  constructor(id: string, ports: AggregatePorts, send: Send<Tally>, keptMax: number, log: Log) {
    super(id, RULES, ports, send);
    this.keptMax = keptMax;
    this.#log = log;
  }

  /** The counts that sessions which were away can still be sent. */
  get kept(): object[] {
    return this.epoch?.stream.lastOf(() => true, 100).map(({ d }) => d) ?? [];
  }

  get rows(): string[] {
    return [...(this.state?.rows.keys() ?? [])];
  }

  /** Keys of the replies that no record of the database has. */
  get unrecorded(): string[] {
    return [...(this.epoch?.keys.unrecorded() ?? [])].map(({ key }) => key);
  }

  act(
    types: readonly TallyFact['type'][],
    answer: (reply: Reply<number>) => void,
    fault: (error: Error) => void,
    commandKey: string | null,
  ): Work<Tally> {
    const facts = types.map((type) => ({ type }));
    return this.deciding(
      () => ({}),
      ({ count }) => accepted(count, facts),
      answer,
      fault,
      commandKey,
    );
  }

  protected async fetch(): Promise<Tally> {
    this.#log.reads.push(this.id);
    return { count: 0, rows: new Window() };
  }

  protected override recall(): void {
    this.#log.recalls += 1;
  }

  override adopt(state: Tally): void {
    super.adopt(state);
    this.#windows.add(state.rows, oldestFirst(0));
  }

  protected outgoing(_state: Tally, d: number, _fact: TallyFact, nowMs: number): OutgoingDispatch[] {
    const dispatch = { t: 'COUNT', d: { count: d }, to: { kind: 'guild' } } as const;
    const n = this.epoch?.number(dispatch, nowMs) ?? 0;
    this.tap(dispatch.t, dispatch.d);
    const deliver = ({ t }: DispatchBody) => void this.#log.sent.push(t);
    const sessionId = 'a session' as const;
    return [{ ...dispatch, to: [{ sessionId, userId: '1' as never, intents: 0, bot: false, deliver }], n }];
  }

  protected read(state: Tally): Promise<void> | null {
    const { isBroken, absentRow, answerRead } = this.#log;
    if (answerRead) return answerRead();
    if (isBroken) return Promise.reject(new Error('The disk is gone.'));
    if (absentRow === null) return null;
    this.#log.absentRow = null;
    return Promise.resolve().then(() => void state.rows.set(absentRow, 0));
  }

  protected number = (_state: Tally, commit: number): void => this.#windows.number(commit);
  protected trim = (): void => this.#windows.trim(this.commits.settled);
  protected notify = (): void => void this.#log.sent.push('notification');
  protected occupied = (): boolean => false;
  protected ended = (_state: Tally, ending: string): void => void this.#log.endings.push(ending);
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const fail = (error: Error): void => {
  throw error;
};

/** Tallies of one shard of a cluster, and the commits that the test settles. */
function arrange(keptMax = Number.POSITIVE_INFINITY, onBug = fail) {
  const clock = new VirtualClock();
  const loadQueue = new LoadQueue({ atOnceMax: 1, waitingMax: 100 });
  const commits: Commit[] = [];
  const log: Log = {
    ...{ reads: [], sent: [], tapped: [], endings: [] },
    ...{ isBroken: false, absentRow: null, answerRead: null, recalls: 0 },
  };
  /** What the reads of records, and the flushes of the writer, wait for. */
  const delays = { records: Promise.resolve(), flush: Promise.resolve() };
  const ownership: AggregateOwnership = {
    fenceOf: () => ({ partition: 1, epoch: 1 }),
    decides: () => true,
    records: () => delays.records.then(() => ({ records: [], cut: false })),
    saveSnapshot: async () => undefined,
    snapshot: async () => null,
    dropSnapshot: async () => undefined,
    loadQueue,
    stream: { dispatchesMax: 3, ageMs: 1e9, bytesMax: 1e9, numbers: { high: 0 } },
    keys: { keysMax: 100, ageMs: 60_000 },
    onFault: () => undefined,
  };
  const ports: AggregatePorts = {
    writer: { depth: 0, flush: () => delays.flush, commit: (commit) => void commits.push(commit) },
    ...{ clock, ownership, rulesMs: null, nextId: () => '1' as never },
    tap: { listening: true, see: (...all) => void log.tapped.push(all) },
  };
  const registry = new Registry<Tally, TallyShell>({
    machine: residentMachine<Tally>('tally'),
    makeShell: (id, send) => new TallyShell(id, ports, send, keptMax, log),
    ...{ backlogMax: 100, idleMs: 1e9, supervisor: createSupervisor(), clock, wheel: new TimerWheel(clock) },
    onBug: (_id, error) => onBug(error),
    admits: () => true,
  });
  const act = (
    id: string,
    types: readonly TallyFact['type'][],
    commandKey: string | null = null,
    background = false,
  ) =>
    new Promise<Reply<number>>((resolve, fault) => {
      const answer = (reply: Reply<number>) => {
        log.sent.push('reply');
        resolve(reply);
      };
      registry.workWith(id, (shell) => shell.act(types, answer, fault, commandKey), { background });
    });
  const settle = async () => {
    await turn();
    for (const { done } of commits.splice(0)) done(null);
  };
  return { registry, loadQueue, log, commits, delays, act, settle };
}

describe('an aggregate that waits to be read', () => {
  it('is not read when its shard gives it up before its turn', async () => {
    const { registry, loadQueue, log, act } = arrange();
    let free: () => void = () => undefined;
    const other = loadQueue.begin(() => new Promise<void>((resolve) => (free = resolve)), true);
    const acts = ['1', '2'].map((id) => act(id, ['counted']).catch((fault: Error) => fault.message));
    await turn();
    expect(loadQueue.waiting).toBe(2);
    registry.abandon((id) => id === '1');
    expect(loadQueue.waiting).toBe(1);
    free();
    await other.result;
    await turn();
    expect(log.reads).toEqual(['2']);
    expect(await acts[0]).toContain('moved');
  });
});

describe('an aggregate that ends while it is read', () => {
  it.each([
    ['recalls no dispatches, because they may be older than those of its next actor', true, 0],
    ['recalls them when it did not end', false, 1],
  ])('%s', async (_how, ends, recalls) => {
    const { registry, log, act, delays, settle } = arrange();
    let answer: () => void = () => undefined;
    delays.records = new Promise((resolve) => (answer = resolve));
    const acted = act('1', []).catch((fault: Error) => fault);
    await turn();
    if (ends) registry.abandon(() => true);
    answer();
    await settle();
    await acted;
    expect(log.recalls).toBe(recalls);
  });

  it('is not read when it ends while commits of the previous actor are pending', async () => {
    const { registry, log, act, delays } = arrange();
    let settled: () => void = () => undefined;
    delays.flush = new Promise((resolve) => (settled = resolve));
    const acted = act('1', []).catch((fault: Error) => fault.message);
    await turn();
    registry.abandon(() => true);
    settled();
    await turn();
    expect([log.reads, await acted]).toEqual([[], expect.stringContaining('moved')]);
  });
});

describe('an aggregate that a caller waits for', () => {
  it.each([
    ['from the start', []],
    ['after a session', ['2']],
  ])('is read before one that only a session waits for when the caller waits %s', async (_when, earlier) => {
    const { loadQueue, log, act, settle } = arrange();
    let free: () => void = () => undefined;
    void loadQueue.begin(() => new Promise<void>((resolve) => (free = resolve)), true);
    const acts = ['1', ...earlier].map((id) => act(id, [], null, true));
    await turn();
    acts.push(act('2', []));
    await turn();
    free();
    await settle();
    await Promise.all(acts);
    expect(log.reads).toEqual(['2', '1']);
  });
});

describe('an aggregate that keeps dispatches for sessions that were away', () => {
  it.each([
    ['keeps no more than its own bound', 2, [3, 4]],
    ['keeps no more than the bound of its shard', 5, [2, 3, 4]],
  ])('%s', async (_how, keptMax, kept) => {
    const { registry, act, settle } = arrange(keptMax);
    const acts = Array.from({ length: 4 }, () => act('1', ['counted']));
    await settle();
    await Promise.all(acts);
    expect(registry.peek('1')?.kept).toEqual(kept.map((count) => ({ count })));
  });
});

describe('the reply to a command under a key', () => {
  it.each([
    ['is left to the database when a fact of the command is stored', ['shown', 'counted'], []],
    ['is handed to the next owner when no fact of the command is stored', ['shown'], ['k']],
    ['is handed to the next owner when the command changed nothing', [], ['k']],
  ] as const)('%s', async (_how, types, unrecorded) => {
    const { registry, act, settle } = arrange();
    const acting = act('1', types, 'k');
    await settle();
    expect(await acting).toEqual({ ok: true, value: 0 });
    expect(registry.peek('1')?.unrecorded).toEqual(unrecorded);
  });
});

describe('a command under a key', () => {
  it('is decided once when the read of its first repetition fails', async () => {
    const { log, commits, act, settle } = arrange();
    const first = act('1', ['counted'], 'k');
    await turn();
    log.isBroken = true;
    await expect(act('1', ['counted'], 'k')).rejects.toThrow('The disk is gone.');
    log.isBroken = false;
    const third = act('1', ['counted'], 'k');
    await turn();
    expect(commits).toHaveLength(1);
    await settle();
    expect(await Promise.all([first, third])).toEqual(Array(2).fill({ ok: true, value: 0 }));
  });
});

describe('a command whose facts are stored', () => {
  it('sends its dispatches, then one reply, then its notifications', async () => {
    const { log, act, settle } = arrange();
    const acting = act('1', ['counted']);
    await turn();
    expect(log.sent).toEqual([]);
    await settle();
    await acting;
    expect(log.sent).toEqual(['COUNT', 'reply', 'notification']);
  });
});

describe('a dispatch of a command', () => {
  it('is shown to the embedding program once, when the fact is stored', async () => {
    const { log, act, settle } = arrange();
    const acting = act('7', ['counted']);
    await turn();
    expect(log.tapped).toEqual([]);
    await settle();
    await acting;
    await act('7', []);
    expect(log.tapped).toEqual([['COUNT', { count: 1 }, '7']]);
  });
});

describe('a command without facts', () => {
  it('is answered after the commit of the state that it shows', async () => {
    const { log, act, settle } = arrange();
    const both = [act('1', ['counted']), act('1', [])];
    await turn();
    expect(log.sent).toEqual([]);
    await settle();
    expect(await Promise.all(both)).toEqual([
      { ok: true, value: 0 },
      { ok: true, value: 1 },
    ]);
    expect(log.sent).toEqual(['COUNT', 'reply', 'notification', 'reply']);
  });
});

describe('the rows of an aggregate', () => {
  it('can be evicted while a commit is under way, except the rows that the commit wrote', async () => {
    const { registry, log, commits, act, settle } = arrange();
    const acting = act('1', ['counted']);
    await turn();
    log.absentRow = 'read';
    const reading = act('1', []);
    await turn();
    expect([commits.length, registry.peek('1')?.rows]).toEqual([1, ['written']]);
    await settle();
    await Promise.all([acting, reading]);
    expect(registry.peek('1')?.rows).toEqual([]);
  });
});

describe('a command whose rows are evicted after each read', () => {
  it('fails at the seventeenth read, whose own failure is ignored', async () => {
    const { log, act } = arrange();
    let reads = 0;
    const lost: (() => void)[] = [];
    log.answerRead = () => {
      reads += 1;
      return reads <= 16
        ? Promise.resolve()
        : new Promise((_, reject) => lost.push(() => reject(new Error('The disk is gone.'))));
    };
    await expect(act('1', [])).rejects.toThrow('Working set exceeded');
    for (const lose of lost) lose();
    // A rejection that nobody handles fails the run.
    await turn();
    expect([reads, lost.length]).toEqual([17, 1]);
  });
});

describe('an aggregate whose deletion is decided', () => {
  it('refuses later commands, commits nothing more and is released when the deletion is durable', async () => {
    const { registry, log, commits, act, settle } = arrange();
    const removing = act('1', ['removed']);
    await turn();
    const late = act('1', ['counted']);
    await turn();
    expect([commits.length, log.sent]).toEqual([1, []]);
    await settle();
    expect(await removing).toEqual({ ok: true, value: 0 });
    expect(await late).toEqual({ ok: false, refusal: RULES.missing });
    expect([log.endings, registry.size]).toEqual([['deleted'], 0]);
  });
});

describe('an aggregate that moves to another shard while a command reads rows', () => {
  it('is handed over when the read and the commit that follows it are done', async () => {
    const { registry, log, commits, act, settle } = arrange();
    await act('1', []);
    log.absentRow = 'read';
    const acting = act('1', ['counted']);
    const handing = registry.handOver(() => true, 1_000);
    await turn();
    expect([commits.length, registry.size]).toEqual([1, 1]);
    await settle();
    expect(await acting).toEqual({ ok: true, value: 0 });
    await handing;
    expect([log.endings, registry.size]).toEqual([['moved'], 0]);
  });

  it('is handed over at once when the read fails', async () => {
    const { registry, log, act } = arrange();
    await act('1', []);
    log.isBroken = true;
    const failure = act('1', ['counted']).catch(({ message }: Error) => message);
    const handing = registry.handOver(() => true, 1_000);
    expect(await failure).toBe('The disk is gone.');
    await turn();
    expect(registry.size).toBe(0);
    await handing;
  });
});

describe('an aggregate that a bug ends', () => {
  it('fails the commands that wait for their commit, once, and releases its dependents', async () => {
    const bugs: Error[] = [];
    const { registry, log, act, settle } = arrange(undefined, (error) => bugs.push(error));
    const failures: string[] = [];
    for (const key of [null, 'k', 'k'])
      act('1', ['counted'], key).catch(({ message }: Error) => failures.push(message));
    await turn();
    registry.work('1', rethrow(new Error('A planted bug.')));
    await turn();
    expect(failures).toEqual(Array(3).fill('A planted bug.'));
    expect([bugs.length, log.endings, registry.size]).toEqual([1, ['released'], 0]);
    await settle();
    expect(log.sent).toEqual([]);
  });
});

// Goal: an answer that arrives after its membership has ended changes nothing, wherever the membership waited for it.
import { describe, expect, it } from 'vitest';
import type { Directory } from '../../../../actors/cluster/ports.ts';
import { type Cell, cluster, PARTITIONS, type Surroundings } from './arrange.ts';

/** Holds back the answer of one call; what is called is done at once. */
class Gate {
  /** Whether a call has waited for its answer. */
  isReached = false;
  #armed = false;
  readonly #opened: Promise<void>;
  #open = (): void => undefined;

  constructor() {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  arm = (): void => {
    this.#armed = true;
  };

  open = (): void => this.#open();

  /** Delays the answer of the first call after `arm`. */
  pass = async <T>(answer: Promise<T>): Promise<T> => {
    if (!this.#armed) return answer;
    this.#armed = false;
    this.isReached = true;
    const [value] = await Promise.all([answer, this.#opened]);
    return value;
  };
}

/** The view that follows the call does not arrive before its answer. */
function gated(directory: Directory, call: string, gate: Gate): Directory {
  const { worker, enter, update, claim, publish, release } = directory;
  const through = <A extends readonly unknown[], T>(name: string, run: (...args: A) => Promise<T>) =>
    call === name ? (...args: A) => gate.pass(run(...args)) : run;
  return {
    ...directory,
    worker: through('worker', worker),
    enter: through('enter', (self, listener) => {
      const isReturn = gate.isReached;
      const changed: typeof listener.changed = (view) => {
        if (isReturn || !gate.isReached) listener.changed(view);
      };
      return enter(self, { ...listener, changed });
    }),
    update: through('update', update),
    claim: through('claim', claim),
    publish: through('publish', publish),
    release: through('release', release),
  };
}

interface Case {
  readonly name: string;
  /** The call whose answer is held back. */
  readonly call: string;
  /** Whether the call is one of the first entry; otherwise the shard serves before. */
  readonly first: boolean;
  /** Brings a serving shard to the call. */
  readonly reach?: (around: Surroundings, a: Cell) => void;
}

const joins = ({ shard }: Surroundings) => void shard('b').ownership.start();
const drains = (_: Surroundings, a: Cell) => void a.ownership.drain();
const isRefused = (_: Surroundings, a: Cell) => a.ownership.stale(5);

const CASES: readonly Case[] = [
  { name: 'claims partitions', call: 'claim', first: true },
  { name: 'takes partitions over in the database', call: 'takeOver', first: true },
  { name: 'publishes epochs', call: 'publish', first: true },
  { name: 'announces that it drains', call: 'update', first: false, reach: drains },
  { name: 'hands partitions over', call: 'handOver', first: false, reach: joins },
  { name: 'releases partitions that it has handed over', call: 'release', first: false, reach: joins },
  {
    name: 'releases a partition whose epoch the database rejected',
    call: 'release',
    first: false,
    reach: isRefused,
  },
];
const BEFORE_MEMBERSHIP: readonly Case[] = [
  { name: 'reserves a worker number', call: 'worker', first: true },
  { name: 'enters the directory', call: 'enter', first: true },
];

const named = (cases: readonly Case[]) => cases.map((each) => [each.name, each] as const);

async function held({ call, first, reach }: Case) {
  const around = cluster();
  const { pass, epochs } = around;
  const gate = new Gate();
  const takeOver = epochs.takeOver;
  if (call === 'takeOver') epochs.takeOver = (partitions) => gate.pass(takeOver(partitions));
  const a = around.shard('a', 1, (directory) => gated(directory, call, gate));
  if (first) gate.arm();
  const started = a.ownership.start().catch(() => undefined);
  await pass(first ? 0 : 200);
  if (!first) gate.arm();
  if (call === 'handOver') a.handing.until = () => gate.pass(Promise.resolve());
  reach?.(around, a);
  await pass(50);
  expect(gate.isReached).toBe(true);
  const seen = () => ({
    state: a.ownership.state,
    self: a.ownership.self,
    view: a.ownership.view,
    served: a.served(),
    fences: [...around.ids.values()].map((id) => [a.ownership.fenceOf(id), a.ownership.ownerOf(id)]),
    log: [...a.log],
    changes: a.changes.length,
    members: [...around.authority.members.keys()],
    owners: around.authority.owners,
  });
  return { ...around, a, gate, seen, started };
}

describe('a membership that was lost', () => {
  it.each(named(CASES))(
    'changes nothing with an answer before the return while it %s',
    async (_name, each) => {
      const { a, gate, seen, pass, authority } = await held(each);
      a.returning.until = new Promise(() => undefined);
      authority.end('a#1', 'The lease is over.');
      await pass(50);
      const before = seen();
      expect([before.state, before.served]).toEqual([each.call === 'update' ? 'draining' : 'joining', []]);
      gate.open();
      await pass(5_000);
      expect(seen()).toEqual({ ...before, members: seen().members, owners: seen().owners });
    },
  );

  it.each(named(CASES))(
    'changes nothing with an answer after the return while it %s',
    async (_name, each) => {
      const { a, gate, seen, pass, authority } = await held(each);
      authority.end('a#1', 'The lease is over.');
      await pass(5_000);
      expect(a.ownership.state).toBe(each.call === 'update' ? 'draining' : 'serving');
      if (each.reach === undefined) expect(a.served()).toHaveLength(PARTITIONS);
      const before = seen();
      gate.open();
      await pass();
      expect(seen()).toEqual(before);
      await pass(5_000);
      expect(seen()).toEqual(before);
    },
  );
});

describe('a membership that was left', () => {
  it.each(named([...BEFORE_MEMBERSHIP, ...CASES]))(
    'changes nothing with a late answer while it %s',
    async (_name, each) => {
      const { a, gate, seen, pass, started } = await held(each);
      await Promise.all([a.ownership.close(), pass(50)]);
      await started;
      const before = seen();
      expect([before.state, before.served]).toEqual(['left', []]);
      gate.open();
      await pass(5_000);
      const after = { ...seen(), members: before.members, owners: before.owners };
      expect(after).toEqual(before);
      expect(seen().members).not.toContain('a#1');
    },
  );

  it('does not enter again after a late recovery step', async () => {
    const { started, authority, pass } = cluster();
    const [a] = await started('a');
    const gate = new Gate();
    gate.arm();
    a.returning.until = gate.pass(Promise.resolve());
    authority.end('a#1', 'The lease is over.');
    await pass(50);
    expect(a.log.at(-1)).toBe('returning');
    await Promise.all([a.ownership.close(), pass(50)]);
    const { length } = a.log;
    gate.open();
    await pass(5_000);
    expect([a.ownership.state, a.log.length, authority.members.size]).toEqual(['left', length, 0]);
  });
});

// Goal: an aggregate is loaded once, works in order, is passivated when idle, and a bug in it affects no other
// aggregate.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RegisteredShell, Registry, type Send } from '../../../actors/runtime/registry.ts';
import { type End, residentMachine, type Work } from '../../../actors/runtime/resident.machine.ts';
import { createSupervisor } from '../../../actors/runtime/supervisor.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { refusal } from '../../../protocol/refusal.ts';

interface Counter {
  value: number;
}

class CounterShell implements RegisteredShell<Counter> {
  readonly refusals = { missing: refusal('UNKNOWN_GUILD'), full: refusal('API_OVERLOADED') };
  readonly id: string;
  readonly send: Send<Counter>;
  readonly log: string[];
  isBusy = false;
  /** Whether the aggregate is open; `finish` ends it. */
  working = false;
  writing: (() => Promise<void>) | null = null;
  end: End | null = null;
  /** Callback for the moment in which the aggregate hands over its state. */
  farewell: () => void = () => undefined;

  constructor(id: string, send: Send<Counter>, log: string[]) {
    this.id = id;
    this.send = send;
    this.log = log;
  }

  load(): void {
    this.log.push(`load ${this.id}`);
  }

  adopt(): void {
    this.log.push(`adopt ${this.id}`);
  }

  run(state: Counter, work: Work<Counter>): void {
    work.run(state);
  }

  settle(): void {
    if (!this.working) this.send({ type: 'settled' });
  }

  finish(): void {
    this.working = false;
    this.settle();
  }

  handOver(): void {
    const written = () => this.send({ type: 'written' });
    if (this.writing === null) written();
    else void this.writing().then(written);
  }

  release(end: End): void {
    this.end = end;
    this.log.push(`release ${this.id}`);
    this.farewell();
  }

  crashed(): void {
    this.log.push(`crashed ${this.id}`);
  }
}

function instance(admits: ((id: string) => boolean) | null = null) {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  const log: string[] = [];
  const registry = new Registry<Counter, CounterShell>({
    machine: residentMachine<Counter>('counter'),
    makeShell: (id, send) => new CounterShell(id, send, log),
    backlogMax: 2,
    idleMs: 10_000,
    supervisor: createSupervisor(),
    clock,
    wheel,
    admits,
    onBug: (id, error) => log.push(`bug ${id}: ${error.message}`),
  });
  const work = (name: string, run: (state: Counter) => void = () => undefined): Work<Counter> => ({
    run: (state) => {
      run(state);
      log.push(`${name} ran`);
    },
    refuse: (no) => log.push(`${name} refused ${no.code}`),
    fault: (error) => log.push(`${name} faulted: ${error.message}`),
  });
  return { clock, registry, log, work };
}

describe('resident aggregates', () => {
  it('hold work while they load, then run it in order', () => {
    const { registry, log, work } = instance();
    registry.work('a', work('one'));
    registry.work('a', work('two'));
    registry.work('a', work('three'));
    registry.peek('a')?.send({ type: 'loaded', state: { value: 0 } });
    registry.work('a', work('four'));
    expect(log).toEqual(['load a', 'three refused 130000', 'adopt a', 'one ran', 'two ran', 'four ran']);
  });

  it('refuse work behind one that decides the deletion, which all were held while they loaded', () => {
    const { registry, log, work } = instance();
    registry.work(
      'a',
      work('delete', () => registry.peek('a')?.send({ type: 'deleting' })),
    );
    registry.work('a', work('write'));
    registry.peek('a')?.send({ type: 'loaded', state: { value: 0 } });
    expect(log.splice(0)).toEqual(['load a', 'adopt a', 'delete ran']);
    registry.peek('a')?.send({ type: 'deleted' });
    expect(log).toContain('write refused 10004');
  });

  it('reply missing to queued work for an unknown aggregate, and the fault when its load fails', () => {
    const { registry, log, work } = instance();
    registry.work('a', work('one'));
    registry.peek('a')?.send({ type: 'missing' });
    registry.work('b', work('two'));
    registry.peek('b')?.send({ type: 'loadFailed', fault: new Error('disk') });
    expect(log).toEqual([
      'load a',
      'one refused 10004',
      'release a',
      'load b',
      'two faulted: disk',
      'release b',
    ]);
    expect(registry.size).toBe(0);
  });

  it('rest when they are busy and unused, and answer work and events as before', () => {
    const { clock, registry, log, work } = instance();
    registry.work('a', work('one'));
    const shell = registry.peek('a')!;
    shell.send({ type: 'loaded', state: { value: 0 } });
    shell.isBusy = true;
    expect(registry.resting).toBe(0);
    clock.advance(5_000);
    expect(registry.resting).toBe(1);
    registry.work('a', work('two'));
    expect(registry.resting).toBe(1);
    registry.work(
      'a',
      work('three', () => {
        throw new Error('A bug.');
      }),
    );
    expect(registry.size).toBe(0);
    expect(log.slice(2)).toEqual(['one ran', 'two ran', 'bug a: A bug.', 'crashed a']);
  });

  it('are passivated when idle and not busy, and loaded again when needed', () => {
    const { clock, registry, log, work } = instance();
    registry.work('a', work('one'));
    const shell = registry.peek('a');
    shell?.send({ type: 'loaded', state: { value: 0 } });
    if (shell) shell.isBusy = true;
    clock.advance(60_000);
    expect(registry.size).toBe(1);
    if (shell) shell.isBusy = false;
    clock.advance(20_000);
    expect(registry.size).toBe(0);
    registry.work('a', work('two'));
    expect(log.filter((line) => line.startsWith('load'))).toHaveLength(2);
  });

  it('pass state that they hand over while ending to their successor', () => {
    const { registry, log, work } = instance();
    registry.work('a', work('one'));
    const shell = registry.peek('a');
    shell?.send({ type: 'loaded', state: { value: 0 } });
    if (shell) shell.farewell = () => registry.work('a', work('two'));
    shell?.send({ type: 'commitFailed', fault: new Error('disk') });
    expect(registry.peek('a')).not.toBe(shell);
    registry.peek('a')?.send({ type: 'loaded', state: { value: 0 } });
    expect(log).toEqual(['load a', 'adopt a', 'one ran', 'release a', 'load a', 'adopt a', 'two ran']);
  });

  it('are evicted alone when a bug ends them, and loaded again for the next work', () => {
    const { registry, log, work } = instance();
    for (const id of ['a', 'b']) {
      registry.work(id, work(`first ${id}`));
      registry.peek(id)?.send({ type: 'loaded', state: { value: 0 } });
    }
    registry.work(
      'a',
      work('bug', () => {
        throw new Error('boom');
      }),
    );
    expect(log.slice(-2)).toEqual(['bug a: boom', 'crashed a']);
    expect(registry.bugs).toBe(1);
    registry.work('b', work('still here'));
    expect(log.at(-1)).toBe('still here ran');
    registry.work('a', work('again'));
    registry.peek('a')?.send({ type: 'loaded', state: { value: 1 } });
    expect(log.at(-1)).toBe('again ran');
  });
});

describe('the turns of a resident aggregate', () => {
  type Step = {
    readonly event: 'loaded' | 'missing' | 'handOver' | 'idle' | 'deleting' | 'deleted' | 'close' | 'work';
  };
  const step = fc.record<Step>({
    event: fc.constantFrom(
      'loaded',
      'missing',
      'handOver',
      'idle',
      'deleting',
      'deleted',
      'close',
      'work',
      'work',
      'work',
    ),
  });
  /** Steps, each with those that its work takes before it returns, and whether that work throws. */
  const schedule = fc.array(fc.tuple(step, fc.array(step, { maxLength: 3 }), fc.boolean()), {
    maxLength: 20,
  });

  it('answer each work once, in order, one after the other, and never after the end', () => {
    fc.assert(
      fc.property(schedule, (steps) => {
        const { registry, work } = instance();
        const [answers, ran] = [new Map<string, number>(), [] as string[]];
        let [submitted, running] = [0, 0];
        let shell: CounterShell | undefined;
        const take = ({ event }: Step, inner: readonly Step[], throws: boolean): void => {
          if (event !== 'work') {
            const state = { value: 0 };
            shell?.send(event === 'loaded' ? { type: event, state } : { type: event });
            return;
          }
          const name = String(submitted);
          submitted += 1;
          const answered = () => answers.set(name, (answers.get(name) ?? 0) + 1);
          const owner = () => registry.peek('a');
          registry.work('a', {
            ...work(name),
            run: () => {
              expect([running, shell?.end ?? null]).toEqual([0, null]);
              running += 1;
              ran.push(name);
              answered();
              for (const each of inner) take(each, [], false);
              running -= 1;
              if (throws) throw new Error('boom');
            },
            refuse: answered,
            fault: answered,
          });
          shell = owner() ?? shell;
        };
        for (const [one, inner, throws] of steps) take(one, inner, throws);
        registry.close();
        expect([...answers.values()].every((times) => times === 1)).toBe(true);
        expect(ran.map(Number)).toEqual(ran.map(Number).sort((a, b) => a - b));
        expect(answers.size).toBe(submitted);
      }),
      { numRuns: 500 },
    );
  });
});

describe('residents that change hands', () => {
  function moving() {
    const gone = new Set<string>();
    const there = instance((id) => !gone.has(id));
    const load = (id: string) => {
      there.registry.work(id, there.work(`first ${id}`));
      there.registry.peek(id)?.send({ type: 'loaded', state: { value: 0 } });
      return there.registry.peek(id) as CounterShell;
    };
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 5) {
        there.clock.advance(5);
        for (let turn = 0; turn < 10; turn++) await Promise.resolve();
      }
    };
    return { ...there, gone, load, pass };
  }

  it('finish their current work first, and accept no more', async () => {
    const { registry, gone, load, log, work, pass } = moving();
    const [a, b] = [load('a'), load('b')];
    a.working = true;
    gone.add('a');
    let over = false;
    const handed = registry
      .handOver((id) => gone.has(id), 1_000)
      .then(() => {
        over = true;
      });
    registry.work('a', work('late'));
    expect(log.at(-1)).toContain('late faulted: This shard does not own the aggregate');
    await pass(100);
    expect([over, a.end]).toEqual([false, null]);
    a.finish();
    await handed;
    expect([over, a.end, b.end]).toEqual([true, { why: 'moved' }, null]);
    registry.work('a', work('still late'));
    expect(registry.peek('a')).toBeUndefined();
    expect(log.at(-1)).toContain('still late faulted');
  });

  it('write themselves down before they end', async () => {
    const { registry, load, log } = moving();
    const [a, b] = [load('a'), load('b')];
    a.writing = async () => void log.push(`a has ended: ${a.end !== null}`);
    await registry.handOver(() => true, 1_000);
    expect(log).toContain('a has ended: false');
    expect([a.end, b.end, registry.size]).toEqual([{ why: 'moved' }, { why: 'moved' }, 0]);
  });

  it('are handed over by the deadline, whatever work is open', async () => {
    const { registry, load, pass } = moving();
    const [a, b] = [load('a'), load('b')];
    a.working = true;
    b.writing = () => new Promise(() => undefined);
    const handed = registry.handOver(() => true, 200);
    await pass(190);
    expect(registry.size).toBe(2);
    await pass(20);
    await handed;
    expect(registry.size).toBe(0);
  });

  it('resolve every handover that waits for them, also when a second one begins meanwhile', async () => {
    const { registry, load, pass } = moving();
    load('a').working = true;
    const both = Promise.all([registry.handOver(() => true, 200), registry.handOver(() => true, 200)]);
    await pass(210);
    expect(await both).toEqual([undefined, undefined]);
  });

  it('forward work that waits for an aggregate that is still loading', async () => {
    const { registry, log, work, pass } = moving();
    registry.work('a', work('first'));
    const handed = registry.handOver(() => true, 200);
    await pass(10);
    await handed;
    expect(log).toEqual(['load a', 'first faulted: The aggregate has moved to another shard.', 'release a']);
  });

  it('are given up at once', () => {
    const { registry, load } = moving();
    const [a, b] = [load('a'), load('b')];
    a.working = true;
    registry.abandon((id) => id === 'a');
    expect([a.end, b.end]).toEqual([{ why: 'moved' }, null]);
  });
});

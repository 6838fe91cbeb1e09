// Goal: no more is read at once than may be, in order, and neither commands nor sessions wait for all of the other.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LoadQueue } from '../../../actors/runtime/loadqueue.ts';
import { NotServed } from '../../../protocol/faults.ts';

function arrange(bounds: { readonly atOnceMax: number; readonly waitingMax: number }) {
  const loads = new LoadQueue(bounds);
  const begun: string[] = [];
  const ends = new Map<string, { done(): void; fail(): void }>();
  const begin = (name: string, isHurried = false) => {
    const read = () => {
      begun.push(name);
      return new Promise<string>((resolve, reject) => {
        ends.set(name, { done: () => resolve(name), fail: () => reject(new Error(name)) });
      });
    };
    const load = loads.begin(read, isHurried);
    const outcome = load.result.then(
      (value) => value,
      (fault: Error) => fault,
    );
    return { ...load, outcome };
  };
  const end = async (name: string, how: 'done' | 'fail' = 'done'): Promise<void> => {
    ends.get(name)?.[how]();
    ends.delete(name);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { loads, begun, ends, begin, end };
}

describe('loads', () => {
  it('start at once while there is room, then one for each that ends, also when it fails', async () => {
    const { loads, begun, begin, end } = arrange({ atOnceMax: 2, waitingMax: 10 });
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => begin(name));
    expect(begun).toEqual(['a', 'b']);
    expect(loads.waiting).toBe(2);
    await end('b', 'fail');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('a');
    await end('c');
    await end('d');
    expect([await a?.outcome, await c?.outcome, await d?.outcome]).toEqual(['a', 'c', 'd']);
    expect(await b?.outcome).toEqual(new Error('b'));
    expect(loads.waiting).toBe(0);
  });

  it('alternate between commands and sessions', async () => {
    const { begun, begin, end } = arrange({ atOnceMax: 1, waitingMax: 10 });
    for (const name of ['s0', 's1', 's2', 's3']) begin(name);
    for (const name of ['c1', 'c2']) begin(name, true);
    for (const name of ['s0', 'c1', 's1', 'c2', 's2', 's3']) await end(name);
    expect(begun).toEqual(['s0', 'c1', 's1', 'c2', 's2', 's3']);
  });

  it('move to the front when a command waits for them', async () => {
    const { begun, begin, end } = arrange({ atOnceMax: 1, waitingMax: 10 });
    const [, , last] = ['s0', 's1', 's2'].map((name) => begin(name));
    last?.prioritize();
    last?.prioritize();
    for (const name of ['s0', 's2', 's1']) await end(name);
    last?.prioritize();
    expect(begun).toEqual(['s0', 's2', 's1']);
  });

  it('are refused and counted when their queue is full', async () => {
    const { loads, begun, begin, end } = arrange({ atOnceMax: 1, waitingMax: 2 });
    for (const name of ['s0', 's1', 's2']) begin(name);
    expect(await begin('s3').outcome).toBeInstanceOf(NotServed);
    // Commands have room of their own.
    begin('c1', true);
    begin('c2', true);
    expect(await begin('c3', true).outcome).toBeInstanceOf(NotServed);
    expect([loads.waiting, loads.refused]).toEqual([4, 2]);
    for (const name of ['s0', 'c1', 's1', 'c2', 's2']) await end(name);
    expect(begun).toEqual(['s0', 'c1', 's1', 'c2', 's2']);
  });

  it('are skipped once cancelled; a running one continues', async () => {
    const { loads, begun, begin, end } = arrange({ atOnceMax: 1, waitingMax: 10 });
    const [first, second, third] = ['a', 'b', 'c'].map((name) => begin(name));
    second?.cancel();
    first?.cancel();
    expect(await second?.outcome).toBeInstanceOf(NotServed);
    expect(loads.waiting).toBe(1);
    await end('a');
    await end('c');
    expect(begun).toEqual(['a', 'c']);
    expect([await first?.outcome, await third?.outcome]).toEqual(['a', 'c']);
  });

  it('are each started once, rejected or cancelled, after any steps', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constantFrom('begin', 'hurried') }),
      fc.record({ do: fc.constantFrom('end', 'prioritize', 'cancel'), which: fc.nat() }),
    );
    const bounds = fc.record({ atOnceMax: fc.integer({ min: 1, max: 4 }), waitingMax: fc.nat(5) });
    await fc.assert(
      fc.asyncProperty(bounds, fc.array(step, { maxLength: 60 }), async (limits, steps) => {
        const { loads, begun, ends, begin, end } = arrange(limits);
        const all: ReturnType<typeof begin>[] = [];
        for (const each of steps) {
          if (!('which' in each)) all.push(begin(String(all.length), each.do === 'hurried'));
          else if (each.do === 'end') await end([...ends.keys()][each.which % ends.size] ?? '');
          else all[each.which % all.length]?.[each.do as 'prioritize' | 'cancel']();
          expect(ends.size).toBeLessThanOrEqual(limits.atOnceMax);
          expect(loads.waiting).toBeLessThanOrEqual(2 * limits.waitingMax);
          // Nothing waits where there is room.
          if (ends.size < limits.atOnceMax) expect(loads.waiting).toBe(0);
        }
        while (ends.size > 0) await end([...ends.keys()][0] as string);
        const outcomes = await Promise.all(all.map(({ outcome }) => outcome));
        expect(new Set(begun).size).toBe(begun.length);
        expect(outcomes.filter((outcome) => typeof outcome === 'string')).toHaveLength(begun.length);
        expect(loads.waiting).toBe(0);
      }),
    );
  });
});

// Goal: a stream gives what came after a number or says that it cannot, within its bounds; a command known by its key is answered as it was.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CommandKeys } from '../../../actors/runtime/commandkeys.ts';
import { DispatchStream, merged, type StreamBounds } from '../../../actors/runtime/stream.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import { everyone } from '../../support/guild.ts';

const WIDE = { dispatchesMax: 1_000, ageMs: 1_000, bytesMax: 1_000_000 };
const EPOCH = 2 ** 32;

const streamOf = (bounds: Partial<StreamBounds> = {}, epoch = 1) =>
  new DispatchStream('1', epoch, { ...WIDE, numbers: { high: 0 }, ...bounds });
const told = (name: string) => ({ t: 'TYPING_START', d: { name }, to: everyone });
const names = (stream: DispatchStream, n: number) => {
  const since = stream.since(n);
  return since === 'tooOld' ? since : since.map(({ d }) => (d as { name: string }).name).join('');
};

describe('a stream', () => {
  it('numbers ascend over epochs', () => {
    const first = streamOf();
    const numbers = [first.add(told('a'), 0).n, first.next(), first.add(told('b'), 0).n];
    const second = streamOf({}, 2);
    expect([...numbers, second.add(told('c'), 0).n]).toEqual([
      EPOCH + 1,
      EPOCH + 2,
      EPOCH + 3,
      2 * EPOCH + 1,
    ]);
    expect([first.last, second.last]).toEqual([EPOCH + 3, 2 * EPOCH + 1]);
  });

  it('assigns each number once, also when it starts again under the same epoch', () => {
    const numbers = { high: 0 };
    const first = streamOf({ numbers });
    for (const name of 'abc') first.add(told(name), 0);
    const again = streamOf({ numbers });
    again.restore([{ ...told('a'), n: EPOCH + 1, atMs: 0 }], 0);
    // One is left out: who has it has heard this one, and who has less was left by the one before.
    expect(again.add(told('d'), 0).n).toBe(EPOCH + 5);
    expect([EPOCH, EPOCH + 3, EPOCH + 4].map((n) => again.isOrphan(n))).toEqual([false, true, false]);
    expect(streamOf({ numbers }, 2).next()).toBe(2 * EPOCH + 7);
  });

  it('returns later dispatches, also after a number of an earlier epoch or an unknown number', () => {
    const stream = streamOf();
    for (const name of 'abc') stream.add(told(name), 0);
    expect([0, EPOCH, EPOCH + 2, EPOCH + 3, 9 * EPOCH].map((n) => names(stream, n))).toEqual([
      ...['abc', 'abc', 'c', '', ''],
    ]);
  });

  it('evicts the oldest dispatches beyond its bound, and reports tooOld', () => {
    const stream = streamOf({ dispatchesMax: 2 });
    for (const name of 'abcd') stream.add(told(name), 0);
    expect([stream.size, names(stream, EPOCH + 2), names(stream, EPOCH + 1)]).toEqual([2, 'cd', 'tooOld']);
  });

  it('evicts dispatches older than the longest absence', () => {
    const stream = streamOf({ ageMs: 100 });
    for (const [at, name] of ['a', 'b', 'c'].entries()) stream.add(told(name), at * 80);
    expect([names(stream, EPOCH), names(stream, EPOCH + 1)]).toEqual(['tooOld', 'bc']);
  });

  it('evicts the oldest dispatches beyond its bytes', () => {
    const stream = streamOf({ bytesMax: 5_000 });
    for (const name of 'abc') stream.add({ ...told(name), d: { name, text: 'x'.repeat(2_000) } }, 0);
    expect([names(stream, EPOCH), names(stream, EPOCH + 1)]).toEqual(['tooOld', 'bc']);
  });

  it('returns the last dispatches of the wanted names in order, at most as many as wanted', () => {
    const stream = streamOf();
    for (const name of 'abc') stream.add(told(name), 0);
    stream.add({ ...told('d'), t: 'GUILD_UPDATE' }, 0);
    const last = (max: number) => stream.lastOf((t) => t === 'TYPING_START', max).map(({ d }) => d);
    expect([last(2), last(4)]).toEqual([
      [{ name: 'b' }, { name: 'c' }],
      [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
    ]);
  });

  it('continues after the dispatches of earlier owners', () => {
    const stream = streamOf({}, 3);
    const restored = [EPOCH + 5, EPOCH + 7, 2 * EPOCH + 1].map((n) => ({ ...told('r'), n, atMs: 0 }));
    stream.restore(restored, EPOCH + 4);
    expect(stream.add(told('a'), 10).n).toBe(3 * EPOCH + 1);
    expect([EPOCH + 3, EPOCH + 4, EPOCH + 5, 2 * EPOCH].map((n) => names(stream, n))).toEqual([
      ...['tooOld', 'rrra', 'rra', 'ra'],
    ]);
  });

  it('returns all later dispatches or tooOld, after any steps', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), weight: fc.nat(50), laterMs: fc.nat(30) }),
      fc.record({ kind: fc.constant('next' as const) }),
      fc.record({ kind: fc.constant('ask' as const), back: fc.nat(40) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), fc.integer({ min: 1, max: 90 }), (steps, max) => {
        const stream = streamOf({ dispatchesMax: max, ageMs: 200, bytesMax: 4_000 });
        const all: number[] = [];
        let nowMs = 0;
        for (const each of steps)
          if (each.kind === 'next') stream.next();
          else if (each.kind === 'add') {
            nowMs += each.laterMs;
            all.push(stream.add({ ...told(''), d: { text: 'x'.repeat(each.weight) } }, nowMs).n);
          } else {
            const n = stream.last - each.back;
            const since = stream.since(n);
            const missing = all.filter((one) => one > n);
            if (since === 'tooOld') expect(n).toBeLessThan(stream.floor);
            else expect(since.map((one) => one.n)).toEqual(missing);
            expect(stream.size).toBeLessThanOrEqual(max);
          }
      }),
    );
  });
});

describe('merged dispatches', () => {
  it('are in order, each once, and include unrecorded ones only above the floor', () => {
    const at = (...numbers: number[]) => numbers.map((n) => ({ ...told('a'), n, atMs: 0 }));
    const numbers = merged(at(6, 9), at(4, 5, 6, 7), 5).map(({ n }) => n);
    expect(numbers).toEqual([6, 7, 9]);
    expect(merged(at(6), at(7), 5).map(({ n }) => n)).toEqual([6, 7]);
  });
});

describe('command keys', () => {
  const yes = (value: unknown): Reply<unknown> => ({ ok: true, value });
  function arrange(bounds = { keysMax: 3, ageMs: 100 }) {
    const keys = new CommandKeys(bounds);
    const heard: unknown[] = [];
    const join = (key: string) =>
      keys.join(
        key,
        (reply) => heard.push(reply),
        (error) => heard.push(error.message),
      );
    return { keys, heard, join };
  }

  it('answer a second one as the first was, at once or when that is answered', () => {
    const { keys, heard, join } = arrange();
    expect(join('a')).toBe(false);
    keys.begin('a', 0);
    expect([join('a'), heard]).toEqual([true, []]);
    keys.settle('a', yes(1), true);
    expect(join('a')).toBe(true);
    expect(heard).toEqual([yes(1), yes(1)]);
  });

  it('run a command again that was not done', () => {
    const { keys, heard, join } = arrange();
    keys.begin('a', 0);
    join('a');
    keys.fail('a', new Error('lost'));
    expect([heard, join('a')]).toEqual([['lost'], false]);
    keys.begin('a', 0);
    keys.settle('a', yes(1), false);
    keys.fail('a', new Error('too late'));
    expect([join('a'), heard.at(-1)]).toEqual([true, yes(1)]);
  });

  it('are forgotten by age and count, but not while the command is under way', () => {
    const { keys, join } = arrange();
    for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) {
      keys.begin(key, at);
      if (key !== 'a') keys.settle(key, yes(key), true);
    }
    expect(['a', 'b', 'c', 'd'].map(join)).toEqual([true, false, true, true]);
    keys.begin('e', 200);
    expect(['a', 'c', 'd', 'e'].map(join)).toEqual([true, false, false, true]);
  });

  it('hand over to the next owner the replies that the database does not hold', () => {
    const { keys, heard, join } = arrange();
    for (const key of ['a', 'b', 'c']) keys.begin(key, 5);
    keys.settle('a', yes('a'), true);
    keys.settle('b', yes('b'), false);
    const left = [...keys.unrecorded()];
    expect(left).toEqual([{ key: 'b', reply: yes('b'), atMs: 5 }]);
    const next = arrange();
    for (const kept of left) next.keys.restore(kept, false);
    expect([next.join('b'), next.heard]).toEqual([true, [yes('b')]]);
    expect([join('c'), heard]).toEqual([true, []]);
    keys.end(new Error('over'));
    expect(heard).toEqual(['over']);
  });
});

// Goal: the judge of the chaos runs finds each way in which something can be lost, doubled, reordered or stale, and
// nothing in a history that is whole.
import { describe, expect, test } from 'vitest';
import { partitionOf } from '../../engine/placement/partition.ts';
import { type Hearing, type History, judge, lineOf, type ReceivedDispatch, type Stored } from './judge.ts';

const PARTITIONS = 8;
const GUILD = '100';
const CHANNEL = '200';
const EPOCH = 2 ** 32;

const rows = (count: number): Stored[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ id: String(1_000 + n), guildId: GUILD, channelId: CHANNEL, content: `chaos ${n}` },
  }));

/** GUILD_CREATE, then the messages of these ids. */
function hearing(ids: readonly number[], given: Partial<Hearing> = {}): Hearing {
  const heard: ReceivedDispatch[] = [
    { s: 1, anew: null, message: null },
    { s: 2, anew: GUILD, message: null },
    ...ids.map((id, at) => ({ s: at + 3, anew: null, message: { id: String(id), channelId: CHANNEL } })),
  ];
  return { session: 'session', heard, fromStart: true, toEnd: true, ...given };
}

function historyOf(given: Partial<History>): History {
  const stored = given.stored ?? rows(3);
  const written = stored.map(({ content, id }) => ({ content, id }));
  return { written, hearings: [], stored, noted: [], partitions: PARTITIONS, ...given };
}

const verdictOf = (given: Partial<History>): string => lineOf(judge(historyOf(given)));
const heardBy = (...hearings: Hearing[]): string => verdictOf({ hearings });

describe('the judge', () => {
  test('finds nothing in what is whole', () => {
    const part = hearing([1001], { fromStart: false, toEnd: false });
    expect(heardBy(hearing([1000, 1001, 1002]), part)).toBe('lost 0, doubled 0, reordered 0, stale 0');
  });

  test('finds an acknowledged write that is not stored', () => {
    expect(verdictOf({ written: [{ content: 'chaos 9', id: '1009' }] })).toMatch(/^lost 1, doubled 0/);
  });

  test('finds a write that is stored twice', () => {
    const stored = [...rows(2), { ...(rows(1)[0] as Stored), id: '1007' }];
    expect(verdictOf({ stored })).toMatch(/^lost 0, doubled 1/);
  });

  test.each([
    ['in between', [1000, 1002], 1],
    ['at the end', [1000, 1001], 1],
    ['at the beginning', [1001, 1002], 1],
    ['all', [], 3],
    ['nothing, but one that is not stored is told', [1000, 1001, 1002, 1003], 1],
  ])('finds what a session never received: %s', (_, ids, lost) => {
    expect(heardBy(hearing(ids))).toBe(`lost ${lost}, doubled 0, reordered 0, stale 0`);
  });

  test('finds what a session received twice, or late', () => {
    expect(heardBy(hearing([1000, 1001, 1001, 1002]))).toBe('lost 0, doubled 1, reordered 0, stale 0');
    expect(heardBy(hearing([1001, 1000, 1002]))).toBe('lost 1, doubled 0, reordered 1, stale 0');
  });

  test('excuses what is missing before a new GUILD_CREATE, and only that', () => {
    const { heard } = hearing([1000]);
    const again = [
      { s: 4, anew: GUILD, message: null },
      { s: 5, anew: null, message: { id: '1002', channelId: CHANNEL } },
    ];
    const { lost, unseen } = judge(
      historyOf({ hearings: [{ ...hearing([]), heard: [...heard, ...again] }] }),
    );
    expect([lost, unseen]).toEqual([[], 1]);
    const other = [{ ...again[0], anew: '999' } as ReceivedDispatch, again[1] as ReceivedDispatch];
    expect(heardBy({ ...hearing([]), heard: [...heard, ...other] })).toMatch(/^lost 1/);
  });

  test('finds holes, repeats and steps back in the numbers of a session', () => {
    const numbered = (...numbers: number[]): Hearing => ({
      ...hearing([], { fromStart: false, toEnd: false }),
      heard: numbers.map((s) => ({ s, anew: null, message: null })),
    });
    expect(heardBy(numbered(1, 2, 4))).toMatch(/^lost 1, doubled 0, reordered 0/);
    expect(heardBy(numbered(1, 2, 2, 3))).toMatch(/^lost 0, doubled 1, reordered 0/);
    expect(heardBy(numbered(1, 3, 2))).toMatch(/^lost 0, doubled 0, reordered 1/);
  });

  test('finds a commit of an epoch that was over, and not one before the change', () => {
    const partition = partitionOf(GUILD, PARTITIONS);
    const taken = (at: number, epoch: number) => ({ at, partition, epoch });
    const commit = (at: number, epoch: number) => ({ at, ownerId: GUILD, n: epoch * EPOCH + 7 });
    expect(verdictOf({ noted: [taken(1, 1), commit(2, 1), taken(3, 2), commit(4, 2)] })).toMatch(/stale 0$/);
    expect(verdictOf({ noted: [commit(4, 1), taken(1, 1), taken(3, 2), commit(5, 2)] })).toMatch(/stale 1$/);
    expect(verdictOf({ noted: [{ ...taken(3, 2), partition: partition + 1 }, commit(4, 1)] })).toMatch(
      /stale 0$/,
    );
  });
});

// Goal: a client that applies the changes of a member list holds its rows, whatever ranges it has and whatever happened.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyOps } from '../../../bench/guild/heldrows.ts';
import {
  changeOps,
  type RowRange,
  rangesOf,
  sectionsOf,
  syncOps,
} from '../../../engine/guild/memberlist.changes.ts';
import { type ListRow, wireRow } from '../../../engine/guild/memberlist.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { member } from '../../support/guild.ts';

/** Rows of members by number; the nick tells versions of one member apart. */
const rowsOf = (numbers: readonly number[], nick = 'n'): ListRow[] =>
  numbers.map((number) => {
    const made = member(String(number), { nick });
    return { key: made.user.id, member: made, presence: null, name: '', place: { id: 'online', rows: [] } };
  });

const listOf = (rows: readonly ListRow[]) => ({ slice: (from: number, to: number) => rows.slice(from, to) });

function expectHeld(held: readonly unknown[], ranges: readonly RowRange[], rows: readonly ListRow[]): void {
  for (const [first, last] of ranges)
    for (let at = first; at <= last; at += 1) {
      const row = rows[at];
      expect(held[at], `row ${at}`).toEqual(row && wireRow(row));
    }
}

const range = fc.tuple(fc.nat(40), fc.nat(12)).map(([first, more]): RowRange => [first, first + more]);
const order = fc.uniqueArray(fc.nat(40), { maxLength: 41 });

describe('a client', () => {
  it('holds the rows of its ranges after any changes of the list and of the ranges, also when it forgets nothing', () => {
    const step = fc.record({
      next: order,
      asked: fc.option(fc.array(range, { minLength: 1, maxLength: 4 })),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 8 }), (steps) => {
        const held: unknown[] = [];
        let ranges: RowRange[] = [];
        let rows = rowsOf([]);
        for (const [at, { next, asked }] of steps.entries()) {
          const before = sectionsOf(listOf(rows), ranges);
          rows = rowsOf(next, at % 2 ? 'n' : 'm');
          applyOps(held, changeOps(ranges, before, sectionsOf(listOf(rows), ranges)));
          expectHeld(held, ranges, rows);
          if (!asked) continue;
          ranges = rangesOf(asked);
          applyOps(held, syncOps(ranges, sectionsOf(listOf(rows), ranges)));
          expectHeld(held, ranges, rows);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is sent one row that moved as two operations, and a changed row as one', () => {
    const ranges: RowRange[] = [[0, 99]];
    const sections = (rows: ListRow[]) => sectionsOf(listOf(rows), ranges);
    const before = rowsOf([1, 2, 3, 4, 5]);
    const [moved, changed] = [
      rowsOf([1, 3, 4, 2, 5]),
      [...rowsOf([1]), ...rowsOf([2], 'other'), ...rowsOf([3, 4, 5])],
    ];
    expect(changeOps(ranges, sections(before), sections(moved))).toEqual([
      { op: 'DELETE', index: 1 },
      { op: 'INSERT', index: 3, item: expect.anything() },
    ]);
    expect(changeOps(ranges, sections(before), sections(changed))).toEqual([
      { op: 'UPDATE', index: 1, item: { member: expect.objectContaining({ nick: 'other' }) } },
    ]);
    expect(changeOps(ranges, sections(before), sections(rowsOf([1, 2, 3, 4, 5])))).toEqual([]);
  });

  it('is sent its ranges whole after many changes, and that rows at the end are gone', () => {
    const ranges: RowRange[] = [[0, 99]];
    const sections = (numbers: number[]) => sectionsOf(listOf(rowsOf(numbers)), ranges);
    const many = Array.from({ length: 60 }, (_, at) => at);
    const ops = changeOps(ranges, sections(many), sections(many.slice(0, 30).map((at) => at + 100)));
    expect(ops.map(({ op }) => op)).toEqual(['SYNC', 'INVALIDATE']);
    expect(ops[1]).toEqual({ op: 'INVALIDATE', range: [30, 99] });
  });
});

describe('the ranges of a request', () => {
  it('are in order, apart, and of 100 rows at most', () => {
    expect(
      rangesOf([
        [100, 199],
        [0, 99],
      ]),
    ).toEqual([
      [0, 99],
      [100, 199],
    ]);
    expect(
      rangesOf([
        [0, 50],
        [40, 60],
      ]),
    ).toEqual([
      [0, 50],
      [51, 60],
    ]);
    expect(rangesOf([[0, 5_000]])).toEqual([[0, 99]]);
    expect(
      rangesOf([
        [0, 10],
        [0, 10],
        [3, 5],
      ]),
    ).toEqual([[0, 10]]);
  });

  it('exclude negative numbers, reversed ranges and indexes that are too high', () => {
    expect(
      rangesOf([
        [-1, 5],
        [5, 4],
        [0, LIMITS.member_list_index_max + 1],
      ]),
    ).toEqual([]);
  });
});

import type { GuildId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { sameValue } from './auditing.ts';
import { type GroupCount, type ListRow, type MemberList, wireRow } from './memberlist.ts';

/** The first and the last index of rows, both included. */
export type RowRange = readonly [first: number, last: number];

type Item = ReturnType<typeof wireRow>;

/** One change of a client's rows; an INSERT or DELETE moves all rows after it. */
export type ListOp =
  | { readonly op: 'SYNC'; readonly range: RowRange; readonly items: readonly Item[] }
  | { readonly op: 'INVALIDATE'; readonly range: RowRange }
  | { readonly op: 'INSERT' | 'UPDATE'; readonly index: number; readonly item: Item }
  | { readonly op: 'DELETE'; readonly index: number };

/** Payload of GUILD_MEMBER_LIST_UPDATE. */
export interface MemberListUpdate {
  readonly guild_id: GuildId;
  readonly id: string;
  readonly member_count: number;
  readonly online_count: number;
  readonly groups: readonly GroupCount[];
  readonly ops: readonly ListOp[];
}

/** Above this number of changes the ranges are sent whole. */
const OPS_MAX = 24;

/**
 * The valid ranges, in order and without overlaps; each has at most `member_list_rows_max` rows. A range that overlaps an
 * earlier one is cut.
 */
export function rangesOf(asked: readonly RowRange[]): RowRange[] {
  const ranges: RowRange[] = [];
  const sorted = asked
    .filter(([first, last]) => first >= 0 && last >= first && last <= LIMITS.member_list_index_max)
    .sort(([a], [b]) => a - b);
  for (const [first, last] of sorted) {
    const from = Math.max(first, (ranges.at(-1)?.[1] ?? -1) + 1);
    const to = Math.min(last, from + LIMITS.member_list_rows_max - 1);
    if (from <= to) ranges.push([from, to]);
  }
  return ranges;
}

/** The rows of adjacent ranges, as one client holds them. */
export interface Section {
  readonly first: number;
  /** The last index of its ranges; the list may end before. */
  readonly last: number;
  readonly rows: readonly ListRow[];
}

/** What a client holds that has these ranges of the list. */
export function sectionsOf(list: Pick<MemberList, 'slice'>, ranges: readonly RowRange[]): Section[] {
  const joined: [number, number][] = [];
  for (const [first, last] of ranges) {
    const before = joined.at(-1);
    if (before && before[1] + 1 === first) before[1] = last;
    else joined.push([first, last]);
  }
  return joined.map(([first, last]) => ({ first, last, rows: list.slice(first, last + 1) }));
}

/** The rows of each range, for a client that may hold outdated rows there. */
export function syncOps(ranges: readonly RowRange[], sections: readonly Section[]): ListOp[] {
  return ranges.flatMap((range): ListOp[] => {
    const [first, last] = range;
    const items = rowsIn(sections, range).map(wireRow);
    const from = first + items.length;
    const gone: ListOp[] = from <= last ? [{ op: 'INVALIDATE', range: [from, last] }] : [];
    return [{ op: 'SYNC', range, items }, ...gone];
  });
}

function rowsIn(sections: readonly Section[], [first, last]: RowRange): readonly ListRow[] {
  for (const section of sections) {
    const at = first - section.first;
    if (at >= 0 && at < section.rows.length) return section.rows.slice(at, at + last - first + 1);
  }
  return [];
}

/**
 * The changes that bring a client's rows up to date. All sections but the last keep their length: what leaves a section on
 * one side makes room for what enters it, so that its changes do not move the rows of the next section.
 */
export function changeOps(
  ranges: readonly RowRange[],
  before: readonly Section[],
  after: readonly Section[],
): ListOp[] {
  const isSafe = before.every(({ first, rows }, at) => {
    const length = after[at]?.rows.length ?? 0;
    // A client that holds nothing there may hold nothing before it, and would insert the rows at the wrong place.
    if (first > 0 && rows.length === 0) return length === 0;
    return at + 1 === before.length || rows.length === length;
  });
  const ops = isSafe ? after.flatMap((section, at) => sectionOps(before[at]?.rows ?? [], section)) : null;
  if (ops && ops.length <= OPS_MAX) return ops;
  return syncOps(ranges, after);
}

function sectionOps(before: readonly ListRow[], { first, last, rows: after }: Section): ListOp[] {
  const indexes = new Map(after.map(({ key }, index) => [key, index]));
  const staying = longestRun(before.map(({ key }) => indexes.get(key) ?? -1));
  const deletes: ListOp[] = [];
  for (let at = before.length - 1; at >= 0; at -= 1)
    if (!staying.has(at)) deletes.push({ op: 'DELETE', index: first + at });
  const known = new Map([...staying].map((at) => [before[at]?.key, before[at]]));
  const rest = after.flatMap((row, at): ListOp[] => {
    const held = known.get(row.key);
    if (held && sameRow(held, row)) return [];
    return [{ op: held ? 'UPDATE' : 'INSERT', index: first + at, item: wireRow(row) }];
  });
  const end = first + after.length;
  // Rows that the client holds from earlier ranges, behind these, have moved into them.
  const moved: ListOp[] = after.length < before.length ? [{ op: 'INVALIDATE', range: [end, last] }] : [];
  return [...deletes, ...rest, ...moved];
}

/** The positions of a longest ascending run among the numbers that are not negative. */
function longestRun(numbers: readonly number[]): Set<number> {
  // `ends[n]` is the position of the smallest number that ends a run of n + 1.
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [at, number] of numbers.entries()) {
    if (number < 0) continue;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((numbers[ends[middle] ?? 0] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    previous[at] = ends[low - 1] ?? -1;
    ends[low] = at;
  }
  const run = new Set<number>();
  for (let at = ends.at(-1) ?? -1; at >= 0; at = previous[at] ?? -1) run.add(at);
  return run;
}

/** Rows of one key. Most unchanged members are the same objects; one that was read again is equal. */
function sameRow(a: ListRow, b: ListRow): boolean {
  if (a === b) return true;
  if ('group' in a || 'group' in b) return sameValue(a, b);
  return sameValue(a.member, b.member) && sameValue(a.presence, b.presence);
}

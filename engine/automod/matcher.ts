import { fold, wordAt, wordBefore } from './fold.ts';

/** What `Matcher` finds: keyword `index` of its list, at units `start` to `end` of the text. */
type Found = (index: number, start: number, end: number) => void;

interface Needle {
  readonly index: number;
  /** Whether the word may go on before or after. */
  readonly opensBefore: boolean;
  readonly opensAfter: boolean;
}

/** Keywords that differ in their wildcards only. */
interface Group {
  readonly text: string;
  readonly needles: Needle[];
}

/**
 * A keyword without its wildcards: `x*` is the beginning of a word, `*x` its end, `*x*` any part, and `x` a whole word or
 * phrase. Only a star at either end is a wildcard.
 *
 * @source https://docs.discord.com/developers/resources/auto-moderation#auto-moderation-rule-object-keyword-matching-strategies
 */
export function readKeyword(keyword: string): Omit<Needle, 'index'> & { readonly text: string } {
  const bare = keyword.trim();
  const opensBefore = bare.startsWith('*');
  const opensAfter = bare.length > 1 && bare.endsWith('*');
  const text = fold(bare.slice(opensBefore ? 1 : 0, opensAfter ? -1 : undefined)).text;
  return { text: text.trim(), opensBefore, opensAfter };
}

/** In order of code units, so that texts with equal beginnings are neighbours. */
function grouped(keywords: readonly string[]): Group[] {
  const groups = new Map<string, Group>();
  for (const [index, keyword] of keywords.entries()) {
    const { text, ...opens } = readKeyword(keyword);
    if (text === '') continue;
    const group = groups.get(text);
    if (group) group.needles.push({ index, ...opens });
    else groups.set(text, { text, needles: [{ index, ...opens }] });
  }
  return [...groups.values()].sort((a, b) => (a.text < b.text ? -1 : 1));
}

/** The tree of all beginnings of the texts, in order of depth: the children of a node are neighbours. */
interface Tree {
  /** The first child of each node; its last comes before the next node's first. */
  readonly children: Int32Array;
  /** The last unit on the path to each node. */
  readonly units: Uint16Array;
  readonly parents: Int32Array;
  /** The group whose text is the path to each node; -1 for none. */
  readonly groups: Int32Array;
}

function treeOf(groups: readonly Group[]): Tree {
  const room = groups.reduce((sum, { text }) => sum + text.length, 1);
  const children = new Int32Array(room + 1);
  const units = new Uint16Array(room);
  const parents = new Int32Array(room);
  const ends = new Int32Array(room).fill(-1);
  const unitAt = (group: number, depth: number) => groups[group]?.text.charCodeAt(depth) ?? 0;
  // The groups below each node of a level: `from` to `to`.
  let level: (readonly [from: number, to: number])[] = [[0, groups.length]];
  let [node, nodes] = [0, 1];
  for (let depth = 0; level.length > 0; depth += 1) {
    const deeper: typeof level = [];
    for (const [from, to] of level) {
      children[node] = nodes;
      let at = from;
      if (groups[at]?.text.length === depth && at < to) {
        ends[node] = at;
        at += 1;
      }
      while (at < to) {
        const begin = at;
        const unit = unitAt(begin, depth);
        while (at < to && unitAt(at, depth) === unit) at += 1;
        units[nodes] = unit;
        parents[nodes] = node;
        nodes += 1;
        deeper.push([begin, at]);
      }
      node += 1;
    }
    level = deeper;
  }
  children[nodes] = nodes;
  return {
    children: children.slice(0, nodes + 1),
    units: units.slice(0, nodes),
    parents: parents.slice(0, nodes),
    groups: ends.slice(0, nodes),
  };
}

/**
 * Finds all of many keywords in one pass over a text (Aho and Corasick): O(length + finds), whatever the number of
 * keywords. It takes 22 bytes for each node of its tree, which has at most one node for each unit of the keywords.
 *
 * @source https://doi.org/10.1145/360825.360855
 */
export class Matcher {
  readonly #groups: readonly Group[];
  readonly #tree: Tree;
  /** The node of the longest proper end of each node's path. */
  readonly #fallbacks: Int32Array;
  /** The next node on the way of the fallbacks whose path is a text; 0 for none. */
  readonly #shorter: Int32Array;

  constructor(keywords: readonly string[]) {
    this.#groups = grouped(keywords);
    this.#tree = treeOf(this.#groups);
    const { parents, units, groups } = this.#tree;
    this.#fallbacks = new Int32Array(parents.length);
    this.#shorter = new Int32Array(parents.length);
    for (let node = 1; node < parents.length; node += 1) {
      const parent = parents[node] ?? 0;
      const fallback = parent === 0 ? 0 : this.#next(this.#fallbacks[parent] ?? 0, units[node] ?? 0);
      this.#fallbacks[node] = fallback;
      this.#shorter[node] = (groups[fallback] ?? -1) >= 0 ? fallback : (this.#shorter[fallback] ?? 0);
    }
  }

  /** Memory of the tree in bytes. */
  get bytes(): number {
    const { children, units, parents, groups } = this.#tree;
    const arrays = [children, units, parents, groups, this.#fallbacks, this.#shorter];
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Calls `found` for each keyword at each of its places in a folded text, in order of their ends. */
  scan(text: string, found: Found): void {
    if (this.#groups.length === 0) return;
    const { groups } = this.#tree;
    let node = 0;
    for (let at = 0; at < text.length; at += 1) {
      node = this.#next(node, text.charCodeAt(at));
      let end = (groups[node] ?? -1) >= 0 ? node : (this.#shorter[node] ?? 0);
      for (; end !== 0; end = this.#shorter[end] ?? 0) {
        const group = this.#groups[groups[end] ?? 0];
        if (group) tell(group, text, at + 1, found);
      }
    }
  }

  /** The node after one more unit. */
  #next(from: number, unit: number): number {
    let node = from;
    for (;;) {
      const child = this.#child(node, unit);
      if (child !== 0 || node === 0) return child;
      node = this.#fallbacks[node] ?? 0;
    }
  }

  /** The child for a unit, found by halving; 0 for none. */
  #child(node: number, unit: number): number {
    const { children, units } = this.#tree;
    let low = children[node] ?? 0;
    let high = children[node + 1] ?? 0;
    while (low < high) {
      const middle = (low + high) >> 1;
      const there = units[middle] ?? 0;
      if (there === unit) return middle;
      if (there < unit) low = middle + 1;
      else high = middle;
    }
    return 0;
  }
}

function tell({ text: word, needles }: Group, text: string, end: number, found: Found): void {
  const start = end - word.length;
  let [before, after]: (boolean | null)[] = [null, null];
  for (const { index, opensBefore, opensAfter } of needles) {
    if (!opensBefore) before ??= wordBefore(text, start);
    if (!opensAfter) after ??= wordAt(text, end);
    if ((opensBefore || !before) && (opensAfter || !after)) found(index, start, end);
  }
}

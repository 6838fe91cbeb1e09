import { fold, WordEdges, wordBefore } from './fold.ts';

/**
 * The longest keyword of a list that ends at a place of the text.
 *
 * @returns Whether the scan may stop.
 */
type OnMatch = (list: number, start: number, end: number) => boolean;

interface Needle {
  readonly list: number;
  readonly keyword: string;
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
export function readKeyword(
  keyword: string,
): Pick<Needle, 'opensBefore' | 'opensAfter'> & { readonly text: string } {
  const bare = keyword.trim();
  const opensBefore = bare.startsWith('*');
  const opensAfter = bare.length > 1 && bare.endsWith('*');
  const text = fold(bare.slice(opensBefore ? 1 : 0, opensAfter ? -1 : undefined)).text;
  return { text: text.trim(), opensBefore, opensAfter };
}

/** By text, in order of code units, so that texts with equal beginnings are neighbours. */
function grouped(lists: readonly (readonly string[])[]): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>();
  for (const [list, keywords] of lists.entries()) {
    for (const keyword of keywords) {
      const { text, ...opens } = readKeyword(keyword);
      if (text === '') continue;
      const group = groups.get(text) ?? { text, needles: [] };
      groups.set(text, group);
      if (!group.needles.some((each) => isSame(each, { list, ...opens })))
        group.needles.push({ list, keyword, ...opens });
    }
  }
  return new Map([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A list may name a keyword twice. */
const isSame = (a: Needle, b: Omit<Needle, 'keyword'>): boolean =>
  a.list === b.list && a.opensBefore === b.opensBefore && a.opensAfter === b.opensAfter;

/** The tree of all beginnings of the texts, in order of depth: the children of a node are neighbours. */
interface Tree {
  /** The first child of each node; its last comes before the next node's first. */
  readonly children: Int32Array;
  /** The last unit on the path to each node. */
  readonly units: Uint16Array;
  /** The length of the path to each node. */
  readonly depths: Uint16Array;
  readonly parents: Int32Array;
  /** A group whose text begins with the path to each node; it is the path itself if `isEnd`. */
  readonly groups: Int32Array;
  readonly isEnd: Uint8Array;
}

function treeOf(groups: readonly Group[]): Tree {
  const room = groups.reduce((sum, { text }) => sum + text.length, 1);
  const children = new Int32Array(room + 1);
  const units = new Uint16Array(room);
  const depths = new Uint16Array(room);
  const parents = new Int32Array(room);
  const named = new Int32Array(room);
  const isEnd = new Uint8Array(room);
  const unitAt = (group: number, depth: number) => groups[group]?.text.charCodeAt(depth) ?? 0;
  // The groups below each node of a level: `from` to `to`.
  let level: (readonly [from: number, to: number])[] = [[0, groups.length]];
  let [node, nodes] = [0, 1];
  for (let depth = 0; level.length > 0; depth += 1) {
    const deeper: typeof level = [];
    for (const [from, to] of level) {
      children[node] = nodes;
      depths[node] = depth;
      named[node] = from;
      let at = from;
      if (groups[at]?.text.length === depth && at < to) {
        isEnd[node] = 1;
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
    depths: depths.slice(0, nodes),
    parents: parents.slice(0, nodes),
    groups: named.slice(0, nodes),
    isEnd: isEnd.slice(0, nodes),
  };
}

/** The row of `#ends` for a place where no keyword ends. */
const NONE = 0;

/**
 * Finds the longest keyword of each list at each place of a text where one ends, in one pass (Aho and Corasick). It takes
 * O(length × lists), whatever the number of keywords and of their places: for each node of the tree it is known beforehand
 * which keywords its path ends in. It takes 20 bytes for each node, of which there are at most as many as units of the
 * keywords, and 8 bytes for each list and different keyword.
 *
 * @source https://doi.org/10.1145/360825.360855
 */
export class Matcher {
  readonly #lists: number;
  readonly #groups: ReadonlyMap<string, Group>;
  readonly #tree: Pick<Tree, 'children' | 'units' | 'depths'>;
  /** The node of the longest proper end of each node's path. */
  readonly #fallbacks: Int32Array;
  /** Rows of `#ends`, two for each node: for a path that no word goes on before, and for one that a word does. */
  readonly #endings: Int32Array;
  /**
   * Rows of lengths: for each list, the length of the longest keyword that ends at a place where its word ends, and of the
   * longest one at a place where its word goes on. 0 for none.
   */
  readonly #ends: Uint16Array;
  #steps = 0;

  constructor(lists: readonly (readonly string[])[]) {
    this.#lists = lists.length;
    this.#groups = grouped(lists);
    const groups = [...this.#groups.values()];
    const tree = treeOf(groups);
    const { parents, units, depths, groups: named, isEnd } = tree;
    this.#tree = { children: tree.children, units, depths };
    this.#fallbacks = new Int32Array(units.length);
    this.#endings = new Int32Array(units.length * 2);
    this.#ends = new Uint16Array((1 + groups.length * 2) * lists.length * 2);
    let rows = 1;
    for (let node = 1; node < units.length; node += 1) {
      const parent = parents[node] ?? 0;
      const fallback = parent === 0 ? 0 : this.#next(this.#fallbacks[parent] ?? 0, units[node] ?? 0);
      this.#fallbacks[node] = fallback;
      const group = groups[named[node] ?? 0];
      if (!group) continue;
      for (const goesOn of [0, 1]) {
        const shorter = this.#endingsOfFallback(node, group.text, goesOn);
        this.#endings[node * 2 + goesOn] = isEnd[node] ? rows : shorter;
        if (!isEnd[node]) continue;
        this.#row(rows).set(this.#row(shorter));
        extend(this.#row(rows), group, goesOn === 1);
        rows += 1;
      }
    }
  }

  /** Memory of the tree in bytes. */
  get bytes(): number {
    const { children, units, depths } = this.#tree;
    const arrays = [children, units, depths, this.#fallbacks, this.#endings, this.#ends];
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** The nodes and lists looked at so far: a measure of its work. */
  get steps(): number {
    return this.#steps;
  }

  /** Calls `found` for each list at each place of a folded text where keywords of the list end, in order of places. */
  scan(text: string, found: OnMatch): void {
    if (this.#groups.size === 0) return;
    const edges = new WordEdges(text);
    const { depths } = this.#tree;
    let node = 0;
    for (let at = 0; at < text.length; at += 1) {
      node = this.#next(node, text.charCodeAt(at));
      const apart = this.#endings[node * 2] ?? NONE;
      const joined = this.#endings[node * 2 + 1] ?? NONE;
      if (apart === NONE && joined === NONE) continue;
      const end = at + 1;
      const goesOn = apart !== joined && edges.before(end - (depths[node] ?? 0));
      if (this.#report(goesOn ? joined : apart, end, edges.after(end), found)) return;
    }
  }

  /** The keyword of a list, as configured, that matches the text from `start` to `end`; null if none does. */
  keywordAt(list: number, text: string, start: number, end: number): string | null {
    const edges = new WordEdges(text);
    const [before, after] = [edges.before(start), edges.after(end)];
    const needle = this.#groups
      .get(text.slice(start, end))
      ?.needles.find((each) => each.list === list && fits(each, before, after));
    return needle?.keyword ?? null;
  }

  #row(row: number): Uint16Array {
    const width = this.#lists * 2;
    return this.#ends.subarray(row * width, (row + 1) * width);
  }

  #report(row: number, end: number, goesOn: boolean, found: OnMatch): boolean {
    this.#steps += this.#lists;
    const from = row * this.#lists * 2 + Number(goesOn);
    for (let list = 0; list < this.#lists; list += 1) {
      const length = this.#ends[from + list * 2] ?? 0;
      if (length > 0 && found(list, end - length, end)) return true;
    }
    return false;
  }

  /** The row of `#ends` for the fallback of a node whose path `text` begins with. */
  #endingsOfFallback(node: number, text: string, goesOn: number): number {
    const fallback = this.#fallbacks[node] ?? 0;
    const { depths } = this.#tree;
    const apart = this.#endings[fallback * 2] ?? NONE;
    const joined = this.#endings[fallback * 2 + 1] ?? NONE;
    if (apart === joined) return apart;
    const start = (depths[node] ?? 0) - (depths[fallback] ?? 0);
    return wordBefore(text, start, goesOn === 1) ? joined : apart;
  }

  /** The node after one more unit. */
  #next(from: number, unit: number): number {
    let node = from;
    for (;;) {
      this.#steps += 1;
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

/** Whether a keyword matches where the word goes on, or not, before and after. */
const fits = ({ opensBefore, opensAfter }: Needle, before: boolean, after: boolean): boolean =>
  (opensBefore || !before) && (opensAfter || !after);

/** Adds the keywords of a group to the shorter ones that end where its text does. */
function extend(row: Uint16Array, { text, needles }: Group, before: boolean): void {
  for (const after of [false, true]) {
    for (const needle of needles) {
      if (fits(needle, before, after)) row[needle.list * 2 + Number(after)] = text.length;
    }
  }
}

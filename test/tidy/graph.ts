/** From each node to the nodes that it points at. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

export function graphOf(edges: Iterable<readonly [from: string, to: string]>): Graph {
  const graph = new Map<string, Set<string>>();
  for (const [from, to] of edges) {
    const known = graph.get(from);
    if (known) known.add(to);
    else graph.set(from, new Set([to]));
  }
  return graph;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * The knots of a graph: groups of two nodes and more in which each node reaches every other one; sorted.
 *
 * @source https://doi.org/10.1137/0201010; R. Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972
 */
export function knotsOf(graph: Graph): string[][] {
  const knots: string[][] = [];
  const order = new Map<string, number>();
  const stack: string[] = [];
  const open = new Set<string>();
  const enter = (node: string): number => {
    const own = order.size;
    order.set(node, own);
    stack.push(node);
    open.add(node);
    let lowest = own;
    for (const next of graph.get(node) ?? NONE) {
      if (!order.has(next)) lowest = Math.min(lowest, enter(next));
      else if (open.has(next)) lowest = Math.min(lowest, order.get(next) as number);
    }
    if (lowest === own) {
      const knot = stack.splice(stack.indexOf(node));
      for (const each of knot) open.delete(each);
      if (knot.length > 1) knots.push(knot.toSorted());
    }
    return lowest;
  };
  for (const node of graph.keys()) if (!order.has(node)) enter(node);
  return knots.toSorted(([a = ''], [b = '']) => a.localeCompare(b));
}

/** The shortest way from a node back to itself, both ends named; empty when there is none. */
export function cycleThrough(graph: Graph, start: string): string[] {
  const before = new Map<string, string>();
  const waiting = [start];
  for (const node of waiting) {
    for (const next of graph.get(node) ?? NONE) {
      if (next === start) {
        const way = [start];
        for (let at: string | undefined = node; at !== undefined; at = before.get(at)) way.unshift(at);
        return way;
      }
      if (before.has(next)) continue;
      before.set(next, node);
      waiting.push(next);
    }
  }
  return [];
}

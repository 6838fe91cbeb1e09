/** One route of the router. Paths have the form `/a/:name/b`. */
interface Route {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
}

/** Result of looking up a path. `otherMethods`: the path exists, but not with this method. */
export type Match =
  | {
      readonly kind: 'found';
      readonly operationId: string;
      readonly params: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'otherMethods'; readonly methods: readonly string[] }
  | { readonly kind: 'unknown' };

interface Branch {
  readonly literals: Map<string, Branch>;
  wildcard: Branch | null;
  /** Operations by method. */
  readonly ends: Map<string, { readonly operationId: string; readonly names: readonly string[] }>;
}

const SEGMENTS_MAX = 16;
const UNKNOWN: Match = { kind: 'unknown' };
const branch = (): Branch => ({ literals: new Map(), wildcard: null, ends: new Map() });

/**
 * Creates the look-up of paths. A literal segment wins over a parameter (`/users/@me` over `/users/:user_id`) unless only
 * the parameter's route has the method. Segments are percent-decoded before they are compared, since some clients escape
 * the `@` of `@me`. Cost: O(segments), at most doubled for each literal that has a parameter at the same place.
 *
 * @throws Error when two routes have the same method and path.
 */
export function createRouter(routes: Iterable<Route>): (method: string, path: string) => Match {
  const root = branch();
  for (const route of routes) plant(root, route);
  return (method, path) => {
    const segments = segmentsOf(path);
    if (segments === null) return UNKNOWN;
    const methods = new Set<string>();
    return walk(root, segments, 0, [], method, methods) ?? noneOf(methods);
  };
}

function noneOf(methods: ReadonlySet<string>): Match {
  return methods.size > 0 ? { kind: 'otherMethods', methods: [...methods].sort() } : UNKNOWN;
}

function plant(root: Branch, { operationId, method, path }: Route): void {
  const names: string[] = [];
  let at = root;
  for (const segment of path.slice(1).split('/')) {
    if (segment.startsWith(':')) {
      names.push(segment.slice(1));
      at.wildcard ??= branch();
      at = at.wildcard;
      continue;
    }
    const next = at.literals.get(segment) ?? branch();
    at.literals.set(segment, next);
    at = next;
  }
  if (at.ends.has(method))
    throw new Error(`Duplicate route: two operations are declared for ${method} ${path}.`);
  at.ends.set(method, { operationId, names });
}

/** Decoded segments of a path; null when the path is malformed or too long. */
function segmentsOf(path: string): string[] | null {
  if (!path.startsWith('/')) return null;
  const segments = path.slice(1).split('/', SEGMENTS_MAX + 1);
  if (segments.length > SEGMENTS_MAX || segments.includes('')) return null;
  return segments.map(decoded);
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    // The escapes are not UTF-8: keep the raw text, which matches no literal and fails the parameter's check.
    return segment;
  }
}

function walk(
  at: Branch,
  segments: readonly string[],
  index: number,
  values: readonly string[],
  method: string,
  methods: Set<string>,
): Match | null {
  const segment = segments[index];
  if (segment === undefined) {
    const end = at.ends.get(method);
    if (!end) {
      for (const other of at.ends.keys()) methods.add(other);
      return null;
    }
    const params: Record<string, string> = {};
    for (const [position, name] of end.names.entries()) params[name] = values[position] ?? '';
    return { kind: 'found', operationId: end.operationId, params };
  }
  const literal = at.literals.get(segment);
  const found = literal && walk(literal, segments, index + 1, values, method, methods);
  if (found) return found;
  return at.wildcard && walk(at.wildcard, segments, index + 1, [...values, segment], method, methods);
}

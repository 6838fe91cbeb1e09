import type { ErrorTree } from '../../protocol/refusal.ts';

/** The leaves of an error tree as `path: CODE`. */
export function leavesOf(tree: ErrorTree, path: readonly string[] = []): string[] {
  return Object.entries(tree).flatMap(([key, level]) => {
    if (level === undefined) return [];
    if (Array.isArray(level)) return level.map(({ code }) => `${path.join('.')}: ${code}`);
    return leavesOf(level, [...path, key]);
  });
}

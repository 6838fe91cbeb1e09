import { expect } from 'vitest';
import { buildComponents } from '../../engine/channel/components.ts';
import type { FreshId } from '../../protocol/ids.ts';
import type { ErrorTree, FieldError, Refusal } from '../../protocol/refusal.ts';
import { attachments, type Tree } from './components.ts';

/** Builds the components of a message with the generated trees' uploads. */
export function build(
  raw: readonly unknown[],
  standalone = false,
  byApplication = true,
  skuIds: readonly string[] = [],
) {
  let last = 700_000;
  const uploads = { named: attachments, owned: attachments, nextId: () => String(++last) as FreshId };
  return buildComponents(raw, { standalone, uses: byApplication ? 'any' : 'links', skuIds, uploads });
}

export function built(raw: readonly unknown[], standalone = false): Tree[] {
  const result = build(raw, standalone);
  if (!result.ok) throw new Error(JSON.stringify(result.refusal));
  return result.value.components as unknown as Tree[];
}

/** The leaves of a refusal as `path: code`. */
export function leavesOf(refusal: Refusal): string[] {
  const visit = (tree: ErrorTree, path: string): string[] =>
    Object.entries(tree).flatMap(([key, child]) =>
      key === '_errors'
        ? (child as FieldError[]).map(({ code }) => `${path}: ${code}`)
        : visit(child as ErrorTree, path === '' ? key : `${path}.${key}`),
    );
  return visit(refusal.errors ?? {}, '');
}

/**
 * Where a tree of errors has not the published shape: each level is either a list of errors under `_errors`, alone, or
 * the trees of what is within.
 *
 * @source https://github.com/discord/discord-api-spec/blob/main/specs/openapi.json, `ErrorDetails`
 */
export function misshapen(tree: unknown, path = ''): string[] {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) return [`${path}: no object`];
  const entries = Object.entries(tree);
  const leaf: unknown = (tree as { _errors?: unknown })._errors;
  if (entries.length === 0) return [`${path}: empty`];
  if (!Object.hasOwn(tree, '_errors'))
    return entries.flatMap(([key, child]) => misshapen(child, `${path}/${key}`));
  if (entries.length > 1) return [`${path}: a list beside ${entries.map(([key]) => key)}`];
  return Array.isArray(leaf) && leaf.length > 0 ? [] : [`${path}: no list of errors`];
}

export function wrongIn(raw: readonly unknown[], standalone = false, byApplication = true): string[] {
  const result = build(raw, standalone, byApplication);
  if (result.ok) return [];
  expect(result.refusal).toMatchObject({ status: 400, code: 50035 });
  expect(misshapen(result.refusal.errors)).toEqual([]);
  return leavesOf(result.refusal);
}

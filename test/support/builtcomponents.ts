import { expect } from 'vitest';
import { buildComponents } from '../../engine/channel/components.ts';
import type { ErrorTree, FieldError, Refusal } from '../../protocol/refusal.ts';
import { attachments, type Tree } from './components.ts';

/** Builds the components of a message with the generated trees' uploads. */
export function build(raw: readonly unknown[], standalone = false, byApplication = true) {
  let last = 700_000;
  const uploads = { named: attachments, owned: attachments, nextId: () => String(++last) };
  return buildComponents(raw, { standalone, byApplication, uploads });
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

export function wrongIn(raw: readonly unknown[], standalone = false, byApplication = true): string[] {
  const result = build(raw, standalone, byApplication);
  if (result.ok) return [];
  expect(result.refusal).toMatchObject({ status: 400, code: 50035 });
  return leavesOf(result.refusal);
}

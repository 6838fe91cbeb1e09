import { type FreshId, isAnyId } from '../../protocol/ids.ts';

/** Ids given as a list, or as comma-separated text as in a form field. Each once; text that is no id is dropped. */
export function idsOf(given: readonly (string | null)[] | string | null | undefined): FreshId[] {
  const texts = typeof given === 'string' ? given.split(',').map((text) => text.trim()) : (given ?? []);
  return [...new Set(texts)].filter((text) => isAnyId(text));
}

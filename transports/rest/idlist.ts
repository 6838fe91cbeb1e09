import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type FreshId, isAnyId, isSnowflake } from '../../protocol/ids.ts';
import { invalidField } from '../../protocol/refusal.ts';

type IdListInput = readonly (string | null)[] | string | null | undefined;

const textsOf = (given: IdListInput): readonly (string | null)[] =>
  typeof given === 'string' ? given.split(',').map((text) => text.trim()) : (given ?? []);

/** Ids given as a list, or as comma-separated text as in a form field. Each once; text that is no id is dropped. */
export function idsOf(given: IdListInput): FreshId[] {
  return [...new Set(textsOf(given))].filter((text) => isAnyId(text));
}

const SHOWN_CHARS_MAX = 100;

/**
 * As `idsOf`, for lists where a dropped id would change the outcome: text that is no id is refused under its field. Blank
 * entries are dropped, as after a last comma.
 */
export function readIds(given: IdListInput, field: string): Reply<FreshId[]> {
  const wrong = textsOf(given).find((text) => text && !isSnowflake(text));
  if (!wrong) return { ok: true, value: idsOf(given) };
  const message = `Value "${wrong.slice(0, SHOWN_CHARS_MAX)}" is not snowflake.`;
  return { ok: false, refusal: invalidField([field], 'NUMBER_TYPE_COERCE', message) };
}

import { COMPONENT } from '../../protocol/components.ts';
import type { FieldPath, Form } from '../channel/form.ts';
import { idIn, type NamedKind, type ResolvedCheck } from './resolved.ts';

/** A select of a message or a form, as far as its answer depends on it. */
export interface Choosing {
  readonly type: number;
  readonly options?: readonly { readonly value: string }[];
  readonly min_values?: number;
  readonly max_values?: number;
  readonly channel_types?: readonly number[];
  readonly file_types?: readonly string[];
}

const NAMED: Readonly<Record<number, NamedKind>> = {
  [COMPONENT.USER_SELECT]: 'user',
  [COMPONENT.ROLE_SELECT]: 'role',
  [COMPONENT.MENTIONABLE_SELECT]: 'mentionable',
  [COMPONENT.CHANNEL_SELECT]: 'channel',
  [COMPONENT.FILE_UPLOAD]: 'attachment',
};

/** A type as a number or as its digits; NaN for anything else. */
export const numberOf = (raw: unknown): number =>
  typeof raw === 'number' || typeof raw === 'bigint' || typeof raw === 'string' ? Number(raw) : Number.NaN;

const wrong = (form: Form, path: FieldPath, code: string, message: string): null => {
  form.add(path, code, message);
  return null;
};

/**
 * Reads the chosen values of a select, a group of boxes or a field for files: as many as allowed, none twice, each an
 * option or the id of something.
 *
 * @param isOptional Whether choosing nothing is allowed whatever the least number is.
 */
export function readValues(
  form: Form,
  path: FieldPath,
  raw: unknown,
  choosing: Choosing,
  checks: ResolvedCheck[],
  isOptional = false,
): readonly string[] | null {
  const { options, channel_types: channelTypes, file_types: fileTypes } = choosing;
  const { min_values: min = 1, max_values: max = options?.length ?? 1 } = choosing;
  if (raw !== undefined && raw !== null && !Array.isArray(raw))
    return wrong(form, path, 'LIST_TYPE_CONVERT', 'Only iterables may be used in a ListType');
  const values: readonly unknown[] = raw ?? [];
  if (values.length === 0 && isOptional) return [];
  if (values.length < min || values.length > max)
    return wrong(form, path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`);
  const kind = NAMED[choosing.type];
  const read: string[] = [];
  for (const [index, value] of values.entries()) {
    const at = [...path, index];
    const id = kind === undefined ? null : idIn(value);
    const isKnown = id !== null || options?.some((option) => option.value === value);
    const text = id ?? value;
    if (typeof text !== 'string' || !isKnown)
      wrong(form, at, 'BASE_TYPE_CHOICES', 'This value cannot be chosen here.');
    else if (read.includes(text))
      wrong(form, at, 'SET_TYPE_ALREADY_CONTAINS_VALUE', 'The set already contains this value');
    else {
      read.push(text);
      if (kind !== undefined && id !== null)
        checks.push({
          ...{ path: at, kind, id },
          ...(channelTypes?.length && { channelTypes }),
          ...(fileTypes?.length && { fileTypes }),
        });
    }
  }
  return read;
}

import { LOCALES, type Locale } from '../../protocol/appcommands.ts';
import { isRecord } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { nameProblem } from '../../protocol/names.ts';
import type { FieldPath, Form } from '../channel/form.ts';
import { cleanText, textLength } from '../channel/text.ts';
import type { Localizations } from './appcommand.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Readers of single fields. Each returns the value in normal form, or reports the problem and returns undefined. */
const INTEGER_TEXT = /^-?\d{1,20}$/;
const NUMBER_TEXT = /^-?\d{1,16}(?:\.\d{1,16})?$/;
/**
 * Names of slash commands and of options.
 *
 * @source https://docs.discord.com/developers/interactions/application-commands#application-command-object-application-command-naming
 */
const NAME = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]+$/u;

const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;

function wrong(form: Form, path: FieldPath, code: string, message: string): undefined {
  form.add(path, code, message);
  return undefined;
}

export const notObject = (form: Form, path: FieldPath): undefined =>
  wrong(form, path, 'MODEL_TYPE_CONVERT', 'Only dictionaries may be used in a ModelType');

/** A text of `min` to `max` code points; undefined when it is absent and `min` is 0. */
export function readText(
  form: Form,
  path: FieldPath,
  raw: unknown,
  min: number,
  max: number,
): string | undefined {
  if (isAbsent(raw)) {
    if (min > 0) form.required(path);
    return undefined;
  }
  const given = typeof raw === 'number' ? String(raw) : raw;
  if (typeof given !== 'string')
    return wrong(form, path, 'STRING_TYPE_CONVERT', 'Could not interpret the value as string.');
  const text = cleanText(given);
  const length = textLength(text, min);
  if (length >= min && length <= max) return text;
  if (min === 0) return wrong(form, path, 'BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer in length.`);
  return wrong(form, path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`);
}

/** The name of a slash command or an option: lower case where a letter has one, without spaces. */
export function readStrictName(form: Form, path: FieldPath, raw: unknown): string | undefined {
  const name = readText(form, path, raw, 1, LIMITS.app_command_name_chars_max);
  if (name === undefined || (NAME.test(name) && name === name.toLowerCase())) return name;
  return wrong(form, path, 'APPLICATION_COMMAND_INVALID_NAME', 'Command name is invalid');
}

/** The name of a menu entry or an entry point: any visible text. Surrounding spaces are removed. */
export function readMenuName(form: Form, path: FieldPath, raw: unknown): string | undefined {
  const trimmed = typeof raw === 'string' ? raw.trim() : raw;
  const name = readText(form, path, trimmed, 1, LIMITS.app_command_name_chars_max);
  if (name === undefined || nameProblem(name) === null) return name;
  return wrong(form, path, 'APPLICATION_COMMAND_INVALID_NAME', 'Command name is invalid');
}

const isLocale = (key: string): key is Locale => LOCALES.some((locale) => locale === key);

/** A map from locales to texts that `read` accepts; null without any. A null text means no translation. */
export function readLocalizations(
  form: Form,
  path: FieldPath,
  raw: unknown,
  read: (form: Form, path: FieldPath, raw: unknown) => string | undefined,
): Localizations | null {
  if (isAbsent(raw)) return null;
  if (!isRecord(raw)) return notObject(form, path) ?? null;
  const entries = Object.entries(raw);
  const max = LIMITS.app_command_locales_max;
  if (entries.length > max) {
    form.tooLong(path, max);
    return null;
  }
  const found: Partial<Record<Locale, string>> = {};
  for (const [key, text] of entries) {
    const at = [...path, key];
    if (!isLocale(key)) wrong(form, at, 'BASE_TYPE_CHOICES', `Value must be one of {${LOCALES.join(', ')}}.`);
    else if (text !== null) {
      const value = read(form, at, text);
      if (value !== undefined) found[key] = value;
    }
  }
  return Object.keys(found).length === 0 ? null : found;
}

/** True, or false for absent and null. */
export function readBoolean(form: Form, path: FieldPath, raw: unknown): boolean {
  if (!isAbsent(raw) && typeof raw !== 'boolean')
    wrong(form, path, 'BOOLEAN_TYPE_CONVERT', 'Must be either true or false.');
  return raw === true;
}

/** An integer (or a double) from `min` to `max`. Text with its digits is accepted; an inexact integer is not. */
export function readNumber(
  form: Form,
  path: FieldPath,
  raw: unknown,
  { kind, min, max }: { readonly kind: 'int' | 'float'; readonly min: number; readonly max: number },
): number | undefined {
  if (isAbsent(raw)) return undefined;
  const value = asNumber(raw, kind, max);
  if (value === undefined || (kind === 'int' ? !Number.isInteger(value) : !Number.isFinite(value)))
    return wrong(form, path, 'NUMBER_TYPE_COERCE', `Value is not ${kind}.`);
  if (value < min)
    return wrong(form, path, 'NUMBER_TYPE_MIN', `${kind} value should be greater than or equal to ${min}.`);
  if (value > max)
    return wrong(form, path, 'NUMBER_TYPE_MAX', `${kind} value should be less than or equal to ${max}.`);
  return Object.is(value, -0) ? 0 : value;
}

/** The number; one beyond `max` for digits that a double would round down to `max`. */
function asNumber(raw: unknown, kind: 'int' | 'float', max: number): number | undefined {
  if (typeof raw === 'number') return raw;
  if (typeof raw !== 'string') return undefined;
  if (kind === 'float') {
    if (NUMBER_TEXT.test(raw)) return Number(raw);
    return INTEGER_TEXT.test(raw) ? Number(raw) : undefined;
  }
  if (!INTEGER_TEXT.test(raw)) return undefined;
  const exact = BigInt(raw);
  if (exact > BigInt(max)) return Number.MAX_VALUE;
  return exact < -BigInt(max) ? -Number.MAX_VALUE : Number(exact);
}

/** One of `values`; undefined when absent. */
export function readChoice<T extends number>(
  form: Form,
  path: FieldPath,
  raw: unknown,
  values: readonly T[],
): T | undefined {
  if (isAbsent(raw)) return undefined;
  const given = typeof raw === 'string' && INTEGER_TEXT.test(raw) ? Number(raw) : raw;
  const found = values.find((value) => value === given);
  if (found !== undefined) return found;
  return wrong(form, path, 'BASE_TYPE_CHOICES', `Value must be one of {${values.join(', ')}}.`);
}

/** A list of `min` to `max` elements, each read by `read`; undefined when absent or wrong as a whole. */
export function readList<T>(
  form: Form,
  path: FieldPath,
  raw: unknown,
  { min = 0, max, read }: ListRule<T>,
): T[] | undefined {
  if (isAbsent(raw)) return undefined;
  if (!Array.isArray(raw))
    return wrong(form, path, 'LIST_TYPE_CONVERT', 'Only iterables may be used in a ListType');
  if (raw.length > max && min === 0) {
    form.tooLong(path, max);
    return undefined;
  }
  if (raw.length < min || raw.length > max)
    return wrong(form, path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`);
  return raw.flatMap((element: unknown, index) => {
    const value = isAbsent(element) ? null : read([...path, index], element);
    if (value === null) form.required([...path, index]);
    return value === null || value === undefined ? [] : [value];
  });
}

interface ListRule<T> {
  readonly min?: number;
  readonly max: number;
  readonly read: (path: FieldPath, raw: unknown) => T | undefined;
}

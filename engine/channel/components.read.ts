import {
  COMPONENT_SCHEMAS,
  type ComponentField,
  type ComponentFields,
  type ComponentKind,
  type ComponentPlace,
} from '../../protocol/components.ts';
import { FILE_TYPE_INVALID, fileTypeOf } from '../../protocol/filetypes.ts';
import { isSnowflake } from '../../protocol/ids.ts';
import { isRecord, keepsDigits } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { readLink } from '../../protocol/links.ts';
import { withoutDirectionControls } from '../../protocol/names.ts';
import { emojiKey } from './emoji.ts';
import { ATTACHMENT_SCHEME } from './files.ts';
import type { FieldPath, Form } from './form.ts';
import { cleanText, textLength } from './text.ts';

export type Json = Record<string, unknown>;

/** A component that was read, with the known keys of its kind only. */
export interface FoundComponent {
  readonly component: Json & { readonly type: ComponentKind };
  readonly path: FieldPath;
}

/** State of one reading: the errors, and the components in reading order, parents before children. */
export interface Reading {
  readonly form: Form;
  readonly place: ComponentPlace;
  /** SKUs that a premium button may name. */
  readonly skuIds: readonly string[];
  readonly found: FoundComponent[];
  /** Set when there were more components than a message may have; the others were not read. */
  tooMany: boolean;
}

const MEDIA_SCHEMES = ['http', 'https', 'attachment'];
const INTEGER_TEXT = /^-?\d{1,16}$/;

/**
 * Reads a list of components against their schemas. Unknown keys and nulls are dropped; ids sent as numbers and numbers
 * sent as text are accepted. Reading stops at the number of components a message may have, which bounds the cost.
 *
 * @param kinds Kinds that are allowed here.
 * @returns The components that could be read; use them only if `reading.form` has no errors.
 */
export function readComponents(
  reading: Reading,
  path: FieldPath,
  raw: readonly unknown[],
  kinds: readonly ComponentKind[],
): Json[] {
  const read = raw.map((one, index) => readComponent(reading, [...path, index], one, kinds));
  return read.filter((component) => component !== undefined);
}

function readComponent(
  reading: Reading,
  path: FieldPath,
  raw: unknown,
  kinds: readonly ComponentKind[],
): Json | undefined {
  const { form, found, place } = reading;
  if (!isRecord(raw)) return notObject(form, path);
  const type = readType(form, path, raw.type, kinds);
  if (type === undefined) return undefined;
  if (found.length >= LIMITS.components_per_message_max) {
    // The remaining components are not read.
    reading.tooMany = true;
    return undefined;
  }
  const component: Json & { type: ComponentKind } = { type };
  found.push({ component, path });
  const id = readNumber(form, [...path, 'id'], raw.id ?? 0, 0, LIMITS.component_id_max);
  if (id) component.id = id;
  const { fields, defaults } = COMPONENT_SCHEMAS[type];
  Object.assign(component, readFields(reading, path, raw, fields));
  if (place === 'message') {
    for (const [key, value] of Object.entries(defaults ?? {})) component[key] ??= value;
  }
  return component;
}

function readType(
  form: Form,
  path: FieldPath,
  raw: unknown,
  kinds: readonly ComponentKind[],
): ComponentKind | undefined {
  if (raw === undefined || raw === null) {
    form.required([...path, 'type']);
    return undefined;
  }
  const given = asInteger(raw);
  const type = kinds.find((kind) => kind === given);
  if (type !== undefined) return type;
  return wrong(
    form,
    path,
    'UNION_TYPE_CHOICES',
    `Value of field "type" must be one of (${kinds.join(', ')}).`,
  );
}

function readFields(reading: Reading, path: FieldPath, raw: Json, fields: ComponentFields): Json {
  const read: Json = {};
  for (const [key, field] of Object.entries(fields)) {
    const given = raw[key];
    if (field.only !== undefined && field.only !== reading.place) continue;
    const at = [...path, key];
    if (given === undefined || given === null) {
      if (field.required) reading.form.required(at);
      continue;
    }
    const value = readField(reading, at, given, field);
    if (value !== undefined) read[key] = value;
  }
  return read;
}

function readField(reading: Reading, path: FieldPath, raw: unknown, field: ComponentField): unknown {
  const { form } = reading;
  switch (field.is) {
    case 'text':
      return readText(form, path, raw, field);
    case 'integer':
      return readNumber(form, path, raw, field.min, field.max);
    case 'boolean':
      if (typeof raw === 'boolean') return raw;
      return wrong(form, path, 'BOOLEAN_TYPE_CONVERT', 'Must be either true or false.');
    case 'choice':
      return readChoice(form, path, raw, field.of);
    case 'snowflake':
      return readSnowflake(form, path, raw);
    case 'fileType':
      return fileTypeOf(raw) ?? wrong(form, path, 'FILE_TYPE_INVALID', FILE_TYPE_INVALID);
    case 'link':
      return readUrl(form, path, raw, field.max);
    case 'emoji':
      return readEmoji(form, path, raw);
    case 'media':
      return readMedia(form, path, raw);
    case 'object':
      return isRecord(raw) ? readFields(reading, path, raw, field.fields) : notObject(form, path);
    case 'list':
      return readList(reading, path, raw, field);
    case 'component':
      return readComponent(reading, path, raw, field.of[reading.place]);
  }
}

function wrong(form: Form, path: FieldPath, code: string, message: string): undefined {
  form.add(path, code, message);
  return undefined;
}

const notObject = (form: Form, path: FieldPath): undefined =>
  wrong(form, path, 'MODEL_TYPE_CONVERT', 'Only dictionaries may be used in a ModelType');

const asInteger = (raw: unknown): unknown =>
  typeof raw === 'string' && INTEGER_TEXT.test(raw) ? Number(raw) : raw;

/**
 * Text, or a number as decimal text if that repeats the digits that were sent. A text far beyond its bound is not
 * cleaned first.
 */
function asText(raw: unknown, max: number): string | undefined {
  const text = typeof raw === 'number' && keepsDigits(raw) ? String(raw) : raw;
  if (typeof text !== 'string') return undefined;
  return text.length > max * 4 ? text : cleanText(text);
}

interface TextBounds {
  readonly min: number;
  readonly max: number;
  readonly required?: true;
  readonly shown?: true;
  readonly oneDirection?: true;
}

function readText(
  form: Form,
  path: FieldPath,
  raw: unknown,
  { min, max, required, shown, oneDirection }: TextBounds,
): string | undefined {
  const sent = asText(raw, max);
  if (sent === undefined)
    return wrong(form, path, 'STRING_TYPE_CONVERT', 'Could not interpret the value as string.');
  const text = oneDirection ? withoutDirectionControls(sent) : sent;
  if (required && (shown ? text.trim() : text) === '') {
    form.required(path);
    return undefined;
  }
  const length = text.length > max * 2 ? text.length : textLength(text, max);
  if (length >= min && length <= max) return text;
  if (min === 0) {
    form.tooLong(path, max);
    return undefined;
  }
  return wrong(form, path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`);
}

function readNumber(form: Form, path: FieldPath, raw: unknown, min: number, max: number): number | undefined {
  const value = asInteger(raw);
  if (typeof value !== 'number' || !Number.isInteger(value))
    return wrong(form, path, 'NUMBER_TYPE_COERCE', 'The value is not int.');
  if (value < min)
    return wrong(form, path, 'NUMBER_TYPE_MIN', `int value should be greater than or equal to ${min}.`);
  if (value > max)
    return wrong(form, path, 'NUMBER_TYPE_MAX', `int value should be less than or equal to ${max}.`);
  return value;
}

function readChoice(form: Form, path: FieldPath, raw: unknown, choices: readonly (string | number)[]) {
  const value = choices.find((one) => one === raw || one === asInteger(raw));
  if (value !== undefined) return value;
  return wrong(form, path, 'BASE_TYPE_CHOICES', `Value must be one of {${choices.join(', ')}}.`);
}

function readSnowflake(form: Form, path: FieldPath, raw: unknown): string | undefined {
  const id = typeof raw === 'number' && Number.isSafeInteger(raw) ? String(raw) : raw;
  if (isSnowflake(id)) return id;
  return wrong(form, path, 'NUMBER_TYPE_COERCE', 'The value is not snowflake.');
}

function readUrl(
  form: Form,
  path: FieldPath,
  raw: unknown,
  max: number,
  schemes?: readonly string[],
): string | undefined {
  const read = readLink(asText(raw, max)?.trim() ?? '', max, schemes);
  return read.ok ? read.url : wrong(form, path, read.problem.code, read.problem.message);
}

/** Reads the URL only: the server fills in everything else of a media item. */
function readMedia(form: Form, path: FieldPath, raw: unknown): { readonly url: string } | undefined {
  if (!isRecord(raw)) return notObject(form, path);
  const at = [...path, 'url'];
  if (raw.url === undefined || raw.url === null) {
    form.required(at);
    return undefined;
  }
  const max = LIMITS.component_media_url_chars_max;
  const text = asText(raw.url, max)?.trim();
  if (text?.startsWith(ATTACHMENT_SCHEME)) {
    if (textLength(text, max) <= max) return { url: text };
    form.tooLong(at, max);
    return undefined;
  }
  const url = readUrl(form, at, raw.url, max, MEDIA_SCHEMES);
  return url === undefined ? undefined : { url };
}

/** A custom emoji by id and name, or a Unicode emoji by name alone. */
function readEmoji(form: Form, path: FieldPath, raw: unknown): Json | undefined {
  if (!isRecord(raw)) return notObject(form, path);
  const at = [...path, 'name'];
  if (raw.name === undefined || raw.name === null) {
    form.required(at);
    return undefined;
  }
  const name = readText(form, at, raw.name, { min: 1, max: LIMITS.component_emoji_name_chars_max });
  if (name === undefined) return undefined;
  if (raw.id !== undefined && raw.id !== null) {
    const id = readSnowflake(form, [...path, 'id'], raw.id);
    return id === undefined ? undefined : { id, name, animated: raw.animated === true };
  }
  return emojiKey(name) === null
    ? wrong(form, at, 'BUTTON_COMPONENT_INVALID_EMOJI', 'Invalid emoji')
    : { name };
}

function readList(
  reading: Reading,
  path: FieldPath,
  raw: unknown,
  field: Extract<ComponentField, { is: 'list' }>,
): unknown[] | undefined {
  const { form } = reading;
  const { min, max, of } = field;
  if (!Array.isArray(raw))
    return wrong(form, path, 'LIST_TYPE_CONVERT', 'Only iterables may be used in a ListType');
  if (raw.length === 0 && field.required) {
    form.required(path);
    return undefined;
  }
  if (raw.length < min || raw.length > max)
    return wrong(form, path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`);
  const values = raw.map((one, index) => {
    const at = [...path, index];
    // An absent or null entry is an error, as entries are required.
    if (one === undefined || one === null) return form.required(at);
    return readField(reading, at, one, of);
  });
  if (field.unique) reportRepeated(form, path, values);
  return values;
}

/** Reports values that occur twice in a list; for objects, ids that do. */
function reportRepeated(form: Form, path: FieldPath, values: readonly unknown[]): void {
  const seen = new Set<unknown>();
  for (const [index, value] of values.entries()) {
    const key = isRecord(value) ? value.id : value;
    const at = isRecord(value) ? [...path, index, 'id'] : [...path, index];
    if (key !== undefined && seen.has(key))
      form.add(at, 'SET_TYPE_ALREADY_CONTAINS_VALUE', 'The set already contains this value');
    seen.add(key);
  }
}

import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { isRecord, keepsDigits, withoutBigints } from '../../protocol/json.ts';
import { readLink } from '../../protocol/links.ts';
import { type ErrorTree, type Refusal, refusal } from '../../protocol/refusal.ts';
import { closest, explain } from './explain.ts';
import { asSchemaNode, type SchemaNode, valuesOf } from './schemanode.ts';

/** A validated part of a request, with only the known keys, or the platform's error 50035. */
export type Validate<Value = unknown> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Creates a reader for a schema; its first use compiles the schema, because most operations are never called. The reader coerces the value (drops unknown keys, accepts the other spellings that the
 * platform accepts), validates it with the compiled checker, and walks the schema again only to explain a refusal.
 *
 * @param text True for query strings, in which every value is text.
 * @throws Error when the schema uses a keyword that `explain` does not support; thrown at start-up, never during a request.
 */
export function compileValidator<S extends TSchema>(
  schema: S,
  text = false,
): (value: unknown) => Validate<Static<S>> {
  const node = asSchemaNode(schema);
  checkSupported(node, '#');
  let checker: ReturnType<typeof Compile<S>> | null = null;
  let coerce: Coerce | null = null;
  return (value) => {
    checker ??= Compile(schema);
    coerce ??= coercerOf(node, text);
    const shaped = coerce(value);
    if (checker.Check(shaped)) return { ok: true, value: shaped };
    return { ok: false, refusal: invalidForm(explain(node, shaped) ?? UNEXPLAINED) };
  };
}

/** The refusal 50035 with an error tree. */
export function invalidForm(errors: ErrorTree): Refusal {
  return { ...refusal('INVALID_FORM_BODY'), errors };
}

/** Fallback for a refusal that `explain` cannot explain. A property test checks that this never happens. */
const UNEXPLAINED: ErrorTree = {
  _errors: [{ code: 'BASE_TYPE_INVALID', message: 'This value is not valid.' }],
};

const SUPPORTED = new Set([
  'type',
  'form',
  'description',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'maxProperties',
  'items',
  'properties',
  'required',
  'patternProperties',
  'additionalProperties',
  'anyOf',
  'enum',
  'const',
]);

function checkSupported(node: SchemaNode, where: string): void {
  for (const key of Object.keys(node)) {
    if (!SUPPORTED.has(key) && !key.startsWith('~'))
      throw new Error(
        `Schema keyword "${key}" at ${where} is not part of the vocabulary of protocol/schemas/request.ts.`,
      );
  }
  for (const [key, child] of Object.entries(node.properties ?? {})) checkSupported(child, `${where}/${key}`);
  for (const child of node.anyOf ?? []) checkSupported(child, `${where}/anyOf`);
  if (node.items) checkSupported(node.items, `${where}/items`);
  if (node.patternProperties) {
    for (const child of Object.values(node.patternProperties)) checkSupported(child, `${where}/*`);
  }
}

const INTEGER_TEXT = /^-?\d{1,16}$/;
const NUMBER_TEXT = /^-?\d{1,16}(?:\.\d{1,16})?$/;
const TRUE_TEXT = new Set(['True', 'true', '1']);
const FALSE_TEXT = new Set(['False', 'false', '0']);

type Coerce = (value: unknown) => unknown;

/**
 * Prepares the coercion of values towards a schema: it drops keys the schema does not name, converts ids and permission sets
 * given as numbers, and numbers given as text. A bigint is an integer beyond 2^53 (`protocol/json.ts`): an id or a permission
 * set keeps its digits, an integer schema refuses it, and `Any` gets its decimal text. Values that do not fit are left
 * unchanged for the checker to refuse.
 *
 * @param text True for query strings: booleans are words, and a list may be given as a single value.
 */
function coercerOf(node: SchemaNode, text: boolean): Coerce {
  if (node.anyOf) return unionCoercer(node.anyOf, text);
  const choices = node.enum;
  if (choices) return (value) => coerceChoice(choices, value);
  const coerce = typedCoercer(node, text);
  return text && node.type !== 'array' ? (value) => coerce(lastOf(value)) : coerce;
}

/** A parameter that is given several times has its last value. */
function lastOf(value: unknown): unknown {
  let last = value;
  while (Array.isArray(last)) last = last.at(-1);
  return last;
}

function typedCoercer(node: SchemaNode, text: boolean): Coerce {
  switch (node.type) {
    case 'object':
      return objectCoercer(node, text);
    case 'array':
      return listCoercer(node, text);
    case 'string':
      return (value) => coerceString(node, value);
    case 'integer':
      return (value) => (typeof value === 'string' && INTEGER_TEXT.test(value) ? Number(value) : value);
    case 'number':
      return coerceNumber;
    case 'boolean':
      return text ? coerceBoolean : unchanged;
    default:
      return node.type === undefined && !('const' in node) ? withoutBigints : unchanged;
  }
}

const unchanged: Coerce = (value) => value;

function coerceNumber(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'string' && NUMBER_TEXT.test(value) ? Number(value) : value;
}

/** Removes NUL, which the database cannot store, and replaces lone surrogates, which JSON text cannot carry. */
export const plainText = (text: string): string =>
  text.replaceAll('\u0000', '').replace(/\p{Surrogate}/gu, '\ufffd');

function coerceString(node: SchemaNode, value: unknown): unknown {
  // Not for images, which are megabytes and whose format excludes both, nor for names, which are refused if they contain either.
  if (typeof value === 'string') {
    if (node.form === 'url') return coerceUrl(value.trim(), node.maxLength ?? 0);
    return node.form === 'image' || node.form === 'name' ? value : plainText(value);
  }
  if (typeof value !== 'number' && typeof value !== 'bigint') return value;
  if (node.form === undefined || node.form === 'name')
    return typeof value === 'bigint' || keepsDigits(value) ? String(value) : value;
  const exact = typeof value === 'bigint' || (Number.isSafeInteger(value) && !Object.is(value, -0));
  if (node.form === 'snowflake' || node.form === 'permissions')
    return exact && value >= 0 ? String(value) : value;
  return value;
}

function coerceUrl(text: string, max: number): string {
  const read = readLink(text, max);
  return read.ok ? read.url : text;
}

function coerceBoolean(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (TRUE_TEXT.has(value)) return true;
  return FALSE_TEXT.has(value) ? false : value;
}

function coerceChoice(choices: readonly unknown[], value: unknown): unknown {
  if (choices.includes(value)) return value;
  if (typeof value === 'string' && INTEGER_TEXT.test(value) && choices.includes(Number(value)))
    return Number(value);
  return value;
}

function objectCoercer(node: SchemaNode, text: boolean): Coerce {
  const values = valuesOf(node);
  if (values) return mapCoercer(coercerOf(values, text), node.maxProperties ?? 0);
  const fields = Object.entries(node.properties ?? {}).map(
    ([key, child]) => [key, coercerOf(child, text)] as const,
  );
  return (value) => {
    if (!isRecord(value)) return value;
    const shaped: Record<string, unknown> = {};
    for (const [key, coerce] of fields)
      if (Object.hasOwn(value, key) && value[key] !== undefined) shaped[key] = coerce(value[key]);
    return shaped;
  };
}

const mapCoercer =
  (coerce: Coerce, entriesMax: number): Coerce =>
  (value) => {
    // A map above its bound is refused unchanged; coercing it first would only cost time.
    if (!isRecord(value) || Object.keys(value).length > entriesMax) return value;
    const shaped: Record<string, unknown> = {};
    for (const [key, child] of Object.entries(value)) if (key !== '__proto__') shaped[key] = coerce(child);
    return shaped;
  };

function listCoercer({ items, maxItems = Number.POSITIVE_INFINITY }: SchemaNode, text: boolean): Coerce {
  const coerce = items && coercerOf(items, text);
  return (value) => {
    const list = text && typeof value === 'string' ? [value] : value;
    return coerce && Array.isArray(list) && list.length <= maxItems ? list.map((item) => coerce(item)) : list;
  };
}

function unionCoercer(branches: readonly SchemaNode[], text: boolean): Coerce {
  const [only, ...others] = branches.filter(({ type }) => type !== 'null');
  // Null stays null whatever the branches are, and a single other branch needs no comparison.
  if (only && others.length === 0) {
    const coerce = coercerOf(only, text);
    return (value) => (value === null ? value : coerce(value));
  }
  const coercers = new Map(branches.map((branch) => [branch, coercerOf(branch, text)]));
  return (value) => {
    if (value === null) return value;
    const coerce = (branch: SchemaNode) => coercers.get(branch)?.(value);
    const branch = closest(branches, value, coerce);
    return branch ? coerce(branch) : value;
  };
}

import { type Static, type TSchema, Type } from 'typebox';

/** One setting: its schema, default and description. */
export interface Setting<Schema extends TSchema = TSchema> {
  readonly schema: Schema;
  readonly default: Static<Schema>;
  /** The unit of the number; null if the value is not a quantity. */
  readonly unit: string | null;
  /** Description of valid values, for errors and the settings page. */
  readonly expected: string;
  readonly doc: string;
  /** Whether the value is masked wherever settings are shown. */
  readonly secret: boolean;
}

export function integer(
  standard: number,
  unit: string,
  [minimum, maximum]: readonly [number, number],
  doc: string,
) {
  const schema = Type.Integer({ minimum, maximum });
  const expected = `a whole number from ${minimum} to ${maximum} (${unit})`;
  return { schema, default: standard, unit, expected, doc, secret: false };
}

export function boolean(standard: boolean, doc: string) {
  return {
    schema: Type.Boolean(),
    default: standard,
    unit: null,
    expected: 'true or false',
    doc,
    secret: false,
  };
}

export function string(standard: string, doc: string) {
  const schema = Type.String({ minLength: 1, maxLength: 1024 });
  return { schema, default: standard, unit: null, expected: 'a text', doc, secret: false };
}

export function optional(expected: string, pattern: string, doc: string, secret = false) {
  const schema = Type.Union([Type.String({ pattern, maxLength: 4096 }), Type.Null()]);
  return { schema, default: null, unit: null, expected: `${expected}, or null`, doc, secret };
}

export function choice<const T extends string>(standard: T, values: readonly T[], doc: string) {
  const schema = Type.Unsafe<T>(Type.Union(values.map((value) => Type.Literal(value))));
  const expected = `one of ${values.join(', ')}`;
  return { schema, default: standard, unit: null, expected, doc, secret: false };
}

export const ANY = '^.+$';
export const HTTP_URL = '^https?://[^\\s/?#]+(/[^\\s?#]*)?$';
export const PORT = [0, 65_535] as const;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

import { isSnowflake } from './ids.ts';
import type { Refusal } from './refusal.ts';
import { Secret } from './secret.ts';

/** The schema of one argument or reply of a link method. Fields that it does not name are ignored. */
export interface Schema<T> {
  /** As the catalogue and errors print it, such as `list(user id)`. */
  readonly name: string;
  readonly accepts: (value: unknown) => value is T;
  /** A value of this shape, for golden packets. */
  readonly example: unknown;
}

/** The type of the values that a schema accepts. */
export type ValueOf<S> = S extends Schema<infer T> ? T : never;

const schema = <T>(name: string, example: unknown, accepts: (value: unknown) => boolean): Schema<T> => ({
  name,
  example,
  accepts: (value): value is T => accepts(value),
});

const EXAMPLE_ID = '1390000000000000001';

/** A snowflake. @param kind The kind of id; `T` is its branded type. */
export const id = <T extends string>(kind: string): Schema<T> =>
  schema<T>(`${kind} id`, EXAMPLE_ID, isSnowflake);

export const text: Schema<string> = schema('text', 'text', (value) => typeof value === 'string');
export const flag: Schema<boolean> = schema('flag', true, (value) => typeof value === 'boolean');
/** A whole number. */
export const integer: Schema<number> = schema('integer', 7, (value) => Number.isSafeInteger(value));
/** A finite number. */
export const decimal: Schema<number> = schema('decimal', 0.5, (value) => Number.isFinite(value));
export const bytes: Schema<Uint8Array> = schema(
  'bytes',
  Buffer.from('bytes'),
  (value) => value instanceof Uint8Array,
);
// biome-ignore lint/suspicious/noConfusingVoidType: functions without a reply return void.
type Nothing = void | null | undefined;
/** No value: the reply only reports that the method has ended. */
export const nothing: Schema<Nothing> = schema<Nothing>(
  'nothing',
  null,
  (value) => value === null || value === undefined,
);
/** A number that may be infinite, such as a time that never comes. */
export const number: Schema<number> = schema(
  'number',
  7,
  (value) => typeof value === 'number' && !Number.isNaN(value),
);
export const bigint: Schema<bigint> = schema('bigint', 8n, (value) => typeof value === 'bigint');
export const secret: Schema<Secret> = schema(
  'secret',
  new Secret('secret'),
  (value) => value instanceof Secret,
);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Any object that the codec carries. A row of the link names what it is, and who checks it; see `named`. */
export const object: Schema<object> = schema('object', { field: 'value' }, isObject);
/** A plain object. Each of the named fields is an id wherever it has a value. */
export const objectOfIds = (name: string, idFields: readonly string[]): Schema<object> =>
  schema<object>(
    name,
    { field: 'value' },
    (value) =>
      isObject(value) &&
      Object.getPrototypeOf(value) === Object.prototype &&
      idFields.every((key) => value[key] === undefined || value[key] === null || isSnowflake(value[key])),
  );
/** Any value that the codec carries. A row of the link names what it is, and who checks it; see `named`. */
export const anything: Schema<unknown> = schema('anything', null, () => true);

/** A schema under the name that says what its values are. */
export const named = <T>(name: string, inner: Schema<T>): Schema<T> => ({ ...inner, name });

export const nullable = <T>(inner: Schema<T>): Schema<T | null> =>
  schema<T | null>(`${inner.name} or null`, inner.example, (value) => value === null || inner.accepts(value));

/** A schema that also accepts undefined; in `fields` it makes the field optional. */
type OptionalSchema<T> = Schema<T | undefined> & { readonly isOptional: true };

/** A field that may be absent, or an argument that shards of an earlier version do not send. */
export const optional = <T>(inner: Schema<T>): OptionalSchema<T> => ({
  ...schema<T | undefined>(
    `${inner.name} or nothing`,
    inner.example,
    (value) => value === undefined || inner.accepts(value),
  ),
  isOptional: true,
});

/** A field that may be absent or null. */
export const given = <T>(inner: Schema<T>): OptionalSchema<T | null> => optional(nullable(inner));

/** One value. */
export const is = <const T extends string | number | boolean | null>(expected: T): Schema<T> =>
  schema<T>(String(expected), expected, (value) => value === expected);

/** A text of a vocabulary that grows: a shard of a later version may know more words, so that any text is accepted. */
export const word = <T extends string>(name: string, example: string): Schema<T> =>
  schema<T>(name, example, text.accepts);

/** A number of a vocabulary that grows, as `word`. */
export const code = <T extends number>(name: string, example: number): Schema<T> =>
  schema<T>(name, example, integer.accepts);

export const oneOf = <const T extends string>(...values: readonly [T, ...T[]]): Schema<T> =>
  schema<T>(values.join(' or '), values[0], (value) => values.some((each) => each === value));

export const list = <T>(inner: Schema<T>): Schema<readonly T[]> =>
  schema<readonly T[]>(
    `list(${inner.name})`,
    [inner.example],
    (value) => Array.isArray(value) && value.every(inner.accepts),
  );

/** A list with at least one element. */
export const some = <T>(inner: Schema<T>): Schema<readonly [T, ...T[]]> =>
  schema<readonly [T, ...T[]]>(
    `some(${inner.name})`,
    [inner.example],
    (value) => Array.isArray(value) && value.length > 0 && value.every(inner.accepts),
  );

export const setOf = <T>(inner: Schema<T>): Schema<ReadonlySet<T>> =>
  schema<ReadonlySet<T>>(`set(${inner.name})`, new Set([inner.example]), (value) => {
    if (!(value instanceof Set)) return false;
    for (const each of value) if (!inner.accepts(each)) return false;
    return true;
  });

export const mapOf = <K, V>(key: Schema<K>, inner: Schema<V>): Schema<ReadonlyMap<K, V>> =>
  schema<ReadonlyMap<K, V>>(
    `map(${key.name}, ${inner.name})`,
    new Map([[key.example, inner.example]]),
    (value) => {
      if (!(value instanceof Map)) return false;
      for (const [name, each] of value) if (!key.accepts(name) || !inner.accepts(each)) return false;
      return true;
    },
  );

/** A value of one of these schemas. */
export const union = <const S extends readonly [Schema<unknown>, ...Schema<unknown>[]]>(
  ...inner: S
): Schema<ValueOf<S[number]>> =>
  schema<ValueOf<S[number]>>(inner.map(({ name }) => name).join(' or '), inner[0].example, (value) =>
    inner.some((each) => each.accepts(value)),
  );

/** A list with one schema per position. */
export const tuple = <const S extends readonly Schema<unknown>[]>(...inner: S): Schema<ValuesOf<S>> =>
  schema<ValuesOf<S>>(
    `(${inner.map(({ name }) => name).join(', ')})`,
    inner.map(({ example }) => example),
    (value) => Array.isArray(value) && inner.every((each, index) => each.accepts(value[index])),
  );

/** The schemas of an object's fields, by name. */
export type Shape = Readonly<Record<string, Schema<unknown>>>;
type Flat<T> = { readonly [K in keyof T]: T[K] };
type OptionalKeys<S extends Shape> = {
  [K in keyof S]: S[K] extends OptionalSchema<unknown> ? K : never;
}[keyof S];
/** The type of the objects with these fields. */
type FieldsOf<S extends Shape> = Flat<
  { [K in Exclude<keyof S, OptionalKeys<S>>]: ValueOf<S[K]> } & {
    [K in OptionalKeys<S>]?: Exclude<ValueOf<S[K]>, undefined>;
  }
>;

const titleOf = (shape: Shape): string =>
  `{ ${Object.entries(shape)
    .map(([name, { name: type }]) => `${name}: ${type}`)
    .join(', ')} }`;
const exampleOf = (shape: Shape): object =>
  Object.fromEntries(Object.entries(shape).map(([name, { example }]) => [name, example]));

/** Returns whether an object has these fields. Cost: O(fields), without allocation. */
function checkOf(shape: Shape): (value: unknown) => boolean {
  const named = Object.entries(shape).map(([name, each]) => ({ name, accepts: each.accepts }));
  return (value) => {
    if (!isObject(value)) return false;
    for (const { name, accepts } of named) if (!accepts(value[name])) return false;
    return true;
  };
}

/** An object with these fields. Others are ignored. */
export const fields = <const S extends Shape>(shape: S): Schema<FieldsOf<S>> =>
  schema<FieldsOf<S>>(titleOf(shape), exampleOf(shape), checkOf(shape));

/** An object with any of these fields: a change of them. */
export const partial = <const S extends Shape>(shape: S): Schema<Partial<FieldsOf<S>>> => {
  const all = Object.fromEntries(Object.entries(shape).map(([name, each]) => [name, optional(each)]));
  return schema<Partial<FieldsOf<S>>>(`some of ${titleOf(shape)}`, exampleOf(shape), checkOf(all));
};

/**
 * An object of the wire's type `T`, which shards store or pass to clients as it is. Only the fields on which a shard
 * relies are checked.
 */
export const wireObject = <T extends object>(
  name: string,
  relied: { readonly [K in keyof T]?: Schema<T[K]> } & Shape,
): Schema<T> => schema<T>(name, exampleOf(relied), checkOf(relied));

type VariantsOf<Tag extends string, S extends Readonly<Record<string, Shape>>> = {
  [K in keyof S]: Flat<{ readonly [T in Tag]: K } & FieldsOf<S[K]>>;
}[keyof S];

/** One of several objects, distinguished by the field `tag`. Cost: O(fields) of that one. */
export const variants = <const Tag extends string, const S extends Readonly<Record<string, Shape>>>(
  tag: Tag,
  shapes: S,
): Schema<VariantsOf<Tag, S>> => {
  const checks = new Map(Object.entries(shapes).map(([kind, shape]) => [kind, checkOf(shape)]));
  const [[first, shape] = ['', {}]] = Object.entries(shapes);
  const title = Object.entries(shapes).map(([kind, each]) => `${kind} ${titleOf(each)}`);
  return schema<VariantsOf<Tag, S>>(
    `${tag} of ${title.join(' or ')}`,
    { [tag]: first, ...exampleOf(shape) },
    (value) => {
      const kind = isObject(value) ? value[tag] : undefined;
      return typeof kind === 'string' && checks.get(kind)?.(value) === true;
    },
  );
};

/** An object whose keys are known only at run time, such as kinds of actors. */
export const record = <T>(inner: Schema<T>): Schema<Readonly<Record<string, T>>> =>
  schema<Readonly<Record<string, T>>>(
    `record(${inner.name})`,
    { name: inner.example },
    (value) => isObject(value) && Object.values(value).every(inner.accepts),
  );

/** The types of the values that schemas accept, by position. */
export type ValuesOf<S extends readonly Schema<unknown>[]> = { readonly [I in keyof S]: ValueOf<S[I]> };

export const refusal: Schema<Refusal> = wireObject<Refusal>('refusal', {
  status: integer,
  code: integer,
  message: text,
});

/** The reply to a command: its value, or the refusal. */
type ReplyValue<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal };

export const reply = <T>(value: Schema<T>): Schema<ReplyValue<T>> =>
  schema<ReplyValue<T>>(`reply(${value.name})`, { ok: true, value: value.example }, (sent) => {
    if (!isObject(sent)) return false;
    if (sent.ok === true) return 'value' in sent && value.accepts(sent.value);
    return sent.ok === false && refusal.accepts(sent.refusal);
  });

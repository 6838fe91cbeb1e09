import { isSnowflake } from './ids.ts';

/** The schema of one argument or reply of a link method. Fields that it does not name are ignored. */
export interface Schema<T> {
  /** As the catalogue and errors print it, such as `list(user id)`. */
  readonly name: string;
  accepts(value: unknown): value is T;
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
export const whole: Schema<number> = schema('whole', 7, (value) => Number.isSafeInteger(value));
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
/**
 * An object that the module of the method defines and reads, such as the input of a command: plain data, a Map, a Set
 * or a class that the codec carries. Its fields are not checked here.
 */
export const object: Schema<object> = schema(
  'object',
  { field: 'value' },
  (value) => typeof value === 'object' && value !== null,
);
/** Any value that the codec carries. */
export const anything: Schema<unknown> = schema('anything', null, () => true);

export const nullable = <T>(inner: Schema<T>): Schema<T | null> =>
  schema<T | null>(`${inner.name} or null`, inner.example, (value) => value === null || inner.accepts(value));

/** An argument that shards of an earlier version do not send. */
export const optional = <T>(inner: Schema<T>): Schema<T | undefined> =>
  schema<T | undefined>(
    `${inner.name} or nothing`,
    inner.example,
    (value) => value === undefined || inner.accepts(value),
  );

export const oneOf = <const T extends string>(...values: readonly [T, ...T[]]): Schema<T> =>
  schema<T>(values.join(' or '), values[0], (value) => values.some((each) => each === value));

export const list = <T>(inner: Schema<T>): Schema<readonly T[]> =>
  schema<readonly T[]>(
    `list(${inner.name})`,
    [inner.example],
    (value) => Array.isArray(value) && value.every((each) => inner.accepts(each)),
  );

/** A list with one schema per position. */
export const tuple = <const S extends readonly Schema<unknown>[]>(...inner: S): Schema<ValuesOf<S>> =>
  schema<ValuesOf<S>>(
    `(${inner.map(({ name }) => name).join(', ')})`,
    inner.map(({ example }) => example),
    (value) => Array.isArray(value) && inner.every((each, index) => each.accepts(value[index])),
  );

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** An object with these fields. Others are ignored. */
export const fields = <const S extends Readonly<Record<string, Schema<unknown>>>>(
  inner: S,
): Schema<{ readonly [K in keyof S]: ValueOf<S[K]> }> => {
  const named = Object.entries(inner);
  const example = Object.fromEntries(named.map(([name, each]) => [name, each.example]));
  return schema<{ readonly [K in keyof S]: ValueOf<S[K]> }>(
    `{ ${named.map(([name, each]) => `${name}: ${each.name}`).join(', ')} }`,
    example,
    (value) => isObject(value) && named.every(([name, each]) => each.accepts(value[name])),
  );
};

/** An object whose keys are known only at run time, such as kinds of actors. */
export const record = <T>(inner: Schema<T>): Schema<Readonly<Record<string, T>>> =>
  schema<Readonly<Record<string, T>>>(
    `record(${inner.name})`,
    { name: inner.example },
    (value) => isObject(value) && Object.values(value).every((each) => inner.accepts(each)),
  );

/** The types of the values that schemas accept, by position. */
export type ValuesOf<S extends readonly Schema<unknown>[]> = { readonly [I in keyof S]: ValueOf<S[I]> };

/** The reply to a command: its value, or the refusal. */
type ReplyValue<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: object };

export const reply = <T>(value: Schema<T>): Schema<ReplyValue<T>> =>
  schema<ReplyValue<T>>(`reply(${value.name})`, { ok: true, value: value.example }, (sent) => {
    if (typeof sent !== 'object' || sent === null || !('ok' in sent)) return false;
    if (sent.ok === true) return 'value' in sent && value.accepts(sent.value);
    return sent.ok === false && 'refusal' in sent && object.accepts(sent.refusal);
  });

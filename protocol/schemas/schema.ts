import type { TOptional, TSchema, TUnsafe } from 'typebox';

/**
 * The vocabulary of reply schemas: JSON Schema (typebox) that describes what this server sends. Request schemas have their own
 * (`request.ts`), which also says what a client may send instead. An object with a title is published under it.
 */
export type Schema<T> = TUnsafe<T>;

/** The type of the values that a schema describes. */
export type ValueOf<S> = S extends { readonly '~unsafe': infer T } ? T : never;

type Fields = Readonly<Record<string, TSchema>>;
type OptionalKeys<F> = { [K in keyof F]: F[K] extends TOptional ? K : never }[keyof F];
type ObjectOf<F> = { readonly [K in Exclude<keyof F, OptionalKeys<F>>]: ValueOf<F[K]> } & {
  readonly [K in OptionalKeys<F>]?: ValueOf<F[K]>;
};

/** Schemas are plain objects: typebox copies each that another contains, which took 20 ms of every start. */
function typed<T>(schema: object): Schema<T>;
function typed(schema: object): object {
  return schema;
}

/** A snowflake; `T` is its branded type. */
export const id = <T extends string = string>(): Schema<T> => SNOWFLAKE;
const SNOWFLAKE = typed<never>({ type: 'string', format: 'snowflake', pattern: '^(0|[1-9][0-9]*)$' });

export const text = typed<string>({ type: 'string' });
/** A permission set or other bits, as decimal text. */
export const bits = typed<string>({ type: 'string', pattern: '^[0-9]{1,20}$' });
export const time = typed<string>({ type: 'string', format: 'date-time' });
export const link = typed<string>({ type: 'string', format: 'uri' });
export const flag = typed<boolean>({ type: 'boolean' });
/** A whole number. */
export const integer = typed<number>({ type: 'integer' });
export const decimal = typed<number>({ type: 'number' });
/** The bytes of a file. */
export const bytes = typed<Uint8Array>({ type: 'string', format: 'binary' });
/** JSON that the server passes on without reading it. */
export const anything = typed<unknown>({});
/** An object whose fields the server does not know. */
export const json = typed<Readonly<Record<string, unknown>>>({ type: 'object', properties: {} });

export const nothing = typed<null>({ type: 'null' });

/** One of these values. */
export const choice = <const T extends readonly (string | number | boolean)[]>(
  ...values: T
): Schema<T[number]> => typed<T[number]>({ enum: values });

export const nullable = <T>(schema: Schema<T>): Schema<T | null> => typed({ anyOf: [schema, nothing] });

/** The field may be absent. */
export const optional = <T>(schema: Schema<T>): TOptional<Schema<T>> => ({ ...schema, '~optional': true });

export const list = <T>(items: Schema<T>): Schema<T[]> => typed({ type: 'array', items });

/** An object whose keys are known only at run time, such as ids. */
export const dict = <T>(values: Schema<T>): Schema<Readonly<Record<string, T>>> =>
  typed({ type: 'object', properties: {}, additionalProperties: values });

/** One of several objects, which differ in the values of a field or in which fields they have. */
export const oneOf = <const S extends readonly Schema<unknown>[]>(
  ...schemas: S
): Schema<ValueOf<S[number]>> => typed({ anyOf: schemas });

const isOptional = (schema: TSchema | undefined): boolean => schema !== undefined && '~optional' in schema;

/** An object of these fields and no others. */
export const object = <F extends Fields>(fields: F, title?: string): Schema<ObjectOf<F>> =>
  typed({
    ...{
      type: 'object',
      ...(title !== undefined && { title }),
      properties: fields,
      additionalProperties: false,
    },
    required: Object.keys(fields).filter((name) => !isOptional(fields[name])),
  });

/** The schema of an answer without a body. */
export const none = typed<undefined>({ type: 'undefined' });

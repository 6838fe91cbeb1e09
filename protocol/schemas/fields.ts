import type { TOptional, TSchema, TUnsafe } from 'typebox';
import * as link from '../linkschema.ts';
import { Arr, Bool, Choice, Dict, Int, Nullable, Optional, Snowflake, Str, Url } from './request.ts';
import * as reply from './schema.ts';

/** The value of a field: its schema in requests, with all bounds, in replies, and between shards. */
export interface Value<T> {
  readonly request: TSchema;
  readonly reply: reply.Schema<T>;
  readonly link: link.Schema<T>;
}

export const flag: Value<boolean> = { request: Bool(), reply: reply.flag, link: link.flag };

/** A whole number from `min` to `max`, both included. */
export const integer = (min: number, max: number): Value<number> => ({
  request: Int(min, max),
  reply: reply.integer,
  link: link.integer,
});

/** One of these numbers, such as bits of which one is known. */
export const oneOf = (...numbers: number[]): Value<number> => ({
  request: Choice(...numbers),
  reply: reply.integer,
  link: link.integer,
});

export const text = (charsMin: number, charsMax: number): Value<string> => ({
  request: Str(charsMin, charsMax),
  reply: reply.text,
  link: link.text,
});

export const url = (charsMax: number): Value<string> => ({
  request: Url(charsMax),
  reply: reply.text,
  link: link.text,
});

/** Texts by key. */
export const texts = (keysMax: number, charsMax: number): Value<Readonly<Record<string, string>>> => ({
  request: Dict(Str(0, charsMax), keysMax),
  reply: reply.dict(reply.text),
  link: link.record(link.text),
});

/** Snowflakes. @param kind The kind of id; `T` is its branded type. */
export const ids = <T extends string>(kind: string, max: number): Value<readonly T[]> => ({
  request: Arr(Snowflake<T>(), max),
  reply: reply.list(reply.id<T>()),
  link: link.list(link.id<T>(kind)),
});

/** Everyone who sees the object, the application's server only, or no client. */
type Audience = 'everyone' | 'server' | 'nobody';

/** One field of an object that clients may set. */
interface FieldRow<T = unknown> {
  readonly value: Value<T>;
  /** The value in a new object, and in one stored before the field existed. When it is null, the field may be null. */
  readonly initial: unknown;
  readonly shownTo: Audience;
  /** For a field that is never null: a request may have null, which asks for the initial value or for no change. */
  readonly onNull?: 'initial' | 'unchanged';
  /** No request has it: the server computes it. */
  readonly internal?: true;
}
/** The fields of an object by name. The types and schemas of this file derive from such a table. */
export type Rows = Readonly<Record<string, FieldRow>>;

type FieldOf<R> = R extends FieldRow<infer T> ? T | (R extends { initial: null } ? null : never) : never;
type NamesFor<R extends Rows, A extends Audience> = {
  [K in keyof R]: R[K]['shownTo'] extends A ? K : never;
}[keyof R];

/** The fields as they are stored. */
export type FieldsOf<R extends Rows> = { readonly [K in keyof R]: FieldOf<R[K]> };
/** The fields as the object shows them; those for the server only to the server. */
export type ShownFields<R extends Rows> = Pick<FieldsOf<R>, NamesFor<R, 'everyone'>> &
  Partial<Pick<FieldsOf<R>, NamesFor<R, 'server'>>>;
type ChangeValueOf<R> = FieldOf<R> | (R extends { onNull: string } ? null : never);
/** A change of the fields. An absent key keeps its field. */
export type ChangeOf<R extends Rows> = { readonly [K in keyof R]?: ChangeValueOf<R[K]> };

const rowsWith = (rows: Rows, has: (row: FieldRow) => boolean): Rows =>
  Object.fromEntries(Object.entries(rows).filter(([, row]) => has(row)));
const mapRows = (rows: Rows, map: (row: FieldRow) => unknown): object =>
  Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, map(row)]));
const isShown = ({ shownTo }: FieldRow): boolean => shownTo !== 'nobody';

/** The fields of a new object. */
export function initialOf<R extends Rows>(rows: R): FieldsOf<R>;
export function initialOf(rows: Rows): object {
  return mapRows(rows, ({ initial }) => initial);
}

/** The names of the fields that an object shows; `toServer`: to the application's server. */
export const namesShown = (rows: Rows, toServer: boolean): readonly string[] =>
  Object.keys(rowsWith(rows, ({ shownTo }) => shownTo === 'everyone' || (toServer && shownTo === 'server')));

const mayAskForNull = ({ initial, onNull }: FieldRow): boolean => initial === null || onNull !== undefined;

/** The schemas of the fields in a request that sets them; each may be absent. */
export function requestsOf<R extends Rows>(
  rows: R,
): {
  readonly [K in keyof R as R[K] extends { internal: true } ? never : K]: TOptional<
    TUnsafe<ChangeValueOf<R[K]>>
  >;
};
export function requestsOf(rows: Rows): object {
  const asked = rowsWith(rows, ({ internal }) => internal !== true);
  return mapRows(asked, (row) =>
    Optional(mayAskForNull(row) ? Nullable(row.value.request) : row.value.request),
  );
}

/** The schemas of the fields in a change that shards send each other. */
export function linksOf<R extends Rows>(
  rows: R,
): { readonly [K in keyof R]: link.Schema<ChangeValueOf<R[K]>> };
export function linksOf(rows: Rows): object {
  return mapRows(rows, (row) => (mayAskForNull(row) ? link.nullable(row.value.link) : row.value.link));
}

/** The schemas of the fields in a reply. */
export function repliesOf<R extends Rows>(
  rows: R,
): { readonly [K in NamesFor<R, 'everyone'>]: reply.Schema<FieldOf<R[K]>> } & {
  readonly [K in NamesFor<R, 'server'>]: TOptional<reply.Schema<FieldOf<R[K]>>>;
};
export function repliesOf(rows: Rows): object {
  return mapRows(rowsWith(rows, isShown), ({ value, initial, shownTo }) => {
    const schema = initial === null ? reply.nullable(value.reply) : value.reply;
    return shownTo === 'server' ? reply.optional(schema) : schema;
  });
}

import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type FreshId, isSnowflake, snowflakeOf } from './ids.ts';

/** Values that opcodes of several kinds carry, as clients send them. */

export const Nullish = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));

/**
 * An id as clients send it: a decimal string or an integer. An integer beyond 2^53 arrives as a bigint with all its digits
 * (`protocol/json.ts`), so a double of that size was not a valid id and is rejected.
 */
export const Snowflake = Type.Refine(
  Type.Union([Type.String(), Type.Integer(), Type.BigInt()]),
  (value) => (typeof value !== 'number' || Number.isSafeInteger(value)) && isSnowflake(String(value)),
);

/** A stream key, as `engine/call/stream.ts` formats it: a word and three ids at most. */
export const StreamKey = Type.String({ maxLength: 128 });

/** The canonical string form of an id. */
export const idOf = (value: string | number | bigint): FreshId => snowflakeOf(BigInt(value));

/** A client's opcode that carries requests of one name: most carry one. */
export interface RequestOpcode<Input> {
  /** Schema of `d`, for the description of the gateway. */
  readonly schema: TSchema;
  /** The inputs of the requests, in order; null if `d` is invalid (close code 4001). */
  readonly inputsOf: (d: unknown) => readonly Input[] | null;
}

/** @param inputOf Called with a `d` that matches the schema; null if it is invalid nevertheless. */
export const requestOpcode = <S extends TSchema, const Input>(
  schema: S,
  inputOf: (d: Static<S>) => Input | null,
): RequestOpcode<Input> =>
  bulkOpcode(schema, (d) => {
    const input = inputOf(d);
    return input === null ? null : [input];
  });

/** As `requestOpcode`, for an opcode that carries any number of requests. */
export function bulkOpcode<S extends TSchema, const Input>(
  schema: S,
  inputsOf: (d: Static<S>) => readonly Input[] | null,
): RequestOpcode<Input> {
  const check = Compile(schema);
  return { schema, inputsOf: (d) => (check.Check(d) ? inputsOf(d) : null) };
}

import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { GatewaySession, Identify } from '../../../actors/session/ports.ts';
import { type FreshId, isSnowflake, snowflakeOf } from '../../../protocol/ids.ts';

/** The connection's methods for opcode handlers. */
export interface Connection {
  /** @param seq The last sequence number that the client received; null for none or unknown. */
  heartbeat(seq: number | null): void;
  identify(identify: Omit<Identify, 'version'>, compress: boolean): void;
  resume(resume: { readonly token: string; readonly sessionId: string; readonly seq: number }): void;
  /** Passes on a presence, rate-limited: of the presences beyond the limit only the last one is passed on, later. */
  updatePresence(presence: GatewayPresenceUpdateData): void;
}

/** The phase of a connection in which an opcode is allowed. */
export type Moment = 'always' | 'unidentified' | 'identified';

/** One client opcode: when it is allowed, the schema of `d`, and its handler. */
export interface Opcode {
  readonly moment: Moment;
  /** Schema of `d`, for the description of the gateway. */
  readonly schema: TSchema;
  /** @returns false if `d` is invalid (close code 4001). `session` is not null when `moment` is `identified`. */
  accept(connection: Connection, d: unknown, session: GatewaySession | null): boolean;
}

/** An opcode for a connection that has a session. */
export function sessionOpcode<S extends TSchema>(
  schema: S,
  handle: (session: GatewaySession, d: Static<S>, connection: Connection) => boolean | undefined,
): Opcode {
  const check = Compile(schema);
  return {
    moment: 'identified',
    schema,
    accept: (connection, d, session) =>
      check.Check(d) && session !== null && handle(session, d, connection) !== false,
  };
}

/** An opcode of the connection itself. */
export function connectionOpcode<S extends TSchema>(
  moment: Moment,
  schema: S,
  handle: (connection: Connection, d: Static<S>) => void,
): Opcode {
  const check = Compile(schema);
  return {
    moment,
    schema,
    accept(connection, d) {
      if (!check.Check(d)) return false;
      handle(connection, d);
      return true;
    },
  };
}

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

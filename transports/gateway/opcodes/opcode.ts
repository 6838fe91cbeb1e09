import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { GatewaySession, Identify } from '../../../actors/session/ports.ts';
import { isSnowflake } from '../../../protocol/ids.ts';

/** The connection as a handler sees it. */
export interface Connection {
  heartbeat(): void;
  identify(identify: Omit<Identify, 'version'>, compress: boolean): void;
  resume(resume: { readonly token: string; readonly sessionId: string; readonly seq: number }): void;
  /** Passes a presence on as often as the limit allows; of those beyond it the last one, later. */
  updatePresence(presence: GatewayPresenceUpdateData): void;
}

/** When an opcode may come. */
export type Moment = 'always' | 'unidentified' | 'identified';

/** One client opcode: when it may come, what its `d` must be, and what it does. */
export interface Opcode {
  readonly moment: Moment;
  /** False: `d` is not what the opcode takes (close code 4001). `session` is there when `moment` is `identified`. */
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
    accept: (connection, d, session) =>
      check.Check(d) && session !== null && handle(session, d as Static<S>, connection) !== false,
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
    accept(connection, d) {
      if (!check.Check(d)) return false;
      handle(connection, d as Static<S>);
      return true;
    },
  };
}

export const Nullish = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));

/**
 * An id as clients send it: a decimal string, or an integer. Beyond 2^53 that is a bigint with all its digits
 * (`protocol/json.ts`); a double as large was no integer of 64 bits, or no integer.
 */
export const Snowflake = Type.Refine(
  Type.Union([Type.String(), Type.Integer(), Type.BigInt()]),
  (value) => (typeof value !== 'number' || Number.isSafeInteger(value)) && isSnowflake(String(value)),
);

/** A stream's name, as `engine/call/stream.ts` makes it: three ids and a word. */
export const StreamKey = Type.String({ maxLength: 128 });

/** The id in the form it has inside. */
export const idOf = <Id extends string>(value: string | number | bigint): Id => String(BigInt(value)) as Id;

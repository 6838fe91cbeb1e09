import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { GatewaySession, Identify } from '../../../actors/session/ports.ts';
import type { RequestOpcode } from '../../../protocol/opcodevalues.ts';
import type { RequestName, SessionRequest } from '../../../protocol/sessionrequests.ts';

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

/** An opcode for a connection that has a session, which carries requests of that name. */
export const sessionOpcode = (name: RequestName, { schema, inputsOf }: RequestOpcode<unknown>): Opcode => ({
  moment: 'identified',
  schema,
  accept(connection, d, session) {
    const inputs = inputsOf(d);
    if (inputs === null || session === null) return false;
    for (const input of inputs) {
      // The opcodes of a row produce the input of its request.
      const request = { name, input } as SessionRequest;
      if (request.name === 'presence') connection.updatePresence(request.input);
      else session.ask(request);
    }
    return true;
  },
});

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

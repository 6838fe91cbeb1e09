import { OP, USER_OPS } from '../../../protocol/opcodes.ts';
import { keysOf, present } from '../../../protocol/present.ts';
import { requestRow, SESSION_REQUESTS } from '../../../protocol/sessionrequests.ts';
import { heartbeat } from './heartbeat.ts';
import { identify } from './identify.ts';
import { type Opcode, sessionOpcode } from './opcode.ts';
import { resume } from './resume.ts';

const byNumber = (opcodes: readonly (readonly [number, Opcode])[]): ReadonlyMap<unknown, Opcode> =>
  new Map(opcodes.toSorted(([a], [b]) => a - b));

/** The opcodes of requests for everybody, or of those that not every session may send. */
const requestOpcodes = (isForAll: boolean): (readonly [number, Opcode])[] =>
  keysOf(SESSION_REQUESTS).flatMap((name) => {
    const { opcodes, only } = requestRow(name);
    if ((only === undefined) !== isForAll) return [];
    return keysOf(opcodes).map((op) => [OP[op], sessionOpcode(name, present(opcodes[op]))] as const);
  });

/** Opcodes that every client may send. */
export const OPCODES = byNumber([
  [OP.HEARTBEAT, heartbeat],
  [OP.IDENTIFY, identify],
  [OP.RESUME, resume],
  ...requestOpcodes(true),
]);

/** Opcodes that only people's sessions may send. */
export const USER_OPCODES = byNumber(requestOpcodes(false));

/**
 * Looks up the handler of an opcode. `unknown`: close with 4001. `ignored`: a user's client sends it, and this server does not
 * serve it.
 *
 * @param ofUser Whether the connection has the session of a person.
 */
export const opcodeOf = (op: unknown, ofUser: boolean): Opcode | 'ignored' | 'unknown' =>
  OPCODES.get(op) ?? (ofUser && isUserOp(op) ? (USER_OPCODES.get(op) ?? 'ignored') : 'unknown');

const isUserOp = (op: unknown): boolean => typeof op === 'number' && USER_OPS.has(op);

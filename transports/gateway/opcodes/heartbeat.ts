import { Type } from 'typebox';
import { connectionOpcode } from './opcode.ts';

/** Op 1. `d` is the last sequence number the client received; the answer is op 11, sent at once whatever the number. */
export const heartbeat = connectionOpcode(
  'always',
  Type.Union([Type.Integer(), Type.Null()]),
  (connection, seq) => connection.heartbeat(seq),
);

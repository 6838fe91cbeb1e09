import { Type } from 'typebox';
import { connectionOpcode } from './opcode.ts';

/** Op 1. `d` is the last number seen; the answer is op 11, at once and whatever the number. */
export const heartbeat = connectionOpcode('always', Type.Union([Type.Integer(), Type.Null()]), (connection) =>
  connection.heartbeat(),
);

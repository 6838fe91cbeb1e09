import { Type } from 'typebox';
import { Nullish } from '../../../protocol/opcodevalues.ts';
import { bareToken } from './identify.ts';
import { connectionOpcode } from './opcode.ts';

const Resume = Type.Object({
  token: Type.String(),
  session_id: Type.String(),
  seq: Nullish(Type.Number()),
});

/** Op 6. A client that has received no dispatch yet sends null. */
export const resume = connectionOpcode('unidentified', Resume, (connection, d) =>
  connection.resume({ token: bareToken(d.token), sessionId: d.session_id, seq: d.seq ?? 0 }),
);

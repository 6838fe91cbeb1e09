import { Type } from 'typebox';
import { connectionOpcode, Nullish } from './opcode.ts';

const Nonce = Type.Union([Type.Number(), Type.BigInt(), Type.Null()]);
const Heartbeat = Type.Union([
  Nonce,
  Type.Object({ t: Nonce, seq_ack: Nullish(Type.Integer({ minimum: -1 })) }),
]);

/** Op 3. A bare nonce before version 8, an object since; the answer has the same form. */
export const heartbeat = connectionOpcode('always', Heartbeat, (connection, d) => {
  if (typeof d !== 'object' || d === null) connection.heartbeat(d, null);
  else {
    const seqAck = d.seq_ack ?? -1;
    connection.heartbeat({ t: d.t }, seqAck < 0 ? null : seqAck);
  }
  return true;
});

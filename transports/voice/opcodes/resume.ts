import { Type } from 'typebox';
import { CHANNEL_VERSION, connectionOpcode, idOf, Nullish, Secret, Snowflake } from './opcode.ts';

const Resume = Type.Object({
  server_id: Snowflake,
  session_id: Secret,
  token: Secret,
  channel_id: Nullish(Snowflake),
  seq_ack: Nullish(Type.Integer({ minimum: -1 })),
});

/** The first version with sequence numbers and replay. */
const BUFFERED_VERSION = 8;

/** Op 7. */
export const resume = connectionOpcode('unidentified', Resume, (connection, d) => {
  if (connection.version >= CHANNEL_VERSION && d.channel_id == null) return false;
  connection.resume({
    serverId: idOf(d.server_id),
    sessionId: d.session_id,
    token: d.token,
    seqAck: connection.version < BUFFERED_VERSION ? -1 : (d.seq_ack ?? -1),
  });
  return true;
});

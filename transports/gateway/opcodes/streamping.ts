import { Type } from 'typebox';
import { StreamKey, sessionOpcode } from './opcode.ts';

/** Op 21. */
export const streamPing = sessionOpcode(Type.Object({ stream_key: StreamKey }), (session, d) => {
  session.ask({ name: 'stream', input: { type: 'ping', streamKey: d.stream_key } });
  return true;
});

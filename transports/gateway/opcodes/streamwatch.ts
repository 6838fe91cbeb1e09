import { Type } from 'typebox';
import { StreamKey, sessionOpcode } from './opcode.ts';

/** Op 20. */
export const streamWatch = sessionOpcode(Type.Object({ stream_key: StreamKey }), (session, d) => {
  session.ask({ name: 'stream', input: { type: 'watch', streamKey: d.stream_key } });
  return true;
});

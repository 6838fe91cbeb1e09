import { Type } from 'typebox';
import { StreamKey, sessionOpcode } from './opcode.ts';

/** Op 19. */
export const streamDelete = sessionOpcode(Type.Object({ stream_key: StreamKey }), (session, d) => {
  session.ask({ name: 'stream', input: { type: 'delete', streamKey: d.stream_key } });
  return true;
});

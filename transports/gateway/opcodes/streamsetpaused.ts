import { Type } from 'typebox';
import { StreamKey, sessionOpcode } from './opcode.ts';

const StreamSetPaused = Type.Object({ stream_key: StreamKey, paused: Type.Boolean() });

/** Op 22. */
export const streamSetPaused = sessionOpcode(StreamSetPaused, (session, d) => {
  session.ask({ name: 'stream', input: { type: 'setPaused', streamKey: d.stream_key, paused: d.paused } });
  return true;
});

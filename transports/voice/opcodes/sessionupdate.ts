import { Type } from 'typebox';
import { Codecs, codecsOf, sessionOpcode } from './opcode.ts';

/** Op 14. */
export const sessionUpdate = sessionOpcode(Type.Object({ codecs: Codecs }), (session, d) => {
  session.codecs(codecsOf(d.codecs));
  return true;
});

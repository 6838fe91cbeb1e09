import { Type } from 'typebox';
import { SPEAKING } from '../../../protocol/voice.ts';
import { Nullish, Ssrc, sessionOpcode } from './opcode.ts';

const Speaking = Type.Object({
  speaking: Type.Union([Type.Integer({ minimum: 0 }), Type.Boolean()]),
  ssrc: Nullish(Ssrc),
});

const KNOWN_FLAGS = SPEAKING.MICROPHONE | SPEAKING.SOUNDSHARE | SPEAKING.PRIORITY;

/** Op 5. Some clients still send a boolean, as before version 4, or omit the SSRC, which is optional: they have only one. */
export const speaking = sessionOpcode(Speaking, (session, d) => {
  session.speaking(Number(d.speaking) & KNOWN_FLAGS, d.ssrc ?? 0);
  return true;
});

import { VOICE_OP } from '../../../protocol/voice.ts';
import { daveOpcode } from './opcode.ts';

/** Op 26. */
export const keyPackage = daveOpcode(VOICE_OP.DAVE_MLS_KEY_PACKAGE);

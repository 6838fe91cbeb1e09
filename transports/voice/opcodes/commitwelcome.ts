import { VOICE_OP } from '../../../protocol/voice.ts';
import { daveOpcode } from './opcode.ts';

/** Op 28. */
export const commitWelcome = daveOpcode(VOICE_OP.DAVE_MLS_COMMIT_WELCOME);

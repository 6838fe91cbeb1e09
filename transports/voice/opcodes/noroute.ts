import { Type } from 'typebox';
import { sessionOpcode } from './opcode.ts';

/** Op 32: the client gives up on WebRTC. It is accepted without effect, because there is no other route to offer. */
export const noRoute = sessionOpcode(Type.Unknown(), () => true);

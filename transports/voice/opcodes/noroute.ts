import { Type } from 'typebox';
import { sessionOpcode } from './opcode.ts';

/** Op 32: the client's last word before it gives up on WebRTC. There is no other route to offer. */
export const noRoute = sessionOpcode(Type.Unknown(), () => true);

import { Type } from 'typebox';
import { connectionOpcode } from './opcode.ts';

/** Op 16. */
export const backendVersion = connectionOpcode('always', Type.Unknown(), (connection) => {
  connection.tellVersion();
  return true;
});

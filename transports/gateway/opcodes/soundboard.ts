import { Type } from 'typebox';
import { idOf, Snowflake, sessionOpcode } from './opcode.ts';

const RequestSoundboardSounds = Type.Object({ guild_ids: Type.Array(Snowflake) });

/** Op 31. Answered with one SOUNDBOARD_SOUNDS per guild. */
export const requestSoundboardSounds = sessionOpcode(RequestSoundboardSounds, (session, d) => {
  session.ask({ name: 'soundboard', input: [...new Set(d.guild_ids.map(idOf))] });
  return true;
});

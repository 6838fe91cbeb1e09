import { Type } from 'typebox';
import { idOf, Snowflake, sessionOpcode } from './opcode.ts';

const RequestChannelInfo = Type.Object({ guild_id: Snowflake, fields: Type.Array(Type.String()) });
const FIELDS = ['status', 'voice_start_time'] as const;

/** Op 43. Unknown fields are omitted from the answer. */
export const requestChannelInfo = sessionOpcode(RequestChannelInfo, (session, d) => {
  session.ask({
    name: 'channelInfo',
    input: { guildId: idOf(d.guild_id), fields: FIELDS.filter((field) => d.fields.includes(field)) },
  });
  return true;
});

import { Type } from 'typebox';
import { idOf, Nullish, Snowflake, sessionOpcode } from './opcode.ts';

const StreamCreate = Type.Object({
  type: Type.Enum(['guild', 'call']),
  guild_id: Nullish(Snowflake),
  channel_id: Snowflake,
});

/** Op 18. The preferred region is ignored: there is only one. */
export const streamCreate = sessionOpcode(StreamCreate, (session, d) => {
  const isGuild = d.type === 'guild';
  if (isGuild && d.guild_id == null) return false;
  const guildId = isGuild && d.guild_id != null ? idOf(d.guild_id) : null;
  session.ask({
    name: 'stream',
    input: { type: 'create', place: { guildId, channelId: idOf(d.channel_id) } },
  });
  return true;
});

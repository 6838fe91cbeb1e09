import { Type } from 'typebox';
import { idOf, Nullish, Snowflake, sessionOpcode } from './opcode.ts';

const VoiceState = Type.Object({
  guild_id: Nullish(Snowflake),
  channel_id: Nullish(Snowflake),
  self_mute: Nullish(Type.Boolean()),
  self_deaf: Nullish(Type.Boolean()),
  self_video: Nullish(Type.Boolean()),
});

/** Op 4. `guild_id` is null for calls outside guilds. */
export const voiceState = sessionOpcode(VoiceState, (session, d) => {
  session.ask({
    name: 'voiceState',
    input: {
      guildId: d.guild_id == null ? null : idOf(d.guild_id),
      channelId: d.channel_id == null ? null : idOf(d.channel_id),
      selfMute: d.self_mute ?? false,
      selfDeaf: d.self_deaf ?? false,
      selfVideo: d.self_video ?? false,
    },
  });
  return true;
});

import type { ChannelId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { GuildWelcomeScreen } from '../../../protocol/schemas/guildpages.ts';
import { Arr, Bool, Nullable, Obj, Optional, Snowflake, Str } from '../../../protocol/schemas/request.ts';
import { op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const WRITES = { per: 'guild_id', limit: 5, windowMs: 10_000 } as const;

const WelcomeChannel = Obj({
  channel_id: Snowflake<ChannelId>(),
  description: Str(1, LIMITS.welcome_channel_description_chars_max),
  emoji_id: Optional(Nullable(Snowflake())),
  emoji_name: Optional(Nullable(Str(0, LIMITS.emoji_text_chars_max))),
});

export const welcomeScreen = resource({
  get_guild_welcome_screen: op({
    method: 'GET',
    path: '/guilds/:guild_id/welcome-screen',
    auth: 'any',
    bucket: READS,
    status: 200,
    reply: GuildWelcomeScreen,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getWelcomeScreen', {}, authority),
  }),

  update_guild_welcome_screen: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/welcome-screen',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITES,
    body: Obj({
      description: Optional(Nullable(Str(0, LIMITS.welcome_description_chars_max))),
      welcome_channels: Optional(Nullable(Arr(WelcomeChannel, LIMITS.welcome_channels_max))),
      enabled: Optional(Nullable(Bool())),
    }),
    status: 200,
    reply: GuildWelcomeScreen,
    handle: async ({ params, body: draft, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'updateWelcomeScreen', { draft }, authority),
  }),
});

import type { GuildId, SoundId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { SoundboardSound } from '../../../protocol/schemas/expression.ts';
import { Nullable, Obj, Optional, Snowflake } from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { DEFAULT_SOUNDS } from '../../../protocol/sounds.ts';
import { op, resource } from '../operation.ts';

/** Soundboard operations: listing the default sounds, and playing one. */
export const soundboard = resource({
  get_soundboard_default_sounds: op({
    method: 'GET',
    path: '/soundboard-default-sounds',
    auth: 'any',
    // The platform publishes no limits for these routes; the values are this server's own.
    bucket: { per: null, limit: 10, windowMs: 10_000 },
    status: 200,
    reply: list(SoundboardSound),
    handle: () => ({ ok: true, value: DEFAULT_SOUNDS }),
  }),

  send_soundboard_sound: op({
    method: 'POST',
    path: '/channels/:channel_id/send-soundboard-sound',
    auth: 'any',
    permission: P.SPEAK | P.USE_SOUNDBOARD,
    bucket: { per: 'channel_id', limit: 5, windowMs: 5_000 },
    body: Obj({ sound_id: Snowflake<SoundId>(), source_guild_id: Optional(Nullable(Snowflake<GuildId>())) }),
    status: 204,
    reply: none,
    handle: async ({ params, body, authority }, { channels, guilds }) => {
      const sourceGuildId = body.source_guild_id ?? null;
      const named = { soundId: body.sound_id, sourceGuildId };
      // Only a member knows a guild's sounds; whether it is the channel's own guild, its owner sees.
      const known =
        sourceGuildId === null
          ? null
          : await guilds.call(
              sourceGuildId,
              'getSound',
              { soundId: body.sound_id },
              { ...authority, requires: 0n },
            );
      const sound = known?.ok ? { ...named, foreign: known.value } : named;
      const reply = await channels.call(params.channel_id, 'playSound', sound, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),
});

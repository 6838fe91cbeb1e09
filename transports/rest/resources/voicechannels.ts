import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { Nullable, Obj, Optional, Str } from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../operation.ts';

/** The status of a voice channel, which lasts while members are connected. */
export const voiceChannels = resource({
  update_voice_channel_status: op({
    method: 'PUT',
    path: '/channels/:channel_id/voice-status',
    auth: 'any',
    permission: P.SET_VOICE_CHANNEL_STATUS,
    // The platform publishes no limit for this route; the value is this server's own.
    bucket: { per: 'channel_id', limit: 5, windowMs: 10_000 },
    body: Obj({ status: Optional(Nullable(Str(0, LIMITS.voice_status_chars_max))) }),
    status: 204,
    reply: none,
    handle: async ({ params, body, authority }, { channels }) => {
      const status = body.status ?? null;
      const channelId = params.channel_id;
      const reply = await channels.call(channelId, 'setVoiceChannelStatus', { status }, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),
});

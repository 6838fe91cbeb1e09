import type { UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { Arr, Nullable, Obj, Optional, Snowflake } from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const bucket = { per: 'channel_id', limit: 5, windowMs: 5_000, group: 'call ringing' } as const;
const Ringing = Obj({
  recipients: Optional(Nullable(Arr(Snowflake<UserId>(), LIMITS.group_dm_recipients_max))),
});

/**
 * Ringing in calls of private channels. Only user clients use these routes; the platform's OpenAPI does not list them.
 *
 * @source https://docs.discord.food/resources/channel#ring-channel-recipients and
 * https://docs.discord.food/resources/channel#stop-ringing-channel-recipients
 */
export const calls = resource({
  ring_call: op({
    method: 'POST',
    path: '/channels/:channel_id/call/ring',
    auth: 'user',
    bucket,
    body: Ringing,
    status: 204,
    reply: none,
    handle: async ({ params, body, authority }, { calls }) => {
      const userIds = body.recipients ?? null;
      const reply = await calls.ring(params.channel_id, userIds, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),

  stop_ringing_call: op({
    method: 'POST',
    path: '/channels/:channel_id/call/stop-ringing',
    auth: 'user',
    bucket,
    body: Ringing,
    status: 204,
    reply: none,
    handle: async ({ params, body, authority }, { calls }) => {
      const userIds = body.recipients ?? null;
      const reply = await calls.stopRinging(params.channel_id, userIds, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),
});

import type { ChannelId, ScheduledEventId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { StageInstance } from '../../../protocol/schemas/event.ts';
import { Bool, Choice, Nullable, Obj, Optional, Snowflake, Str } from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { type Bucket, op, resource } from '../operation.ts';

/**
 * Permissions of a stage moderator.
 *
 * @source https://docs.discord.com/developers/resources/stage-instance#definitions
 */
const MODERATE = P.MANAGE_CHANNELS | P.MUTE_MEMBERS | P.MOVE_MEMBERS;
const GUILD_ONLY = 2;

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: null, limit: 20, windowMs: 5_000 };
const WRITE: Bucket = { per: null, limit: 10, windowMs: 10_000 };

const Topic = () => Str(1, LIMITS.stage_topic_chars_max);
const Privacy = () => Choice(1, 2);

/** Operations on stage instances, addressed by their channel. */
export const stageInstances = resource({
  create_stage_instance: op({
    method: 'POST',
    path: '/stage-instances',
    auth: 'any',
    permission: MODERATE,
    bucket: WRITE,
    body: Obj({
      topic: Topic(),
      channel_id: Snowflake<ChannelId>(),
      privacy_level: Optional(Nullable(Privacy())),
      guild_scheduled_event_id: Optional(Nullable(Snowflake<ScheduledEventId>())),
      send_start_notification: Optional(Nullable(Bool())),
    }),
    status: 200,
    reply: StageInstance,
    handle: async ({ body, authority }, { channels }) => {
      const draft = {
        topic: body.topic,
        privacyLevel: body.privacy_level ?? GUILD_ONLY,
        scheduledEventId: body.guild_scheduled_event_id ?? null,
        notify: body.send_start_notification ?? false,
      } as const;
      return await channels.call(body.channel_id, 'createStageInstance', draft, authority);
    },
  }),

  get_stage_instance: op({
    method: 'GET',
    path: '/stage-instances/:channel_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    status: 200,
    reply: StageInstance,
    handle: async ({ params, authority }, { channels }) =>
      await channels.call(params.channel_id, 'getStageInstance', {}, authority),
  }),

  update_stage_instance: op({
    method: 'PATCH',
    path: '/stage-instances/:channel_id',
    auth: 'any',
    permission: MODERATE,
    bucket: WRITE,
    body: Obj({ topic: Optional(Topic()), privacy_level: Optional(Privacy()) }),
    status: 200,
    reply: StageInstance,
    handle: async ({ params, body, authority }, { channels }) => {
      const change = {
        ...(body.topic === undefined ? {} : { topic: body.topic }),
        ...(body.privacy_level === undefined ? {} : { privacyLevel: body.privacy_level }),
      };
      return await channels.call(params.channel_id, 'updateStageInstance', change, authority);
    },
  }),

  delete_stage_instance: op({
    method: 'DELETE',
    path: '/stage-instances/:channel_id',
    auth: 'any',
    permission: MODERATE,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: async ({ params, authority }, { channels }) => {
      const reply = await channels.call(params.channel_id, 'deleteStageInstance', {}, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),
});

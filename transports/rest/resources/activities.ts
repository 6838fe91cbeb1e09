import type { ChannelId, MessageId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { ActivityMetadata, ActivitySecret, HeadlessSession } from '../../../protocol/schemas/extension.ts';
import { Any, Arr, Nullable, Obj, Optional, Snowflake, Str } from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ = { per: null, limit: 20, windowMs: 10_000, group: 'activities' } as const;
// The same rate as for presence updates over the gateway.
const HEADLESS = { per: null, limit: 5, windowMs: 20_000, group: 'headless sessions' } as const;

const ACTIVITY = '/users/:user_id/sessions/:session/activities/:application_id';

/**
 * Users' activities and requests to join them. The platform's public OpenAPI does not list these routes.
 *
 * @source https://docs.discord.food/resources/presence
 */
export const activities = resource({
  get_activity_metadata: op({
    method: 'GET',
    path: `${ACTIVITY}/metadata`,
    auth: 'user',
    scope: 'activities.read',
    bucket: READ,
    status: 200,
    reply: ActivityMetadata,
    handle: async ({ caller, params }, { social }) =>
      await social.activities.metadata(caller, {
        userId: params.user_id,
        sessionId: params.session,
        applicationId: params.application_id,
      }),
  }),

  get_activity_secret: op({
    method: 'GET',
    path: `${ACTIVITY}/:action`,
    auth: 'user',
    scope: 'activities.read',
    bucket: READ,
    query: Obj({ channel_id: Optional(Snowflake()), message_id: Optional(Snowflake<MessageId>()) }),
    status: 200,
    reply: ActivitySecret,
    handle: async ({ caller, params, query }, { social }) => {
      const { action } = params;
      if (action !== '1' && action !== '2') return { ok: false, refusal: refusal('INVALID_ACTIVITY_ACTION') };
      const { channel_id: channelId, message_id: messageId } = query;
      const invite =
        channelId === undefined || messageId === undefined
          ? null
          : { channelId: channelId as ChannelId, messageId: messageId };
      return await social.activities.accept(caller, {
        userId: params.user_id,
        sessionId: params.session,
        applicationId: params.application_id,
        action: action === '1' ? 1 : 2,
        invite,
      });
    },
  }),

  start_headless_session: op({
    method: 'POST',
    path: '/users/@me/headless-sessions',
    auth: 'user',
    scope: 'activities.write',
    bucket: HEADLESS,
    body: Obj({ activities: Arr(Any(), 1, 1), token: Optional(Nullable(Str(1, 64))) }),
    status: 200,
    reply: HeadlessSession,
    handle: async ({ caller, body }, { social }) =>
      await social.activities.startHeadless(caller, body.activities, body.token ?? null),
  }),

  end_headless_session: op({
    method: 'POST',
    path: '/users/@me/headless-sessions/delete',
    auth: 'user',
    scope: 'activities.write',
    bucket: HEADLESS,
    body: Obj({ token: Str(1, 64) }),
    status: 204,
    reply: none,
    handle: ({ caller, body }, { social }) => social.activities.endHeadless(caller, body.token),
  }),

  // Accepted without effect: friends' activities are sent to every user who may see them anyway.
  subscribe_activities: op({
    method: 'POST',
    path: '/users/@me/activities/subscribe',
    auth: 'user',
    scope: 'activities.read',
    bucket: READ,
    status: 204,
    reply: none,
    handle: () => ({ ok: true }),
  }),
});

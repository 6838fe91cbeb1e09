import type { Reply } from '../../../engine/kernel/aggregate.ts';
import { ACTIVITY_HEARTBEAT_MS } from '../../../protocol/activityinstances.ts';
import type { ChannelId, GuildId, UserId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { EmbeddedActivityInstance } from '../../../protocol/schemas/activity.ts';
import { ChannelActivities, JoinedActivity } from '../../../protocol/schemas/extension.ts';
import { Obj, Optional, Str } from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

// The platform publishes no limits for these routes. A client renews three times a minute in each of its windows.
const JOIN = { per: null, limit: 20, windowMs: 10_000, group: 'running activities' } as const;
const READ = { per: null, limit: 20, windowMs: 10_000, group: 'activity instances' } as const;

const CONNECTION_CHARS_MAX = 64;

const no = (name: Parameters<typeof refusal>[0]) => ({ ok: false, refusal: refusal(name) }) as const;

/** @source https://docs.discord.com/developers/resources/application#get-application-activity-instance */
export const activityInstances = resource({
  applications_get_activity_instance: op({
    method: 'GET',
    path: '/applications/:application_id/activity-instances/:instance_id',
    auth: 'bot',
    bucket: READ,
    status: 200,
    reply: EmbeddedActivityInstance,
    async handle({ params, caller }, { applicationAccess, runningActivities }) {
      const denied = applicationAccess.applicationRefusal(caller, params.application_id);
      if (denied) return { ok: false, refusal: denied };
      const found = await runningActivities.find(params.application_id, params.instance_id);
      return found ? { ok: true, value: found } : no('NOT_FOUND');
    },
  }),
});

interface Where {
  readonly ownerId: string;
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId;
  readonly userId: UserId;
}

async function whereOf(
  channelId: ChannelId,
  { userId }: { readonly userId: UserId },
  { channels }: Services,
): Promise<Reply<Where>> {
  const owner = await channels.owner(channelId);
  if (!owner) return no('UNKNOWN_CHANNEL');
  const guildId = 'guildId' in owner ? owner.guildId : null;
  return { ok: true, value: { ownerId: guildId ?? channelId, guildId, channelId, userId } };
}

const RUNNING = '/channels/:channel_id/activities' as const;

/** Requests of people's clients. The platform publishes no such routes; docs/activities.md lists them. */
export const runningActivities = resource({
  get_channel_activities: op({
    method: 'GET',
    path: RUNNING,
    auth: 'user',
    bucket: READ,
    status: 200,
    reply: ChannelActivities,
    async handle({ params, caller }, services) {
      const where = await whereOf(params.channel_id, caller, services);
      const found = where.ok ? await services.runningActivities.list(where.value) : where;
      return found.ok ? { ok: true, value: { activities: found.value } } : found;
    },
  }),

  join_activity: op({
    method: 'PUT',
    path: `${RUNNING}/:application_id`,
    auth: 'user',
    bucket: JOIN,
    body: Obj({ connection_id: Str(1, CONNECTION_CHARS_MAX) }),
    status: 200,
    reply: JoinedActivity,
    async handle({ params, caller, body }, services) {
      const where = await whereOf(params.channel_id, caller, services);
      if (!where.ok) return where;
      const { application_id: applicationId } = params;
      const request = { ...where.value, applicationId, connectionId: body.connection_id };
      const joined = await services.runningActivities.join(request);
      if (!joined.ok) return joined;
      const origin = services.activityOrigin(applicationId);
      return {
        ok: true,
        value: { ...joined.value, origin, heartbeat_interval: ACTIVITY_HEARTBEAT_MS },
      };
    },
  }),

  leave_activity: op({
    method: 'DELETE',
    path: `${RUNNING}/:application_id`,
    auth: 'user',
    bucket: JOIN,
    query: Obj({ connection_id: Optional(Str(1, CONNECTION_CHARS_MAX)) }),
    status: 204,
    reply: none,
    async handle({ params, caller, query }, services) {
      const where = await whereOf(params.channel_id, caller, services);
      if (!where.ok) return where;
      const { application_id: applicationId } = params;
      const connectionId = query.connection_id ?? null;
      await services.runningActivities.leave({ ...where.value, applicationId, connectionId });
      return { ok: true };
    },
  }),
});

import type { EventDraft } from '../../../engine/guild/scheduledevents.drafts.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import type { EventObject } from '../../../engine/scheduledevent/event.ts';
import type { ChannelId, GuildId, ScheduledEventId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { ScheduledEvent } from '../../../protocol/schemas/event.ts';
import {
  Arr,
  Bool,
  Choice,
  ImageData,
  Int,
  NameText,
  Nullable,
  Obj,
  Optional,
  Snowflake,
  type Static,
  Str,
  Timestamp,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { userBody } from '../accounts.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { saveImage } from '../image.ts';
import { type Answer, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ = { per: 'guild_id', limit: 20, windowMs: 10_000 } as const;
const WRITE = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;

const Numbers = (min: number, max: number, items: number) => Optional(Nullable(Arr(Int(min, max), items)));

/** The bounds of the published file; the rules allow a part of it. */
const Rule = Obj({
  start: Timestamp(),
  end: Optional(Nullable(Timestamp())),
  frequency: Choice(0, 1, 2, 3),
  interval: Optional(Nullable(Int(1, 1_000))),
  by_weekday: Numbers(0, 6, 7),
  by_n_weekday: Optional(Nullable(Arr(Obj({ n: Int(1, 5), day: Int(0, 6) }), 7))),
  by_month: Numbers(1, 12, 12),
  by_month_day: Numbers(-1, 31, 33),
  by_year_day: Numbers(-1, 365, 367),
  count: Optional(Nullable(Int(0, 2 ** 31 - 1))),
});

const Name = NameText(1, LIMITS.scheduled_event_name_chars_max);
const EntityType = () => Choice(1, 2, 3);
const Metadata = Obj({
  location: Optional(Nullable(Str(0, LIMITS.scheduled_event_location_chars_max))),
});

/** Fields that may be absent both in a new event and in a change of one. */
const FIELDS = {
  description: Optional(Nullable(Str(0, LIMITS.scheduled_event_description_chars_max))),
  image: Optional(Nullable(ImageData())),
  scheduled_end_time: Optional(Nullable(Timestamp())),
  channel_id: Optional(Nullable(Snowflake<ChannelId>())),
  entity_metadata: Optional(Nullable(Metadata)),
  recurrence_rule: Optional(Nullable(Rule)),
};

const CreateEvent = Obj({
  ...FIELDS,
  name: Name,
  scheduled_start_time: Timestamp(),
  privacy_level: Choice(2),
  entity_type: EntityType(),
});
const UpdateEvent = Obj({
  ...FIELDS,
  name: Optional(Name),
  scheduled_start_time: Optional(Timestamp()),
  privacy_level: Optional(Choice(2)),
  entity_type: Optional(Nullable(EntityType())),
  status: Optional(Nullable(Choice(1, 2, 3, 4))),
});

/** The fields of a body as the rules take them. The image is stored apart. */
function draftOf(body: Static<typeof UpdateEvent>, image: string | null | undefined): EventDraft {
  const { name, description, scheduled_start_time, scheduled_end_time, entity_type, channel_id } = body;
  const { entity_metadata, recurrence_rule } = body;
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(image === undefined ? {} : { image }),
    ...(scheduled_start_time === undefined ? {} : { startTime: scheduled_start_time }),
    ...(scheduled_end_time === undefined ? {} : { endTime: scheduled_end_time }),
    ...(entity_type == null ? {} : { entityType: entity_type }),
    ...(channel_id === undefined ? {} : { channelId: channel_id }),
    ...(entity_metadata === undefined ? {} : { location: entity_metadata?.location ?? null }),
    ...(recurrence_rule === undefined ? {} : { rule: recurrence_rule }),
  };
}

/**
 * Stores a cover image and answers with its hash. A caller who may not write the event is refused before.
 *
 * @param place Where a new event takes place; null for an event that exists.
 */
async function coverOf(
  { image, ...place }: Static<typeof UpdateEvent>,
  [guildId, eventId, isNew]: readonly [GuildId, ScheduledEventId, boolean],
  authority: Authority,
  { guilds, blobs }: Services,
): Promise<Reply<string | null | undefined>> {
  if (image == null) return { ok: true, value: image };
  const may = await guilds.call(
    guildId,
    'authorizeEventWrite',
    {
      eventId: isNew ? null : eventId,
      entityType: place.entity_type ?? 3,
      channelId: place.channel_id ?? null,
    },
    authority,
  );
  return may.ok ? saveImage(blobs, 'guild-events', eventId, image, 'image') : may;
}

/** An event as the wire shows it. */
export const eventBody = ({ creator, ...event }: EventObject): object => ({
  ...event,
  ...(creator && { creator: userBody(creator) }),
});

const answerOf = (reply: Reply<EventObject>): Answer =>
  reply.ok ? { ok: true, value: eventBody(reply.value) } : reply;

const WithCount = Obj({ with_user_count: Optional(Bool()) });

/** Operations on scheduled events. The guild checks the permissions, which depend on where an event takes place. */
export const scheduledEvents = resource({
  list_guild_scheduled_events: op({
    method: 'GET',
    path: '/guilds/:guild_id/scheduled-events',
    auth: 'any',
    bucket: READ,
    query: WithCount,
    status: 200,
    reply: list(ScheduledEvent),
    handle: async ({ params, query, authority }, { guilds }) => {
      const shows = { withUserCount: query.with_user_count ?? false };
      const reply = await guilds.call(params.guild_id, 'listScheduledEvents', shows, authority);
      return reply.ok ? { ok: true, value: reply.value.map(eventBody) } : reply;
    },
  }),

  get_guild_scheduled_event: op({
    method: 'GET',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id',
    auth: 'any',
    bucket: READ,
    query: WithCount,
    status: 200,
    reply: ScheduledEvent,
    handle: async ({ params, query, authority }, { guilds }) => {
      const eventId = params.guild_scheduled_event_id;
      const input = { eventId, withUserCount: query.with_user_count ?? false };
      return answerOf(await guilds.call(params.guild_id, 'getScheduledEvent', input, authority));
    },
  }),

  create_guild_scheduled_event: op({
    method: 'POST',
    path: '/guilds/:guild_id/scheduled-events',
    auth: 'any',
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.image,
    body: CreateEvent,
    status: 200,
    reply: ScheduledEvent,
    handle: async ({ params, body, authority }, services) => {
      const guildId = params.guild_id;
      // The image's URL contains the event's id, so the id is generated before the event is created.
      const id = services.nextId();
      const image = await coverOf(body, [guildId, id, true], authority, services);
      if (!image.ok) return image;
      const input = {
        ...draftOf(body, image.value),
        id,
        name: body.name,
        startTime: body.scheduled_start_time,
        entityType: body.entity_type,
      };
      return answerOf(await services.guilds.call(guildId, 'createScheduledEvent', input, authority));
    },
  }),

  update_guild_scheduled_event: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id',
    auth: 'any',
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.image,
    body: UpdateEvent,
    status: 200,
    reply: ScheduledEvent,
    handle: async ({ params, body, authority }, services) => {
      const [guildId, eventId] = [params.guild_id, params.guild_scheduled_event_id];
      const image = await coverOf(body, [guildId, eventId, false], authority, services);
      if (!image.ok) return image;
      const { status } = body;
      const input = { eventId, ...draftOf(body, image.value), ...(status == null ? {} : { status }) };
      return answerOf(await services.guilds.call(guildId, 'updateScheduledEvent', input, authority));
    },
  }),

  delete_guild_scheduled_event: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id',
    auth: 'any',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { guilds }) =>
      guilds.call(
        params.guild_id,
        'deleteScheduledEvent',
        { eventId: params.guild_scheduled_event_id },
        authority,
      ),
  }),
});

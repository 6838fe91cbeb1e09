/** Objects that only this server has, or that the platform publishes no schema of. */

import { CHANNEL, GAME_CHANNEL } from '../channeltypes.ts';
import type { ApplicationId, ChannelId, GuildId, UserId } from '../ids.ts';
import { repliesOf } from './fields.ts';
import { guildInviteFields } from './invite.ts';
import { lobbyFields } from './lobby.ts';
import { LOBBY_SETTINGS } from './lobbyfields.ts';
import { messageFields } from './message.ts';
import {
  choice,
  dict,
  flag,
  id,
  integer,
  json,
  link,
  list,
  nothing,
  nullable,
  object,
  optional,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';

export const AcceptedInvite = object({ ...guildInviteFields, new_member: flag }, 'AcceptedInvite');

const readyCheck = object(
  {
    lobby_id: id<ChannelId>(),
    id: id(),
    started_by: id<UserId>(),
    ends_at: time,
    status: choice('open', 'passed', 'declined', 'timed_out', 'cancelled'),
    answers: list(object({ user_id: id<UserId>(), ready: nullable(flag) })),
  },
  'ReadyCheck',
);
export interface ReadyCheck extends ValueOf<typeof readyCheck> {}
export const ReadyCheck: Schema<ReadyCheck> = readyCheck;

/** A lobby with its settings beyond the platform. */
const openLobby = object(
  {
    ...lobbyFields,
    ...repliesOf(LOBBY_SETTINGS),
    /** The bound in effect. */
    max_members: integer,
    has_password: flag,
    host_id: nullable(id<UserId>()),
    ready_check: nullable(ReadyCheck),
  },
  'OpenLobby',
);
export interface OpenLobby extends ValueOf<typeof openLobby> {}
export const OpenLobby: Schema<OpenLobby> = openLobby;

const lobbyListing = object(
  {
    id: id<ChannelId>(),
    application_id: id<ApplicationId>(),
    members: integer,
    capacity: integer,
    locked: flag,
    has_password: flag,
    invite_only: flag,
    game: nullable(text),
    metadata: dict(text),
  },
  'LobbyListing',
);
export const LobbySearch = object({ lobbies: list(lobbyListing) });

export const MatchmakingTicket = object(
  {
    id: id(),
    queue: text,
    user_ids: list(id<UserId>()),
    properties: json,
    status: choice('waiting', 'matched', 'timed_out', 'cancelled', 'failed'),
    created_at: time,
    expires_at: time,
    lobby_id: nullable(id<ChannelId>()),
  },
  'MatchmakingTicket',
);

/** @source https://docs.discord.food/resources/discovery#guild-profile-object, what this server has of it */
export const GuildProfile = object(
  {
    id: id<GuildId>(),
    name: text,
    icon_hash: nullable(text),
    description: nullable(text),
    features: list(text),
    member_count: integer,
    online_count: integer,
    tag: nullable(text),
    badge_hash: nullable(text),
  },
  'GuildProfile',
);
export const MfaLevel = object({ level: choice(0, 1) });
export const Nickname = object({ nick: nullable(text) });

/** @source https://docs.discord.food/resources/guild#update-guild-onboarding-responses */
export const OnboardingAnswers = object(
  {
    guild_id: id<GuildId>(),
    user_id: id<UserId>(),
    onboarding_responses: list(id()),
    onboarding_prompts_seen: dict(integer),
    onboarding_responses_seen: dict(integer),
  },
  'OnboardingAnswers',
);

/** @source https://docs.discord.food/resources/guild#member-verification-object */
export const MemberVerification = object(
  {
    version: time,
    description: nullable(text),
    form_fields: list(
      object({
        field_type: choice('TERMS', 'TEXT_INPUT', 'PARAGRAPH', 'MULTIPLE_CHOICE'),
        label: text,
        required: flag,
        values: optional(list(text)),
        description: optional(nullable(text)),
        placeholder: optional(nullable(text)),
        choices: optional(list(text)),
      }),
    ),
  },
  'MemberVerification',
);

const skuFields = {
  id: id(),
  application_id: id<ApplicationId>(),
  type: choice(2, 3, 5, 6),
  name: text,
  slug: text,
  flags: integer,
  access_type: integer,
  dependent_sku_id: nullable(id()),
  features: list(integer),
  manifest_labels: nullable(list(text)),
  premium: flag,
  release_date: nullable(time),
  show_age_gate: flag,
};
export const Sku = object(skuFields, 'Sku');

/** As the owner of the application sees it. */
export const PricedSku = object(
  { ...skuFields, price: nullable(object({ amount: integer, currency: text })) },
  'PricedSku',
);

/** @source https://docs.discord.food/topics/gateway-events#embedded-activity-update-v2 */
const embeddedActivity = object(
  {
    application_id: id<ApplicationId>(),
    composite_instance_id: text,
    launch_id: id(),
    location: object({
      id: text,
      kind: choice('gc', 'pc'),
      channel_id: id<ChannelId>(),
      guild_id: optional(id<GuildId>()),
    }),
    participants: list(object({ user_id: id<UserId>() })),
  },
  'EmbeddedActivity',
);
export const ChannelActivities = object({ activities: list(embeddedActivity) });
export const JoinedActivity = object({
  activity: embeddedActivity,
  heartbeat_interval: integer,
  origin: nullable(link),
  permissions: text,
});
export const ActivityMetadata = object({ button_urls: optional(list(text)) });
export const ActivitySecret = object({ secret: text });

/** The activities are as the client sent them. */
export const HeadlessSession = object({ token: text, activities: list(json) });

/** A message between two people, for one of them. @source https://docs.discord.food/resources/message#create-dm-message */
const directMessage = object(
  {
    ...messageFields,
    recipient_id: id<UserId>(),
    channel: object({
      id: id<ChannelId>(),
      type: choice(CHANNEL.DM, GAME_CHANNEL.EPHEMERAL_DM),
      recipients: list(User),
    }),
    metadata: optional(dict(text)),
    activity: optional(object({ type: choice(1, 5), party_id: optional(text), session_id: optional(text) })),
    application: optional(
      object({
        id: id<ApplicationId>(),
        name: text,
        icon: nullable(text),
        description: text,
        type: nothing,
        cover_image: optional(text),
      }),
    ),
  },
  'DirectMessage',
);
export interface DirectMessage extends ValueOf<typeof directMessage> {}
export const DirectMessage: Schema<DirectMessage> = directMessage;

/** A user's answer to an invitation to a scheduled event. */
export const EventSubscription = object({
  guild_scheduled_event_id: id(),
  user_id: id<UserId>(),
  response: integer,
  guild_scheduled_event_exception_id: optional(id()),
});

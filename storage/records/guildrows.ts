import type { TSchema } from 'typebox';
import { CREATABLE } from '../../protocol/channeltypes.ts';
import { AuditLogEntry } from '../../protocol/schemas/audit.ts';
import { AutoModerationRule } from '../../protocol/schemas/automod.ts';
import { GuildChannel, Thread } from '../../protocol/schemas/channel.ts';
import { StageInstance, scheduledEventFields } from '../../protocol/schemas/event.ts';
import { Emoji, GuildSticker, SoundboardSound } from '../../protocol/schemas/expression.ts';
import { Guild, IncidentsData, Role } from '../../protocol/schemas/guild.ts';
import { GuildWelcomeScreen, NewMemberWelcome, Onboarding } from '../../protocol/schemas/guildpages.ts';
import { InteractionMember } from '../../protocol/schemas/member.ts';
import { Message } from '../../protocol/schemas/message.ts';
import { ReactionEmoji } from '../../protocol/schemas/poll.ts';
import {
  anything,
  choice,
  dict,
  flag,
  id,
  integer,
  json,
  list,
  nothing,
  nullable,
  object,
  optional,
  text,
  time,
} from '../../protocol/schemas/schema.ts';
import { Template } from '../../protocol/schemas/template.ts';
import { User } from '../../protocol/schemas/user.ts';
import { GuildIncomingWebhook } from '../../protocol/schemas/webhook.ts';
import type { RowSchema } from './rowcheck.ts';

type Fields = Readonly<Record<string, RowSchema>>;

/** Typebox schemas are JSON Schema. */
const plain = (schema: TSchema): RowSchema => schema;
const fieldsOf = (schema: TSchema): Fields => plain(schema).properties ?? {};
const without = (fields: Fields, ...names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
const orNull = (schema: RowSchema): RowSchema => ({ anyOf: [schema, plain(nothing)] });
const listOf = (items: RowSchema): RowSchema => ({ type: 'array', items });

/** The object of a reply as a row has it: without the fields that other tables have, and with others of its own. */
function stored(schema: TSchema, absent: string, own: Fields = {}): RowSchema {
  const { properties = {}, required = [], ...rest } = plain(schema);
  const names = absent.split(' ');
  return {
    ...rest,
    properties: { ...without(properties, ...names), ...own },
    required: required.filter((name) => !names.includes(name)),
  };
}

/** An object with these fields, of which the named ones are required. */
const objectWith = (title: string, required: string, properties: Fields): RowSchema => ({
  ...{ type: 'object', title, required: required.split(' '), properties },
});

/**
 * A user as others see it; one who was deleted has few fields. None is the system, which writes only in private channels.
 */
const user = objectWith('User', 'id username', { ...fieldsOf(User), system: plain(choice(false)) });
/** Components are checked whenever they are read. */
const components = plain(list(json));
/** Metadata of games, interactions and applications, which the server passes on. */
const passedOn = plain(json);

const OF_SNAPSHOT =
  'type content timestamp edited_timestamp flags mentions mention_roles attachments embeds components';
const inMessages: Fields = { author: user, mentions: listOf(user), components };
const snapshotFields = { ...fieldsOf(Message), ...inMessages };
const snapshot = objectWith('MessageSnapshot', 'message', {
  message: objectWith('SnapshotContent', OF_SNAPSHOT, snapshotFields),
});
const message = stored(Message, 'pinned reactions thread referenced_message', {
  ...inMessages,
  ...{ interaction: passedOn, interaction_metadata: passedOn },
  ...{ metadata: passedOn, moderation_metadata: passedOn },
  message_snapshots: listOf(snapshot),
  files: listOf(objectWith('StoredFile', 'id filename', { id: plain(id()), filename: plain(text) })),
});

const guild = stored(Guild, 'roles emojis stickers incidents_data');
const channel = stored(GuildChannel, '', { type: plain(choice(...CREATABLE)) });
const thread = stored(
  Thread,
  'last_message_id last_pin_timestamp member_count message_count total_message_sent member',
);
const member = stored(InteractionMember, 'roles');
const webhook = stored(GuildIncomingWebhook, 'token url', { user });
const emoji = stored(Emoji, '', { user });
const sticker = stored(GuildSticker, '', { user });
const sound = stored(SoundboardSound, '', { user });

const event = stored(object(scheduledEventFields, 'ScheduledEvent'), '', {
  creator: orNull(user),
  entity_type: plain(choice(1, 2, 3)),
  entity_metadata: plain(nullable(object({ location: optional(text) }))),
  due_ms: plain(nullable(integer)),
  idle: plain(choice(true)),
});

const invite = stored(
  object(
    {
      ...{ code: text, channel_id: id(), guild_id: id(), created_at: time, expires_at: nullable(time) },
      ...{ max_age: integer, max_uses: integer, uses: integer, temporary: flag },
      ...{ role_ids: optional(list(id())), target_user_ids: optional(list(id())) },
      ...{ target_users_at: optional(time), target_type: optional(choice(1, 2)) },
    },
    'Invite',
  ),
  '',
  { inviter: orNull(user), target_user: user, target_application: passedOn },
);

const formField = object({
  field_type: choice('TERMS', 'TEXT_INPUT', 'PARAGRAPH', 'MULTIPLE_CHOICE'),
  ...{
    label: text,
    required: flag,
    description: optional(nullable(text)),
    placeholder: optional(nullable(text)),
  },
  ...{ values: optional(list(text)), choices: optional(list(text)), response: optional(anything) },
});
const joinRequest = stored(
  object({
    ...{ created_at: time, reviewed_at: nullable(time), rejection_reason: nullable(text) },
    form_responses: nullable(list(formField)),
  }),
  '',
  { actioned_by_user: orNull(user) },
);
const answers = object({ chosen: list(id()), promptsSeen: dict(integer), optionsSeen: dict(integer) });

const template = stored(Template, 'source_guild_id is_dirty', { creator: orNull(user) });

const PAGES: Fields = {
  welcome_screen: plain(GuildWelcomeScreen),
  widget: plain(object({ invite_code: text })),
  incidents: plain(IncidentsData),
  onboarding: stored(Onboarding, 'guild_id'),
  template,
  member_verification: plain(
    object({ version: text, form_fields: list(formField), description: nullable(text) }),
  ),
  new_member_welcome: stored(NewMemberWelcome, 'guild_id'),
  tag: plain(object({ tag: text, badge: nullable(text) })),
};
const EXPRESSIONS: Fields = { emoji, sticker, sound };

/** Schemas of the column `data`, and of `emoji` of reactions, by table. */
const DATA: Fields = {
  ...{
    guilds: guild,
    roles: plain(Role),
    channels: channel,
    threads: thread,
    members: member,
    messages: message,
  },
  ...{ webhooks: webhook, scheduled_events: event, invites: invite, join_requests: joinRequest },
  onboarding_answers: plain(answers),
  audit_log: plain(AuditLogEntry),
  stage_instances: plain(StageInstance),
  auto_moderation_rules: plain(AutoModerationRule),
  reaction_counts: plain(ReactionEmoji),
};

/** What an import takes over of a person. */
export const PERSON: RowSchema = user;

const chosen = (schemas: Fields, key: unknown): RowSchema | null =>
  typeof key === 'string' && Object.hasOwn(schemas, key) ? (schemas[key] ?? null) : null;

/**
 * The schema of the JSON in a row of an exported guild: that of a reply, with the fields that only rows have, so that the server can
 * load and show a row that fits. Null for a row without a known kind.
 */
export function dataSchema(
  table: string,
  { page, kind }: Readonly<Record<string, unknown>>,
): RowSchema | null {
  if (table === 'guild_pages') return chosen(PAGES, page);
  if (table === 'guild_expressions') return chosen(EXPRESSIONS, kind);
  return chosen(DATA, table);
}

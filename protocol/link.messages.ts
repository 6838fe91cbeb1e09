import type { Locale } from './appcommands.ts';
import type { ApplicationId, CommandId } from './ids.ts';
import type { CallbackType, InteractionType } from './interactions.ts';
import {
  applicationId,
  attachment,
  channelId,
  clientInput,
  guildId,
  ids,
  messageId,
  metadata,
  user,
  userId,
} from './link.values.ts';
import {
  code,
  fields,
  flag,
  given,
  id,
  integer,
  is,
  list,
  nullable,
  number,
  optional,
  record,
  some,
  text,
  union,
  word,
} from './linkschema.ts';

/** Values of messages, interactions and commands of applications between shards; see `link.ts`. */

const embed = fields({
  ...{ title: given(text), description: given(text), url: given(text), timestamp: given(text) },
  color: given(integer),
  footer: given(fields({ text: given(text), icon_url: given(text) })),
  image: given(fields({ url: given(text), description: given(text) })),
  thumbnail: given(fields({ url: given(text), description: given(text) })),
  author: given(fields({ name: given(text), url: given(text), icon_url: given(text) })),
  fields: given(list(fields({ name: text, value: text, inline: given(flag) }))),
});
const emoji = fields({ id: given(text), name: given(text) });
const poll = fields({
  question: fields({ text: given(text) }),
  answers: list(fields({ poll_media: fields({ text: given(text), emoji: given(emoji) }) })),
  ...{ duration: given(number), allow_multiselect: given(flag), layout_type: given(integer) },
});
const mentioned = given(list(nullable(text)));
const content = {
  ...{ content: given(text), embeds: given(list(embed)), components: given(list(clientInput)) },
  ...{ flags: given(integer), poll: given(poll), sticker_ids: given(list(text)) },
  allowed_mentions: given(
    fields({ parse: mentioned, users: mentioned, roles: mentioned, replied_user: given(flag) }),
  ),
};
/** A message as a client asks for it. */
const draft = fields({
  ...content,
  ...{ nonce: given(union(text, number)), enforce_nonce: given(flag), tts: given(flag) },
  message_reference: given(
    fields({
      ...{ type: given(integer), message_id: text, channel_id: given(text), guild_id: given(text) },
      fail_if_not_exists: given(flag),
    }),
  ),
});
const attachments = list(attachment);
const keep = nullable(list(fields({ id: text, description: given(text), is_spoiler: given(flag) })));
/** A message of one user to another. */
export const directDraft = fields({
  ...{
    content: given(text),
    metadata: given(metadata),
    flags: given(integer),
    nonce: given(union(text, number)),
  },
  activity: given(fields({ type: union(is(1), is(5)), sessionId: nullable(text), partyId: nullable(text) })),
});

const place = { ownerId: text, guildId: nullable(guildId), channelId };
export const interactionPlace = fields(place);
/** The place and the caller of an interaction. */
export const interactionCaller = fields({ ...place, applicationId, userId });
const interactionType = code<InteractionType>('interaction type', 2);
export const invocation = fields({
  ...place,
  ...{ type: interactionType, applicationId, userId, sessionId: text, nonce: nullable(text) },
  ...{ locales: some(word<Locale>('locale', 'en-US')), messageId: nullable(messageId), isEphemeral: flag },
  ...{ data: record(clientInput), uploads: record(attachment) },
});
export const callback = fields({
  ...{ type: code<CallbackType>('callback type', 4), draft, attachments, keep, data: clientInput },
});
/** A message as it is stored. */
export const storedMessage = fields({ id: messageId, channel_id: channelId, content: text });
export const written = fields({ ownerId: text, guildId: nullable(guildId), message: storedMessage });
export const callbackResult = fields({
  ...{ type: interactionType, activityInstanceId: nullable(text), written: nullable(written) },
  ...{ isLoading: flag, isEphemeral: flag },
});
export const tokenMessage = fields({
  ...{ draft, attachments, username: optional(text), avatar: optional(text), withComponents: flag },
  threadId: optional(channelId),
  post: optional(fields({ id: channelId, name: text, applied_tags: list(text) })),
});
export const tokenMessageId = union(messageId, is('@original'));
export const messageEdit = fields({
  ...{ edit: fields(content), skuIds: optional(list(text)), keep, attachments, isExplicit: optional(flag) },
});

export const appCommand = fields({
  ...{ id: ids.command, application_id: applicationId, guild_id: nullable(guildId), version: text },
  ...{ type: integer, name: text },
});
export const writtenCommand = fields({ command: appCommand, created: flag });
/** A command, and the member who changes who may use it. */
export const permissionTarget = fields({
  id: id<CommandId | ApplicationId>('command'),
  user: fields({ userId, roles: list(text), permissions: text }),
});
export const commandPermissions = fields({
  ...{ id: text, application_id: applicationId, guild_id: guildId },
  permissions: list(fields({ id: text, type: integer, permission: flag })),
});
export const emojiDraft = fields({ id: ids.emoji, name: text, animated: flag, user });
export const storedEmoji = fields({ id: ids.emoji, name: text, user });

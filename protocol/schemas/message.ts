import type { ApplicationId, ChannelId, GuildId, MessageId, RoleId, UserId, WebhookId } from '../ids.ts';
import { Thread } from './channel.ts';
import { Component } from './component.ts';
import { InteractionMember, ThreadMember } from './member.ts';
import { Poll, ReactionEmoji } from './poll.ts';
import {
  choice,
  decimal,
  dict,
  flag,
  id,
  integer,
  link,
  list,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';
import { User, WebhookAuthor } from './user.ts';

const attachment = object(
  {
    id: id(),
    filename: text,
    size: integer,
    url: link,
    proxy_url: link,
    width: optional(integer),
    height: optional(integer),
    duration_secs: optional(decimal),
    waveform: optional(text),
    description: optional(text),
    content_type: optional(text),
    flags: optional(integer),
    title: optional(nullable(text)),
  },
  'Attachment',
);

const activitiesAttachment = object(
  {
    attachment: attachment,
  },
  'ActivitiesAttachment',
);
export interface ActivitiesAttachment extends ValueOf<typeof activitiesAttachment> {}
export const ActivitiesAttachment: Schema<ActivitiesAttachment> = activitiesAttachment;

const applicationCommandInteractionMetadata = object(
  {
    id: id(),
    type: choice(2),
    user: User,
    authorizing_integration_owners: dict(id()),
    original_response_message_id: optional(id<MessageId>()),
    target_user: optional(User),
    target_message_id: optional(id<MessageId>()),
  },
  'ApplicationCommandInteractionMetadata',
);

const embedAuthor = object(
  {
    name: text,
    url: optional(text),
    icon_url: optional(text),
  },
  'EmbedAuthor',
);

const embedField = object(
  {
    name: text,
    value: text,
    inline: flag,
  },
  'EmbedField',
);

const embedFooter = object(
  {
    text: text,
    icon_url: optional(text),
  },
  'EmbedFooter',
);

const embedImage = object(
  {
    url: text,
    proxy_url: optional(link),
    width: optional(integer),
    height: optional(integer),
    content_type: optional(text),
  },
  'EmbedImage',
);

const embed = object(
  {
    type: text,
    url: optional(link),
    title: optional(text),
    description: optional(text),
    color: optional(integer),
    timestamp: optional(time),
    fields: optional(list(embedField)),
    author: optional(embedAuthor),
    image: optional(embedImage),
    thumbnail: optional(embedImage),
    footer: optional(embedFooter),
  },
  'Embed',
);

const messageComponentInteractionMetadata = object(
  {
    id: id(),
    type: choice(3),
    user: optional(User),
    authorizing_integration_owners: dict(id()),
    original_response_message_id: optional(id<MessageId>()),
    interacted_message_id: id<MessageId>(),
  },
  'MessageComponentInteractionMetadata',
);

const triggeringInteractionMetadata = oneOf(
  applicationCommandInteractionMetadata,
  messageComponentInteractionMetadata,
);

const modalSubmitInteractionMetadata = object(
  {
    id: id(),
    type: choice(5),
    user: optional(User),
    authorizing_integration_owners: dict(id()),
    original_response_message_id: optional(id<MessageId>()),
    triggering_interaction_metadata: triggeringInteractionMetadata,
  },
  'ModalSubmitInteractionMetadata',
);

const interactionMetadata = oneOf(
  applicationCommandInteractionMetadata,
  messageComponentInteractionMetadata,
  modalSubmitInteractionMetadata,
);

const messageCall = object(
  {
    ended_timestamp: optional(nullable(time)),
    participants: list(id<UserId>()),
  },
  'MessageCall',
);

const messageInteraction = object(
  {
    id: id(),
    type: choice(1, 2, 3, 4, 5, 6),
    name: text,
    user: User,
    member: optional(InteractionMember),
  },
  'MessageInteraction',
);

const messageLobbyMember = object(
  {
    additional_name: text,
  },
  'MessageLobbyMember',
);
export interface MessageLobbyMember extends ValueOf<typeof messageLobbyMember> {}
export const MessageLobbyMember: Schema<MessageLobbyMember> = messageLobbyMember;

const messageReactionCountDetails = object(
  {
    burst: integer,
    normal: integer,
  },
  'MessageReactionCountDetails',
);

const messageReaction = object(
  {
    emoji: ReactionEmoji,
    count: integer,
    count_details: messageReactionCountDetails,
    burst_colors: list(text),
    me_burst: flag,
    me: flag,
  },
  'MessageReaction',
);

const messageReference = object(
  {
    type: integer,
    channel_id: id<ChannelId>(),
    message_id: optional(id<MessageId>()),
    guild_id: optional(id<GuildId>()),
  },
  'MessageReference',
);

const messageStickerItem = object(
  {
    id: id(),
    name: text,
    format_type: choice(1, 2, 3, 4),
  },
  'MessageStickerItem',
);

const snapshotContent = object(
  {
    type: integer,
    content: text,
    mentions: list(User),
    mention_roles: list(id<RoleId>()),
    attachments: list(attachment),
    embeds: list(embed),
    timestamp: time,
    edited_timestamp: nullable(time),
    flags: integer,
    components: list(Component),
    sticker_items: optional(list(messageStickerItem)),
  },
  'SnapshotContent',
);

const messageSnapshot = object(
  {
    message: snapshotContent,
  },
  'MessageSnapshot',
);

const referencedMessageFields = {
  type: integer,
  content: text,
  mentions: list(User),
  mention_roles: list(id<RoleId>()),
  attachments: list(attachment),
  embeds: list(embed),
  timestamp: time,
  edited_timestamp: nullable(time),
  flags: integer,
  components: list(Component),
  sticker_items: optional(list(messageStickerItem)),
  id: id<MessageId>(),
  channel_id: id<ChannelId>(),
  author: oneOf(User, WebhookAuthor),
  pinned: flag,
  mention_everyone: flag,
  tts: flag,
  call: optional(messageCall),
  application_id: optional(id<ApplicationId>()),
  interaction: optional(messageInteraction),
  nonce: optional(oneOf(integer, text)),
  webhook_id: optional(id<WebhookId>()),
  message_reference: optional(messageReference),
  thread: optional(Thread),
  position: optional(integer),
  poll: optional(Poll),
  interaction_metadata: optional(interactionMetadata),
  message_snapshots: optional(list(messageSnapshot)),
  lobby_member: optional(MessageLobbyMember),
};
const referencedMessage = object(referencedMessageFields, 'ReferencedMessage');

export const messageFields = {
  ...referencedMessageFields,
  reactions: optional(list(messageReaction)),
  referenced_message: optional(nullable(referencedMessage)),
};
const message = object(messageFields, 'Message');
export interface Message extends ValueOf<typeof message> {}
export const Message: Schema<Message> = message;

const searchMessage = object(
  {
    ...messageFields,
    id: id(),
    hit: flag,
  },
  'SearchMessage',
);

const messageSearch = object(
  {
    messages: list(list(searchMessage)),
    doing_deep_historical_index: flag,
    total_results: integer,
    threads: nullable(list(Thread)),
    members: nullable(list(ThreadMember)),
  },
  'MessageSearch',
);
export interface MessageSearch extends ValueOf<typeof messageSearch> {}
export const MessageSearch: Schema<MessageSearch> = messageSearch;

const pinnedMessage = object(
  {
    pinned_at: time,
    message: Message,
  },
  'PinnedMessage',
);

const pinnedMessages = object(
  {
    items: list(pinnedMessage),
    has_more: flag,
  },
  'PinnedMessages',
);
export interface PinnedMessages extends ValueOf<typeof pinnedMessages> {}
export const PinnedMessages: Schema<PinnedMessages> = pinnedMessages;

const searchIndexNotReady = object(
  {
    message: text,
    code: integer,
    documents_indexed: integer,
    retry_after: integer,
  },
  'SearchIndexNotReady',
);
export interface SearchIndexNotReady extends ValueOf<typeof searchIndexNotReady> {}
export const SearchIndexNotReady: Schema<SearchIndexNotReady> = searchIndexNotReady;

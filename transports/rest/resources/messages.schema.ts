import type { ChannelId, GuildId, MessageId, RoleId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import {
  Any,
  Arr,
  Bool,
  Choice,
  Flags,
  Int,
  Nullable,
  Num,
  Obj,
  OneOf,
  Optional,
  Snowflake,
  Str,
  Timestamp,
} from '../../../protocol/schemas/request.ts';

const INT32_MAX = 2 ** 31 - 1;

/**
 * Text that the rules trim before they check its length. The schema only bounds its size; the rules apply the bound of
 * each field.
 */
const Text = () => Str(0, 16_384);
const Maybe = <T extends Parameters<typeof Nullable>[0]>(schema: T) => Optional(Nullable(schema));

const Picture = Obj({ url: Maybe(Text()), description: Maybe(Text()) });

const Embed = Obj({
  title: Maybe(Text()),
  description: Maybe(Text()),
  url: Maybe(Text()),
  timestamp: Maybe(Timestamp()),
  color: Maybe(Int(0, 0xffffff)),
  footer: Maybe(Obj({ text: Maybe(Text()), icon_url: Maybe(Text()) })),
  image: Maybe(Picture),
  thumbnail: Maybe(Picture),
  author: Maybe(Obj({ name: Maybe(Text()), url: Maybe(Text()), icon_url: Maybe(Text()) })),
  fields: Maybe(Arr(Obj({ name: Text(), value: Text(), inline: Maybe(Bool()) }), LIMITS.embed_fields_max)),
});

const AllowedMentions = Obj({
  parse: Maybe(Arr(Nullable(Choice('users', 'roles', 'everyone')), 16)),
  users: Maybe(Arr(Nullable(Snowflake<UserId>()), LIMITS.allowed_mention_ids_max)),
  roles: Maybe(Arr(Nullable(Snowflake<RoleId>()), LIMITS.allowed_mention_ids_max)),
  replied_user: Maybe(Bool()),
});

const Attachment = Obj({
  id: Snowflake(),
  filename: Maybe(Str(1, LIMITS.attachment_filename_chars_max)),
  description: Maybe(Str(0, LIMITS.attachment_description_chars_max)),
  duration_secs: Maybe(Num(0, INT32_MAX)),
  waveform: Maybe(Str(0, 400)),
  title: Maybe(Str(0, 1_024)),
  is_spoiler: Maybe(Bool()),
});

const PollMedia = Obj({
  text: Maybe(Text()),
  emoji: Maybe(Obj({ id: Maybe(Snowflake()), name: Maybe(Str(0, 64)) })),
});

const Poll = Obj({
  question: PollMedia,
  answers: Arr(Obj({ poll_media: PollMedia }), LIMITS.poll_answers_max, 1),
  duration: Maybe(Int(1, LIMITS.poll_duration_hours_max)),
  allow_multiselect: Maybe(Bool()),
  layout_type: Maybe(Choice(1)),
});

const Reference = Obj({
  type: Maybe(Choice(0, 1)),
  message_id: Snowflake<MessageId>(),
  channel_id: Maybe(Snowflake<ChannelId>()),
  guild_id: Maybe(Snowflake<GuildId>()),
  fail_if_not_exists: Maybe(Bool()),
});

const content = {
  content: Maybe(Text()),
  embeds: Maybe(Arr(Embed, LIMITS.embeds_per_message_max)),
  components: Maybe(Arr(Any(), LIMITS.components_per_message_max)),
  flags: Maybe(Flags()),
  allowed_mentions: Maybe(AllowedMentions),
  attachments: Maybe(Arr(Attachment, LIMITS.attachments_per_message_max)),
};

const StickerIds = Maybe(Arr(Snowflake(), LIMITS.stickers_per_message_max));

/** Fields of a new message, for all authors. */
export const WrittenMessage = { ...content, poll: Maybe(Poll), tts: Maybe(Bool()) };

export const CreateMessage = Obj({
  ...WrittenMessage,
  sticker_ids: StickerIds,
  message_reference: Maybe(Reference),
  nonce: Maybe(OneOf(Int(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER), Str(0, LIMITS.nonce_chars_max))),
  enforce_nonce: Maybe(Bool()),
});

export const EditContent = Obj(content);

export const EditMessage = Obj({ ...content, sticker_ids: StickerIds });

/** An edit of a webhook's message, or of an answer to an interaction, which may still have to get its poll. */
export const EditWritten = Obj({ ...content, poll: Maybe(Poll) });

export const BulkDelete = Obj({ messages: Arr(Snowflake<MessageId>(), LIMITS.bulk_delete_max) });

export const MessagesPage = Obj({
  around: Optional(Snowflake<MessageId>()),
  before: Optional(Snowflake<MessageId>()),
  after: Optional(Snowflake<MessageId>()),
  limit: Optional(Int(1, LIMITS.messages_page_max)),
});

export const PinsPage = Obj({
  before: Optional(Timestamp()),
  limit: Optional(Int(1, LIMITS.pins_page_max)),
});

export const ReactionsPage = Obj({
  after: Optional(Snowflake<UserId>()),
  limit: Optional(Int(1, LIMITS.reactions_page_max)),
  type: Optional(Choice(0, 1)),
});

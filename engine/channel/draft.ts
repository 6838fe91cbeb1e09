import type { APIAttachment } from 'discord-api-types/v10';
import type { StickerFormat } from '../../protocol/expressions.ts';
import type { GuildId } from '../../protocol/ids.ts';
import type { StoredFile, StoredMessage } from '../guild/guild.ts';
import type { EmbedDraft } from './embeds.ts';
import type { CustomEmoji } from './emoji.ts';
import type { PollDraft } from './polls.ts';

/** `allowed_mentions` of a request. When absent, everything that the text mentions is notified. */
export interface AllowedMentions {
  readonly parse?: readonly (string | null)[] | null;
  readonly users?: readonly (string | null)[] | null;
  readonly roles?: readonly (string | null)[] | null;
  readonly replied_user?: boolean | null;
}

/** Keys that a new message and an edit share, named as on the wire. In a new message null and absent mean the same. */
export interface ContentDraft {
  readonly content?: string | null;
  readonly embeds?: readonly EmbedDraft[] | null;
  readonly components?: readonly unknown[] | null;
  readonly flags?: number | null;
  /** In an edit only of a message that is being prepared. */
  readonly poll?: PollDraft | null;
  readonly allowed_mentions?: AllowedMentions | null;
}

/** The body of a new message, after schema validation. */
export interface MessageDraft extends ContentDraft {
  readonly sticker_ids?: readonly string[] | null;
  readonly message_reference?: {
    readonly type?: number | null;
    readonly message_id: string;
    readonly channel_id?: string | null;
    readonly guild_id?: string | null;
    readonly fail_if_not_exists?: boolean | null;
  } | null;
  readonly nonce?: number | string | null;
  readonly enforce_nonce?: boolean | null;
  readonly tts?: boolean | null;
}

/** The source of a forward. The handler has read it with the caller's permissions; it may be another aggregate's. */
export interface ForwardSource {
  readonly message: StoredMessage;
  /** The forward's own copies of its files; `message` refers to the copies. */
  readonly files?: readonly StoredFile[];
  readonly guildId: GuildId | null;
  /** Whether its channel is age-restricted. */
  readonly isAgeRestricted?: boolean;
}

/** Fields that the server adds to a message that an application sends for its user. */
export type Carried = Partial<
  Pick<StoredMessage, 'application_id' | 'application' | 'activity' | 'metadata'>
>;

/**
 * Components that a writer may send: all of them (an application), those without an action (a webhook that no
 * application owns), or rows of link buttons (a person).
 */
export type ComponentUse = 'any' | 'passive' | 'links';

/**
 * The author of messages that no member writes: a webhook, or an application that answers an interaction. It comes from
 * the server, which has checked the webhook's or interaction's token, never from a request.
 */
export interface Sender {
  /** Fields of its messages: the author, and where the messages come from. */
  readonly fields: Pick<StoredMessage, 'author'> &
    Partial<
      Pick<
        StoredMessage,
        | 'id'
        | 'type'
        | 'webhook_id'
        | 'application_id'
        | 'message_reference'
        | 'interaction'
        | 'interaction_metadata'
      >
    >;
  readonly components: ComponentUse;
  /** The message is shown as being prepared, without content; the author's first edit completes it. */
  readonly isLoading?: true;
  /** Its messages are shown to one user only. */
  readonly isEphemeral?: true;
}

/** A sticker that the caller may see; `guildId` is null for one of a pack. */
export interface SentSticker {
  readonly id: string;
  readonly name: string;
  readonly format_type: StickerFormat;
  readonly guildId: GuildId | null;
}

export interface CreateInput {
  readonly draft: MessageDraft;
  /** The existing stickers among `sticker_ids`. The handler has asked their guilds. */
  readonly stickers?: readonly SentSticker[];
  /** Custom emojis of the poll that exist and that the caller may use. The handler has asked their owners. */
  readonly emojis?: readonly CustomEmoji[];
  /** SKUs of the author's application, if a premium button asks for them. */
  readonly skuIds?: readonly string[];
  readonly carried?: Carried;
  /** The author, when it is not the caller. */
  readonly from?: Sender;
  /** Files of the request, already stored, in the wire's shape. */
  readonly attachments: readonly APIAttachment[];
  /** The embedding program calls one of the images explicit. */
  readonly isExplicit?: boolean;
  readonly forward: ForwardSource | null;
}

/** A file that an edit keeps, with the edit's changes to it. */
export interface KeptAttachment {
  readonly id: string;
  readonly description?: string | null;
  readonly is_spoiler?: boolean | null;
}

/** The body of an edit, after schema validation. */
export interface EditDraft extends ContentDraft {
  /** An edit may name the stickers that the message has, and no others. */
  readonly sticker_ids?: readonly string[] | null;
}

export interface EditInput {
  readonly edit: EditDraft;
  /** SKUs of the author's application, if a premium button asks for them. */
  readonly skuIds?: readonly string[];
  /** The author, when it is not the caller. */
  readonly from?: Sender;
  /** Existing files to keep; null keeps all. */
  readonly keep: readonly KeptAttachment[] | null;
  /** New files, already stored. */
  readonly attachments: readonly APIAttachment[];
  /** The embedding program calls one of the new images explicit. */
  readonly isExplicit?: boolean;
}

/** Result of a create or an edit: the input for the message object of the wire. */
export interface Written {
  readonly ownerId: string;
  readonly guildId: GuildId | null;
  readonly message: StoredMessage;
  readonly nonce: string | number | null;
  /** The message replied to; null when it was deleted or the message is no reply, absent when it was not looked up. */
  readonly referenced?: StoredMessage | null;
}

import type { APIAttachment } from 'discord-api-types/v10';
import type { GuildId } from '../../protocol/ids.ts';
import type { StoredFile, StoredMessage } from '../guild/guild.ts';
import type { EmbedDraft } from './embeds.ts';
import type { AllowedMentions } from './mentions.ts';
import type { PollDraft } from './polls.ts';

/** What both a new message and an edit may say. The wire's own keys; null and absent mean the same when new. */
export interface ContentDraft {
  readonly content?: string | null;
  readonly embeds?: readonly EmbedDraft[] | null;
  readonly components?: readonly unknown[] | null;
  readonly flags?: number | null;
  readonly allowed_mentions?: AllowedMentions | null;
}

/** The body of a new message, after its form was checked. */
export interface MessageDraft extends ContentDraft {
  readonly sticker_ids?: readonly string[] | null;
  readonly poll?: PollDraft | null;
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

/** The source of a forward. It may belong to another aggregate, so the handler has read it, as the caller may. */
export interface ForwardSource {
  readonly message: StoredMessage;
  /** The forward's own copies of its files; the message speaks of these. */
  readonly files?: readonly StoredFile[];
  readonly guildId: GuildId | null;
}

/** What a message carries that an application sends for its user; the server has put it together. */
export type Carried = Partial<
  Pick<StoredMessage, 'application_id' | 'application' | 'activity' | 'metadata'>
>;

export interface CreateInput {
  readonly draft: MessageDraft;
  readonly carried?: Carried;
  /** Files of the request, already stored, in the wire's shape. */
  readonly attachments: readonly APIAttachment[];
  readonly forward: ForwardSource | null;
}

/** A file of the message as it was that an edit keeps, with what the edit says about it. */
export interface KeptAttachment {
  readonly id: string;
  readonly description?: string | null;
  readonly is_spoiler?: boolean | null;
}

export interface EditInput {
  readonly edit: ContentDraft;
  /** What stays of the files that are there; null keeps all. */
  readonly keep: readonly KeptAttachment[] | null;
  /** New files, already stored. */
  readonly attachments: readonly APIAttachment[];
}

/** What a create or an edit answers: what the handler needs for the message object of the wire. */
export interface Written {
  readonly ownerId: string;
  readonly guildId: GuildId | null;
  readonly message: StoredMessage;
  readonly nonce: string | number | null;
  /** The message it answers; null when it answers none or one that is gone, absent when nobody looked. */
  readonly referenced?: StoredMessage | null;
}

import type { APIUser } from 'discord-api-types/v10';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';

export interface MessagePage {
  readonly before?: MessageId;
  readonly after?: MessageId;
  readonly around?: MessageId;
  readonly limit: number;
}

/** Messages of a guild (`ownerId` is the guild) or of a private channel (`ownerId` is the channel). */
export interface MessageStore {
  /** Newest first; `around` and `after` pages too, as the platform answers them. */
  list(ownerId: string, channelId: ChannelId, page: MessagePage): Promise<StoredMessage[]>;
  get(
    ownerId: string,
    ids: readonly { readonly channelId: ChannelId; readonly id: MessageId }[],
  ): Promise<StoredMessage[]>;
  /** Which of `messageIds` carry a reaction of `userId`: `messageId` to reaction keys. For `me`. */
  reactionsOf(
    ownerId: string,
    userId: UserId,
    messageIds: readonly MessageId[],
  ): Promise<ReadonlyMap<MessageId, ReadonlySet<string>>>;
  /** Users who reacted with `key`, ascending by id. */
  reactors(
    ownerId: string,
    messageId: MessageId,
    key: string,
    page: { after?: UserId; limit: number },
  ): Promise<APIUser[]>;
  /** Pinned messages, newest pin first, pinned before `beforeMs`. */
  pins(
    ownerId: string,
    channelId: ChannelId,
    beforeMs: number | null,
    limit: number,
  ): Promise<StoredMessage[]>;
  /** All pinned messages of a channel, and when each was pinned, Unix milliseconds. */
  pinTimes(ownerId: string, channelId: ChannelId): Promise<ReadonlyMap<MessageId, number>>;
  /** Ids of an author's messages not older than `sinceId`, by channel; at most `limit`. */
  authoredSince(
    ownerId: string,
    authorId: UserId,
    sinceId: MessageId,
    limit: number,
  ): Promise<{ channelId: ChannelId; id: MessageId }[]>;
}

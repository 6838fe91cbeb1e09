import type { MessagePage } from '../../engine/channel/recent.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import type { ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';

/** A poll whose time is over. */
export interface DuePoll {
  readonly ownerId: string;
  /** Null in a private channel. */
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId;
  readonly messageId: MessageId;
  /** Unix milliseconds. */
  readonly endsMs: number;
}

/** Stores messages of guilds (`ownerId` is the guild) and of private channels (`ownerId` is the channel). */
export interface MessageStore {
  /** Messages newest first, also for `around` and `after`, as on the platform. */
  list(ownerId: string, channelId: ChannelId, page: MessagePage): Promise<StoredMessage[]>;
  get(
    ownerId: string,
    ids: readonly { readonly channelId: ChannelId; readonly id: MessageId }[],
  ): Promise<StoredMessage[]>;
  /** The reaction keys of `userId` on each of `messageIds` that has any; for the wire's `me`. */
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
  /** The answers that `userId` has voted for, of each of `messageIds` with any; for the wire's `me_voted`. */
  votesOf(
    ownerId: string,
    userId: UserId,
    messageIds: readonly MessageId[],
  ): Promise<ReadonlyMap<MessageId, ReadonlySet<number>>>;
  /** Users who voted for an answer, ascending by id. */
  voters(
    ownerId: string,
    messageId: MessageId,
    answerId: number,
    page: { after?: UserId; limit: number },
  ): Promise<APIUser[]>;
  /** Overdue polls of all owners, longest overdue first; `after`: the last one of the page before. */
  duePolls(nowMs: number, limit: number, after: DuePoll | null): Promise<DuePoll[]>;
  /** When the next poll ends, Unix milliseconds; null without one. */
  nextPollMs(): Promise<number | null>;
  /** Removes a due poll that has ended otherwise or was deleted. */
  forgetPoll(poll: DuePoll): Promise<void>;
  /** Pinned messages, pinned before `beforeMs`, latest pin first. */
  pins(
    ownerId: string,
    channelId: ChannelId,
    beforeMs: number | null,
    limit: number,
  ): Promise<StoredMessage[]>;
  /** Ids of a channel's pinned messages, with the time of pinning in Unix milliseconds. */
  pinTimes(ownerId: string, channelId: ChannelId): Promise<ReadonlyMap<MessageId, number>>;
  /** Ids of an author's messages not older than `sinceId`, by channel; at most `limit`. */
  authoredSince(
    ownerId: string,
    authorId: UserId,
    sinceId: MessageId,
    limit: number,
  ): Promise<{ channelId: ChannelId; id: MessageId }[]>;
  /** When a user's newest message in a channel since `sinceMs` was written, Unix milliseconds; system messages do not count. */
  lastOfUserMs(
    ownerId: string,
    channelId: ChannelId,
    userId: UserId,
    sinceMs: number,
  ): Promise<number | null>;
}

/** A search; absent conditions are empty lists and nulls. */
export interface MessageSearch {
  /** Channels that the reader may read, and those in which private threads of others are shown. */
  readonly readable: readonly ChannelId[];
  readonly managed: readonly ChannelId[];
  readonly readerId: UserId;
  /** Only of these channels and threads; null for all. */
  readonly channelIds: readonly string[] | null;
  /** All of them are in the text, whole. */
  readonly words: string;
  /** Most other words between two of them, in the order of the search. */
  readonly slop: number;
  readonly authorIds: readonly string[];
  /** `user`, `bot`, `webhook`; with `-` in front, all others. */
  readonly authorTypes: readonly string[];
  readonly mentions: readonly string[];
  readonly mentionedRoles: readonly string[];
  readonly repliedUsers: readonly string[];
  readonly repliedMessages: readonly string[];
  readonly mentionsEveryone: boolean | null;
  /** Kinds of content, all of them; with `-` in front, none of it. */
  readonly has: readonly string[];
  readonly hosts: readonly string[];
  readonly providers: readonly string[];
  readonly embedTypes: readonly string[];
  readonly extensions: readonly string[];
  readonly filenames: readonly string[];
  readonly pinned: boolean | null;
  readonly minId: MessageId | null;
  readonly maxId: MessageId | null;
  readonly sortBy: 'timestamp' | 'relevance';
  readonly ascends: boolean;
  readonly limit: number;
  readonly offset: number;
}

export interface SearchHits {
  readonly hits: readonly { readonly id: MessageId; readonly channelId: ChannelId }[];
  /** Hits on all pages. */
  readonly total: number;
}

export interface SearchStore {
  find(guildId: GuildId, search: MessageSearch): Promise<SearchHits>;
  /** Whether all messages of the guild are indexed; those of earlier versions are not at first. */
  isIndexed(guildId: GuildId): Promise<boolean>;
  /** Indexes some messages that are not. @returns how many there were, at most `limit`. */
  indexSome(limit: number): Promise<number>;
}

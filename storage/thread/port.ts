import type { StoredThread } from '../../engine/guild/threads.state.ts';
import type { Thread, ThreadMember } from '../../engine/thread/thread.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';

/** An archived thread in a list, with its number of members, and as what the reader is in it. */
export interface ListedThread {
  readonly thread: Thread;
  readonly own: ThreadMember | null;
}

export interface ArchivePage {
  readonly parentId: ChannelId;
  /** Private or public ones; `joined`: private ones that the reader is in. */
  readonly kind: 'public' | 'private' | 'joined';
  readonly readerId: UserId;
  /** Upper bound of the page: archived before this time, Unix microseconds; joined threads are bounded by `beforeId` instead. */
  readonly beforeUs?: number;
  readonly beforeId?: ChannelId;
  readonly limit: number;
}

export interface ThreadSearch {
  readonly parentId: ChannelId;
  readonly readerId: UserId;
  /** In lower case; the name must contain each of them. */
  readonly words: readonly string[];
  readonly tags: readonly string[];
  /** Whether all of the tags must be applied, or one. */
  readonly matchesAll: boolean;
  readonly archived: boolean | null;
  readonly minId: ChannelId | null;
  readonly maxId: ChannelId | null;
  readonly sortBy: 'relevance' | 'creation_time' | 'last_message_time' | 'archive_time';
  readonly ascends: boolean;
  readonly limit: number;
  readonly offset: number;
}

export interface ThreadStore {
  /** The threads among `ids`, with all their members. */
  get(guildId: GuildId, ids: readonly ChannelId[]): Promise<StoredThread[]>;
  /** Archived threads, the latest archived first; joined ones by id, the newest first. */
  archived(guildId: GuildId, page: ArchivePage): Promise<ListedThread[]>;
  /** The threads among `ids`, with what the reader is in each. */
  listed(guildId: GuildId, readerId: UserId, ids: readonly ChannelId[]): Promise<ListedThread[]>;
  /** Public threads of a channel, active or archived, and how many there are on all pages. */
  search(
    guildId: GuildId,
    search: ThreadSearch,
  ): Promise<{ readonly found: readonly ListedThread[]; readonly total: number }>;
  /** When a user created the newest thread in a channel since `sinceMs`, Unix milliseconds; null for none. */
  lastOfUserMs(
    guildId: GuildId,
    parentId: ChannelId,
    userId: UserId,
    sinceMs: number,
  ): Promise<number | null>;
  /** Guilds with a thread that is to be archived at `nowMs`; ascending by id. */
  due(nowMs: number, after: GuildId | null, limit: number): Promise<GuildId[]>;
  /** When the next thread is to be archived, Unix milliseconds; null for none. */
  nextDueMs(): Promise<number | null>;
}

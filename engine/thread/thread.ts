import type { ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';

/**
 * A thread in the wire's shape, without `member`, which depends on the reader.
 *
 * @source https://docs.discord.com/developers/resources/channel#channel-object
 */
export interface Thread {
  readonly id: ChannelId;
  readonly guild_id: GuildId;
  readonly parent_id: ChannelId;
  readonly type: number;
  readonly name: string;
  readonly owner_id: UserId;
  readonly last_message_id: MessageId | null;
  readonly last_pin_timestamp: string | null;
  readonly flags: number;
  readonly rate_limit_per_user: number;
  /** Messages that are there, without the one that it began with. */
  readonly message_count: number;
  /** Counted up to 50. */
  readonly member_count: number;
  /** Messages that were ever sent. */
  readonly total_message_sent: number;
  readonly thread_metadata: ThreadMetadata;
  readonly applied_tags?: readonly string[];
}

interface ThreadMetadata {
  readonly archived: boolean;
  /** When `archived` or `auto_archive_duration` was set last. */
  readonly archive_timestamp: string;
  /** Minutes without activity after which it is archived. */
  readonly auto_archive_duration: number;
  readonly locked: boolean;
  readonly create_timestamp: string;
  /** Whether members may add others; private threads only. */
  readonly invitable?: boolean;
}

export interface ThreadMember {
  readonly user_id: UserId;
  readonly join_timestamp: string;
  readonly flags: number;
}

/** A thread's member in the wire's shape. */
export const threadMemberObject = (threadId: ChannelId, member: ThreadMember) => ({
  id: threadId,
  ...member,
});

/** Channel flag of a post that stays at the top of its forum. */
export const PINNED = 1 << 1;

const MS_PER_MINUTE = 60_000;

/**
 * When the clock archives a thread, Unix milliseconds; null when it does not.
 *
 * @param lastMessageMs Time of the newest message; 0 without one.
 */
export function archivesAtMs({ thread_metadata: data, flags }: Thread, lastMessageMs: number): number | null {
  if (data.archived || (flags & PINNED) !== 0) return null;
  const activeMs = Math.max(Date.parse(data.archive_timestamp), lastMessageMs);
  return activeMs + data.auto_archive_duration * MS_PER_MINUTE;
}

import { type ChannelId, compareIds, type MessageId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { dropOldest } from '../../protocol/oldest.ts';

/** A page of a channel's messages. `around` takes precedence over `before`, and `before` over `after`. */
export interface MessagePage {
  readonly before?: MessageId;
  readonly after?: MessageId;
  readonly around?: MessageId;
  readonly limit: number;
}

/** Messages kept of a channel: the largest page. */
export const RECENT_MAX = LIMITS.messages_page_max;
/** Channels whose newest messages an aggregate keeps; the one that was read longest ago is dropped first. */
const CHANNELS_MAX = 8;

/** The fields that order messages. */
interface Placed {
  readonly id: MessageId;
  readonly channel_id: ChannelId;
}

interface Tail<Message> {
  /** All messages of the channel from the first of these on, ascending by id. */
  readonly messages: Message[];
  /** Whether the channel has no older ones. */
  isWhole: boolean;
}

type Changes<Message> = Map<MessageId, Message | null>;

/**
 * The newest messages of the channels that were listed last, as one unbroken run each, so that their latest pages need no
 * query. The window on messages reports every change to `note`; a read that is under way gets the changes made meanwhile.
 */
export class RecentMessages<Message extends Placed> {
  /** The one that was read longest ago first. */
  readonly #tails = new Map<ChannelId, Tail<Message>>();
  readonly #reads = new Map<ChannelId, Changes<Message>>();

  has(channelId: ChannelId): boolean {
    return this.#tails.has(channelId);
  }

  /** A message was written or changed (`message`), or deleted (null). Cost: O(`RECENT_MAX`) for a channel that is kept. */
  note(id: MessageId, message: Message | null): void {
    for (const [channelId, changes] of this.#reads)
      if (message === null || message.channel_id === channelId) changes.set(id, message);
    if (message === null) {
      for (const [channelId, tail] of this.#tails) this.#remove(channelId, tail, id);
      return;
    }
    const tail = this.#tails.get(message.channel_id);
    if (tail) put(tail, message);
  }

  /**
   * Begins to read a channel. Returns what takes the newest `RECENT_MAX` rows, newest first; it must be called with null when
   * the read fails.
   *
   * @param window The window on messages: its changes may be in commits that the read does not see yet.
   */
  begin(
    channelId: ChannelId,
    window: Iterable<readonly [MessageId, Message | null]>,
  ): (rows: readonly Message[] | null) => void {
    const changes: Changes<Message> = new Map();
    for (const [id, message] of window)
      if (message === null || message.channel_id === channelId) changes.set(id, message);
    this.#reads.set(channelId, changes);
    return (rows) => {
      this.#reads.delete(channelId);
      if (rows) this.#keep(channelId, rows, changes);
    };
  }

  /** A page, newest first; null when it is not certain that all of it is here. */
  page(channelId: ChannelId, page: MessagePage): readonly Message[] | null {
    const tail = this.#tails.get(channelId);
    return tail ? pageOf(tail, page) : null;
  }

  #keep(channelId: ChannelId, rows: readonly Message[], changes: Changes<Message>): void {
    const messages = rows.filter(({ id }) => changes.get(id) !== null).toReversed();
    const tail: Tail<Message> = { messages, isWhole: rows.length < RECENT_MAX };
    for (const message of changes.values()) if (message) put(tail, message);
    this.#tails.delete(channelId);
    this.#tails.set(channelId, tail);
    dropOldest(this.#tails, CHANNELS_MAX);
  }

  #remove(channelId: ChannelId, { messages, isWhole }: Tail<Message>, id: MessageId): void {
    const at = messages.findLastIndex((message) => message.id === id);
    if (at < 0) return;
    messages.splice(at, 1);
    // The remaining messages are fewer than a page, so the next list reads the channel again.
    if (!isWhole && messages.length < LIMITS.messages_page_default) this.#tails.delete(channelId);
  }
}

/** Replaces the message, or inserts it in order. One that is older than an incomplete run is not part of it. */
function put<Message extends Placed>(tail: Tail<Message>, message: Message): void {
  const { messages } = tail;
  const at = messages.findLastIndex(({ id }) => compareIds(id, message.id) <= 0);
  if (messages[at]?.id === message.id) messages[at] = message;
  else if (at >= 0 || tail.isWhole) messages.splice(at + 1, 0, message);
  if (messages.length <= RECENT_MAX) return;
  messages.shift();
  tail.isWhole = false;
}

function pageOf<Message extends Placed>(
  { messages, isWhole }: Tail<Message>,
  { around, before, after, limit }: MessagePage,
): Message[] | null {
  const start = isWhole ? 0 : limit;
  /** The number of messages up to this id, and below it. */
  const upTo = (id: MessageId) => messages.findLastIndex((message) => compareIds(message.id, id) <= 0) + 1;
  const below = (id: MessageId) => messages.findLastIndex((message) => compareIds(message.id, id) < 0) + 1;
  if (around !== undefined) {
    const newer = Math.floor(limit / 2);
    const end = upTo(around);
    if (!isWhole && end < limit - newer) return null;
    return messages.slice(Math.max(0, end - (limit - newer)), end + newer).toReversed();
  }
  if (before === undefined && after !== undefined) {
    const end = upTo(after);
    return end > 0 || isWhole ? messages.slice(end, end + limit).toReversed() : null;
  }
  const end = before === undefined ? messages.length : below(before);
  return end < start ? null : messages.slice(Math.max(0, end - limit), end).toReversed();
}

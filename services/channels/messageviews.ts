import { MessageFlags, MessageType } from 'discord-api-types/v10';
import { referencedId, sharedMessage } from '../../engine/channel/messages.ts';
import { blank } from '../../engine/fanout/content.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { type ChannelId, type GuildId, type MessageId, threadIdOf, type UserId } from '../../protocol/ids.ts';
import { readsContent } from '../../protocol/intents.ts';
import type { MessageStore } from '../../storage/message/port.ts';
import type { ThreadStore } from '../../storage/thread/port.ts';

interface ViewPorts {
  readonly storage: Stores;
}

interface Stores {
  readonly messages: Pick<MessageStore, 'get' | 'reactionsOf' | 'votesOf'>;
  readonly threads: Pick<ThreadStore, 'listed'>;
}

/** The channel that messages are read from, and the caller that reads them. */
export interface Viewing {
  readonly caller: {
    readonly kind: 'bot' | 'user';
    readonly userId: UserId;
    readonly applicationFlags: number;
  };
  readonly ownerId: string;
  /** Null for a private channel, in which every member reads everything. */
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId;
}

/**
 * Converts messages to the caller's view: reactions with `me`, polls with `me_voted`, replies with the referenced message,
 * and with the thread that was made from it. At most four reads for the whole list, none without any of these.
 *
 * @param known Loaded messages that replies may refer to.
 */
export type PresentMessages = (
  viewing: Viewing,
  messages: readonly StoredMessage[],
  known?: readonly StoredMessage[],
) => Promise<object[]>;

export function createMessageViews({ storage }: ViewPorts): PresentMessages {
  /** The object that all callers who may read a message see. Stored messages are immutable, so it never becomes stale. */
  const shared = new WeakMap<StoredMessage, object>();

  function alike(message: StoredMessage): object {
    const known = shared.get(message);
    if (known) return known;
    // Frozen, because an embedding program may get it inside an answer; answers know it by that.
    const made = Object.freeze(sharedMessage(message));
    shared.set(message, made);
    return made;
  }

  const present = (
    viewing: Viewing,
    message: StoredMessage,
    mine: ReadonlySet<string> = NONE,
    votes: ReadonlySet<number> = NONE,
  ): object => (isAlike(viewing, message) ? alike(message) : ownMessage(viewing, message, mine, votes));

  return async (viewing, messages, known = []) => {
    if (messages.every((message) => isAlike(viewing, message))) return messages.map(alike);
    const { caller, ownerId, channelId } = viewing;
    const store = storage.messages;
    const byId = new Map([...messages, ...known].map((message) => [message.id, message]));
    const answered = messages.flatMap((message) => {
      const id = answeredId(message);
      return id === undefined || byId.has(id) ? [] : [id];
    });
    const reacted = messages.filter(({ reactions }) => reactions.length > 0).map(({ id }) => id);
    const polled = messages.filter(({ poll }) => poll?.results?.answer_counts.length).map(({ id }) => id);
    const [found, mine, votes, threads] = await Promise.all([
      answered.length > 0
        ? store.get(
            ownerId,
            answered.map((id) => ({ channelId, id })),
          )
        : [],
      reacted.length > 0 ? store.reactionsOf(ownerId, caller.userId, reacted) : null,
      polled.length > 0 ? store.votesOf(ownerId, caller.userId, polled) : null,
      threadsOf(storage, viewing, messages),
    ]);
    for (const message of found) byId.set(message.id, message);
    return messages.map((message) => {
      const thread = threads.get(message.id);
      const own = present(viewing, message, mine?.get(message.id), votes?.get(message.id));
      const shown = thread ? { ...own, thread } : own;
      const id = answeredId(message);
      if (id === undefined) return shown;
      const referenced = byId.get(id);
      return { ...shown, referenced_message: referenced ? present(viewing, referenced) : null };
    });
  };
}

/** The threads that were made from messages, by their ids, with what the caller is in them. */
async function threadsOf(
  { threads }: Stores,
  { guildId, caller }: Viewing,
  messages: readonly StoredMessage[],
): Promise<ReadonlyMap<string, object>> {
  const ids = messages.flatMap(({ id, flags }) =>
    ((flags ?? 0) & MessageFlags.HasThread) === 0 ? [] : [threadIdOf(id)],
  );
  if (guildId === null || ids.length === 0) return new Map();
  const found = await threads.listed(guildId, caller.userId, ids);
  return new Map(
    found.map(({ thread, own }) => [
      thread.id,
      own ? { ...thread, member: { id: thread.id, ...own } } : thread,
    ]),
  );
}

/** The id of the message that a reply refers to; undefined for other messages. */
const answeredId = (message: StoredMessage): MessageId | undefined =>
  message.type === MessageType.Reply ? referencedId(message) : undefined;

/** Whether all callers who may read the message's content see the same: it has nothing that depends on them or other messages. */
const isAlike = (viewing: Viewing, message: StoredMessage): boolean =>
  message.type !== MessageType.Reply &&
  message.reactions.length === 0 &&
  !message.poll &&
  ((message.flags ?? 0) & (MessageFlags.SuppressEmbeds | MessageFlags.HasThread)) === 0 &&
  message.attachments.length === 0 &&
  !message.components?.length &&
  !message.message_snapshots?.length &&
  mayRead(viewing, message);

const NONE: ReadonlySet<never> = new Set();

function ownMessage(
  viewing: Viewing,
  message: StoredMessage,
  mine: ReadonlySet<string>,
  votes: ReadonlySet<number>,
): object {
  const { reactions } = message;
  const shared = sharedMessage(message);
  const all = shared.poll ? { ...shared, poll: presentPoll(shared.poll, votes) } : shared;
  return {
    ...(mayRead(viewing, message) ? all : blank(all)),
    ...(reactions.length > 0 ? { reactions: reactions.map((one) => presentReaction(one, mine)) } : {}),
  };
}

function presentPoll(poll: NonNullable<StoredMessage['poll']>, votes: ReadonlySet<number>): typeof poll {
  const { is_finalized = false, answer_counts = [] } = poll.results ?? {};
  const counts = answer_counts.map((one) => ({ ...one, me_voted: votes.has(one.id) }));
  return { ...poll, results: { is_finalized, answer_counts: counts } };
}

const presentReaction = (
  { key, emoji, count }: StoredMessage['reactions'][number],
  mine: ReadonlySet<string>,
): object => ({
  emoji,
  count,
  count_details: { burst: 0, normal: count },
  burst_colors: [],
  me_burst: false,
  me: mine.has(key),
});

function mayRead({ caller: { kind, userId, applicationFlags }, guildId }: Viewing, message: StoredMessage) {
  return guildId === null || kind !== 'bot' || readsContent({ bot: true, userId, applicationFlags }, message);
}

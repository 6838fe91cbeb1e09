import type { MessagePage } from '../../../engine/channel/recent.ts';
import type { StoredMessage } from '../../../engine/guild/guild.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import type { Reply } from '../../../engine/kernel/outcome.ts';
import { type ChannelId, type GuildId, type MessageId, threadIdOf } from '../../../protocol/ids.ts';
import { readsContent } from '../../../protocol/intents.ts';
import type { MessageStore } from '../../../storage/message/port.ts';
import type { ThreadStore } from '../../../storage/thread/port.ts';
import type { Caller } from '../operation.ts';
import type { Services } from '../services.ts';
import { memoizedMessage } from '../sharedmessages.ts';

const SUPPRESS_EMBEDS = 1 << 2;
const HAS_THREAD = 1 << 5;
const REPLY = 19;

/** What messages are shown from. */
interface Readers {
  readonly messages: Pick<MessageStore, 'get' | 'reactionsOf' | 'votesOf'>;
  readonly threads: Pick<ThreadStore, 'listed'>;
}

/** The channel that messages are read from, and the caller that reads them. */
export interface Viewing {
  readonly caller: Caller;
  readonly ownerId: string;
  /** Null for a private channel, in which every member reads everything. */
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId;
}

interface History extends Viewing {
  readonly canReadHistory: boolean;
  readonly isAgeRestricted?: boolean;
  /** The page that was asked for, if it is in memory. */
  readonly messages?: readonly StoredMessage[] | null;
}

/**
 * Checks that the caller may read a channel's history; every read of stored messages calls this first.
 *
 * @param page Answered as well if it is in memory.
 */
export async function viewing(
  call: {
    readonly params: { readonly channel_id: ChannelId };
    readonly caller: Caller;
    readonly authority: Authority;
  },
  services: Services,
  page?: MessagePage,
): Promise<Reply<History>> {
  const channelId = call.params.channel_id;
  const input = page ? { page } : {};
  const reply = await services.channels.call(channelId, 'authorizeHistory', input, call.authority);
  return reply.ok ? { ok: true, value: { caller: call.caller, channelId, ...reply.value } } : reply;
}

/**
 * Converts messages to the caller's view: reactions with `me`, polls with `me_voted`, replies with the referenced message,
 * and with the thread that was made from it. At most four reads for the whole list, none without any of these.
 *
 * @param known Loaded messages that replies may refer to.
 */
export async function presentMessages(
  read: Readers,
  viewing: Viewing,
  messages: readonly StoredMessage[],
  known: readonly StoredMessage[] = [],
): Promise<object[]> {
  if (messages.every((message) => isAlike(viewing, message)))
    return messages.map((message) => memoizedMessage(message, bareMessage));
  const { caller, ownerId, channelId } = viewing;
  const store = read.messages;
  const byId = new Map([...messages, ...known].map((message) => [message.id, message]));
  const answered = messages.map(answeredId).filter((id) => id !== null && !byId.has(id)) as MessageId[];
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
    threadsOf(read, viewing, messages),
  ]);
  for (const message of found) byId.set(message.id, message);
  return messages.map((message) => {
    const thread = threads.get(message.id);
    const own = presentMessage(viewing, message, mine?.get(message.id), votes?.get(message.id));
    const shown = thread ? { ...own, thread } : own;
    const id = answeredId(message);
    if (id === null) return shown;
    const referenced = byId.get(id);
    return {
      ...shown,
      referenced_message: referenced ? presentMessage(viewing, referenced) : null,
    };
  });
}

/** The threads that were made from messages, by their ids, with what the caller is in them. */
async function threadsOf(
  { threads }: Readers,
  { guildId, caller }: Viewing,
  messages: readonly StoredMessage[],
): Promise<ReadonlyMap<string, object>> {
  const ids = messages.flatMap(({ id, flags }) =>
    ((flags ?? 0) & HAS_THREAD) === 0 ? [] : [threadIdOf(id)],
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

/** The id of the message that a reply refers to; null for other messages. */
function answeredId(message: StoredMessage): MessageId | null {
  if (message.type !== REPLY) return null;
  return (message.message_reference?.message_id as MessageId | undefined) ?? null;
}

/** Whether all callers who may read the message's content see the same: it has nothing that depends on them or other messages. */
const isAlike = (viewing: Viewing, message: StoredMessage): boolean =>
  message.type !== REPLY &&
  message.reactions.length === 0 &&
  !message.poll &&
  ((message.flags ?? 0) & (SUPPRESS_EMBEDS | HAS_THREAD)) === 0 &&
  message.attachments.length === 0 &&
  !message.components?.length &&
  !message.message_snapshots?.length &&
  mayRead(viewing, message);

function presentMessage(
  viewing: Viewing,
  message: StoredMessage,
  mine: ReadonlySet<string> = NONE,
  votes: ReadonlySet<number> = NONE,
): object {
  return isAlike(viewing, message)
    ? memoizedMessage(message, bareMessage)
    : ownMessage(viewing, message, mine, votes);
}

const NONE: ReadonlySet<never> = new Set();

/** A message without what only the server needs of it. */
function bareMessage({
  reactions: _reactions,
  pinned_ms: _pinnedMs,
  files: _files,
  ...bare
}: StoredMessage): object {
  return bare;
}

function ownMessage(
  viewing: Viewing,
  message: StoredMessage,
  mine: ReadonlySet<string>,
  votes: ReadonlySet<number>,
): object {
  const { reactions, pinned_ms: _pinnedMs, files: _files, ...bare } = message;
  const all = bare.poll ? { ...bare, poll: presentPoll(bare.poll, votes) } : bare;
  const rest = mayRead(viewing, message) ? all : withoutContent(all);
  const hidden = ((message.flags ?? 0) & SUPPRESS_EMBEDS) !== 0;
  return {
    ...rest,
    ...(hidden ? { embeds: [] } : {}),
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

/** A message as seen by a bot without the message content intent. */
function withoutContent<M extends Pick<StoredMessage, 'poll' | 'message_snapshots'>>(message: M) {
  const { poll: _poll, message_snapshots: _snapshots, ...rest } = message;
  return { ...rest, content: '', embeds: [], attachments: [], components: [] };
}

function mayRead({ caller: { kind, userId, applicationFlags }, guildId }: Viewing, message: StoredMessage) {
  return guildId === null || kind !== 'bot' || readsContent({ bot: true, userId, applicationFlags }, message);
}

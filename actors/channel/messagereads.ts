import type { Written } from '../../engine/channel/draft.ts';
import { keepPins, type Messages } from '../../engine/channel/messages.ts';
import { keepReaction, knownReaction } from '../../engine/channel/reactions.ts';
import { RECENT_MAX } from '../../engine/channel/recent.ts';
import { keepVote, knownVote } from '../../engine/channel/votes.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import type { CommandRecord } from '../../storage/cluster/port.ts';
import type { MessageStore } from '../../storage/message/port.ts';
import { oldestFirst, strictlyOldestFirst, type WindowRead, type Windows } from '../runtime/cache.ts';

/** Bounds of the windows of one aggregate: channels whose pins are loaded, and reactions with votes. */
const [PINS_MAX, REACTIONS_MAX] = [20, 10_000];

/** The windows of an aggregate that owns messages, except the messages themselves. */
type Owner = Messages & { readonly reacted: Map<string, boolean> };

/** The reads that load the pins of channels; none for channels whose pins are loaded. */
export function* pinReads(
  owner: Owner,
  ownerId: string,
  channelIds: readonly ChannelId[],
  store: Pick<MessageStore, 'pinTimes'>,
): Iterable<WindowRead> {
  for (const channelId of channelIds) {
    if (owner.pins.has(channelId)) continue;
    const fetch = async () => keepPins(owner, channelId, await store.pinTimes(ownerId, channelId));
    yield { kind: 'pins', keys: [channelId], fetch };
  }
}

/** The reads that load whether users have reacted; none for reactions that are known. */
export function* reactionReads(
  owner: Owner,
  ownerId: string,
  reactions: NonNullable<Needs['reactions']>,
  store: Pick<MessageStore, 'reactionsOf'>,
): Iterable<WindowRead> {
  for (const one of reactions) {
    if (knownReaction(owner, one) !== undefined) continue;
    const { messageId, key, userId } = one;
    const fetch = async () => {
      const found = await store.reactionsOf(ownerId, userId, [messageId]);
      keepReaction(owner, one, found.get(messageId)?.has(key) ?? false);
    };
    yield { kind: 'reaction', keys: [`${messageId}:${key}:${userId}`], fetch };
  }
}

/** The reads that load whether users have voted, one for each message and user; none for votes that are known. */
export function* voteReads(
  owner: Owner,
  ownerId: string,
  votes: NonNullable<Needs['votes']>,
  store: Pick<MessageStore, 'votesOf'>,
): Iterable<WindowRead> {
  const unread = votes.filter((one) => knownVote(owner, one) === undefined);
  for (const first of unread) {
    const { messageId, userId } = first;
    const ofUser = unread.filter((one) => one.messageId === messageId && one.userId === userId);
    if (ofUser[0] !== first) continue;
    const fetch = async () => {
      const found = await store.votesOf(ownerId, userId, [messageId]);
      for (const one of ofUser) keepVote(owner, one, found.get(messageId)?.has(one.answerId) ?? false);
    };
    yield { kind: 'votes', keys: ofUser.map(({ answerId }) => `${messageId}/${answerId}/${userId}`), fetch };
  }
}

/** The read that brings the newest messages of a channel into memory; nothing for a channel that is kept. */
export function* recentReads(
  { id, messages, recent }: Pick<Guild, 'id' | 'messages' | 'recent'>,
  channelIds: readonly ChannelId[],
  store: Pick<MessageStore, 'list'>,
): Iterable<WindowRead> {
  for (const channelId of channelIds) {
    if (recent.has(channelId)) continue;
    const fetch = async () => {
      const take = recent.begin(channelId, messages);
      const rows = await store.list(id, channelId, { limit: RECENT_MAX }).catch((fault: unknown) => {
        take(null);
        throw fault;
      });
      take(rows);
    };
    yield { kind: 'recent', keys: [channelId], fetch };
  }
}

/** Adds the windows of an aggregate that owns messages, except the one on the messages themselves. */
export function addMessageWindows(windows: Windows, { pins, reacted }: Owner): void {
  windows.add(pins, oldestFirst(PINS_MAX));
  windows.add(reacted, strictlyOldestFirst(REACTIONS_MAX));
}

/** Restores the nonces of the messages that recorded commands have written, and that a client may send again. */
export function recallNonces(
  { nonces }: Pick<Messages, 'nonces'>,
  records: readonly Pick<CommandRecord, 'atMs' | 'reply'>[],
): void {
  for (const { atMs, reply } of records) {
    const { ok, value } = (reply ?? {}) as Partial<Extract<Reply<Partial<Written> | null>, { ok: true }>>;
    if (!ok || !value?.message || (value.nonce ?? null) === null) continue;
    nonces.set(`${value.message.author.id}:${value.nonce}`, { message: value.message, atMs });
  }
}

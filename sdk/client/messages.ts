import { ChannelType, ErrorType } from '../enums.ts';
import type { ChannelHandle, MessageHandle } from '../handles.ts';
import { path } from '../http.ts';
import { ClientError, invalid } from '../result.ts';
import type { Disposer } from '../signal.ts';
import { adoptHistory, adoptMessage, dropMessage, historyAt, readMessages } from '../store/messages.ts';
import { byId, madeMs } from '../store/read.ts';
import { KEPT, type MessageRecord, type Metadata } from '../store/store.ts';
import { isJson } from '../voice/wire.ts';
import { type Core, checkId, unexpected } from './core.ts';
import { checkMetadata } from './lobbies.ts';

export interface UserMessageSummary {
  readonly userId: string;
  readonly lastMessageId: string;
}

const CONTENT_CHARS_MAX = 2_000;

/** @throws ClientError of type ValidationError. */
function checkContent(content: string): void {
  const chars = typeof content === 'string' ? [...content].length : 0;
  if (chars > CONTENT_CHARS_MAX || content.trim() === '')
    throw invalid(`A message must have 1 to ${CONTENT_CHARS_MAX} characters.`);
}

/** Number of messages to request; absent, zero or negative requests the maximum. */
function countOf(limit: number): number {
  if (!Number.isInteger(limit) || limit > KEPT.history_messages_max)
    throw invalid(`limit must be at most ${KEPT.history_messages_max}; 0 returns all messages.`);
  return limit <= 0 ? KEPT.history_messages_max : limit;
}

const young = ({ id }: MessageRecord): boolean => Date.now() - madeMs(id) <= KEPT.history_ms;

/** Messages in lobbies and between users. */
export class Messages {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  /** @returns the message's id. */
  sendLobbyMessage(lobbyId: string, content: string): Promise<string> {
    return this.#sendInto(lobbyId, content, {});
  }

  async sendLobbyMessageWithMetadata(lobbyId: string, content: string, metadata: Metadata): Promise<string> {
    checkMetadata('metadata', metadata);
    return this.#sendInto(lobbyId, content, { metadata });
  }

  /**
   * Sends a direct message to a friend, to a user who is in the game now, or to a user with an existing
   * conversation and a shared guild.
   *
   * @returns the message's id.
   */
  sendUserMessage(recipientId: string, content: string): Promise<string> {
    return this.#sendTo(recipientId, content, {});
  }

  async sendUserMessageWithMetadata(
    recipientId: string,
    content: string,
    metadata: Metadata,
  ): Promise<string> {
    checkMetadata('metadata', metadata);
    return this.#sendTo(recipientId, content, { metadata });
  }

  /** Edits a message of the current user. */
  async editUserMessage(recipientId: string, messageId: string, content: string): Promise<void> {
    checkContent(content);
    const [id, mid] = [checkId('recipientId', recipientId), checkId('messageId', messageId)];
    const answer = await this.#core.http.call({
      method: 'PATCH',
      path: path`/users/${id}/messages/${mid}`,
      body: { content },
    });
    if (isJson(answer)) adoptMessage(this.#core.state, answer, { recipientId: id });
  }

  async deleteUserMessage(recipientId: string, messageId: string): Promise<void> {
    const [id, mid] = [checkId('recipientId', recipientId), checkId('messageId', messageId)];
    await this.#core.http.call({ method: 'DELETE', path: path`/users/${id}/messages/${mid}` });
    dropMessage(this.#core.state, mid);
  }

  /** At most 200 messages of the last 72 hours, newest first. `limit` 0: all of them. */
  async getLobbyMessagesWithLimit(lobbyId: string, limit: number): Promise<MessageHandle[]> {
    const id = checkId('lobbyId', lobbyId);
    const query = { limit: countOf(limit) };
    const answer = await this.#core.http.call({ method: 'GET', path: path`/lobbies/${id}/messages`, query });
    return this.#handlesOf(readMessages(this.#core.state, answer).filter(young));
  }

  /** Like `getLobbyMessagesWithLimit`; from the store when it holds enough, else from the server. */
  async getUserMessagesWithLimit(recipientId: string, limit: number): Promise<MessageHandle[]> {
    const id = checkId('recipientId', recipientId);
    const asked = countOf(limit);
    const known = historyAt(this.#core.state, id, asked, Date.now());
    if (known !== null) return this.#handlesOf(known);
    const call = { method: 'GET', path: path`/users/${id}/messages`, query: { limit: asked } } as const;
    return this.#handlesOf(
      adoptHistory(this.#core.state, id, await this.#core.http.call(call), asked).filter(young),
    );
  }

  /** Conversations of the current user, latest first. */
  async getUserMessageSummaries(): Promise<UserMessageSummary[]> {
    const pairs = [...this.#core.state.channels.values()].filter(({ type }) => type !== ChannelType.GroupDm);
    const summaries = pairs.flatMap(({ recipientIds, lastMessageId }) => {
      const [userId] = recipientIds.filter((id) => id !== this.#core.state.meId);
      return userId === undefined || lastMessageId === null ? [] : [{ userId, lastMessageId }];
    });
    return summaries.sort((a, b) => byId(b.lastMessageId, a.lastMessageId));
  }

  /** A message in the store: the newest 25 of a channel, and requested histories. */
  getMessageHandle(messageId: string): MessageHandle | null {
    return this.#core.handles.message(messageId);
  }

  getChannelHandle(channelId: string): ChannelHandle | null {
    return this.#core.handles.channel(channelId);
  }

  /** Whether the message can be opened outside of the game. */
  canOpenMessageInPlatform(messageId: string): boolean {
    const message = this.#core.handles.message(messageId);
    return message !== null && (message.lobby === null || message.lobby.linkedChannel !== null);
  }

  /** Opens the message's conversation outside of the game. */
  async openMessageInPlatform(messageId: string): Promise<void> {
    const message = this.#core.handles.message(messageId);
    if (message === null) throw invalid('The message is not in the cache.');
    const linked = message.lobby?.linkedChannel;
    if (message.lobby !== null && !linked)
      throw new ClientError(ErrorType.Disabled, 'This message exists only in its lobby.');
    const place = linked ? `${linked.guildId}/${linked.id}` : `@me/${message.channelId}/${message.id}`;
    this.#core.host.openUrl(`${this.#core.webBase}/channels/${place}`);
  }

  setMessageCreatedCallback(callback: (messageId: string) => void): Disposer {
    return this.#core.signals.messageCreated.set(callback);
  }

  setMessageUpdatedCallback(callback: (messageId: string) => void): Disposer {
    return this.#core.signals.messageUpdated.set(callback);
  }

  setMessageDeletedCallback(callback: (messageId: string, channelId: string) => void): Disposer {
    return this.#core.signals.messageDeleted.set(callback);
  }

  async #send(at: string, body: object, given: { recipientId?: string }): Promise<string> {
    const { http, state } = this.#core;
    const record = adoptMessage(state, await http.call({ method: 'POST', path: at, body }), given);
    if (record === null) throw unexpected('message');
    return record.id;
  }

  async #sendTo(recipientId: string, content: string, more: object): Promise<string> {
    checkContent(content);
    const id = checkId('recipientId', recipientId);
    return this.#send(path`/users/${id}/messages`, { content, ...more }, { recipientId: id });
  }

  async #sendInto(lobbyId: string, content: string, more: object): Promise<string> {
    checkContent(content);
    return this.#send(path`/lobbies/${checkId('lobbyId', lobbyId)}/messages`, { content, ...more }, {});
  }

  #handlesOf(records: readonly MessageRecord[]): MessageHandle[] {
    return records.flatMap((record) => this.#core.handles.message(record.id, record) ?? []);
  }
}

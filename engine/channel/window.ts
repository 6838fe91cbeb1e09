import type { MessageId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { MessageFact } from './scope.ts';

/** State of an aggregate as far as its messages go. */
export interface Messages {
  readonly messages: Map<MessageId, StoredMessage | null>;
  readonly nonces: Map<string, { readonly message: StoredMessage; readonly atMs: number }>;
}

/** What the caller sent under a nonce, while it is remembered. */
export function sentUnder(
  owner: Messages,
  userId: string,
  nonce: string,
  nowMs: number,
): StoredMessage | null {
  const sent = owner.nonces.get(`${userId}:${nonce}`);
  return sent && nowMs - sent.atMs < LIMITS.nonce_ms ? sent.message : null;
}

/** Keeps the window in step with a fact; what is not in it needs no step. */
export function applyMessage(owner: Messages, fact: MessageFact): void {
  const { messages } = owner;
  switch (fact.type) {
    case 'messageCreated':
      messages.set(fact.message.id, fact.message);
      if (fact.enforceNonce && fact.nonce !== null) rememberNonce(owner, fact.message, fact.nonce);
      return;
    case 'messageUpdated':
      messages.set(fact.message.id, fact.message);
      return;
    case 'messageDeleted':
      messages.set(fact.messageId, null);
      return;
    case 'messagesBulkDeleted':
      for (const id of fact.messageIds) messages.set(id, null);
      return;
    case 'messagePinned':
      amend(owner, fact.messageId, { pinned: true, pinned_ms: fact.pinnedMs });
      return;
    case 'messageUnpinned':
      amend(owner, fact.messageId, { pinned: false, pinned_ms: null });
      return;
  }
}

function amend({ messages }: Messages, id: MessageId, change: Partial<StoredMessage>): void {
  const message = messages.get(id);
  if (message) messages.set(id, { ...message, ...change });
}

/** Insertion order is age, so what has expired stands at the front. */
function rememberNonce({ nonces }: Messages, message: StoredMessage, nonce: string | number): void {
  const atMs = Date.parse(message.timestamp);
  const key = `${message.author.id}:${nonce}`;
  nonces.delete(key);
  nonces.set(key, { message, atMs });
  for (const [old, sent] of nonces) {
    if (nonces.size <= LIMITS.nonces_per_guild_max && atMs - sent.atMs < LIMITS.nonce_ms) break;
    nonces.delete(old);
  }
}

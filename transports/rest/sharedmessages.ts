import type { StoredMessage } from '../../engine/guild/guild.ts';

/** The object that all callers who may read a message see. Stored messages are immutable, so it never becomes stale. */
const shared = new WeakMap<StoredMessage, object>();
/** The JSON of shared objects; null until it is needed. It lives as long as the message is in memory. */
const texts = new WeakMap<object, string | null>();

/** The shared object of a message; `make` is called once for each message. */
export function memoizedMessage(message: StoredMessage, make: (message: StoredMessage) => object): object {
  const known = shared.get(message);
  if (known) return known;
  // Frozen, because an embedding program may get it inside an answer.
  const made = Object.freeze(make(message));
  shared.set(message, made);
  texts.set(made, null);
  return made;
}

/** Whether this is a shared object. */
export const isShared = (value: object): boolean => texts.has(value);

/** A body that its receiver may change: shared messages in it are copied. */
export function unshared(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(unshared);
  return typeof body === 'object' && body !== null && isShared(body) ? { ...body } : body;
}

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const known = texts.get(value);
  if (known) return known;
  const text = JSON.stringify(value);
  if (known === null) texts.set(value, text);
  return text;
}

/** The JSON of an answer. Messages in a list that look the same to everybody are encoded once. */
export function encodedBody(body: unknown): string {
  if (!Array.isArray(body)) return JSON.stringify(body);
  return `[${body.map(textOf).join(',')}]`;
}

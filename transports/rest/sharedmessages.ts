/**
 * Frozen objects in answers: messages as all callers who may read them see them (`services/channels/messageviews.ts`). Nothing
 * else in an answer is frozen.
 */

/** The JSON of shared messages that were answered in a list. It lives as long as the message is in memory. */
const texts = new WeakMap<object, string>();

/** A body that its receiver may change: shared messages in it are copied. */
export function unshared(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(unshared);
  return typeof body === 'object' && body !== null && Object.isFrozen(body) ? { ...body } : body;
}

function textOf(value: unknown): string {
  const known = typeof value === 'object' && value !== null ? texts.get(value) : undefined;
  if (known !== undefined) return known;
  const text = JSON.stringify(value) ?? 'null';
  if (typeof value === 'object' && value !== null && Object.isFrozen(value)) texts.set(value, text);
  return text;
}

/** The JSON of a list. Messages that look the same to everybody are encoded once. */
export const encodedList = (list: readonly unknown[]): string => `[${list.map(textOf).join(',')}]`;

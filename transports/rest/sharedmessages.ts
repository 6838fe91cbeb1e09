/**
 * Frozen objects in answers: messages as all callers who may read them see them (`services/channels/messageviews.ts`). Nothing
 * else in an answer is frozen.
 */

/** A body that its receiver may change: shared messages in it are copied. */
export function unshared(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(unshared);
  return typeof body === 'object' && body !== null && Object.isFrozen(body) ? { ...body } : body;
}

/** The JSON of shared messages that a server answered in lists, each as long as the message is in memory. */
export class SharedMessages {
  readonly #texts = new WeakMap<object, string>();

  /** The JSON of a list. Messages that look the same to everybody are encoded once. */
  encodedList(list: readonly unknown[]): string {
    return `[${list.map((value) => this.#textOf(value)).join(',')}]`;
  }

  #textOf(value: unknown): string {
    const known = typeof value === 'object' && value !== null ? this.#texts.get(value) : undefined;
    if (known !== undefined) return known;
    const text = JSON.stringify(value) ?? 'null';
    if (typeof value === 'object' && value !== null && Object.isFrozen(value)) this.#texts.set(value, text);
    return text;
  }
}

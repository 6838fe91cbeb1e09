import type { LinkExtension } from '../../actors/cluster/ports.ts';
import { DecodeFault } from './packets.ts';
import { DEPTH_MAX } from './payloadcheck.ts';
import { bytesOf, listOf, littleEndian, numbersOf, textOf } from './reading.ts';

/** Key of an object that encodes a value without a MessagePack type, as `[tag, content]`. */
const TAG_KEY = '\u0000';
const TAGS = { entries: 0, map: 1, set: 2, date: 3, numbers: 4 } as const;

/** Converts values without a MessagePack type to values with one, and back. */
export class ValueCodec {
  readonly #extensions: readonly LinkExtension[];
  readonly #byTag: ReadonlyMap<unknown, LinkExtension>;

  constructor(extensions: readonly LinkExtension[]) {
    this.#extensions = extensions;
    this.#byTag = new Map(extensions.map((extension) => [extension.tag, extension]));
    if (this.#byTag.size < extensions.length) throw new RangeError('Two link extensions have the same tag.');
  }

  /** @throws TypeError for a value that cannot be sent: a function, an object of an unregistered class, a cycle. */
  flatten(value: unknown, depth: number): unknown {
    if (typeof value === 'function' || typeof value === 'symbol')
      throw new TypeError(`A ${typeof value} cannot be sent over a link.`);
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
    if (depth >= DEPTH_MAX - 2) throw new TypeError('A value is nested too deeply for a link.');
    if (Array.isArray(value)) return value.map((each) => this.flatten(each, depth + 1));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) return this.#flatObject(value, depth);
    return this.#flatSpecial(value, depth);
  }

  /** Converts in place, because the parsed value has no other user. @throws DecodeFault */
  revive(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) value[index] = this.revive(value[index]);
      return value;
    }
    const object = value as Record<string, unknown>;
    if (Object.hasOwn(object, TAG_KEY)) return this.#untagged(listOf(object[TAG_KEY]));
    for (const key of Object.keys(object)) object[key] = this.revive(object[key]);
    return object;
  }

  #tagged(tag: number, value: unknown, depth: number): object {
    return { [TAG_KEY]: [tag, this.flatten(value, depth + 2)] };
  }

  #flatObject(value: object, depth: number): unknown {
    const flattened: Record<string, unknown> = {};
    for (const [key, each] of Object.entries(value)) {
      // One key is the mark itself, and `__proto__` has a meaning in JavaScript.
      if (key === TAG_KEY || key === '__proto__')
        return this.#tagged(TAGS.entries, Object.entries(value), depth);
      flattened[key] = this.flatten(each, depth + 1);
    }
    return flattened;
  }

  #flatSpecial(value: object, depth: number): unknown {
    const extension = this.#extensions.find(({ Class }) => value instanceof Class);
    if (extension) return this.#tagged(extension.tag, extension.pack(value as never), depth);
    if (value instanceof Map) return this.#tagged(TAGS.map, [...value], depth);
    if (value instanceof Set) return this.#tagged(TAGS.set, [...value], depth);
    if (value instanceof Date) return this.#tagged(TAGS.date, value.getTime(), depth);
    if (value instanceof Uint32Array) return this.#tagged(TAGS.numbers, littleEndian(value), depth);
    throw new TypeError(`A ${value.constructor?.name} cannot be sent over a link.`);
  }

  #untagged([tag, packed]: readonly unknown[]): unknown {
    const value = this.revive(packed);
    if (tag === TAGS.date && typeof value === 'number') return new Date(value);
    if (tag === TAGS.numbers) return numbersOf(bytesOf(value));
    if (tag === TAGS.set) return new Set(listOf(value));
    if (tag === TAGS.map) return new Map(listOf(value).map(entryOf));
    if (tag === TAGS.entries)
      return Object.fromEntries(
        listOf(value)
          .map(entryOf)
          .map(([key, each]) => [textOf(key), each]),
      );
    const extension = this.#byTag.get(tag);
    if (!extension) throw new DecodeFault('Unknown tag of a link extension.');
    try {
      return extension.unpack(value as never);
    } catch (error) {
      throw new DecodeFault('A link extension could not decode its value.', { cause: error });
    }
  }
}

function entryOf(entry: unknown): [unknown, unknown] {
  const [key, value] = listOf(entry);
  return [key, value];
}

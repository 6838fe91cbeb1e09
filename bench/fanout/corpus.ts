import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { present } from '../../protocol/present.ts';

interface PayloadFile {
  readonly message: { readonly author: object } & Readonly<Record<string, unknown>>;
  readonly authors: readonly string[];
  readonly sentences: readonly string[];
}

/** The package's folder: the nearest one with a package.json, from source and from the built files. */
export function packageFolder(from = import.meta.dirname): string {
  return existsSync(join(from, 'package.json')) ? from : packageFolder(dirname(from));
}

const FIRST_MS = Date.UTC(2026, 2, 1, 12);
const FIRST_ID = 1_420_070_400_000_000_000n;
const MEAN_GAP_MS = 900;

/**
 * Messages of an active channel, the same for every run and contender: `messageOf(i)` is the i-th. They vary as real
 * messages do (ids, times, authors, text), so that compression ratios are realistic.
 */
export function openCorpus(): (index: number) => Readonly<Record<string, unknown>> {
  const path = join(packageFolder(), 'bench', 'payloads', 'message_create.json');
  const { message, authors, sentences } = JSON.parse(readFileSync(path, 'utf8')) as PayloadFile;
  const people = authors.map((name, index) => ({
    ...message.author,
    id: String(1_390_000_000_000_001_000n + BigInt(index * 7919)),
    username: name.toLowerCase().replaceAll(/[^a-z]+/g, '_'),
    global_name: name,
    avatar: hexOf(seeded(-1 - index), 32),
  }));
  const words = [...new Set(sentences.flatMap((sentence) => sentence.split(' ')))];
  return (index) => {
    const chance = seeded(index);
    const pick = <T>(list: readonly T[]): T => present(list[Math.floor(chance() * list.length)]);
    const atMs = FIRST_MS + index * MEAN_GAP_MS + Math.floor(chance() * MEAN_GAP_MS);
    const id = FIRST_ID + (BigInt(atMs - FIRST_MS) << 22n) + BigInt(Math.floor(chance() * 4096));
    return {
      ...message,
      id: String(id),
      // A few users write most of the messages.
      author: people[Math.floor(chance() ** 2 * people.length)],
      // Words in random order: repeated sentences would favour a compressor with history.
      content: Array.from({ length: 4 + Math.floor(chance() * 24) }, () => pick(words)).join(' '),
      timestamp: new Date(atMs).toISOString().replace('Z', '000+00:00'),
      nonce: String(id - (BigInt(Math.floor(80 + chance() * 200)) << 22n)),
    };
  };
}

const hexOf = (chance: () => number, digits: number): string =>
  Array.from({ length: digits }, () => Math.floor(chance() * 16).toString(16)).join('');

/** Deterministic pseudo-random numbers from 0 to 1 (mulberry32). */
export function seeded(seed: number): () => number {
  let state = (seed + 0x9e3779b9) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

import type { Row } from './row.ts';

/** Mutations of engine/ on which no promise depends. */
export const EQUIVALENT_IN_ENGINE: readonly Row[] = [
  [
    ...([
      'engine/session/allowance.ts',
      'nowMs >= this.#windowEndsMs',
      '(nowMs) > (this.#windowEndsMs)',
    ] as const),
    'The budget of a connection is a millisecond late.',
  ],
  [
    ...(['engine/session/sessionid.ts', '/^[0-9a-f]{3}$/.test(digits)'] as const),
    ...(['!(/^[0-9a-f]{3}$/.test(digits))', 'A hint: without it all shards are asked.'] as const),
  ],
  ['engine/placement/rendezvous.ts', '2', '2 + 1', 'All scores change by the same factor.'],
  ['engine/session/journal.ts', '0x9e37_79b1', '0x9e37_79b1 + 1', 'Another odd constant of a checksum.'],
  [
    ...(['engine/session/journal.index.ts', 'handles[0] ?? 0', 'handles[0]'] as const),
    'Only an entry of no session has no handle.',
  ],
  [
    ...([
      'engine/session/starts.ts',
      'starts.busyUntilMs.get(bucket) ?? Number.NEGATIVE_INFINITY',
      'starts.busyUntilMs.get(bucket)',
    ] as const),
    'No time is before an unknown one.',
  ],
  [
    ...(['engine/session/starts.ts', 'nowMs >= starts.dayEndsMs', '(nowMs) > (starts.dayEndsMs)'] as const),
    'A record that ends now is replaced when it is used.',
  ],
  [
    ...(['engine/session/starts.ts', 'this.#bots.size * 2', '(this.#bots.size) + (2)'] as const),
    'How often expired records are looked for.',
  ],
  ['engine/session/starts.ts', '2', '2 + 1', 'Records are swept one bot later.', '#sweepAt ='],
  [
    ...(['engine/session/journal.ts', 'words[at + 3] ?? 0', 'words[at + 3]'] as const),
    ...(['The header is whole.', 'listWords < 0'] as const),
  ],
  [
    ...([
      'engine/session/journal.ts',
      'this.#words.length * 4 > bytesMax',
      '(this.#words.length * 4) >= (bytesMax)',
    ] as const),
    'A buffer of exactly the bound is allocated again.',
  ],
  ['engine/session/journal.ts', '4', '4 + 1', 'A buffer is a byte larger.', 'Buffer.alloc(Math.max('],
  ['engine/session/journal.ts', '0', '0 + 1', 'No reader looks at the padding.', '#content.fill('],
  ['engine/session/journal.ts', '0', '0 + 1', 'The start of an empty list.', 'words.subarray(0, 0)'],
  [
    ...([
      'engine/session/cursors.ts',
      'this.cursor(handle, ownerId) ?? 0',
      'this.cursor(handle, ownerId)',
    ] as const),
    'A session has a position in each stream that it follows.',
  ],
  ['engine/session/allowance.ts', '0', '0 + 1', 'Set before it is read.', ' #presences ='],
  ['engine/fanout/body.ts', '0', '0 + 1', 'A single recipient is no group either.', ' recipients ='],
  [
    ...(['engine/fanout/body.ts', 'index < this.#count', '(index) <= (this.#count)'] as const),
    ...(['The dispatch that is pushed takes the slot after the last.', 'slots[index] ='] as const),
  ],
  [
    'engine/fanout/audience.ts',
    'onlyNearInLarge',
    '!(onlyNearInLarge)',
    'The keys of the two kinds of rows still differ.',
  ],
  [
    'engine/fanout/audience.ts',
    'THREADS.has(channel.type)',
    '!(THREADS.has(channel.type))',
    'The keys of threads and of other channels still differ.',
    'const kind =',
  ],
  [
    'engine/session/memberlists.ts',
    '1024',
    '1024 + 1',
    'Expired requests are removed one request later.',
    'SWEEP_FROM =',
  ],
  ['engine/session/journal.ts', '2', '2 + 1', 'A buffer is a word larger.', 'new Int32Array(Math.max('],
  ...(['const listWords = words', 'return at + HEADER_WORDS >'] as const).map(
    (on) =>
      [
        ...(['engine/session/journal.ts', 'words[at + 2] ?? 0', 'words[at + 2]'] as const),
        ...(['The header is whole.', on] as const),
      ] as const,
  ),
  ['engine/session/journal.ts', '1', '1 + 1', 'The first size of a buffer that grows.', 'FIRST_BYTES ='],
  [
    'engine/session/journal.ts',
    'this.#size + ENTRY_WORDS > this.#words.length',
    '(this.#size + ENTRY_WORDS) >= (this.#words.length)',
    'A buffer that has room for the entry does not grow.',
  ],
];

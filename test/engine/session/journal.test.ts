// Goal: what a journal says of a session is what the session was sent, whatever becomes of the journal's bytes.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JournalIndex, type SessionEntry } from '../../../engine/session/journal.index.ts';
import {
  BatchWriter,
  checksum,
  ENTRY,
  readBatch,
  readDispatch,
  readStream,
  streamText,
  wordsOf,
} from '../../../engine/session/journal.ts';

const SESSIONS = 4;
const idOf = (handle: number): string => `session${handle}`;

/** An action in one tick. */
type Step =
  | { readonly kind: 'open' | 'end' | 'change'; readonly handle: number }
  | {
      readonly kind: 'dispatch';
      readonly handles: readonly number[];
      readonly text: string;
      readonly n: number;
    }
  | { readonly kind: 'segment' };

const handle = fc.integer({ min: 1, max: SESSIONS });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('open', 'end', 'change'), handle }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('dispatch'),
      handles: fc.uniqueArray(handle, { minLength: 1 }),
      text: fc.string({ unit: 'grapheme' }),
      n: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'segment' } as const) },
);
const ticks = fc.array(fc.array(step, { maxLength: 6 }), { minLength: 1, maxLength: 12 });

/** Dispatches that a session was sent, by number from 1. */
interface Sent {
  readonly jsons: string[];
  presence: string;
}

const contentOf = (own: number, { jsons, presence }: Sent): SessionEntry => ({
  identity: {
    sessionId: idOf(own) as never,
    principal: {
      userId: '1' as never,
      bot: true,
      applicationId: null,
      applicationFlags: 0,
      authorization: null,
    },
    ...{ intents: 1, shard: [0, 1], largeThreshold: 50 },
  },
  presence: { status: presence } as never,
  wantsAuthorizeRequests: false,
  seq: jsons.length,
  cursors: [],
});

/** Writes the journal of what happens, by segment, and keeps what was sent. */
function write(happening: readonly (readonly Step[])[]) {
  const batch = new BatchWriter();
  const segments: Uint8Array[][] = [[]];
  const live = new Map<number, Sent>();
  /** All that any session of an id was ever sent; ids are used again only with a fresh history. */
  let number = 0;
  const name = (own: number, sent: Sent) =>
    batch.note(ENTRY.session, own, JSON.stringify(contentOf(own, sent)));
  const finish = () => {
    number += 1;
    segments.at(-1)?.push(batch.finish(number, 1_700_000_000_000 + number).slice());
  };
  for (const steps of happening) {
    for (const each of steps) {
      if (each.kind === 'segment') {
        finish();
        segments.push([]);
        for (const [own, sent] of live) name(own, sent);
      } else if (each.kind === 'dispatch') {
        const to = each.handles.filter((own) => live.has(own));
        if (to.length === 0) continue;
        const json = JSON.stringify({ text: each.text });
        batch.dispatch('MESSAGE_CREATE', json, each.n % 2 === 0 ? null : { ownerId: '77', n: each.n });
        for (const own of to) {
          batch.add(own);
          live.get(own)?.jsons.push(json);
        }
      } else {
        const sent = live.get(each.handle);
        if (each.kind === 'open' && !sent) {
          const fresh = { jsons: [], presence: 'online' };
          live.set(each.handle, fresh);
          name(each.handle, fresh);
        } else if (sent && each.kind === 'end') {
          live.delete(each.handle);
          batch.note(ENTRY.ended, each.handle, '');
        } else if (sent && each.kind === 'change') {
          sent.presence += '!';
          const { presence, wantsAuthorizeRequests } = contentOf(each.handle, sent);
          batch.note(ENTRY.changed, each.handle, JSON.stringify({ presence, wantsAuthorizeRequests }));
        }
      }
    }
    finish();
  }
  return { segments: segments.map((batches) => Buffer.concat(batches)), live };
}

function read(segments: readonly Buffer[]) {
  const index = new JournalIndex(1000);
  for (const [segment, bytes] of segments.entries())
    for (const _ of index.read(segment, wordsOf(bytes), bytes));
  return index;
}

/** The dispatches of a session by number, as the journal has them. */
function numbered(index: JournalIndex, segments: readonly Buffer[], own: number) {
  const found = index.find(idOf(own));
  if (!found) return null;
  const firstSeq = found.seq - found.positions.length + 1;
  const jsons = found.positions.map(({ segment, at, bytes }) =>
    readDispatch((segments[segment] as Buffer).subarray(at, at + bytes)),
  );
  return { seq: found.seq, presence: found.manner.presence?.status, firstSeq, jsons };
}

/** Histories without an end: a repeated id would make two histories of one name. */
const endless = ticks.map((all) => all.map((steps) => steps.filter(({ kind }) => kind !== 'end')));

describe('a journal', () => {
  it('lists for each open session its dispatches with their numbers, and no ended session', () => {
    fc.assert(
      fc.property(ticks, (happening) => {
        const { segments, live } = write(happening);
        const index = read(segments);
        expect(index.damages).toBe(0);
        for (let own = 1; own <= SESSIONS; own += 1) {
          const sent = live.get(own);
          const found = numbered(index, segments, own);
          if (!sent) expect(found).toBeNull();
          else {
            expect(found).toMatchObject({ seq: sent.jsons.length, presence: sent.presence, firstSeq: 1 });
            expect(found?.jsons.map(({ json, t }) => [t, json])).toEqual(
              sent.jsons.map((json) => ['MESSAGE_CREATE', json]),
            );
          }
        }
      }),
    );
  });

  it('can be read from any of its segments on', () => {
    fc.assert(
      fc.property(endless, fc.nat(), (happening, chance) => {
        const { segments, live } = write([[{ kind: 'open', handle: 1 }], ...happening]);
        const from = chance % segments.length;
        const index = read(segments.map((bytes, at) => (at < from ? Buffer.alloc(0) : bytes)));
        const found = numbered(index, segments, 1);
        const sent = live.get(1)?.jsons ?? [];
        expect(found?.seq).toBe(sent.length);
        expect(found?.jsons.map(({ json }) => json)).toEqual(sent.slice((found?.firstSeq ?? 1) - 1));
      }),
    );
  });

  it('contains everything sent up to some moment when it is cut off anywhere', () => {
    fc.assert(
      fc.property(endless, fc.nat(), (happening, chance) => {
        const { segments, live } = write(happening);
        const last = segments.at(-1) as Buffer;
        const torn = [...segments.slice(0, -1), last.subarray(0, chance % (last.length + 1))];
        expectTrue(read(torn), torn, live);
      }),
    );
  });

  it('returns no wrong dispatch after any flipped bit, and everything of unaffected sessions', () => {
    fc.assert(
      fc.property(endless, fc.nat(), fc.nat({ max: 7 }), (happening, chance, bit) => {
        const { segments, live } = write(happening);
        const total = segments.reduce((sum, { length }) => sum + length, 0);
        let at = chance % total;
        const damaged = segments.map((bytes) => {
          const copy = Buffer.from(bytes);
          if (at >= 0 && at < copy.length) copy[at] = (copy[at] as number) ^ (1 << bit);
          at -= copy.length;
          return copy;
        });
        expectTrue(read(damaged), damaged, live);
      }),
      { numRuns: 1000 },
    );
  });

  it('returns all or nothing of a session when its last batch is damaged, unless the batch looks unfinished', () => {
    const SIZES = [2, 3];
    fc.assert(
      fc.property(endless, fc.nat(), fc.nat({ max: 31 }), (happening, chance, bit) => {
        const { segments, live } = write(happening);
        const last = segments.at(-1) as Buffer;
        const words = wordsOf(last);
        let at = 0;
        for (let batch = readBatch(words, 0); batch.kind === 'whole'; batch = readBatch(words, at)) {
          if (batch.endWord === words.length) break;
          at = batch.endWord;
        }
        const turned = chance % (words.length - at);
        fc.pre(!SIZES.includes(turned));
        words[at + turned] = (words[at + turned] as number) ^ (1 << bit);
        const damaged = [...segments.slice(0, -1), Buffer.from(words.buffer, words.byteOffset, last.length)];
        const index = read(damaged);
        for (const [own, { jsons }] of live)
          expect(index.find(idOf(own))?.seq ?? jsons.length).toBe(jsons.length);
        expect(index.damages).toBeGreaterThan(0);
      }),
    );
  });

  it('loses only the sessions that a damaged dispatch was sent to', () => {
    const message = (handles: number[], text: string): Step => ({ kind: 'dispatch', handles, text, n: 0 });
    const opening: Step[] = [1, 2].map((own) => ({ kind: 'open', handle: own }));
    const { segments, live } = write([opening, [message([1], 'private')], [message([1, 2], 'both')]]);
    const [bytes] = segments as [Buffer];
    bytes[bytes.indexOf('private')] = 0x20;
    const index = read(segments);
    expect(index.damages).toBe(1);
    expect(index.find(idOf(1))).toBeNull();
    expect(numbered(index, segments, 2)?.jsons.map(({ json }) => json)).toEqual(live.get(2)?.jsons);
  });

  it('returns nothing of a session after a missing batch until a segment names the session again', () => {
    const message: Step = { kind: 'dispatch', handles: [1], text: 'x', n: 0 };
    const { segments } = write([
      [{ kind: 'open', handle: 1 }],
      [message],
      [message],
      [{ kind: 'segment' }],
      [message],
    ]);
    const [first, second] = segments.map(wordsOf) as [Int32Array, Int32Array];
    const gap = readBatch(first, 0);
    if (gap.kind !== 'whole') throw new Error('unread');
    const { endWord } = readBatch(first, gap.endWord) as typeof gap;
    const bytes = Buffer.from(segments[0] as Buffer);
    const without = Buffer.concat([bytes.subarray(0, gap.endWord * 4), bytes.subarray(endWord * 4)]);
    expect(read([without]).find(idOf(1))).toBeNull();
    const whole = read([without, Buffer.from(second.buffer, second.byteOffset, second.byteLength)]);
    expect(whole.find(idOf(1))).toMatchObject({ seq: 3 });
    expect(whole.find(idOf(1))?.positions).toHaveLength(1);
  });

  it('stores a repeated list of recipients once', () => {
    const sizeOf = (lists: readonly (readonly number[])[]) => {
      const batch = new BatchWriter();
      for (const list of lists) {
        batch.dispatch('TYPING_START', '{}', null);
        for (const own of list) batch.add(own);
      }
      return batch.finish(1, 0).length;
    };
    const many = Array.from({ length: 500 }, (_, index) => index + 1);
    expect(sizeOf([many, many]) - sizeOf([many])).toBeLessThan(50);
    expect(sizeOf([many, many.toReversed()]) - sizeOf([many])).toBeGreaterThan(2000);
  });

  it.each<[what: string, handles: readonly number[], at: number, word: number]>([
    ['has more sessions than its list holds', [9], 10, 2],
    ['has fewer than no sessions', [9], 10, -1],
    ['is of an unknown kind', [9], 8, 99],
    ['has more content than the batch', [9], 9, 1000],
  ])('has no batch with an entry that %s, although its checksum is right', (_what, handles, at, word) => {
    const batch = new BatchWriter();
    batch.dispatch('MESSAGE_CREATE', JSON.stringify({ content: 'private' }), null);
    for (const own of handles) batch.add(own);
    const words = wordsOf(batch.finish(1, 0));
    expect(readBatch(words, 0).kind).toBe('whole');
    words[at] = word;
    expect(readBatch(resummed(words), 0)).toEqual({ kind: 'lost', nextWord: null, torn: false });
  });

  it('has no batch whose lists are shorter than nothing, although its checksum is right', () => {
    const batch = new BatchWriter();
    batch.dispatch('MESSAGE_CREATE', '{}', null);
    batch.add(9);
    const words = wordsOf(batch.finish(1, 0));
    words[2] = -1;
    expect(readBatch(resummed(words), 0)).toEqual({ kind: 'lost', nextWord: null, torn: false });
  });

  it('has no batch whose first entry has the sessions of an entry before it, although its checksum is right', () => {
    const batch = new BatchWriter();
    batch.dispatch('MESSAGE_CREATE', '{}', null);
    const words = wordsOf(batch.finish(1, 0));
    words[8] = ENTRY.dispatch | 0x100;
    words[10] = 1;
    expect(readBatch(resummed(words), 0).kind).toBe('lost');
  });

  it('is never anything from arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(read([Buffer.from(bytes)]).size).toBe(0);
      }),
    );
  });
});

/** The batch with the checksum of its header and lists computed again. */
function resummed(words: Int32Array): Int32Array {
  const [magic = 0, , listWords = 0] = words;
  words[7] = checksum(words, 8, 8 + listWords, checksum(words, 0, 7, magic));
  return words;
}

/** Each session that is found was sent exactly that, under those numbers. */
function expectTrue(index: JournalIndex, segments: readonly Buffer[], live: ReadonlyMap<number, Sent>): void {
  for (const [own, { jsons }] of live) {
    const found = numbered(index, segments, own);
    if (!found) continue;
    expect(found.seq).toBeLessThanOrEqual(jsons.length);
    expect(found.jsons.map(({ json }) => json)).toEqual(jsons.slice(found.firstSeq - 1, found.seq));
  }
}

describe('the parts of it', () => {
  it('name streams of any id and number', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat({ max: Number.MAX_SAFE_INTEGER }), (ownerId, n) => {
        expect(readStream(streamText(ownerId, n))).toEqual([ownerId, n]);
      }),
    );
  });

  it('carry the number of a dispatch in its stream', () => {
    const origin = { ownerId: '1390000000000000001', n: 7 * 2 ** 32 + 12 };
    const batch = new BatchWriter();
    batch.dispatch('MESSAGE_CREATE', '{"content":"ä𝄞"}', origin);
    batch.add(9);
    const bytes = Buffer.from(batch.finish(3, 5));
    const read = readBatch(wordsOf(bytes), 0);
    if (read.kind !== 'whole') throw new Error('unread');
    const [{ at, bytes: size, handles }] = read.entries as [(typeof read.entries)[0]];
    expect([read.number, read.atMs, [...handles]]).toEqual([3, 5, [9]]);
    expect(readDispatch(bytes.subarray(at, at + size))).toEqual({
      t: 'MESSAGE_CREATE',
      json: '{"content":"ä𝄞"}',
      origin,
    });
  });

  it('carry a dispatch that no session was sent', () => {
    const batch = new BatchWriter();
    batch.dispatch('MESSAGE_CREATE', '{}', null);
    const read = readBatch(wordsOf(batch.finish(1, 0)), 0);
    expect(read.kind === 'whole' && read.entries.map(({ handles }) => [...handles])).toEqual([[]]);
  });

  it('have a checksum that any change of one word changes', () => {
    fc.assert(
      fc.property(
        fc.int32Array({ minLength: 1, maxLength: 40 }),
        fc.nat(),
        fc.integer().filter((change) => (change | 0) !== 0),
        (words, at, change) => {
          const other = Int32Array.from(words);
          other[at % words.length] = (other[at % words.length] as number) ^ change;
          expect(checksum(other, 0, other.length, 1)).not.toBe(checksum(words, 0, words.length, 1));
        },
      ),
    );
  });
});

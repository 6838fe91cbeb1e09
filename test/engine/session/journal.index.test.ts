// Goal: damage to a journal loses the sessions that it may concern, and no others; everything that is kept is bounded.
import { describe, expect, it } from 'vitest';
import {
  type IndexedSession,
  JournalIndex,
  type SessionEntry,
} from '../../../engine/session/journal.index.ts';
import { BatchWriter, ENTRY, readBatch, streamText, wordsOf } from '../../../engine/session/journal.ts';
import type { ChannelId } from '../../../protocol/ids.ts';

const idOf = (handle: number): string => `session${handle}`;
const entryOf = (handle: number, change: Partial<SessionEntry> = {}): string =>
  JSON.stringify({
    identity: { sessionId: idOf(handle) },
    ...{ presence: null, wantsAuthorizeRequests: false, seq: 0, cursors: [] },
    ...change,
  });

/** A journal of one segment, batch by batch, and its index. */
function arrange(framesMax = 100, firstNumber = 1) {
  const batch = new BatchWriter();
  const index = new JournalIndex(framesMax);
  let number = firstNumber - 1;
  /** Whole batches with these entries, one after the other. */
  const written = (...entries: ((batch: BatchWriter) => void)[]): Buffer => {
    for (const entry of entries) entry(batch);
    number = (number + 1) | 0;
    return Buffer.from(batch.finish(number, 1_700_000_000_000 + number));
  };
  const read = (...batches: readonly Buffer[]) => {
    const segment = Buffer.concat(batches);
    for (const _ of index.read(7, wordsOf(segment), segment));
  };
  const skip = () => {
    number += 1;
  };
  return { index, written, read, skip };
}

const session =
  (handle: number, change: Partial<SessionEntry> = {}) =>
  (batch: BatchWriter): void =>
    batch.note(ENTRY.session, handle, entryOf(handle, change));
const note =
  (kind: (typeof ENTRY)[keyof typeof ENTRY], handle: number, text: string) =>
  (batch: BatchWriter): void =>
    batch.note(kind, handle, text);
const dispatch =
  (handles: readonly number[], n = 0, ownerId = '77') =>
  (batch: BatchWriter): void => {
    batch.dispatch('MESSAGE_CREATE', '{"text":"x"}', n === 0 ? null : { ownerId, n });
    for (const handle of handles) batch.add(handle);
  };
/** The batch with a flipped bit in its content, which begins after the lists. */
function damaged(batch: Buffer): Buffer {
  const copy = Buffer.from(batch);
  copy[copy.length - 1] = (copy[copy.length - 1] as number) ^ 1;
  return copy;
}

describe('the index of a journal', () => {
  it('begins without sessions, damage and a time', () => {
    const { index } = arrange();
    expect([index.size, index.damages, index.lastMs, index.find(idOf(1))]).toEqual([0, 0, 0, null]);
  });

  it('has the time of the last batch, and of each dispatch its place and time', () => {
    const { index, written, read } = arrange();
    const first = written(session(1));
    read(first, written(dispatch([1])));
    expect([index.lastMs, index.size]).toEqual([1_700_000_000_002, 1]);
    const [position] = index.find(idOf(1))?.positions ?? [];
    expect(position).toMatchObject({ segment: 7, atMs: 1_700_000_000_002 });
    expect(position?.at).toBeGreaterThan(first.length);
  });

  it.each([
    [5, 5],
    [1, 1],
    [0, 1],
  ])('keeps at least the last dispatches of a session, for a bound of %i', (framesMax, least) => {
    const { index, written, read } = arrange(framesMax);
    read(written(session(1)));
    for (let seq = 1; seq <= 40; seq += 1) {
      read(written(dispatch([1])));
      const { positions = [], seq: last } = index.find(idOf(1)) ?? {};
      expect(last).toBe(seq);
      expect(positions.length).toBeGreaterThanOrEqual(Math.min(seq, least));
      expect(positions.length).toBeLessThan(Math.max(2, least * 2));
    }
  });

  it('keeps the dispatches of a session that a segment names again, unless the name has another number', () => {
    const { index, written, read } = arrange();
    const cursors = () => index.cursorsOf(index.find(idOf(1)) as IndexedSession);
    read(written(session(1, { cursors: [['77', 5, 0]] })), written(dispatch([1])));
    const lobbyVoice = [
      { lobbyId: '50' as ChannelId, selfMute: true, selfDeaf: false, selfVideo: false },
    ] as const;
    const manner = { wantsAuthorizeRequests: true, lobbyVoice };
    read(written(session(1, { seq: 1, ...manner })));
    expect(index.find(idOf(1))).toMatchObject({ seq: 1, manner });
    expect([index.find(idOf(1))?.positions.length, cursors()]).toEqual([1, [['77', 5]]]);
    read(written(session(1, { seq: 9 })));
    expect(index.find(idOf(1))).toMatchObject({ seq: 9, positions: [] });
    expect(cursors()).toEqual([]);
    expect(index.size).toBe(1);
  });

  it('knows a session that returned by its last handle, also when the end of the first is written late', () => {
    const { index, written, read } = arrange();
    read(written(session(1), note(ENTRY.session, 2, entryOf(1, { seq: 5 })), note(ENTRY.ended, 1, '')));
    expect(index.find(idOf(1))).toMatchObject({ handle: 2, seq: 5 });
    read(written(note(ENTRY.ended, 2, '')));
    expect([index.find(idOf(1)), index.size]).toEqual([null, 0]);
  });

  it('has the position of each session in its streams, of its own where the session lags', () => {
    const { index, written, read } = arrange();
    const of = (handle: number) => {
      const found = index.find(idOf(handle));
      return found && index.cursorsOf(found);
    };
    read(written(session(2, { cursors: [['77', 3, 1]] }), session(1, { cursors: [['77', 5, 0]] })));
    expect([of(1), of(2)]).toEqual([[['77', 5]], [['77', 3]]]);
    read(written(dispatch([1], 6)));
    expect([of(1), of(2)]).toEqual([[['77', 6]], [['77', 3]]]);
    read(written(dispatch([2], 7)));
    expect([of(1), of(2)]).toEqual([[['77', 7]], [['77', 7]]]);
    read(written(note(ENTRY.following, 2, streamText('77', 7)), dispatch([1], 8)));
    expect([of(1), of(2)]).toEqual([[['77', 8]], [['77', 8]]]);
    read(written(note(ENTRY.lagging, 0, streamText('77')), dispatch([1], 9)));
    expect([of(1), of(2)]).toEqual([[['77', 9]], [['77', 8]]]);
    read(written(note(ENTRY.following, 2, streamText('77', 10)), note(ENTRY.left, 1, streamText('77'))));
    expect([of(1), of(2)]).toEqual([[], [['77', 10]]]);
  });

  it('finds a session that moved under a claim by its id and that claim only, as it was then', () => {
    const { index, written, read } = arrange();
    read(written(session(1, { cursors: [['77', 5, 0]] }), dispatch([1]), note(ENTRY.ended, 1, 'run9:1')));
    expect(index.find(idOf(1))).toBeNull();
    expect(index.findClaimed(idOf(1), 'run9:1')).toMatchObject({ session: { seq: 1 }, cursors: [['77', 5]] });
    expect([index.findClaimed(idOf(2), 'run9:1'), index.findClaimed(idOf(1), 'run9:2')]).toEqual([
      null,
      null,
    ]);
    read(written(session(2), note(ENTRY.ended, 2, ''), note(ENTRY.ended, 2, 'run9:3')));
    expect([index.findClaimed(idOf(2), ''), index.findClaimed(idOf(2), 'run9:3')]).toEqual([null, null]);
  });

  it('keeps 4,096 sessions that moved, and forgets the oldest first', () => {
    const { index, written, read } = arrange();
    const handles = Array.from({ length: 4097 }, (_, at) => at + 1);
    read(written(...handles.flatMap((handle) => [session(handle), note(ENTRY.ended, handle, `c${handle}`)])));
    expect(index.findClaimed(idOf(1), 'c1')).toBeNull();
    expect(index.findClaimed(idOf(2), 'c2')).not.toBeNull();
  });
});

describe('damage to a journal', () => {
  /** Sessions 1 and 2 in one batch. */
  function both(firstNumber = 1) {
    const instance = arrange(100, firstNumber);
    instance.read(instance.written(session(1, { cursors: [['77', 5, 0]] }), session(2)));
    const found = () => [1, 2].map((handle) => instance.index.find(idOf(handle))?.seq ?? null);
    return { ...instance, found };
  }

  it('loses every session when a batch is missing', () => {
    const { index, written, read, skip, found } = both();
    skip();
    read(written(dispatch([1])));
    expect([found(), index.damages]).toEqual([[null, null], 1]);
  });

  it('is not seen where the numbers of the batches begin again after the greatest', () => {
    const { index, written, read, found } = both(2 ** 31 - 1);
    read(written(dispatch([1])));
    expect([found(), index.damages]).toEqual([[1, 0], 0]);
  });

  it.each([
    ['following', note(ENTRY.following, 1, streamText('77', 9)), [null, 0]],
    ['changed', note(ENTRY.changed, 1, '{"wantsAuthorizeRequests":true}'), [null, 0]],
    ['lagging, which names no session', note(ENTRY.lagging, 0, streamText('77')), [null, null]],
  ] as const)('loses the sessions of an entry of the kind %s', (_kind, entry, left) => {
    const { index, written, read, found } = both();
    read(damaged(written(entry)));
    expect(found()).toEqual(left);
    expect(index.damages).toBeGreaterThan(0);
  });

  it('loses every session when a batch with a valid checksum cannot be parsed', () => {
    const { index, written, read, found } = both();
    read(written(note(ENTRY.session, 3, 'not JSON')));
    expect([found(), index.damages]).toEqual([[null, null], 1]);
  });

  it('is no loss at the end of a segment, where a batch was being written when the process ended', () => {
    const { index, written, read, found } = both();
    const torn = written(dispatch([1]));
    read(torn.subarray(0, torn.length - 4));
    expect([found(), index.damages]).toEqual([[0, 0], 0]);
  });

  it('loses every session where the end of a segment is no beginning of a batch', () => {
    const { index, read, found } = both();
    read(Buffer.alloc(64, 0x55));
    expect([found(), index.damages]).toEqual([[null, null], 1]);
  });

  it('does not hide the batches after a place that cannot be read', () => {
    const { index, written, read } = both();
    read(Buffer.alloc(64, 0x55), written(session(3)));
    expect([index.find(idOf(3))?.seq, index.damages]).toEqual([0, 0]);
  });

  it('leaves a lost session lost, whatever follows except its name', () => {
    const { index, written, read, found } = both();
    read(damaged(written(dispatch([1]))));
    const changed = note(ENTRY.changed, 1, '{"presence":null,"wantsAuthorizeRequests":true}');
    const following = note(ENTRY.following, 1, streamText('77', 9));
    read(written(changed, following, dispatch([1, 2])));
    expect(found()).toEqual([null, 1]);
    read(written(note(ENTRY.ended, 1, 'run9:1')));
    expect(index.findClaimed(idOf(1), 'run9:1')).toBeNull();
    read(written(session(1, { seq: 8 })), written(dispatch([1])));
    const named = index.find(idOf(1));
    expect([named?.seq, named?.positions.length, named && index.cursorsOf(named)]).toEqual([9, 1, []]);
  });

  it('is not an entry for a session that a lost segment named', () => {
    const { index, written, read, found } = both();
    const text = streamText('77', 9);
    read(written(note(ENTRY.changed, 9, '{}'), note(ENTRY.following, 9, text), note(ENTRY.left, 9, text)));
    read(written(note(ENTRY.ended, 9, 'run9:1'), dispatch([9])));
    expect([found(), index.damages, index.findClaimed(idOf(9), 'run9:1')]).toEqual([[0, 0], 0, null]);
  });

  it('has the number of the lost batch behind it when the content of that batch alone is damaged', () => {
    const { index, written, read, found } = both();
    read(damaged(written(dispatch([1]))), written(dispatch([2])));
    expect([found(), index.damages]).toEqual([[null, 1], 1]);
  });
});

describe('a batch', () => {
  const read = (bytes: Uint8Array) => {
    const copy = Buffer.from(bytes);
    const batch = readBatch(wordsOf(copy), 0);
    if (batch.kind !== 'whole') throw new Error(batch.kind);
    const texts = batch.entries.map(({ at, bytes }) => copy.toString('utf8', at, at + bytes));
    return { ...batch, texts, words: copy.length / 4 };
  };

  it.each([1, 3, 30_000, 65_500, 65_536, 70_000, 300_000])(
    'holds a dispatch and an entry of %i characters that take three bytes each',
    (length) => {
      const batch = new BatchWriter();
      const text = '€'.repeat(length);
      batch.note(ENTRY.session, 1, text);
      batch.dispatch('MESSAGE_CREATE', text, { ownerId: '77', n: 4 });
      batch.add(1);
      batch.note(ENTRY.session, 2, text);
      const { texts, endWord, words } = read(batch.finish(1, 5));
      expect([texts[0] === text, texts[1]?.endsWith(text), texts[2] === text]).toEqual([true, true, true]);
      expect(endWord).toBe(words);
    },
  );

  it('holds any number of sessions and entries', () => {
    for (const count of [1, 4_070, 4_085, 4_088, 5_000, 20_000]) {
      const batch = new BatchWriter();
      const handles = Array.from({ length: count }, (_, at) => at + 1);
      for (const list of [handles, handles.toReversed(), handles.toReversed()]) {
        batch.dispatch('TYPING_START', '{}', null);
        for (const handle of list) batch.add(handle);
      }
      batch.note(ENTRY.ended, 9, '');
      const { entries } = read(batch.finish(1, 5));
      const lists = entries.map(({ handles }) => [handles.length, handles[0], handles.at(-1)]);
      expect(lists).toEqual([
        [count, 1, count],
        [count, count, 1],
        [count, count, 1],
        [1, 9, 9],
      ]);
    }
  });

  it('is stored in the same bytes by every version, which reads the journals of earlier ones', () => {
    const batch = new BatchWriter();
    for (const kind of Object.values(ENTRY)) if (kind !== ENTRY.dispatch) batch.note(kind, 5, 'text');
    for (let times = 0; times < 2; times += 1) {
      batch.dispatch('MESSAGE_CREATE', '{"é":1}', { ownerId: '77', n: 2 ** 33 + 1 });
      for (const handle of [5, -6]) batch.add(handle);
    }
    const stored = [
      'R0hKMQkAAAAgAAAAXAAAAABo5c+LAQAAVwYwhiDGSEYCAAAABAAAAAEAAAAFAAAAAwAAAAQAAAABAAAABQAA',
      'AAQAAAAEAAAAAQAAAAUAAAAFAAAABAAAAAEAAAAFAAAABgAAAAQAAAABAAAABQAAAAcAAAAEAAAAAQAAAAUA',
      'AAABAAAAIgAAAAIAAAAFAAAA+v///wEBAAAiAAAAAgAAAHRleHR0ZXh0dGV4dHRleHR0ZXh0dGV4dA5NRVNT',
      'QUdFX0NSRUFURQI3NwAACAAAAABCeyLDqSI6MX0OTUVTU0FHRV9DUkVBVEUCNzcAAAgAAAAAQnsiw6kiOjF9',
    ].join('');
    expect(Buffer.from(batch.finish(9, 1_700_000_000_000)).toString('base64')).toBe(stored);
  });

  it('begins empty, counts what it holds, and begins again after it is finished', () => {
    const batch = new BatchWriter();
    expect(batch.isEmpty).toBe(true);
    batch.note(ENTRY.ended, 1, 'abcd');
    expect([batch.isEmpty, batch.bytes]).toEqual([false, batch.finish(1, 5).length]);
    expect(batch.isEmpty).toBe(true);
    batch.note(ENTRY.changed, 2, 'x');
    const { number, atMs, texts, entries } = read(batch.finish(2, 2 ** 41 + 2 ** 31 + 7));
    expect([number, atMs, texts, [...(entries[0]?.handles ?? [])]]).toEqual([
      ...[2, 2 ** 41 + 2 ** 31 + 7, ['x'], [2]],
    ]);
  });

  it('does not repeat the list of the batch before it, which may be lost', () => {
    const batch = new BatchWriter();
    const handles = [1, 2, 3];
    const write = () => {
      batch.dispatch('TYPING_START', '{}', null);
      for (const handle of handles) batch.add(handle);
      return read(batch.finish(1, 5)).entries.map((entry) => [...entry.handles]);
    };
    expect([write(), write()]).toEqual([[handles], [handles]]);
  });

  it('is the same after its buffers were released as before', () => {
    const batch = new BatchWriter();
    const write = (text: string) => {
      batch.note(ENTRY.session, 1, text);
      return Buffer.from(batch.finish(1, 5));
    };
    const large = 'x'.repeat(500_000);
    const [first, small] = [write(large), write('x')];
    batch.shrink(1_000);
    expect(write('x').equals(small)).toBe(true);
    expect(write(large).equals(first)).toBe(true);
  });
});

// Goal: a session is taken from the journals of ended runs by one shard, with what its client missed, or with the reason
// why it cannot be resumed; the journals are read in slices and deleted when nothing in them can be resumed.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { CrashedJournals } from '../../../actors/session/crashedjournals.ts';
import { BatchWriter, ENTRY } from '../../../engine/session/journal.ts';
import type { JournalWriter } from '../../../storage/journal/port.ts';
import { MemoryJournals } from '../../support/memoryjournals.ts';

const AGE_MS = 10_000;
const FRAMES_MAX = 4;
const PRINCIPAL = {
  ...{ userId: '1' as never, bot: false, applicationId: null, applicationFlags: 0, authorization: null },
};
const idOf = (handle: number): never => `session${handle}` as never;
const claimOf = (handle: number, seq: number, userId = '1') => ({
  ...{ sessionId: idOf(handle), seq, principal: { ...PRINCIPAL, userId: userId as never } },
});

/** Journals in memory; `begin` starts one, to which batches of entries are written at the time of the clock. */
function arrange(clock = new VirtualClock()) {
  const store = new MemoryJournals(() => clock.now());
  const reads: number[] = [];
  const state = { lists: 0, alive: new Set<string>(), fault: null as Error | null };
  const { folders, read } = { folders: store.folders.bind(store), read: store.read.bind(store) };
  store.folders = () => {
    state.lists += 1;
    return folders();
  };
  store.read = async (folder, segment) => {
    reads.push(segment);
    if (state.fault) throw state.fault;
    return read(folder, segment);
  };
  const damages: unknown[] = [];
  const crashed = new CrashedJournals({
    ...{ store, clock, settings: { framesMax: FRAMES_MAX, ageMs: AGE_MS } },
    hasCrashed: async ({ instance }) => !state.alive.has(instance),
    onDamage: ({ instance }, count) => damages.push([instance, count]),
  });
  const batch = new BatchWriter();
  const numbers = new Map<JournalWriter, number>();
  const begin = (instance = 'run1', copy = false) => {
    const writer = store.begin('shard-0', instance, copy);
    writer.rotate();
    return writer;
  };
  const write = (writer: JournalWriter, ...entries: ((batch: BatchWriter) => void)[]) => {
    for (const entry of entries) entry(batch);
    const number = (numbers.get(writer) ?? 0) + 1;
    numbers.set(writer, number);
    writer.append(batch.finish(number, clock.now()));
  };
  const take = (handle: number, seq: number, { userId = '1', copy = false, claimKey = '' } = {}) =>
    crashed.take(claimOf(handle, seq, userId), claimKey, copy);
  return { clock, store, crashed, reads, state, damages, begin, write, take };
}

const session =
  (handle: number, seq = 0) =>
  (batch: BatchWriter): void => {
    const identity = { sessionId: idOf(handle), principal: PRINCIPAL, intents: 0, shard: [0, 1] };
    const entry = { identity, presence: null, wantsAuthorizeRequests: false, seq, cursors: [] };
    batch.note(ENTRY.session, handle, JSON.stringify(entry));
  };
const say =
  (text: string, ...handles: number[]) =>
  (batch: BatchWriter): void => {
    batch.dispatch('MESSAGE_CREATE', JSON.stringify(text), null);
    for (const handle of handles) batch.add(handle);
  };
const frames = (...texts: string[]) =>
  texts.map((text) => ({ t: 'MESSAGE_CREATE', json: JSON.stringify(text) }));

describe('a session in the journal of an ended run', () => {
  /** Session 1, which was sent two dispatches 5 s apart. */
  function written(copy = false) {
    const instance = arrange();
    const writer = instance.begin('run1', copy);
    instance.write(writer, session(1), say('one', 1));
    instance.clock.advance(5_000);
    instance.write(writer, say('two', 1));
    return { ...instance, writer };
  }

  it.each([
    [0, ['one', 'two']],
    [1, ['two']],
    [2, []],
  ] as const)('is taken with what its client missed after the number %i', async (seq, missed) => {
    const { take } = written();
    const result = await take(1, seq);
    expect(result).toMatchObject({ kind: 'taken', record: { seq: 2, missed: frames(...missed) } });
    expect(result.kind === 'taken' && result.record.missed.map(({ ageMs }) => ageMs)).toEqual(
      [5_000, 0].slice(2 - missed.length),
    );
    expect((await take(1, seq)).kind).toBe('unknown');
  });

  it.each([3, -1, 0.5, Number.NaN])(
    'is taken as unknown at its client when the client names the number %d',
    async (seq) => {
      const { take, store } = written();
      expect(await take(1, seq)).toEqual({ kind: 'seqUnknown' });
      expect([...store.made.values()][0]?.taken.size).toBe(1);
    },
  );

  it('is left to other journals when a replica lacks what its client has received', async () => {
    const { take, store } = written(true);
    expect(await take(1, 3, { copy: true })).toEqual({ kind: 'unknown' });
    expect([...store.made.values()][0]?.taken.size).toBe(0);
    expect((await take(1, 2, { copy: true })).kind).toBe('taken');
  });

  it('is found only among replicas, or only among journals of this machine, as the caller asks', async () => {
    expect((await written().take(1, 2, { copy: true })).kind).toBe('unknown');
    expect((await written(true).take(1, 2)).kind).toBe('unknown');
  });

  it('is unknown while its run lives, to another user, and under another id', async () => {
    const { state, take } = written();
    state.alive.add('run1');
    expect((await take(1, 2)).kind).toBe('unknown');
    state.alive.clear();
    expect((await take(2, 0)).kind).toBe('unknown');
    expect((await take(1, 2, { userId: '2' })).kind).toBe('unknown');
    expect((await take(1, 2)).kind).toBe('taken');
  });

  it('is too old when a missed dispatch is older than 10 s, to the millisecond', async () => {
    for (const [ms, kind] of [
      [5_000, 'taken'],
      [5_001, 'seqTooOld'],
    ] as const) {
      const { clock, take } = written();
      clock.advance(ms);
      expect((await take(1, 0)).kind).toBe(kind);
    }
    const { clock, take } = written();
    clock.advance(5_001);
    expect((await take(1, 1)).kind).toBe('taken');
  });

  it('is unknown when its journal was last written more than 10 s ago', async () => {
    for (const [ms, kind] of [
      [10_000, 'taken'],
      [10_001, 'unknown'],
    ] as const) {
      const { clock, take } = written();
      clock.advance(ms);
      expect((await take(1, 2)).kind).toBe(kind);
    }
  });

  it('is too old when its client missed more than the journal keeps', async () => {
    const { begin, write, take } = arrange();
    write(begin(), session(1), ...Array.from({ length: FRAMES_MAX * 2 }, (_, at) => say(`${at}`, 1)));
    expect((await take(1, 0)).kind).toBe('seqTooOld');
    const other = arrange();
    other.write(
      other.begin(),
      session(1),
      ...Array.from({ length: FRAMES_MAX * 2 }, (_, at) => say(`${at}`, 1)),
    );
    expect((await other.take(1, FRAMES_MAX)).kind).toBe('taken');
  });

  it('is taken from the journal that knows it, of several', async () => {
    const { begin, write, take, state } = arrange();
    write(begin('run1'), session(1), say('old', 1));
    write(begin('run2'), session(1, 1), say('new', 1));
    state.alive.add('run1');
    expect(await take(1, 1)).toMatchObject({ kind: 'taken', record: { seq: 2, missed: frames('new') } });
    state.alive.clear();
    expect(await take(1, 1)).toMatchObject({ kind: 'taken', record: { seq: 1 } });
  });

  it('is unknown when another process has taken it', async () => {
    const { take, store } = written();
    await store.take((await store.folders())[0] as never, { sessionId: idOf(1), handle: 1 });
    expect((await take(1, 2)).kind).toBe('unknown');
    const late = written();
    expect((await late.take(2, 2)).kind).toBe('unknown');
    await late.store.take((await late.store.folders())[0] as never, { sessionId: idOf(1), handle: 1 });
    expect((await late.take(1, 2)).kind).toBe('unknown');
  });

  it('is found under the claim that moved it, and reads a journal that was written on', async () => {
    const { write, writer, take } = written();
    expect((await take(2, 0)).kind).toBe('unknown');
    write(writer, say('three', 1));
    expect(await take(1, 3)).toMatchObject({ kind: 'taken', record: { seq: 3 } });
    const moved = written();
    moved.write(moved.writer, (batch) => batch.note(ENTRY.ended, 1, 'key'));
    expect((await moved.take(1, 2, { claimKey: 'other' })).kind).toBe('unknown');
    expect((await moved.take(1, 2, { claimKey: 'key' })).kind).toBe('taken');
  });

  it('is refused when a segment was deleted since it was read, and is too old for the next request', async () => {
    const { write, writer, take } = written();
    expect((await take(2, 0)).kind).toBe('unknown');
    writer.rotate();
    write(writer, session(1, 2), say('three', 1));
    writer.drop();
    await expect(take(1, 0)).rejects.toThrow('The journal of the session has changed.');
    expect(await take(1, 0)).toEqual({ kind: 'seqTooOld' });
  });
});

describe('the journals of ended runs', () => {
  it('are listed once within a quarter of a second, and again for a run that turned out to be alive', async () => {
    const { clock, crashed, state, take } = arrange();
    await Promise.all([take(1, 0), take(1, 0)]);
    clock.advance(250);
    await take(1, 0);
    expect(state.lists).toBe(1);
    clock.advance(1);
    await take(1, 0);
    expect(state.lists).toBe(2);
    crashed.forget('run1');
    await take(1, 0);
    expect(state.lists).toBe(3);
  });

  it('are read once, and again for the run that turned out to be alive', async () => {
    const { begin, write, crashed, reads, take } = arrange();
    write(begin('run1'), session(1));
    const run2 = begin('run2');
    write(run2, session(2));
    await take(3, 0);
    await take(3, 0);
    expect(reads).toHaveLength(2);
    for (const [instance, count] of [
      ['run1', 3],
      ['run1', 4],
      ['run3', 4],
    ] as const) {
      crashed.forget(instance);
      await take(3, 0);
      expect(reads).toHaveLength(count);
    }
    write(run2, session(3));
    crashed.forget('run2');
    expect((await take(3, 0)).kind).toBe('taken');
  });

  it('are read again after a read that failed', async () => {
    const { begin, write, state, take } = arrange();
    write(begin(), session(1), say('one', 1), say('two', 1));
    state.fault = new Error('The disk is away.');
    await expect(take(1, 0)).rejects.toThrow('The disk is away.');
    state.fault = null;
    await take(2, 0);
    state.fault = new Error('The disk is away.');
    await expect(take(1, 0)).rejects.toThrow('The disk is away.');
    state.fault = null;
    expect(await take(1, 0)).toMatchObject({ kind: 'taken', record: { missed: frames('one', 'two') } });
  });

  it('have at most four segments in memory, of which the first to be read is released first', async () => {
    const { begin, write, reads, take } = arrange();
    const writer = begin();
    const handles = [1, 2, 3, 4, 5, 6, 7];
    write(writer, ...handles.map((handle) => session(handle)), say('s1', 1, 7));
    for (const [segment, ...own] of [
      [2, 2],
      [3, 3],
      [4, 4],
      [5, 5, 6],
    ] as [number, ...number[]][]) {
      writer.rotate();
      write(writer, say(`s${segment}`, ...own));
    }
    for (const handle of [1, 2, 3, 4, 5, 6, 7]) expect((await take(handle, 0)).kind).toBe('taken');
    expect(reads).toEqual([1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1]);
  });

  it('are reported once with the number of damaged places, and not without any', async () => {
    const { store, begin, write, damages, take } = arrange();
    const writer = begin();
    write(writer, session(1));
    write(begin('run2'), session(2));
    const [parts] = [...(store.made.values().next().value?.segments.values() ?? [])] as [Buffer[]];
    parts.push(Buffer.alloc(64, 0x55));
    await take(1, 0);
    await take(1, 0);
    expect(damages).toEqual([['run1', 1]]);
  });

  it('are read for at most 4 ms at a time', async () => {
    const clock = new VirtualClock();
    const { begin, write, take } = arrange(clock);
    const writer = begin();
    write(writer, session(1));
    for (let count = 0; count < 40; count += 1) write(writer, say('x', 1));
    let nowMs = 0;
    let sinceMs = 0;
    const slices: number[] = [];
    // Each batch takes a millisecond.
    clock.monotonic = () => {
      nowMs += 1;
      return nowMs;
    };
    clock.defer = (run) => {
      slices.push(nowMs - sinceMs);
      setImmediate(() => {
        sinceMs = nowMs + 1;
        run();
      });
    };
    await take(1, 40);
    expect(slices.length).toBeGreaterThan(5);
    expect(Math.max(...slices.slice(1))).toBe(4);
  });
});

describe('cleaning', () => {
  it('deletes journals of ended runs that were last written more than 20 s ago, to the millisecond', async () => {
    const { clock, store, state, crashed, begin } = arrange();
    begin('run1');
    begin('run2');
    state.alive.add('run2');
    clock.advance(AGE_MS * 2);
    await crashed.clean();
    expect(store.made.size).toBe(2);
    clock.advance(1);
    await crashed.clean();
    expect([...store.made.values()].map(({ instance }) => instance)).toEqual(['run2']);
  });

  it('keeps what was read of a journal that stays, and not of one that another process deleted', async () => {
    const { clock, store, crashed, begin, write, reads, take } = arrange();
    write(begin('run1'), session(1));
    write(begin('run2'), session(2));
    await take(3, 0);
    await store.remove((await store.folders())[0] as never);
    await crashed.clean();
    write(begin('run1'), session(1));
    clock.advance(251);
    reads.length = 0;
    expect((await take(1, 0)).kind).toBe('taken');
    expect(reads).toHaveLength(1);
  });
});

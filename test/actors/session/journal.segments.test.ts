// Goal: a journal keeps its segments exactly as long as a session may need them, and a restarted journal holds only what is still true.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { CrashedJournals } from '../../../actors/session/crashedjournals.ts';
import type { JournalledSession } from '../../../actors/session/journal.ports.ts';
import { Journal } from '../../../actors/session/journal.ts';
import { plainOf } from '../../../actors/session/record.ts';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import { MemoryJournals } from '../../support/memoryjournals.ts';
import { BOT } from './harness.ts';

const AGE_MS = 8_000;
/** How often the journal deletes expired segments, and writes when nothing happens. */
const TICK_MS = AGE_MS / 16;
const RESTART_MS = 5_000;
const STEP_MS = 50;

const sessionOf = (handle: number): JournalledSession => ({
  ...{ sessionId: `${handle}` as never, userId: BOT.userId, intents: 0, bot: true, principal: BOT },
  ...{ handle, shard: [0, 1], largeThreshold: 50, seq: 0, over: false },
  ...{ presence: null, wantsAuthorizeRequests: false },
  writable: async () => undefined,
  following: () => undefined,
});

/** Keeps what the end of a turn runs until the test ends the turn. */
class TurnsClock extends VirtualClock {
  readonly #deferred: (() => void)[] = [];

  override defer(run: () => void): void {
    this.#deferred.push(run);
  }

  endTurn(): void {
    for (const run of this.#deferred.splice(0)) run();
  }
}

function arrange(bytesMax = 64 << 20, clock = new VirtualClock()) {
  const wheel = new TimerWheel(clock, STEP_MS);
  const store = new MemoryJournals(() => clock.now());
  const writer = store.begin('shard-0', 'run1');
  const faults: unknown[] = [];
  const journal = new Journal(writer, {
    ...{ clock, wheel, settings: { bytesMax, ageMs: AGE_MS } },
    onFault: (error) => faults.push(error),
  });
  const segments = () => [...store.made.values()].flatMap((folder) => [...folder.segments.keys()]);
  /** Stops the journal on a full disk; it restarts by itself. */
  const stop = () => {
    store.full = true;
    journal.rotate();
    store.full = false;
    expect(faults.splice(0)).toHaveLength(1);
  };
  const crashed = new CrashedJournals({
    ...{ store, clock, settings: { framesMax: 512, ageMs: AGE_MS } },
    hasCrashed: async () => true,
    onDamage: (_folder, damages) => faults.push(damages),
  });
  const take = ({ sessionId, seq }: JournalledSession) =>
    crashed.take({ sessionId, seq, principal: plainOf(BOT) }, '', false);
  const isResumable = async (session: JournalledSession) => (await take(session)).kind === 'taken';
  return { clock, wheel, store, writer, journal, faults, segments, stop, take, isResumable };
}

describe('a journal without traffic', () => {
  it('names its sessions twice in its maximum age, and stays as new as one with traffic', async () => {
    const { clock, writer, journal, store } = arrange();
    journal.opened(sessionOf(1));
    const writtenMs = async () => (await store.folders())[0]?.writtenMs ?? 0;
    const first = writer.segment.number;
    while (clock.monotonic() < 4 * AGE_MS) {
      clock.advance(STEP_MS);
      expect(clock.now() - (await writtenMs())).toBeLessThanOrEqual(2 * TICK_MS);
    }
    const segments = writer.segment.number - first;
    expect([segments >= 6, segments <= 8]).toEqual([true, true]);
  });

  it('writes nothing without sessions', async () => {
    const { clock, writer, store } = arrange();
    const { bytes, number } = writer.segment;
    clock.advance(4 * AGE_MS);
    expect(writer.segment).toEqual({ bytes, number });
    expect(await store.folders()).toHaveLength(1);
  });

  it('ends the record of a dispatch that is open in its turn, so that it is whole for all sessions', async () => {
    const clock = new TurnsClock();
    const { journal, faults, take } = arrange(64 << 20, clock);
    const sessions = [1, 2].map((handle) => sessionOf(handle));
    for (const session of sessions) journal.opened(session);
    clock.endTurn();
    clock.advance(TICK_MS + STEP_MS);
    const body = new DispatchBody('MESSAGE_CREATE', {}, clock.monotonic());
    clock.advance(TICK_MS - 2 * STEP_MS);
    journal.delivered(body, 1);
    clock.advance(2 * STEP_MS);
    journal.delivered(body, 2);
    clock.endTurn();
    journal.close();
    for (const session of sessions)
      expect(await take(session)).toMatchObject({
        kind: 'taken',
        record: { missed: [{ t: 'MESSAGE_CREATE' }] },
      });
    expect(faults).toEqual([]);
  });

  it('lets its sessions be resumed as long after the last of its writes as any other', async () => {
    const { clock, journal, isResumable } = arrange();
    const session = sessionOf(1);
    journal.opened(session);
    clock.advance(AGE_MS * 1.4);
    journal.close();
    clock.advance(AGE_MS - 2 * TICK_MS);
    expect(await isResumable(session)).toBe(true);
  });
});

describe('a segment of a journal', () => {
  it('is kept for the maximum age after its end and then deleted, also when several ended at once', () => {
    const { clock, writer, journal, segments } = arrange();
    journal.opened(sessionOf(1));
    const burstMs = new Set([3_150, 3_200, 3_250, 3_300]);
    const endedMs = new Map<number, number>();
    const early = new Set<number>();
    const late = new Set<number>();
    while (clock.monotonic() < 4 * AGE_MS) {
      const before = writer.segment.number;
      if (burstMs.has(clock.monotonic())) journal.rotate();
      clock.advance(STEP_MS);
      const nowMs = clock.monotonic();
      if (writer.segment.number !== before) endedMs.set(before, nowMs);
      const kept = new Set(segments());
      for (const [segment, atMs] of endedMs) {
        if (nowMs - atMs < AGE_MS && !kept.has(segment)) early.add(segment);
        if (nowMs - atMs > AGE_MS + 2 * TICK_MS && kept.has(segment)) late.add(segment);
      }
    }
    expect(endedMs.size).toBeGreaterThan(burstMs.size + 4);
    expect([[...early], [...late]]).toEqual([[], []]);
  });
});

describe('a new segment of a journal', () => {
  it('names a session with the streams that it follows, and without those that it has left', async () => {
    const { clock, journal, take } = arrange();
    const session = sessionOf(1);
    journal.opened(session);
    for (const [ownerId, n] of [
      ['7', 70],
      ['8', 80],
    ] as const)
      journal.following(session.handle, ownerId, n);
    journal.left(session.handle, '7');
    journal.rotate();
    clock.settle();
    expect(await take(session)).toMatchObject({ kind: 'taken', record: { cursors: [['8', 80]] } });
    expect(journal.cursors.of(session.handle)).toEqual([['8', 80]]);
  });

  it('keeps the last one that names all sessions when it begins before the previous one names all', async () => {
    const { clock, journal, isResumable } = arrange(4096);
    const sessions = Array.from({ length: 600 }, (_, index) => sessionOf(index + 1));
    for (const session of sessions) journal.opened(session);
    journal.flush();
    for (let rotations = 0; rotations < 3; rotations += 1) {
      journal.rotate();
      journal.flush();
    }
    const resumable = await Promise.all(sessions.map(isResumable));
    expect(resumable).toEqual(sessions.map(() => true));
    clock.settle();
  });

  it('replaces all but the previous one, while it names sessions, when the journal exceeds its size bound', () => {
    const sessions = Array.from({ length: 600 }, (_, index) => sessionOf(index + 1));
    const sizes = arrange();
    for (const session of sessions) sizes.journal.opened(session);
    sizes.clock.settle();
    const { clock, writer, journal, segments } = arrange(sizes.writer.bytes * 2.2);
    for (const session of sessions) journal.opened(session);
    clock.settle();
    const first = writer.segment.number;
    journal.rotate();
    clock.settle();
    expect(segments()).toEqual([first, first + 1]);
    journal.rotate();
    // Writes the first batch of names only.
    journal.flush();
    expect(segments()).toEqual([first + 1, first + 2]);
  });

  it('is alone when it has named all sessions and the journal exceeds its size bound', () => {
    const sessions = Array.from({ length: 600 }, (_, index) => sessionOf(index + 1));
    const sizes = arrange();
    for (const session of sessions) sizes.journal.opened(session);
    sizes.clock.settle();
    const { clock, writer, journal, segments } = arrange(sizes.writer.bytes * 1.5);
    for (const session of sessions) journal.opened(session);
    clock.settle();
    journal.rotate();
    clock.settle();
    expect(segments()).toEqual([writer.segment.number]);
  });

  it('names at most 256 sessions before other work has its turn', () => {
    const { clock, writer, journal } = arrange();
    for (let handle = 1; handle <= 2_000; handle += 1) journal.opened(sessionOf(handle));
    clock.settle();
    const deferred: (() => void)[] = [];
    clock.defer = (run) => void deferred.push(run);
    journal.rotate();
    const perTurn: number[] = [];
    while (deferred.length > 0) {
      const before = writer.bytes;
      for (const run of deferred.splice(0)) run();
      perTurn.push(writer.bytes - before);
    }
    expect(perTurn.length).toBeGreaterThanOrEqual(2_000 / 256);
    expect(Math.max(...perTurn)).toBeLessThan((2 * writer.bytes) / perTurn.length);
  });
});

describe('a journal that stopped on a full disk', () => {
  it('reports the full disk once and writes nothing, until its restart', () => {
    const { clock, store, journal, faults, segments } = arrange();
    store.full = true;
    journal.opened(sessionOf(1));
    clock.settle();
    for (const end of [() => journal.opened(sessionOf(2)), () => journal.rotate()]) {
      end();
      clock.settle();
    }
    expect(faults).toHaveLength(1);
    store.full = false;
    journal.rotate();
    clock.advance(RESTART_MS - STEP_MS);
    expect([segments(), faults.length]).toEqual([[], 1]);
    clock.advance(STEP_MS);
    expect(segments()).toHaveLength(1);
  });

  it('keeps the segments from after its restart, although those from before it have expired', () => {
    const { clock, writer, journal, segments, stop } = arrange();
    journal.opened(sessionOf(1));
    clock.advance(2 * AGE_MS);
    stop();
    clock.advance(RESTART_MS);
    const first = writer.segment.number;
    expect(segments()).toEqual([first]);
    clock.advance(AGE_MS / 2);
    expect(segments().slice(0, 2)).toEqual([first, first + 1]);
  });

  it('keeps the first segment after its restart for the maximum age after its end', () => {
    const { clock, writer, journal, segments, stop } = arrange();
    journal.opened(sessionOf(1));
    clock.advance(AGE_MS / 2);
    stop();
    clock.advance(RESTART_MS);
    const first = writer.segment.number;
    while (writer.segment.number === first) clock.advance(STEP_MS);
    clock.advance(AGE_MS - STEP_MS);
    expect(segments()).toContain(first);
    clock.advance(STEP_MS + 2 * TICK_MS);
    expect(segments()).not.toContain(first);
  });

  it('keeps its previous segment after a restart until the current one names every session', async () => {
    const { clock, journal, faults, stop, isResumable } = arrange(4096);
    stop();
    clock.advance(RESTART_MS);
    const sessions = Array.from({ length: 600 }, (_, index) => sessionOf(index + 1));
    for (const session of sessions) journal.opened(session);
    clock.settle();
    journal.rotate();
    // The process is killed after the first batch of names.
    journal.flush();
    const resumable = [];
    for (const session of sessions) if (await isResumable(session)) resumable.push(session);
    expect([resumable.length, faults]).toEqual([600, []]);
  });

  it('restarts without the sessions that ended meanwhile', async () => {
    const { clock, journal, faults, stop, isResumable } = arrange();
    const [ended, alive] = [sessionOf(1), sessionOf(2)];
    for (const session of [ended, alive]) journal.opened(session);
    stop();
    journal.ended(ended.handle);
    clock.advance(RESTART_MS);
    expect([await isResumable(ended), await isResumable(alive), faults]).toEqual([false, true, []]);
  });

  it('deletes its files when it restarts, although they could not be deleted before', () => {
    const { clock, store, writer, journal, faults, segments } = arrange();
    journal.opened(sessionOf(1));
    clock.advance(2 * AGE_MS);
    const kept = segments().length;
    const clear = writer.clear;
    writer.clear = () => {
      throw new Error('The files are in use.');
    };
    store.full = true;
    journal.rotate();
    store.full = false;
    expect(faults.splice(0)).toHaveLength(2);
    clock.advance(RESTART_MS);
    expect([segments().length, faults.length]).toEqual([kept, 2]);
    writer.clear = clear;
    clock.advance(RESTART_MS + 4 * AGE_MS);
    expect(segments().length).toBeLessThanOrEqual(kept + 1);
  });

  it('has one timer before and after its restart, and none after its end', () => {
    const { clock, wheel, journal, stop } = arrange();
    expect(wheel.size).toBe(1);
    stop();
    expect(wheel.size).toBe(1);
    clock.advance(RESTART_MS);
    expect(wheel.size).toBe(1);
    journal.close();
    expect(wheel.size).toBe(0);
  });
});

// Goal: a RESUME replays exactly what was missed, or is refused.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DispatchBody, ReplayBuffer, type ReplayLimits } from '../../../engine/fanout/body.ts';

const body = (bornMs: number) => new DispatchBody('TYPING_START', {}, bornMs);
const bufferOf = (limits: Partial<ReplayLimits>) =>
  new ReplayBuffer({ framesMax: 100, ageMs: 1000, weightBytesMax: 1 << 20, ...limits });
const filled = (count: number, limits: Partial<ReplayLimits> = {}, atMs = 0) => {
  const buffer = bufferOf(limits);
  const bodies = Array.from({ length: count }, () => body(atMs));
  for (const each of bodies) buffer.push(each);
  return { buffer, bodies };
};

describe('the replay buffer', () => {
  it('numbers dispatches from one without gaps', () => {
    const buffer = bufferOf({ framesMax: 4, ageMs: 10 });
    expect([1, 2, 3, 4, 5, 6].map((at) => buffer.push(body(at)))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(buffer.lastSeq).toBe(6);
  });

  it('lists what came after the number the client saw, sharing the bodies', () => {
    const { buffer, bodies } = filled(5);
    expect(buffer.since(3, 0)).toEqual({ kind: 'missed', firstSeq: 4, bodies: bodies.slice(3) });
    const all = buffer.since(0, 0);
    expect(all.kind === 'missed' && all.bodies[0] === bodies[0]).toBe(true);
    expect(buffer.since(5, 0)).toEqual({ kind: 'missed', firstSeq: 6, bodies: [] });
  });

  it.each([6, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('does not know the number %s', (seq) => {
    expect(filled(5).buffer.since(seq, 0)).toEqual({ kind: 'seqUnknown' });
  });

  it('forgets by count, oldest first', () => {
    const { buffer } = filled(10, { framesMax: 3, ageMs: 1000 });
    expect(buffer.since(6, 0)).toEqual({ kind: 'seqTooOld' });
    expect(buffer.since(7, 0)).toMatchObject({ kind: 'missed', firstSeq: 8 });
  });

  it('forgets by age, and a client that is up to date can still resume', () => {
    const { buffer } = filled(3, { framesMax: 100, ageMs: 1000 }, 0);
    expect(buffer.since(0, 1000)).toMatchObject({ kind: 'missed' });
    expect(buffer.since(2, 1001)).toEqual({ kind: 'seqTooOld' });
    expect(buffer.since(3, 1001)).toEqual({ kind: 'missed', firstSeq: 4, bodies: [] });
  });

  it('lists the newest dispatches that are kept, at most as many as asked for', () => {
    const { buffer, bodies } = filled(10, { framesMax: 3, ageMs: 1000 });
    expect(buffer.latest(2, 0)).toEqual({ firstSeq: 9, bodies: bodies.slice(8) });
    expect(buffer.latest(20, 0)).toEqual({ firstSeq: 8, bodies: bodies.slice(7) });
    expect(buffer.latest(20, 5000)).toEqual({ firstSeq: 11, bodies: [] });
  });

  it('keeps no dispatches when its bound is 0', () => {
    const { buffer } = filled(2, { framesMax: 0, ageMs: 1000 });
    expect(buffer.lastSeq).toBe(2);
    expect(buffer.since(1, 0)).toEqual({ kind: 'seqTooOld' });
    expect(buffer.since(2, 0)).toMatchObject({ kind: 'missed', bodies: [] });
  });

  it('evicts expired dispatches without waiting for the next one', () => {
    const { buffer } = filled(50);
    buffer.trim(2000);
    expect(buffer.size).toBe(0);
    expect(buffer.push(body(2000))).toBe(51);
    expect(buffer.get(51)?.bornMs).toBe(2000);
    expect(buffer.get(50)).toBeNull();
    expect(buffer.get(52)).toBeNull();
  });

  it('evicts by weight, oldest first and never the newest; small dispatches have no weight', () => {
    const chunk = (members: number) =>
      new DispatchBody('GUILD_MEMBERS_CHUNK', { members: Array(members) }, 0);
    const buffer = bufferOf({ weightBytesMax: 100 * 1024 });
    for (let count = 0; count < 50; count += 1) buffer.push(body(0));
    for (const members of [49, 49]) buffer.push(chunk(members));
    expect(buffer.size).toBe(52);
    buffer.push(chunk(0));
    expect([buffer.size, buffer.get(51), buffer.get(52)?.t]).toEqual([2, null, 'GUILD_MEMBERS_CHUNK']);
    expect(buffer.since(50, 0)).toEqual({ kind: 'seqTooOld' });
    expect(buffer.since(51, 0)).toMatchObject({ kind: 'missed', firstSeq: 52 });
    buffer.push(chunk(5000));
    expect([buffer.size, buffer.lastSeq]).toEqual([1, 54]);
    buffer.push(chunk(98));
    expect(buffer.size).toBe(1);
    buffer.push(chunk(0));
    expect(buffer.size).toBe(2);
    buffer.trim(1001);
    for (const members of [49, 49]) buffer.push(chunk(members));
    expect(buffer.size).toBe(2);
  });

  it('drops what was acknowledged up to the last large dispatch, and keeps small ones after it', () => {
    const buffer = bufferOf({});
    const large = (t: string) => buffer.push(new DispatchBody(t, {}, 0));
    for (const t of ['READY', 'GUILD_CREATE']) large(t);
    for (let count = 0; count < 3; count += 1) buffer.push(body(0));
    large('LOBBY_CREATE');
    buffer.acknowledge(7);
    expect(buffer.size).toBe(6);
    buffer.acknowledge(1);
    expect(buffer.since(0, 0)).toEqual({ kind: 'seqTooOld' });
    expect(buffer.since(1, 0)).toMatchObject({ kind: 'missed', firstSeq: 2 });
    buffer.acknowledge(4);
    expect(buffer.since(2, 0)).toMatchObject({ kind: 'missed', firstSeq: 3 });
    buffer.acknowledge(6);
    expect([buffer.size, buffer.lastSeq]).toEqual([0, 6]);
    expect(buffer.since(6, 0)).toEqual({ kind: 'missed', firstSeq: 7, bodies: [] });
    expect(buffer.push(body(0))).toBe(7);
    buffer.acknowledge(7);
    expect(buffer.since(6, 0)).toMatchObject({ kind: 'missed', firstSeq: 7 });
  });

  it.each([
    ['were acknowledged', (buffer: ReplayBuffer) => buffer.acknowledge(buffer.lastSeq)],
    ['are too old', (buffer: ReplayBuffer) => buffer.trim(5_000)],
  ])('keeps no memory for dispatches that %s', (_why, drop) => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const usedBytes = (): number => {
      collect();
      return getHeapStatistics().used_heap_size;
    };
    const [small, large] = [body(0), new DispatchBody('READY', {}, 0)];
    const buffers = Array.from({ length: 200 }, () => bufferOf({ framesMax: 4096 }));
    for (const buffer of buffers)
      for (let at = 1; at <= 4096; at += 1) buffer.push(at < 4096 ? small : large);
    const filledBytes = usedBytes();
    for (const buffer of buffers) drop(buffer);
    // A slot for a dispatch takes four bytes at least.
    expect(filledBytes - usedBytes()).toBeGreaterThan(200 * 4096 * 4);
    expect(buffers.every(({ size }) => size === 0)).toBe(true);
  });

  it('agrees with a plain list under any sequence of pushes, acknowledgements, resumes and trims', () => {
    const step = fc.record({
      advanceMs: fc.nat(40),
      act: fc.constantFrom('push', 'push', 'push', 'large', 'since', 'acknowledge', 'trim'),
      back: fc.integer({ min: -2, max: 40 }),
    });
    fc.assert(
      fc.property(fc.nat(20), fc.nat(200), fc.array(step, { maxLength: 200 }), (framesMax, ageMs, steps) => {
        const buffer = bufferOf({ framesMax, ageMs });
        const sent: DispatchBody[] = [];
        let acknowledgedLarge = 0;
        let nowMs = 0;
        for (const { advanceMs, act, back } of steps) {
          nowMs += advanceMs;
          if (act === 'push' || act === 'large') {
            sent.push(act === 'push' ? body(nowMs) : new DispatchBody('GUILD_CREATE', {}, nowMs));
            expect(buffer.push(sent[sent.length - 1] as DispatchBody)).toBe(sent.length);
          } else if (act === 'trim') buffer.trim(nowMs);
          else if (act === 'acknowledge') {
            const seq = sent.length - back;
            buffer.acknowledge(seq);
            if (back < 0) continue;
            const last = sent.slice(0, Math.max(0, seq)).findLastIndex(({ t }) => t === 'GUILD_CREATE') + 1;
            // Only what is still kept counts: a client cannot lower what it may resume from by an old number.
            acknowledgedLarge = Math.max(acknowledgedLarge, last);
          } else {
            const seq = sent.length - back;
            const missed = sent.slice(Math.max(0, seq));
            const isKept = missed.length <= framesMax && seq >= acknowledgedLarge;
            const kept = isKept && missed.every((each) => nowMs - each.bornMs <= ageMs);
            const answer = buffer.since(seq, nowMs);
            if (seq < 0 || back < 0) expect(answer.kind).toBe('seqUnknown');
            else if (!kept) expect(answer.kind).toBe('seqTooOld');
            else expect(answer).toEqual({ kind: 'missed', firstSeq: seq + 1, bodies: missed });
          }
          expect(buffer.size).toBeLessThanOrEqual(framesMax);
        }
      }),
    );
  });
});

// Goal: a client that resumes receives exactly the frames it missed, or null when frames are evicted; memory is bounded.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Frame, FrameRing, nextSeq, SEQ_CYCLE, seqSteps } from '../../../engine/call/replay.ts';
import { VOICE_OP } from '../../../protocol/voice.ts';

const frame = (d: number, weightBytes = 10): Frame => ({
  kind: 'json',
  op: VOICE_OP.SPEAKING,
  d,
  weightBytes,
});
const ROOMY = { framesMax: 100, bytesMax: 1 << 20 };

/** A ring that has numbered `count` frames; the payload of each frame is its position. */
function filled(count: number, limits = ROOMY): FrameRing {
  const ring = new FrameRing(limits);
  for (let at = 1; at <= count; at += 1) ring.push(frame(at));
  return ring;
}

const framesSince = (ring: FrameRing, seq: number) =>
  ring.since(seq)?.map(({ seq: number, frame: each }) => [number, each.kind === 'json' && each.d]) ?? null;

describe('sequence numbers', () => {
  it('start at 1 and skip 0 when they wrap', () => {
    expect([nextSeq(0), nextSeq(1), nextSeq(SEQ_CYCLE - 1), nextSeq(SEQ_CYCLE)]).toEqual([1, 2, 65_535, 1]);
  });

  it('have a distance equal to the number of steps between them', () => {
    const number = fc.integer({ min: 1, max: SEQ_CYCLE });
    fc.assert(
      fc.property(number, fc.nat(1000), (from, steps) => {
        let to = from;
        for (let step = 0; step < steps; step += 1) to = nextSeq(to);
        expect(seqSteps(from, to)).toBe(steps);
      }),
    );
  });
});

describe('a frame ring', () => {
  it('returns the frames after a number', () => {
    expect(framesSince(filled(4), 2)).toEqual([
      [3, 3],
      [4, 4],
    ]);
    expect(framesSince(filled(4), 4)).toEqual([]);
  });

  it('returns all frames to a client that received none, until a frame is evicted', () => {
    expect(framesSince(filled(2), -1)).toHaveLength(2);
    expect(framesSince(filled(101), -1)).toBeNull();
  });

  it('returns null for unknown numbers', () => {
    for (const seq of [5, 65_535, 65_536, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(filled(4).since(seq)).toBeNull();
  });

  it('drops acknowledged frames, and ignores impossible numbers', () => {
    const ring = filled(10);
    ring.acknowledge(99);
    ring.acknowledge(-1);
    expect(ring.size).toBe(10);
    ring.acknowledge(8);
    expect(ring.size).toBe(2);
    expect(framesSince(ring, 7)).toBeNull();
    expect(framesSince(ring, 8)).toEqual([
      [9, 9],
      [10, 10],
    ]);
  });

  it('stays within its byte limit, except for a single larger frame', () => {
    const ring = new FrameRing({ framesMax: 100, bytesMax: 25 });
    for (let at = 1; at <= 5; at += 1) ring.push(frame(at));
    expect([ring.size, ring.weightBytes]).toEqual([2, 20]);
    ring.push(frame(6, 1000));
    expect(ring.size).toBe(1);
  });

  it('continues when the numbers wrap', () => {
    const ring = filled(SEQ_CYCLE + 2);
    expect(ring.since(65_534)?.map(({ seq }) => seq)).toEqual([65_535, 1, 2]);
    expect(ring.since(3)).toBeNull();
  });

  it('agrees with a list of everything sent, for any sends and acknowledgements', () => {
    const limits = { framesMax: 8, bytesMax: 60 };
    const step = fc.oneof(
      fc.record({ push: fc.integer({ min: 1, max: 30 }) }),
      fc.record({ ack: fc.integer({ min: -2, max: 40 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: -2, max: 70 }), (steps, asked) => {
        const ring = new FrameRing(limits);
        const sent: number[] = [];
        let acked = 0;
        for (const one of steps) {
          if ('push' in one) sent.push(ring.push(frame(sent.length + 1, one.push)));
          else {
            ring.acknowledge(one.ack);
            if (one.ack <= sent.length) acked = Math.max(acked, one.ack);
          }
          expect(ring.size).toBeLessThanOrEqual(limits.framesMax);
          if (ring.size > 1) expect(ring.weightBytes).toBeLessThanOrEqual(limits.bytesMax);
        }
        const seen = Math.max(asked, 0);
        const missed = ring.since(asked);
        if (missed) expect(missed.map(({ seq }) => seq)).toEqual(sent.filter((seq) => seq > seen));
        else expect(seen > sent.length || sent.length - seen > ring.size || asked < 1).toBe(true);
        if (missed && seen < acked) expect.unreachable('what was acknowledged is gone');
      }),
    );
  });
});

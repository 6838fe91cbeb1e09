// Goal: a voice connection may send as much as any client needs, and no more however it spreads it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VoiceAllowance } from '../../../engine/ratelimit/flood.ts';

/** How many frames of that kind pass at one moment. */
function passing(allowance: VoiceAllowance, binary: boolean, bytes: number, nowMs: number): number {
  let count = 0;
  while (count < 10_000 && allowance.take(binary, bytes, nowMs)) count += 1;
  return count;
}

describe('the allowance of a voice connection', () => {
  test.each([
    [false, 100, 240, 40],
    [true, 100, 120, 20],
    [true, 64 << 10, 64, 16],
  ])('binary %s of %i bytes: %i at once, then %i a second', (binary, bytes, burst, perSec) => {
    const allowance = new VoiceAllowance();
    expect(passing(allowance, binary, bytes, 5_000)).toBe(burst);
    let passed = 0;
    // A refused frame costs too, so the one that was refused first is paid for.
    for (let sec = 6; sec < 16; sec += 1)
      for (let each = 0; each < perSec - 1; each += 1)
        passed += Number(allowance.take(binary, bytes, sec * 1_000));
    expect(passed).toBe(10 * (perSec - 1));
  });

  test('keeps text and binary apart', () => {
    const allowance = new VoiceAllowance();
    expect(passing(allowance, true, 10, 0)).toBe(120);
    expect(passing(allowance, false, 10, 0)).toBe(240);
  });

  test('is never more than the burst and what time has brought', () => {
    const frame = fc.record({
      afterMs: fc.nat(2_000),
      bytes: fc.nat(200_000),
      binary: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 400 }), (frames) => {
        const allowance = new VoiceAllowance();
        let nowMs = 0;
        const passed = { text: 0, binary: 0, bytes: 0 };
        for (const { afterMs, bytes, binary } of frames) {
          nowMs += afterMs;
          if (!allowance.take(binary, bytes, nowMs)) continue;
          if (binary) passed.bytes += bytes;
          passed[binary ? 'binary' : 'text'] += 1;
        }
        expect(passed.text).toBeLessThanOrEqual(240 + (40 * nowMs) / 1000);
        expect(passed.binary).toBeLessThanOrEqual(120 + (20 * nowMs) / 1000);
        expect(passed.bytes).toBeLessThanOrEqual((4 << 20) + ((1 << 20) * nowMs) / 1000);
      }),
    );
  });
});

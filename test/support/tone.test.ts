// Goal: the measure by which tests hear a tone is right about tones, noise, silence and recordings with gaps.
import { describe, expect, test } from 'vitest';
import { shareAt } from './tone.ts';

const RATE_HZ = 48_000;
const tone = (hz: number, seconds: number, phase = 0): number[] =>
  Array.from({ length: seconds * RATE_HZ }, (_, at) => Math.sin((2 * Math.PI * hz * at) / RATE_HZ + phase));

describe('the share of a tone', () => {
  test('is near 1 for the tone and near 0 for another tone, for noise and for silence', () => {
    let seed = 1;
    const noise = Float64Array.from({ length: RATE_HZ }, () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647 - 0.5;
    });
    expect(shareAt(Float64Array.from(tone(440, 1)), 440)).toBeGreaterThan(0.99);
    expect(shareAt(Float64Array.from(tone(1000, 1)), 440)).toBeLessThan(0.01);
    expect(shareAt(noise, 440)).toBeLessThan(0.01);
    expect(shareAt(new Float64Array(RATE_HZ), 440)).toBe(0);
    expect(shareAt(new Float64Array(0), 440)).toBe(0);
  });

  test('stays near 1 when lost packets shift the phase', () => {
    const shifted = [0, 1, 2, 3].flatMap((part) => tone(440, 0.3, part * (Math.PI / 2)));
    expect(shareAt(Float64Array.from(shifted), 440)).toBeGreaterThan(0.9);
  });
});

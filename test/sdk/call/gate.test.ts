// Goal: the microphone is sent while somebody speaks or holds the key, and at no other time.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AudioModeType } from '../../../sdk/call/enums.ts';
import { decibels, Gate, SILENCE_DB } from '../../../sdk/call/gate.ts';

/** Gives the gate a loudness every 20 ms, and returns when it was open first and last. */
function heard(gate: Gate, levels: readonly number[], fromMs = 0): boolean[] {
  return levels.map((levelDb, index) => {
    const nowMs = fromMs + index * 20;
    gate.measure(levelDb, nowMs);
    return gate.isOpen(nowMs);
  });
}

const still = (count: number, levelDb: number): number[] => Array(count).fill(levelDb);

describe('the voice-activated gate', () => {
  test('opens for an unmeasured microphone, and only while no level is measured', () => {
    const gate = new Gate();
    gate.levelUnknown(1000);
    expect([gate.isOpen(1000), gate.isOpen(1399), gate.isOpen(1400)]).toEqual([true, true, false]);
    gate.mode = AudioModeType.MODE_PTT;
    gate.levelUnknown(2000);
    expect(gate.isOpen(2000)).toBe(false);
  });

  test('opens at a level above the threshold, and stays open for 400 ms', () => {
    const gate = new Gate();
    gate.vad = { automatic: false, vadThreshold: -40 };
    expect(heard(gate, still(5, -40.1))).toEqual(Array(5).fill(false));
    gate.measure(-40, 1000);
    expect([gate.isOpen(1000), gate.isOpen(1399), gate.isOpen(1400)]).toEqual([true, true, false]);
  });

  test('follows the background noise with an automatic threshold, and still opens for a voice', () => {
    const gate = new Gate();
    const noise = heard(gate, still(1500, -48));
    expect(noise[0]).toBe(true);
    expect(noise.at(-1)).toBe(false);
    expect(heard(gate, [-40], 30_000)).toEqual([false]);
    expect(heard(gate, [-34], 31_000)).toEqual([true]);
    expect(heard(new Gate(), still(3000, -20)).at(-1)).toBe(true);
  });

  test('silence is never sent', () => {
    expect(heard(new Gate(), still(100, SILENCE_DB)).every((isOpen) => !isOpen)).toBe(true);
  });
});

describe('the push-to-talk gate', () => {
  test('opens while the key is held, at any level, and for the release delay afterwards', () => {
    const gate = new Gate();
    gate.mode = AudioModeType.MODE_PTT;
    gate.releaseDelayMs = 20;
    gate.measure(0, 0);
    expect(gate.isOpen(0)).toBe(false);
    gate.setHeld(true, 10);
    expect(gate.isOpen(5000)).toBe(true);
    gate.setHeld(false, 5000);
    expect([gate.isOpen(5019), gate.isOpen(5020)]).toEqual([true, false]);
  });

  test('stays closed when the key is released twice', () => {
    const gate = new Gate();
    gate.mode = AudioModeType.MODE_PTT;
    gate.releaseDelayMs = 100;
    gate.setHeld(true, 0);
    gate.setHeld(false, 10);
    gate.setHeld(false, 1000);
    expect(gate.isOpen(1001)).toBe(false);
  });
});

test('decibels are relative to full scale, and bounded by silence', () => {
  expect([decibels(1), decibels(0.1), decibels(0)]).toEqual([0, -20, SILENCE_DB]);
  fc.assert(fc.property(fc.double({ min: 0, max: 1 }), (rms) => decibels(rms) >= SILENCE_DB));
});

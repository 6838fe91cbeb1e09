// Goal: samples are measured, amplified, mixed and queued without ever leaving 16 bits or growing without end.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { amplify, loudness, Mixer, PlayQueue } from '../../../../sdk/call/node/sound.ts';

const samples = fc.int16Array({ maxLength: 64 });
const frame = (value: number): Int16Array => new Int16Array(4).fill(value);

test('loudness is the root mean square of full scale', () => {
  expect(loudness(new Int16Array(0))).toBe(0);
  expect(loudness(frame(16_384))).toBe(0.5);
  fc.assert(fc.property(samples, (each) => loudness(each) >= 0 && loudness(each) <= 1));
});

test('amplified samples are clipped at 16 bits', () => {
  const loud = Int16Array.of(-30_000, -10, 0, 10, 30_000);
  amplify(loud, 2);
  expect([...loud]).toEqual([-32_768, -20, 0, 20, 32_767]);
  const same = Int16Array.of(1, 2);
  amplify(same, 1);
  expect([...same]).toEqual([1, 2]);
});

test('the mixer adds all voices, each once', () => {
  const mixer = new Mixer(4);
  mixer.add(frame(20_000));
  mixer.add(frame(20_000));
  mixer.add(Int16Array.of(1, 2));
  expect([...mixer.take(0.5)]).toEqual([20_001, 20_001, 20_000, 20_000]);
  expect([...mixer.take(1)]).toEqual([0, 0, 0, 0]);
});

describe('the playback queue', () => {
  test('waits for its first frames, plays until it is empty, and waits again', () => {
    const queue = new PlayQueue(4, { start: 2, max: 5 });
    queue.push(frame(1));
    expect(queue.shift()).toBeNull();
    queue.push(frame(2));
    expect([queue.shift()?.[0], queue.shift()?.[0], queue.shift()]).toEqual([1, 2, null]);
    queue.push(frame(3));
    expect(queue.shift()).toBeNull();
  });

  test('drops the oldest frames beyond its bound, and makes frames of pieces of any length', () => {
    const queue = new PlayQueue(4, { start: 1, max: 2 });
    queue.push(Int16Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    expect([...queue.shift()!, ...queue.shift()!]).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    expect(queue.shift()).toBeNull();
  });
});

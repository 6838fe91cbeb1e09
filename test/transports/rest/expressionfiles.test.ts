// Goal: the bytes of stickers and sounds are read for what they are, and no bytes of a stranger break their reading.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readSound } from '../../../transports/rest/soundfile.ts';
import { readSticker } from '../../../transports/rest/stickerfile.ts';
import { animation, gifPixel, mp3Of, oggOf, pngOf } from '../../support/media.ts';

const LOTTIE = { v: '5.5.2', fr: 30, ip: 0, op: 60, w: 320, h: 320, layers: [] };
const lottie = (more: object = {}) => Buffer.from(JSON.stringify({ ...LOTTIE, ...more }));
const readOf = (bytes: Uint8Array) => {
  const read = readSticker(bytes);
  return read.ok ? read.value.format : read.refusal.code;
};

describe('a Lottie sticker', () => {
  test('is known by its fields, also behind blanks', () => {
    expect([readOf(lottie()), readOf(Buffer.concat([Buffer.from(' \n\t'), lottie()]))]).toEqual([3, 3]);
  });

  test.each([
    ['is no JSON', Buffer.from('{"layers": ['), 170_001],
    ['has no layers', lottie({ layers: 7 }), 170_001],
    ['has no rate', lottie({ fr: 'fast' }), 170_001],
    ['holds a picture', lottie({ assets: [{ id: 'a', p: 'data:image/png;base64,AA==' }] }), 170_002],
    ['is larger than 320 pixels', lottie({ w: 321 }), 170_005],
    ['has no size', lottie({ h: 0 }), 170_005],
    ['has more than 60 frames a second', lottie({ fr: 61 }), 170_003],
    ['has less than a frame a second', lottie({ fr: 0 }), 170_006],
    ['has more than 1,000 frames', lottie({ op: 1_001, fr: 60 }), 170_004],
    ['lasts longer than five seconds', lottie({ op: 151 }), 170_007],
  ])('is refused when it %s', (_why, bytes, code) => {
    expect(readOf(bytes)).toBe(code);
  });
});

describe('a sound', () => {
  test.each([
    ['Ogg of 5.2 seconds', oggOf(5.2), 'audio/ogg'],
    ['Ogg of more', oggOf(5.21), 50_124],
    ['MP3 of 199 frames, 5.198 seconds', mp3Of(199), 'audio/mpeg'],
    ['MP3 of 200 frames, 5.225 seconds', mp3Of(200), 50_124],
    ['no sound', Buffer.from('no sound'), 50_046],
    ['an Ogg stream without a position', oggOf(0), 50_192],
  ])('is read, or refused, by its length: %s', (_what, bytes, expected) => {
    const read = readSound(bytes);
    expect(read.ok ? read.value.contentType : read.refusal.code).toBe(expected);
  });
});

describe('any bytes', () => {
  const known: readonly Buffer[] = [
    ...[pngOf(64, 64), pngOf(64, 64, animation(3, 100)), gifPixel(), lottie()],
    ...[mp3Of(20), oggOf(1)],
  ];
  const damaged = fc
    .record({
      file: fc.constantFrom(...known),
      cut: fc.double({ min: 0, max: 1, noNaN: true }),
      changes: fc.array(fc.tuple(fc.nat({ max: 4_000 }), fc.nat({ max: 255 })), { maxLength: 12 }),
    })
    .map(({ file, cut, changes }) => {
      const bytes = Buffer.from(file.subarray(0, Math.ceil(file.length * cut)));
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
      return bytes;
    });

  test('are a sticker or a refusal, and a sound or a refusal, however they are damaged', () => {
    fc.assert(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 300 })), (bytes) => {
        for (const read of [readSticker(bytes), readSound(bytes)])
          expect(read.ok || read.refusal.code > 0).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });

  test('are read in time, also when they repeat the smallest part to the largest size', () => {
    const parts = [
      Buffer.from([0x21, 0xf9, 0]),
      Buffer.from('OggS'),
      Buffer.from([0xff, 0xfb, 0x10, 0]),
      Buffer.from('[['),
    ];
    const begunMs = performance.now();
    for (const part of parts) {
      for (const head of [gifPixel().subarray(0, 13), Buffer.alloc(0), Buffer.from('{"layers":')]) {
        const bytes = Buffer.concat([head, Buffer.alloc(520_000, part)]);
        readSticker(bytes.subarray(0, 524_288));
        readSound(bytes);
      }
    }
    expect(performance.now() - begunMs).toBeLessThan(2_000);
  });
});

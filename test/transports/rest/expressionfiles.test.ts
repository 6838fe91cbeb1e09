// Goal: the bytes of stickers and sounds are read for what they are, and no bytes of a stranger break their reading.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readSound } from '../../../transports/rest/soundfile.ts';
import { readSticker } from '../../../transports/rest/stickerfile.ts';
import { animation, gifPixel, mp3Of, oggOf, pngOf } from '../../support/media.ts';
import { ROOT } from '../../support/source.ts';

const LOTTIE = { v: '5.5.2', fr: 30, ip: 0, op: 60, w: 320, h: 320, layers: [] };
const lottie = (more: object = {}) => Buffer.from(JSON.stringify({ ...LOTTIE, ...more }));
const readOf = (bytes: Uint8Array) => {
  const read = readSticker(bytes);
  return read.ok ? read.value.format : read.refusal.code;
};

describe('a Lottie sticker', () => {
  test('is detected by its fields, also after whitespace', () => {
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

/** Half a second at 8 kHz, of the encoder of Xiph. */
const VORBIS = readFileSync(join(ROOT, 'test/support/tone.vorbis.ogg'));
/** A frame that names a length of one frame for the file, as an encoder of MP3 writes first. */
const xing = () => {
  const frame = mp3Of(1);
  frame.write('Xing', 36, 'latin1');
  frame.writeUInt32BE(1, 40);
  frame.writeUInt32BE(1, 44);
  return frame;
};
const codeOf = async (bytes: Uint8Array) => {
  const read = await readSound(bytes);
  return read.ok ? read.value.contentType : read.refusal.code;
};

describe('a sound', () => {
  test.each([
    ['Ogg of Opus, of 260 frames, 5.2 seconds', oggOf(260), 'audio/ogg'],
    ['Ogg of Opus, of 261 frames', oggOf(261), 50_124],
    ['Ogg of Vorbis', VORBIS, 'audio/ogg'],
    ['MP3 of 199 frames, 5.198 seconds', mp3Of(199), 'audio/mpeg'],
    ['MP3 of 200 frames, 5.225 seconds', mp3Of(200), 50_124],
    ['MP3 of 200 frames whose header claims one', Buffer.concat([xing(), mp3Of(200)]), 50_124],
    ['MP3 with bytes between its frames', Buffer.concat([mp3Of(2), mp3Of(200, 50)]), 50_124],
    ['no sound', Buffer.from('no sound'), 50_046],
    ['a picture', gifPixel(), 50_046],
    ['no bytes', new Uint8Array(), 50_046],
    ['an Ogg stream without a frame', oggOf(0), 50_192],
  ])('is accepted or refused by its duration: %s', async (_what, bytes, expected) => {
    expect(await codeOf(bytes)).toBe(expected);
  });

  test.each([
    ['at once', Buffer.concat([oggOf(20).subarray(0, 47), VORBIS, oggOf(20).subarray(47)])],
    ['one after the other', Buffer.concat([oggOf(250), oggOf(250)])],
  ])('is refused when its Ogg file holds two streams %s', async (_how, bytes) => {
    expect(await codeOf(bytes)).toBe(50_046);
  });
});

describe('any bytes', () => {
  const known: readonly Buffer[] = [
    ...[pngOf(64, 64), pngOf(64, 64, animation(3, 100)), gifPixel(), lottie()],
    ...[mp3Of(20), oggOf(50), VORBIS],
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

  test('are parsed as a sticker, a sound or a refusal, however they are damaged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(damaged, fc.uint8Array({ maxLength: 300 })), async (bytes) => {
        for (const read of [readSticker(bytes), await readSound(bytes)])
          expect(read.ok || read.refusal.code > 0).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });

  test('are parsed in bounded time, also when the smallest part repeats up to the maximum size', async () => {
    const took: number[] = [];
    const parts = [
      Buffer.from([0x21, 0xf9, 0]),
      Buffer.from('OggS'),
      Buffer.from('ID3\u0004\0\0\0\0\0\0'),
      Buffer.from([0xff, 0xfb, 0x10, 0]),
      Buffer.from([0xff, 0xfb, 0x90, 0]),
      Buffer.from([0xff]),
      Buffer.from('[['),
      oggOf(1).subarray(0, 47),
      VORBIS,
    ];
    const heads = [
      gifPixel().subarray(0, 13),
      Buffer.alloc(0),
      Buffer.from('{"layers":'),
      mp3Of(1),
      oggOf(1),
    ];
    for (const part of parts) {
      for (const head of heads) {
        const bytes = Buffer.concat([head, Buffer.alloc(524_288, part)]).subarray(0, 524_288);
        const begunMs = performance.now();
        readSticker(bytes);
        await readSound(bytes);
        took.push(performance.now() - begunMs);
      }
    }
    expect(Math.max(...took)).toBeLessThan(2_000);
  });
});

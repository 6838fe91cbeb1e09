// Goal: a picture is accepted by its whole structure, never by its first bytes alone, and no bytes make the reader throw.
import fc from 'fast-check';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { openMemoryBlobs } from '../../../storage/blob/blobs.memory.ts';
import { readEmojiImage } from '../../../transports/rest/expressionfile.ts';
import { saveImage } from '../../../transports/rest/image.ts';
import { readAvif, readImage } from '../../../transports/rest/picture.ts';
import { animation, dataUri, gifPixel, pngOf, pngPixel } from '../../support/media.ts';

const KINDS = ['png', 'jpeg', 'gif', 'webp', 'avif'] as const;
type Kind = (typeof KINDS)[number];
const real = new Map<Kind, Buffer>();
const realOf = (kind: Kind): Buffer => Buffer.from(real.get(kind)!);
const drawn = () => sharp({ create: { width: 24, height: 16, channels: 3, background: '#336699' } });

beforeAll(async () => {
  for (const kind of KINDS) real.set(kind, await drawn().toFormat(kind).toBuffer());
});

/** The refusals of a guild's icon and of an emoji for the same bytes; null for one that accepts them. */
async function refusalsOf(bytes: Buffer) {
  const uri = dataUri(bytes);
  const icon = await saveImage(openMemoryBlobs(), 'icons', '9', uri, 'icon');
  const emoji = readEmojiImage(uri, 'image', 256 * 1024);
  return [icon, emoji].map((reply) => (reply.ok ? null : reply.refusal.code));
}
const REFUSED = [50_035, 50_035];

test.each([
  ['png', async () => realOf('png'), 'image/png'],
  ['png of a palette', async () => pngPixel(), 'image/png'],
  ['interlaced png', () => drawn().png({ progressive: true }).toBuffer(), 'image/png'],
  ['jpeg', async () => realOf('jpeg'), 'image/jpeg'],
  ['progressive jpeg', () => drawn().jpeg({ progressive: true }).toBuffer(), 'image/jpeg'],
  ['gif', async () => realOf('gif'), 'image/gif'],
  ['gif of one pixel', async () => gifPixel(), 'image/gif'],
  ['lossy webp', async () => realOf('webp'), 'image/webp'],
  ['lossless webp', () => drawn().webp({ lossless: true }).toBuffer(), 'image/webp'],
  ['webp with a profile', () => drawn().withMetadata().webp().toBuffer(), 'image/webp'],
])('a whole %s is accepted', async (_what, made, type) => {
  const bytes = await made();
  expect(readImage(bytes)).toMatchObject({ type });
  expect(await refusalsOf(bytes)).toEqual([null, null]);
});

test('an avif is accepted for an emoji, and only there', async () => {
  expect(await refusalsOf(realOf('avif'))).toEqual([50_035, null]);
  expect(readAvif(realOf('avif'))).toEqual({ isAnimated: false });
});

test('an animated webp is detected by its frames', async () => {
  const frames = Buffer.concat([Buffer.alloc(300, 0), Buffer.alloc(300, 255)]);
  const raw = { width: 10, height: 20, channels: 3, pageHeight: 10 } as const;
  const bytes = await sharp(frames, { raw })
    .webp({ delay: [100, 100] })
    .toBuffer();
  const read = readEmojiImage(dataUri(bytes), 'image', 256 * 1024);
  expect(read).toMatchObject({ ok: true, value: { contentType: 'image/webp', animated: true } });
});

/** The bytes with others at a place. */
const at = (bytes: Buffer, place: number, values: readonly number[]): Buffer => {
  bytes.set(values, place);
  return bytes;
};

test.each([
  ['the signature of a png alone', () => realOf('png').subarray(0, 8)],
  ['a png that ends in its header', () => realOf('png').subarray(0, 20)],
  ['a png that is cut off before its pixels', () => realOf('png').subarray(0, 40)],
  ['a png without its end', () => realOf('png').subarray(0, -12)],
  ['a png without width and height', () => pngOf(0, 0)],
  ['a png without height', () => pngOf(8, 0)],
  ['a png of 60,000 pixels a side', () => pngOf(60_000, 60_000)],
  ['a png of 16,385 pixels a side', () => pngOf(16_385, 1)],
  ['a moving png without an area', () => pngOf(0, 0, animation(2, 100))],
  ['the first three bytes of a jpeg', () => Buffer.from([0xff, 0xd8, 0xff])],
  ['a jpeg that ends before its scan', () => realOf('jpeg').subarray(0, 60)],
  ['a jpeg of a scan without a frame', () => Buffer.from('ffd8ffda00080101000000003f00ffd9', 'hex')],
  ['a jpeg of a start and an end', () => Buffer.from('ffd8ffd9', 'hex')],
  [
    'a jpeg of 65,535 pixels a side',
    () => {
      const bytes = realOf('jpeg');
      return at(bytes, bytes.indexOf(Buffer.from('ffc0', 'hex')) + 5, [0xff, 0xff]);
    },
  ],
  ['the signature of a gif alone', () => Buffer.from('GIF89a')],
  ['a gif without a frame', () => Buffer.concat([gifPixel().subarray(0, 13 + 6), Buffer.from(';')])],
  ['a gif that ends in its only frame', () => gifPixel().subarray(0, -3)],
  ['a gif of an unknown version', () => at(gifPixel(), 3, [0x38, 0x38])],
  ['a gif without width', () => at(gifPixel(), 6, [0, 0])],
  ['the first twelve bytes of a webp', () => realOf('webp').subarray(0, 12)],
  ['a webp that is cut off', () => realOf('webp').subarray(0, -4)],
  ['a webp whose chunk is larger than the file', () => at(realOf('webp'), 16, [0xff, 0xff])],
  ['a webp of an unknown chunk', () => at(realOf('webp'), 12, [0x41, 0x41, 0x41, 0x41])],
  ['the first twelve bytes of an avif', () => realOf('avif').subarray(0, 12)],
  ['an avif that is cut off', () => realOf('avif').subarray(0, -4)],
  [
    'an avif without width',
    () => {
      const bytes = realOf('avif');
      return at(bytes, bytes.indexOf('ispe') + 8, [0, 0, 0, 0]);
    },
  ],
  ['text', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
])('%s is refused as the image of a guild and of an emoji', async (_what, bytes) => {
  expect(await refusalsOf(bytes())).toEqual(REFUSED);
});

describe('any bytes', () => {
  test('are parsed as an image with sides of 1 to 16,384 pixels or as no image, however they are damaged', () => {
    const change = fc.tuple(fc.nat(400), fc.nat(255));
    const cut = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        fc.constantFrom(...KINDS),
        cut,
        fc.array(change, { maxLength: 8 }),
        (kind, part, changes) => {
          const bytes = realOf(kind).subarray(0, Math.ceil(realOf(kind).length * part));
          for (const [place, value] of changes) if (place < bytes.length) bytes[place] = value;
          readAvif(bytes);
          const image = readImage(bytes);
          const sides = image ? [image.width, image.height] : [];
          expect(sides.every((side) => side >= 1 && side <= 16_384)).toBe(true);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

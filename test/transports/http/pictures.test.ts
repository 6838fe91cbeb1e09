// Goal: images are served in the size and format that a client requests, from untrusted bytes, within bounds of memory and time.
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { pino } from 'pino';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { openMemoryBlobs } from '../../../storage/blob/blobs.memory.ts';
import { cdnRoutes } from '../../../transports/http/cdn.ts';
import { createPictures, type ImageRequest, readWanted } from '../../../transports/http/pictures.ts';
import { type HttpServer, startServer } from '../../../transports/http/server.ts';
import { createUrlSigner } from '../../../transports/http/signature.ts';
import { imageKey } from '../../../transports/rest/image.ts';
import { sniffImage } from '../../../transports/rest/picture.ts';
import { encodePng } from '../../../transports/rest/png.ts';

const plain = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 4, background: { r: 200, g: 40, b: 90, alpha: 0.5 } } });
/** Three frames of 90 by 60. */
const moving = () => {
  const frames = Array.from({ length: 3 }, (_, at) => ({
    create: { width: 90, height: 60, channels: 4 as const, background: { r: at * 90, g: 0, b: 0, alpha: 1 } },
  }));
  return sharp(frames as never, { join: { animated: true } } as never);
};
const delay = [50, 50, 50];

const blobs = openMemoryBlobs();
const [STILL, GIF, BROKEN, BOMB, WEBP, MOVING_WEBP] = ['1', '2', '3', '4', '5', '6'].map((digit) =>
  digit.repeat(32),
) as [string, string, string, string, string, string];
let server: HttpServer;
beforeAll(async () => {
  const put = async (id: string, hash: string, bytes: Uint8Array, type: string) =>
    blobs.put(imageKey('avatars', id, hash), bytes, type);
  await put('5', STILL, await plain(300, 200).png().toBuffer(), 'image/png');
  await put('5', `a_${GIF}`, await moving().gif({ delay }).toBuffer(), 'image/gif');
  await put('5', WEBP, await plain(30, 20).webp().toBuffer(), 'image/webp');
  await put('5', `a_${MOVING_WEBP}`, await moving().webp({ delay }).toBuffer(), 'image/webp');
  await blobs.put(imageKey('emojis', '', '8'), await plain(96, 64).avif().toBuffer(), 'image/avif');
  await put('5', BROKEN, Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]), 'image/png');
  const pixels = new Uint8Array((20_000 / 8) * 20_000);
  await put(
    '5',
    BOMB,
    encodePng({ width: 20_000, height: 20_000, depth: 1 }, pixels, ['#ffffff']),
    'image/png',
  );
  await blobs.put(imageKey('stickers', '', '7'), await plain(320, 320).png().toBuffer(), 'image/png');
  server = await startServer({
    ...{ host: '127.0.0.1', port: 0 },
    installers: [
      cdnRoutes({
        ...{ blobs, pictures: createPictures(), signer: createUrlSigner(Buffer.alloc(32)) },
        ...{ signaturesRequired: false, clock: new VirtualClock(), logger: pino({ level: 'silent' }) },
      }),
    ],
  });
});
afterAll(() => server.close());

async function got(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, type: response.headers.get('content-type'), bytes, response };
}
async function shape(path: string) {
  const { bytes, type } = await got(path);
  const { width, height, pages = 1, pageHeight = height } = await sharp(bytes, { animated: true }).metadata();
  expect(sniffImage(bytes)).toBe(type);
  return [type, width, pageHeight, pages];
}

describe('an image', () => {
  test.each([
    [`/avatars/5/${STILL}.png`, ['image/png', 300, 200, 1]],
    [`/avatars/5/${STILL}.png?size=64`, ['image/png', 64, 43, 1]],
    [`/avatars/5/${STILL}.webp`, ['image/webp', 300, 200, 1]],
    [`/avatars/5/${STILL}.webp?size=128&quality=lossless`, ['image/webp', 128, 85, 1]],
    [`/avatars/5/${STILL}.jpg?size=16`, ['image/jpeg', 16, 11, 1]],
    [`/avatars/5/${STILL}.png?size=4096`, ['image/png', 300, 200, 1]],
    [`/avatars/5/${STILL}.png?size=65`, ['image/png', 300, 200, 1]],
    [`/avatars/5/${STILL}.gif`, ['image/png', 300, 200, 1]],
    [`/avatars/5/a_${GIF}.gif`, ['image/gif', 90, 60, 3]],
    [`/avatars/5/a_${GIF}.gif?size=32`, ['image/gif', 32, 21, 3]],
    [`/avatars/5/a_${GIF}.png`, ['image/png', 90, 60, 1]],
    [`/avatars/5/a_${GIF}.webp?size=64`, ['image/webp', 64, 43, 1]],
    [`/avatars/5/a_${GIF}.webp?size=64&animated=true`, ['image/webp', 64, 43, 3]],
    [`/avatars/5/${WEBP}.gif`, ['image/webp', 30, 20, 1]],
    [`/avatars/5/a_${MOVING_WEBP}.webp`, ['image/webp', 90, 60, 1]],
    [`/avatars/5/a_${MOVING_WEBP}.webp?animated=true`, ['image/webp', 90, 60, 3]],
    [`/avatars/5/a_${MOVING_WEBP}.webp?animated=true&size=64`, ['image/webp', 64, 43, 3]],
    [`/avatars/5/a_${MOVING_WEBP}.gif?size=64`, ['image/webp', 64, 43, 3]],
    [`/avatars/5/a_${MOVING_WEBP}.png`, ['image/png', 90, 60, 1]],
    ['/emojis/8.webp', ['image/webp', 96, 64, 1]],
    ['/emojis/8.webp?size=48&animated=true', ['image/webp', 96, 64, 1]],
    ['/emojis/8.png?size=32', ['image/png', 32, 21, 1]],
    ['/stickers/7.png?size=160', ['image/png', 320, 320, 1]],
    ['/stickers/7.webp?size=128', ['image/webp', 128, 128, 1]],
  ])('has the requested size and format at %s', async (path, expected) => {
    expect(await shape(path)).toEqual(expected);
  });

  test('is served as stored when it is a still WebP, and as AVIF with the extension .avif', async () => {
    const still = await plain(30, 20).webp().toBuffer();
    expect((await got(`/avatars/5/${WEBP}.webp`)).bytes.equals(still)).toBe(true);
    expect((await got('/emojis/8.avif?size=32')).type).toBe('image/avif');
  });

  test('has an ETag for each variant, and is answered with 304 when the client has it', async () => {
    const path = `/avatars/5/${STILL}.webp`;
    const [small, whole] = [await got(`${path}?size=64`), await got(path)];
    const tag = small.response.headers.get('etag') ?? '';
    expect(tag).not.toBe(whole.response.headers.get('etag'));
    expect((await got(`${path}?size=64`, { 'if-none-match': tag })).status).toBe(304);
    expect((await got(path, { 'if-none-match': tag })).status).toBe(200);
  });

  test.each([
    ['that is broken', BROKEN],
    ['of 400 million pixels', BOMB],
  ])('%s is served as it is stored', async (_, hash) => {
    const stored = await got(`/avatars/5/${hash}.png`);
    const asked = await got(`/avatars/5/${hash}.webp?size=64`);
    expect([asked.status, asked.type]).toEqual([200, 'image/png']);
    expect(asked.bytes.equals(stored.bytes)).toBe(true);
  });
});

const WANTED: ImageRequest = { type: 'image/webp', size: 16, isAnimated: false, isLossless: false };

describe('rendering', () => {
  test('renders an image once for simultaneous requests, and again only after its eviction', async () => {
    const bytes = await plain(64, 64).png().toBuffer();
    const read = vi.fn(async () => bytes);
    const pictures = createPictures({ cacheBytesMax: 700 });
    const [one, two] = await Promise.all([1, 2].map(() => pictures.render('a', WANTED, read)));
    expect(one?.bytes).toBe(two?.bytes);
    await pictures.render('a', WANTED, read);
    expect(read).toHaveBeenCalledTimes(1);
    for (const key of ['b', 'c', 'd', 'e']) await pictures.render(key, WANTED, async () => bytes);
    await pictures.render('a', WANTED, read);
    expect(read).toHaveBeenCalledTimes(2);
  });

  test('draws an image onto a square of a picture, and returns null when it is not an image', async () => {
    const base = await plain(40, 20).png().toBuffer();
    const icon = await sharp({ create: { width: 6, height: 9, channels: 3, background: '#00ff00' } })
      .png()
      .toBuffer();
    const square = { left: 10, top: 5, side: 8 };
    const pictures = createPictures();
    const drawn = await pictures.overlay(base, 'icon', square, async () => icon);
    const { data, info } = await sharp(drawn!).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    const at = (x: number, y: number) => [...data.subarray((y * 40 + x) * 3, (y * 40 + x) * 3 + 3)];
    expect([info.width, info.height]).toEqual([40, 20]);
    for (const [x, y] of [
      [10, 5],
      [17, 12],
    ] as const)
      expect(at(x, y)).toEqual([0, 255, 0]);
    for (const [x, y] of [
      [9, 5],
      [18, 12],
      [10, 13],
    ] as const)
      expect(at(x, y)[1]).toBeLessThan(99);
    for (const bytes of [null, Buffer.from('no image')])
      expect(await pictures.overlay(base, `none ${bytes}`, square, async () => bytes)).toBeNull();
    expect(
      await createPictures({}, async () => null).overlay(base, 'a', square, async () => icon),
    ).toBeNull();
  });

  test('runs two renders at once, queues a bounded number and rejects the others', async () => {
    let running = 0;
    let most = 0;
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const read = async () => {
      most = Math.max(most, ++running);
      await gate;
      running -= 1;
      return null;
    };
    const pictures = createPictures({ waitingMax: 3 });
    const five = ['1', '2', '3', '4', '5'].map((key) => pictures.render(key, WANTED, read));
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    expect(await pictures.render('6', WANTED, read)).toBeNull();
    expect(running).toBe(2);
    release();
    await Promise.all(five);
    expect(most).toBe(2);
  });

  test('returns null when the image library is not installed', async () => {
    const pictures = createPictures({}, async () => null);
    expect(await pictures.render('a', WANTED, async () => plain(8, 8).png().toBuffer())).toBeNull();
  });

  test('returns null for SVG, although the image library reads it', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>');
    expect(await createPictures().render('a', WANTED, async () => svg)).toBeNull();
  });

  test('returns null or a WebP image for any bytes after an image signature', async () => {
    const heads = [
      [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
      [0xff, 0xd8, 0xff],
      [0x47, 0x49, 0x46, 0x38],
    ];
    const pictures = createPictures({ cacheBytesMax: 0 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...heads), fc.uint8Array({ maxLength: 300 }), async (head, tail) => {
        const drawn = await pictures.render('a', WANTED, async () => Buffer.from([...head, ...tail]));
        expect(drawn === null || sniffImage(drawn.bytes) === 'image/webp').toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

test('any path and query yield a size that is a power of two, or no size', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      fc.constantFrom('image/png', 'image/gif', 'audio/ogg'),
      (path, query, stored) => {
        const wanted = readWanted(path, query, stored);
        expect(wanted === null || wanted.size === null || Number.isInteger(Math.log2(wanted.size))).toBe(
          true,
        );
        if (stored === 'audio/ogg') expect(wanted).toBeNull();
      },
    ),
  );
});

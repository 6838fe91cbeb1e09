// Goal: files are served whole, in ranges and while their signature is valid, never run in a browser, and no path leaves the store.
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { DEFAULT_SOUNDS } from '../../../protocol/sounds.ts';
import type { Blobs } from '../../../storage/blob/blobs.ts';
import { cdnRoutes, targetOf } from '../../../transports/http/cdn.ts';
import { attachmentDisposition, isShown, servedType } from '../../../transports/http/disposition.ts';
import { createPictures } from '../../../transports/http/pictures.ts';
import { readRange } from '../../../transports/http/range.ts';
import { type HttpServer, startServer } from '../../../transports/http/server.ts';
import { createUrlSigner } from '../../../transports/http/signature.ts';
import { attachmentKey, imageKey, saveImage } from '../../../transports/rest/image.ts';
import { readImage } from '../../../transports/rest/picture.ts';
import { readSound } from '../../../transports/rest/soundfile.ts';
import { pngPixel } from '../../support/media.ts';
import { exchange, request } from '../../support/rest.ts';

/** A store in memory that hands files out in small chunks. */
function memoryBlobs(): Blobs & { readonly files: Map<string, { bytes: Uint8Array; type: string }> } {
  const files = new Map<string, { bytes: Uint8Array; type: string }>();
  return {
    files,
    async put(key, bytes, type) {
      files.set(key, { bytes, type });
    },
    async head(key) {
      const file = files.get(key);
      return file ? { size: file.bytes.length, contentType: file.type } : null;
    },
    async read(key, range) {
      const file = files.get(key);
      if (!file) return null;
      const part = file.bytes.subarray(range?.start ?? 0, range?.end ?? file.bytes.length);
      return chunked(part, 50_000);
    },
    async delete(key) {
      files.delete(key);
    },
  };
}

async function* chunked(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) {
    await setImmediate();
    yield bytes.subarray(at, at + size);
  }
}

const blobs = memoryBlobs();
const clock = new VirtualClock();
const signer = createUrlSigner(Buffer.alloc(32, 7));
const HASH = 'a_0123456789abcdef0123456789abcdef';
const LARGE = Uint8Array.from({ length: 6 << 20 }, (_, index) => (index * 31) % 251);
let server: HttpServer;
let strict: HttpServer;

beforeAll(async () => {
  const start = (signaturesRequired: boolean) => {
    const logger = pino({ level: 'silent' });
    const routes = cdnRoutes({
      blobs,
      pictures: createPictures(),
      signer,
      signaturesRequired,
      clock,
      logger,
    });
    return startServer({ host: '127.0.0.1', port: 0, installers: [routes] });
  };
  [server, strict] = await Promise.all([start(false), start(true)]);
  await blobs.put(attachmentKey('1', '2', 'a b.txt'), Buffer.from('0123456789'), 'text/html; charset=x');
  await blobs.put(attachmentKey('1', '3', 'large.mp4'), LARGE, 'video/mp4');
  await blobs.put(attachmentKey('1', '4', 'empty.txt'), new Uint8Array(0), 'text/plain');
  await blobs.put(imageKey('avatars', '5', HASH), Buffer.from('GIF89a'), 'image/gif');
  await blobs.put(imageKey('guilds/6/users/5/avatars', '', HASH), Buffer.from('GIF89a'), 'image/gif');
});
afterAll(() => {
  server.close();
  strict.close();
});

const get = (path: string, headers: Record<string, string> = {}, method = 'GET', port = server.port) =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers, method });

test('a file that is not an image, audio or video is served as a download under its own name', async () => {
  const response = await get('/attachments/1/2/a%20b.txt');
  expect(await response.text()).toBe('0123456789');
  expect(response.headers.get('content-type')).toBe('text/html');
  expect(response.headers.get('content-disposition')).toBe(
    `attachment; filename="a b.txt"; filename*=UTF-8''a%20b.txt`,
  );
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('content-security-policy')).toContain('sandbox');
});

test('only images, audio and video without markup are shown inline', () => {
  for (const type of ['image/png', 'audio/ogg', 'video/mp4']) expect(isShown(type), type).toBe(true);
  for (const type of ['text/html', 'image/svg+xml', 'video/xml', 'audio/x+xml', 'application/pdf'])
    expect(isShown(type), type).toBe(false);
});

test('avatars of users and of members are served inline and as immutable', async () => {
  for (const path of [`/avatars/5/${HASH}.webp?size=64`, `/guilds/6/users/5/avatars/${HASH}.gif`]) {
    const response = await get(path);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/gif']);
    expect(response.headers.has('content-disposition')).toBe(false);
    expect(response.headers.get('cache-control')).toContain('immutable');
  }
});

test('a large file is received whole by a reader that starts late', async () => {
  const response = await get('/attachments/1/3/large.mp4');
  expect(response.headers.get('content-length')).toBe(String(LARGE.length));
  await setImmediate();
  expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), LARGE)).toBe(0);
});

test('a client that disconnects during a download does not affect other requests', async () => {
  const text = await exchange(server, [request('GET /attachments/1/3/large.mp4', {})], () => true);
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect((await get('/attachments/1/2/a%20b.txt')).status).toBe(200);
});

test('range requests return parts and ends of a file, and 416 beyond its end', async () => {
  const part = async (range: string, headers: Record<string, string> = {}) => {
    const response = await get('/attachments/1/2/a%20b.txt', { Range: range, ...headers });
    return [response.status, response.headers.get('content-range'), await response.text()];
  };
  expect(await part('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234']);
  expect(await part('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789']);
  expect(await part('bytes=-2')).toEqual([206, 'bytes 8-9/10', '89']);
  expect(await part('bytes=10-')).toEqual([416, 'bytes */10', '']);
  expect(await part('bytes=2-4', { 'If-Range': '"another"' })).toEqual([200, null, '0123456789']);
});

test('a request with a matching ETag is answered with 304', async () => {
  const tag = (await get(`/avatars/5/${HASH}.gif`)).headers.get('etag') ?? '';
  const response = await get(`/avatars/5/${HASH}.gif`, { 'If-None-Match': `"x", W/${tag}` });
  expect([response.status, await response.text()]).toEqual([304, '']);
});

test('HEAD returns the length, DELETE is rejected with 405, and an empty file is served', async () => {
  const head = await get('/attachments/1/3/large.mp4', {}, 'HEAD');
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(LARGE.length)]);
  expect((await get('/attachments/1/3/large.mp4', {}, 'DELETE')).status).toBe(405);
  const empty = await get('/attachments/1/4/empty.txt');
  expect([empty.status, await empty.text()]).toEqual([200, '']);
});

test('the CDN serves six default avatars', async () => {
  for (const n of [0, 1, 2, 3, 4, 5]) {
    const bytes = new Uint8Array(await (await get(`/embed/avatars/${n}.png`)).arrayBuffer());
    expect(readImage(bytes)).toMatchObject({ type: 'image/png' });
  }
  expect((await get('/embed/avatars/6.png')).status).toBe(404);
});

test('each default sound has its own MP3 file, whatever extension the URL has', async () => {
  const files = new Set<string>();
  for (const { sound_id: id } of DEFAULT_SOUNDS) {
    const whole = await get(`/soundboard-sounds/${id}`);
    const bytes = new Uint8Array(await whole.arrayBuffer());
    const { headers } = whole;
    expect([whole.status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      ...[200, 'audio/mpeg', 'public, max-age=31536000, immutable'],
    ]);
    expect(await readSound(bytes)).toMatchObject({ ok: true, value: { contentType: 'audio/mpeg' } });
    for (const ending of ['.mp3', '.ogg']) {
      const again = await get(`/soundboard-sounds/${id}${ending}`);
      expect(new Uint8Array(await again.arrayBuffer())).toEqual(bytes);
    }
    files.add(Buffer.from(bytes).toString('base64'));
  }
  expect(files.size).toBe(DEFAULT_SOUNDS.length);
  expect((await get('/soundboard-sounds/7')).status).toBe(404);
});

test('a default sound is served in ranges, and HEAD returns its length', async () => {
  const head = await get('/soundboard-sounds/1.mp3', {}, 'HEAD');
  const size = Number(head.headers.get('content-length'));
  expect([head.status, size > 1_000 && size < 10_000, await head.text()]).toEqual([200, true, '']);
  const part = await get('/soundboard-sounds/1.mp3', { Range: 'bytes=2-5' });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 2-5/${size}`]);
  expect((await part.arrayBuffer()).byteLength).toBe(4);
  expect((await get('/soundboard-sounds/1', { Range: `bytes=${size}-` })).status).toBe(416);
});

describe('signed URLs', () => {
  const bare = '/attachments/1/2/a%20b.txt';
  const signed = () => signer.sign(`https://x.example${bare}`, clock.now()).slice('https://x.example'.length);

  test('are accepted, and unsigned URLs only where signatures are optional', async () => {
    const status = async (path: string) => (await get(path, {}, 'GET', strict.port)).status;
    expect(await status(signed())).toBe(200);
    expect(await status(bare)).toBe(404);
    expect((await get(bare)).status).toBe(200);
  });

  test('are rejected when they are altered or 25 hours old', async () => {
    expect((await get(signed().replace('ex=6', 'ex=7'))).status).toBe(404);
    expect((await get(signed().replace('a%20b', 'c'))).status).toBe(404);
    const old = signed();
    clock.advance(25 * 3_600_000);
    expect((await get(old)).status).toBe(404);
    expect(signer.sign(`https://x.example${old}`, clock.now())).toContain(`${bare}?ex=`);
  });
});

test('no path maps to a storage key outside of its collection', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '..',
      '.',
      '%2e%2e',
      '%2F',
      '%5c',
      '%00',
      'attachments',
      'avatars',
      'guilds',
      'users',
      '1',
      `${HASH}.png`,
    ),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const target = targetOf(`/${pieces.join('/')}`);
      if (target === null || !('key' in target)) return true;
      return /^(?:attachments\/\d+\/\d+\/[0-9a-f]{16}|[a-z-]+(?:\/\d+)?(?:\/users\/\d+\/[a-z]+)?\/(?:a_)?[0-9a-f]{32})$/.test(
        target.key,
      );
    }),
  );
  expect(targetOf('/attachments/1/2/..%2F..%2Fetc')).toMatchObject({
    key: expect.stringMatching(/^attachments\/1\/2\/[0-9a-f]{16}$/),
  });
});

test('a range is always within its file', () => {
  const header = fc.oneof(
    fc.string(),
    fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => `bytes=${a}-${b}`),
    fc.nat().map((n) => `bytes=-${n}`),
    fc.nat().map((n) => `bytes=${n}-`),
  );
  fc.assert(
    fc.property(header, fc.nat({ max: 1_000_000 }), (text, size) => {
      const range = readRange(text, size);
      return range.kind !== 'part' || (0 <= range.start && range.start < range.end && range.end <= size);
    }),
  );
});

test('a Content-Disposition is one line of ASCII that contains the file name, for any name', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (filename) => {
      const header = attachmentDisposition(filename);
      const [, escaped = ''] = /filename\*=UTF-8''([!-~]*)$/.exec(header) ?? [];
      return (
        /^[\x20-\x7e]*$/.test(header) && decodeURIComponent(escaped) === Buffer.from(filename).toString()
      );
    }),
  );
  expect(servedType('text/html\r\nX: y')).toBe('application/octet-stream');
});

test('an uploaded image is typed by its bytes, and bytes of other types are rejected', async () => {
  const uri = (bytes: Uint8Array) => `data:image/jpeg;base64,${Buffer.from(bytes).toString('base64')}`;
  const saved = await saveImage(blobs, 'icons', '9', uri(pngPixel()), 'icon');
  expect(saved.ok && blobs.files.get(imageKey('icons', '9', saved.value))?.type).toBe('image/png');
  const refused = await saveImage(blobs, 'icons', '9', uri(Buffer.from('<svg/>')), 'icon');
  expect(refused).toMatchObject({ ok: false, refusal: { code: 50035, errors: { icon: {} } } });
});

/** Goal: whatever bytes and names a file comes with, it gets a safe name, an honest type, and its size if it has one. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChannelId, FreshId } from '../../../../protocol/ids.ts';
import { imageSize } from '../../../../transports/rest/imagesize.ts';
import type { Upload } from '../../../../transports/rest/operation.ts';
import { newFiles, pairFiles, safeFilename } from '../../../../transports/rest/resources/messages.files.ts';

const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'));
const PNG = hex('89504e470d0a1a0a 0000000d 49484452 00000280 000001e0 0806000000');
const GIF = hex('474946383961 4001 f000 00 00 00');
const JPEG = hex('ffd8 ffe0 0004 0102 ffff fffe 0003 41 ffc2 0011 08 01e0 0280 03');
const LOSSY = hex('52494646 00000000 57454250 56503820 00000000 000000 9d012a 8002 e001');
const LOSSLESS = hex('52494646 00000000 57454250 5650384c 00000000 2f 7fc27700 00000000 00');
const EXTENDED = hex('52494646 00000000 57454250 56503858 0a000000 10000000 7f0200 df0100');

describe('imageSize', () => {
  it.each([
    ['png', PNG],
    ['jpeg', JPEG],
    ['lossy webp', LOSSY],
    ['lossless webp', LOSSLESS],
    ['extended webp', EXTENDED],
  ])('reads 640 by 480 from %s', (_, bytes) => {
    expect(imageSize(bytes)).toEqual({ width: 640, height: 480 });
  });

  it('reads little-endian sides from gif', () => {
    expect(imageSize(GIF)).toEqual({ width: 320, height: 240 });
  });

  it('reads a header in the middle of a larger buffer', () => {
    const large = new Uint8Array(100);
    large.set(PNG, 30);
    expect(imageSize(large.subarray(30, 30 + PNG.length))).toEqual({ width: 640, height: 480 });
  });

  it.each([
    ['nothing', new Uint8Array()],
    ['text', hex('68656c6c6f')],
    ['sides of zero', hex('89504e470d0a1a0a 0000000d 49484452 00000000 00000000 0806000000')],
    ['sides beyond any image', hex('89504e470d0a1a0a 0000000d 49484452 7fffffff 00000001 0806000000')],
    ['a scan before the frame', hex('ffd8 ffda 0004 0102 ffc0 0011 08 01e0 0280 03')],
    [
      'endless segments of length zero',
      Uint8Array.from({ length: 4_096 }, (_, at) => (at < 2 ? [0xff, 0xd8][at]! : 0xff)),
    ],
  ])('finds no size in %s', (_, bytes) => {
    expect(imageSize(bytes)).toBeNull();
  });

  it('returns null or two valid sides for any truncated or changed bytes', () => {
    const seed = fc.constantFrom(PNG, GIF, JPEG, LOSSY, LOSSLESS, EXTENDED);
    const change = fc.array(fc.tuple(fc.nat(63), fc.nat(255)), { maxLength: 8 });
    fc.assert(
      fc.property(seed, change, fc.nat(64), fc.uint8Array({ maxLength: 64 }), (bytes, changes, cut, tail) => {
        const mangled = new Uint8Array([...bytes.slice(0, cut), ...tail]);
        for (const [at, value] of changes) if (at < mangled.length) mangled[at] = value;
        for (const each of [mangled, tail]) {
          const size = imageSize(each);
          if (size === null) continue;
          for (const side of [size.width, size.height]) {
            expect(Number.isInteger(side) && side > 0 && side <= 65_535).toBe(true);
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('safeFilename', () => {
  it.each([
    ['photo.png', 'photo.png'],
    ['My Photo (1).PNG', 'My_Photo_1.PNG'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\temp\\a.txt', 'a.txt'],
    ['a.b..c.tar.gz', 'a.b.c.tar.gz'],
    ['naïve.txt', 'naive.txt'],
    ['日本.png', 'unknown.png'],
    ['', 'unknown'],
    ['...', 'unknown'],
    ['a\u0000b\r\n"c".txt', 'ab_c.txt'],
    ['.gitignore', 'unknown.gitignore'],
  ])('makes %j into %j', (name, safe) => {
    expect(safeFilename(name)).toBe(safe);
  });

  it('returns a short ASCII name without path segments, and is idempotent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (name) => {
        const safe = safeFilename(name);
        expect(safe).toMatch(/^[A-Za-z0-9_.-]{1,220}$/);
        expect(safe).not.toContain('..');
        expect(safe).not.toBe('.');
        expect(safeFilename(safe)).toBe(safe);
      }),
    );
  });
});

const upload = (field: string, filename: string, more: Partial<Upload> = {}): Upload => ({
  field,
  filename,
  contentType: 'text/plain',
  bytes: hex('6869'),
  ...more,
});

function read(uploads: Upload[], notes: Parameters<typeof pairFiles>[1] = null) {
  const paired = pairFiles(uploads, notes);
  if (!paired.ok) throw new Error(paired.refusal.message);
  let last = 0;
  const urls = {
    channelId: '50' as ChannelId,
    publicUrl: 'https://chat.example',
    nextId: () => String(++last) as FreshId,
  };
  const attachments = newFiles(urls, paired.value).map(({ attachment }) => attachment);
  return { attachments, rest: paired.value.rest };
}

describe('files', () => {
  it('become attachments with the metadata of their notes, and notes without a file remain', () => {
    const notes = [{ id: '1', description: 'two', is_spoiler: true }, { id: '0' }, { id: '12345' }];
    const files = [upload('files[0]', 'a b.txt'), upload('files[1]', 'x.png', { bytes: PNG })];
    const { attachments, rest } = read(files, notes);
    expect(attachments).toEqual([
      {
        id: '1',
        filename: 'a_b.txt',
        title: 'a b',
        size: 2,
        url: 'https://chat.example/attachments/50/1/a_b.txt',
        proxy_url: 'https://chat.example/attachments/50/1/a_b.txt',
        content_type: 'text/plain',
        flags: 0,
      },
      {
        id: '2',
        filename: 'x.png',
        description: 'two',
        size: PNG.length,
        url: 'https://chat.example/attachments/50/2/x.png',
        proxy_url: 'https://chat.example/attachments/50/2/x.png',
        content_type: 'image/png',
        width: 640,
        height: 480,
        flags: 8,
      },
    ]);
    expect(rest).toEqual([{ id: '12345' }]);
  });

  it.each([
    ['image/svg+xml', hex('3c737667'), 'application/octet-stream'],
    ['image/png', hex('6869'), 'application/octet-stream'],
    ['text/plain', PNG, 'image/png'],
    ['Audio/OGG; codecs=opus', hex('6869'), 'audio/ogg'],
    ['no type', hex('6869'), 'application/octet-stream'],
    ['text/html\r\nX: y', hex('6869'), 'application/octet-stream'],
  ])('keep a valid claim to be %s, and lose a wrong one', (contentType, bytes, expected) => {
    const { attachments } = read([upload('files[0]', 'f', { contentType, bytes })]);
    expect(attachments.map(({ content_type }) => content_type)).toEqual([expected]);
  });

  it('have titles and descriptions without text direction controls', () => {
    const notes = [
      { id: '0', title: 'invoice\u202egpj', description: 'one\u202e\n\u2067two\u2069' },
      { id: '1', title: '\u202e\u2800', description: '\u202b' },
      { id: '2', filename: 'evil\u202egnp.exe' },
    ];
    const files = ['a.exe', 'b.txt', 'c'].map((name, index) => upload(`files[${index}]`, name));
    const { attachments } = read(files, notes);
    expect(attachments.map(({ title, description }) => ({ title, description }))).toEqual([
      { title: 'invoicegpj', description: 'one\ntwo' },
      { title: undefined, description: undefined },
      { title: 'evilgnp', description: undefined },
    ]);
  });

  it('named SPOILER_ have the spoiler flag', () => {
    const { attachments } = read([upload('files[0]', 'SPOILER_end.txt')]);
    expect(attachments[0]?.flags).toBe(8);
  });

  it('are refused beyond ten', () => {
    const eleven = Array.from({ length: 11 }, (_, index) => upload(`files[${index}]`, 'f'));
    expect(pairFiles(eleven, null)).toMatchObject({ refusal: { code: 30015 } });
  });
});

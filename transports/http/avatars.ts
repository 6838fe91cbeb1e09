import { crc32, deflateSync } from 'node:zlib';

/** Colours of the default avatars, by index. */
const COLOURS = ['#5b6ee1', '#747f8d', '#3fa66b', '#e0a030', '#d9534f', '#c25ab0'];
const SIDE = 128;
const made = new Map<number, Uint8Array>();

/** PNG of default avatar `n` (a user's id shifted right by 22, modulo six), a plain square; null for any other number. */
export function defaultAvatar(n: number): Uint8Array | null {
  const colour = COLOURS[n];
  if (colour === undefined) return null;
  const png = made.get(n) ?? square(colour);
  made.set(n, png);
  return png;
}

/** Encodes a square of one colour: a palette of one entry, one bit per pixel. */
function square(colour: string): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIDE, 0);
  header.writeUInt32BE(SIDE, 4);
  header.set([1, 3, 0, 0, 0], 8);
  // Each row is a filter byte and its pixels, eight per byte; all of them are palette entry 0.
  const rows = deflateSync(Buffer.alloc(SIDE * (1 + SIDE / 8)));
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(colour.slice(1), 'hex')),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(body, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

import { crc32, deflateSync } from 'node:zlib';

/** Bits of a pixel, which is an index into the palette. */
type Depth = 1 | 8;

/**
 * Encodes a picture of few colours as PNG.
 *
 * @param rows Packed pixels, row by row, without filter bytes.
 * @param palette `#rrggbb`, at most 2 of depth 1 and 256 of depth 8.
 * @source https://www.w3.org/TR/png-3/
 */
export function encodePng(
  { width, height, depth }: { readonly width: number; readonly height: number; readonly depth: Depth },
  rows: Uint8Array,
  palette: readonly string[],
): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, 3, 0, 0, 0], 8);
  const stride = Math.ceil((width * depth) / 8);
  const filtered = Buffer.alloc(height * (1 + stride));
  for (let y = 0; y < height; y += 1)
    filtered.set(rows.subarray(y * stride, (y + 1) * stride), y * (1 + stride) + 1);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.map((colour) => colour.slice(1)).join(''), 'hex')),
    chunk('IDAT', deflateSync(filtered)),
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

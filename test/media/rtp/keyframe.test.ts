// Goal: keyframes are detected from the unencrypted payload header of each codec, and no bytes of a client make that throw.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { beginsKeyframe } from '../../../media/rtp/keyframe.ts';

const begins = (codec: string, hex: string): boolean | null => {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  return beginsKeyframe(codec, bytes, 0, bytes.length);
};

test.each([
  ['VP8', '10 00', true],
  ['VP8', '10 01', false],
  ['VP8', '00 00', false],
  ['VP8', '11 00', false],
  ['VP8', '90 80 7f 00', true],
  ['VP8', '90 80 80 01 00', true],
  ['VP8', '90 80 80 01 01', false],
  ['VP8', '90 f0 80 01 05 20 00', true],
  ['VP8', '90 80', false],
  ['H264', '67 42', true],
  ['H264', '65 88', true],
  ['H264', '61 88', false],
  ['H264', '68 88', false],
  ['H264', '7c 85 00', true],
  ['H264', '7c 05 00', false],
  ['H264', '7c 81 00', false],
  ['H264', '7c', false],
  ['H264', '78 0002 0900 0002 6742', true],
  ['H264', '78 0002 0900 0002 6142', false],
  ['H264', '78 ffff 09', false],
  ['H264', '78 0000 0000', false],
  ['H265', '40 01', true],
  ['H265', '26 01', true],
  ['H265', '02 01', false],
  ['H265', '62 01 93', true],
  ['H265', '62 01 13', false],
  ['H265', '62 01', false],
  ['H265', '60 01 0002 0201 0002 2601', true],
  ['VP9', '08 00', true],
  ['VP9', '48 00', false],
  ['VP9', '00 00', false],
  ['VP9', '28 00', true],
  ['VP9', '28 02', false],
  ['VP9', 'a8 8001 00', true],
  ['VP9', 'a8 01 02', false],
  ['AV1', '08 00', true],
  ['AV1', '10 00', false],
  ['unknown', '00', null],
  ['VP8', '', false],
])('the %s payload %j begins a keyframe: %s', (codec, hex, expected) => {
  expect(begins(codec, hex)).toBe(expected);
});

test('keyframe detection returns a boolean for any bytes', () => {
  const codec = fc.constantFrom('VP8', 'H264', 'H265', 'VP9', 'AV1');
  fc.assert(
    fc.property(codec, fc.uint8Array({ maxLength: 60 }), (name, value) => {
      const bytes = Buffer.from(value);
      expect(typeof beginsKeyframe(name, bytes, 0, bytes.length)).toBe('boolean');
    }),
    { numRuns: 3000 },
  );
});

import type { Reply } from '../../engine/kernel/outcome.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { ExpressionFile } from './expressionfile.ts';

const DURATION_MS_MAX = 5200;

/** A sound of MP3 or Ogg (Opus, Vorbis), as its bytes say, at most 5.2 seconds long. */
export function readSound(bytes: Uint8Array): Reply<ExpressionFile> {
  const isOgg = textAt(bytes, 0, 4) === 'OggS';
  const seconds = isOgg ? oggSeconds(bytes) : mp3Seconds(bytes);
  if (seconds === null) return { ok: false, refusal: refusal('INVALID_FILE') };
  if (seconds <= 0) return { ok: false, refusal: refusal('FILE_HAS_NO_VALID_DURATION') };
  if (seconds * 1000 > DURATION_MS_MAX) return { ok: false, refusal: refusal('FILE_DURATION_TOO_LONG') };
  return { ok: true, value: { bytes, contentType: isOgg ? 'audio/ogg' : 'audio/mpeg' } };
}

const textAt = (bytes: Uint8Array, at: number, length: number): string =>
  Buffer.from(bytes.subarray(at, at + length)).toString('latin1');

const PAGE_BYTES = 27;
const OPUS_RATE = 48_000;
const NO_POSITION = -1n;

/**
 * Seconds of an Ogg stream by the highest position of its pages; null for anything but one stream of Opus or Vorbis.
 *
 * @source RFC 3533, section 6; RFC 7845, section 5.1; https://xiph.org/vorbis/doc/Vorbis_I_spec.html#x1-630004.2.2
 */
function oggSeconds(bytes: Uint8Array): number | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let [serial, highest] = [0, 0n];
  let clock: { readonly rate: number; readonly skip: number } | null = null;
  for (let at = 0; at < bytes.length; ) {
    if (at + PAGE_BYTES > bytes.length || textAt(bytes, at, 4) !== 'OggS') return null;
    const segments = bytes.subarray(at + PAGE_BYTES, at + PAGE_BYTES + (bytes[at + 26] ?? 0));
    const data = at + PAGE_BYTES + segments.length;
    const end = segments.reduce((sum, each) => sum + each, data);
    if (end > bytes.length) return null;
    if (clock === null) {
      serial = view.getUint32(at + 14, true);
      clock = clockOf(bytes.subarray(data, end));
      if (clock === null) return null;
    } else if (view.getUint32(at + 14, true) !== serial) return null;
    const position = view.getBigInt64(at + 6, true);
    if (position !== NO_POSITION && position < 0n) return null;
    if (position > highest) highest = position;
    at = end;
  }
  return clock && (Number(highest) - clock.skip) / clock.rate;
}

/** Positions per second, and how many of them are not played, from the first packet. */
function clockOf(packet: Uint8Array): { readonly rate: number; readonly skip: number } | null {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  if (packet.length >= 19 && textAt(packet, 0, 8) === 'OpusHead')
    return { rate: OPUS_RATE, skip: view.getUint16(10, true) };
  if (packet.length < 30 || textAt(packet, 0, 7) !== '\u0001vorbis') return null;
  const rate = view.getUint32(12, true);
  return rate === 0 ? null : { rate, skip: 0 };
}

/** Kilobits per second of layer III by the index in the header: MPEG-1, then MPEG-2 and 2.5. */
const BITRATES = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
/** Samples per second by the index in the header, of MPEG-1; half of it in MPEG-2, a quarter in 2.5. */
const RATES = [44_100, 48_000, 32_000] as const;

/** One frame of layer III whose header is at `at`; null when there is none. */
function frameAt(
  bytes: Uint8Array,
  at: number,
): { readonly length: number; readonly seconds: number } | null {
  const [a = 0, b = 0, c = 0] = bytes.subarray(at, at + 3);
  // Eleven bits of synchronization, then version and layer: 1 is the third.
  if (a !== 0xff || (b & 0xe0) !== 0xe0 || ((b >> 1) & 3) !== 1) return null;
  const version = (b >> 3) & 3;
  const kilobits = BITRATES[version === 3 ? 0 : 1][c >> 4];
  const full = RATES[(c >> 2) & 3];
  if (version === 1 || !kilobits || !full) return null;
  const rate = version === 3 ? full : version === 2 ? full / 2 : full / 4;
  const samples = version === 3 ? 1152 : 576;
  const length = Math.floor((samples * kilobits * 125) / rate) + ((c >> 1) & 1);
  return { length, seconds: samples / rate };
}

/** The length of an ID3v2 tag at the start, which stands in seven bits per byte. @source https://id3.org/id3v2.4.0-structure */
function tagLength(bytes: Uint8Array): number {
  if (textAt(bytes, 0, 3) !== 'ID3' || bytes.length < 10) return 0;
  const length = bytes.subarray(6, 10).reduce((sum, byte) => sum * 128 + (byte & 127), 0);
  return 10 + length + ((bytes[5] ?? 0) & 16 ? 10 : 0);
}

/**
 * Seconds of all MP3 frames; null when the file does not begin with one, after a tag. A player skips what lies between
 * frames, so all of them count, wherever they are. Cost: linear.
 */
function mp3Seconds(bytes: Uint8Array): number | null {
  const start = tagLength(bytes);
  const first = frameAt(bytes, start);
  if (!first) return null;
  let seconds = 0;
  for (let at = start; at < bytes.length; ) {
    const frame = frameAt(bytes, at);
    const next = frame && at + frame.length;
    if (frame && next !== null && (next >= bytes.length || frameAt(bytes, next) !== null || at === start)) {
      seconds += frame.seconds;
      at = next;
    } else at += 1;
  }
  return seconds;
}

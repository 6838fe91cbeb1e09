import type { Reply } from '../../engine/kernel/aggregate.ts';
import { STICKER_FORMAT, type StickerFormat } from '../../protocol/expressions.ts';
import { isRecord } from '../../protocol/json.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { ExpressionFile } from '../../services/guilds/expressionfiles.ts';
import { badFile, largeFile } from './expressionfile.ts';
import { type Picture, readPicture, sniffImage } from './picture.ts';

type StickerFile = ExpressionFile & { readonly format: StickerFormat };

const STICKER_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/gif']);
const SIDE_MAX = 320;
const FRAMES_MAX = 1000;
const FRAMES_PER_SECOND_MAX = 60;
const DURATION_MS_MAX = 5000;

/** The file of a sticker: png, apng, gif or Lottie, as its bytes say. The size is checked before anything is read. */
export function readSticker(bytes: Uint8Array): Reply<StickerFile> {
  if (bytes.length > LIMITS.sticker_bytes_max) return largeFile('file', LIMITS.sticker_bytes_max);
  if (sniffImage(bytes) === null) return readLottie(bytes);
  const picture = readPicture(bytes);
  if (!picture || !STICKER_TYPES.has(picture.type)) return { ok: false, refusal: refusal('INVALID_FILE') };
  const no = tooMuch(picture);
  if (no) return { ok: false, refusal: no };
  const { PNG, APNG, GIF } = STICKER_FORMAT;
  const format = picture.type === 'image/gif' ? GIF : picture.frames > 0 ? APNG : PNG;
  return { ok: true, value: { bytes, contentType: picture.type, format } };
}

function tooMuch({ width, height, frames, durationMs }: Picture): Refusal | null {
  if (width > SIDE_MAX || height > SIDE_MAX || width === 0 || height === 0)
    return badFile('file', 'IMAGE_INVALID', `Image must be at most ${SIDE_MAX} pixels wide and high.`)
      .refusal;
  if (frames > FRAMES_MAX) return refusal('STICKER_TOO_MANY_FRAMES');
  return durationMs > DURATION_MS_MAX ? refusal('STICKER_TOO_LONG') : null;
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** @source https://lottie.github.io/lottie-spec/latest/ */
function readLottie(bytes: Uint8Array): Reply<StickerFile> {
  const no = (name: Parameters<typeof refusal>[0]) => ({ ok: false, refusal: refusal(name) }) as const;
  if (bytes.find((byte) => byte > 0x20) !== 0x7b) return no('INVALID_FILE');
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return no('INVALID_LOTTIE_JSON');
  }
  if (!isRecord(value) || !Array.isArray(value.layers)) return no('INVALID_LOTTIE_JSON');
  const { fr, ip, op, w, h, assets } = value;
  if (!isNumber(fr) || !isNumber(ip) || !isNumber(op) || !isNumber(w) || !isNumber(h))
    return no('INVALID_LOTTIE_JSON');
  // A picture names its file or holds it; compositions have layers.
  if (Array.isArray(assets) && assets.some((asset) => isRecord(asset) && typeof asset.p === 'string'))
    return no('LOTTIE_WITH_RASTERIZED_IMAGES');
  if (w > SIDE_MAX || h > SIDE_MAX || w <= 0 || h <= 0) return no('LOTTIE_TOO_LARGE');
  if (fr > FRAMES_PER_SECOND_MAX) return no('STICKER_FRAMERATE_TOO_HIGH');
  if (fr < 1) return no('STICKER_FRAMERATE_OUT_OF_RANGE');
  if (op - ip > FRAMES_MAX) return no('STICKER_TOO_MANY_FRAMES');
  if (((op - ip) * 1000) / fr > DURATION_MS_MAX) return no('STICKER_TOO_LONG');
  return { ok: true, value: { bytes, contentType: 'application/json', format: STICKER_FORMAT.LOTTIE } };
}

import type { Square } from '../rest/image.ts';
import { readAvif, sniffImage } from '../rest/picture.ts';

const FORMATS = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
} as const;
type Extension = keyof typeof FORMATS;
type ImageType = (typeof FORMATS)[Extension];

/** How a client wants an image. */
export interface ImageRequest {
  readonly type: ImageType;
  /** Bound of both sides in pixels; null for the stored size. An image is never enlarged. */
  readonly size: number | null;
  readonly isAnimated: boolean;
  readonly isLossless: boolean;
}

interface Picture {
  readonly bytes: Uint8Array;
  readonly type: ImageType;
}

/** Resizes and converts images. */
export interface Pictures {
  /**
   * The image as it is wanted; null where it is served as it is stored: when the library is not installed, the bytes are no sound
   * image or too large to decode, or too many images wait. `read` gives the stored bytes, and is called only when they are needed.
   */
  render(key: string, wanted: ImageRequest, read: () => Promise<Uint8Array | null>): Promise<Picture | null>;
  /** A PNG with an image on a square of it; null where the image cannot be drawn. `read` is as for `render`. */
  overlay(
    png: Uint8Array,
    key: string,
    square: Square,
    read: () => Promise<Uint8Array | null>,
  ): Promise<Uint8Array | null>;
}

/** @source https://docs.discord.com/developers/reference#image-formatting */
const SIZES: ReadonlySet<number> = new Set([16, 32, 64, 128, 256, 512, 1024, 2048, 4096]);
const TYPES: ReadonlySet<string> = new Set(Object.values(FORMATS));
const isServed = (type: string): type is ImageType => TYPES.has(type);
/** Stored, and served in other formats only. */
const AVIF = 'image/avif';
/** Formats of images that can move. */
const MOVING: ReadonlySet<string> = new Set(['image/gif', 'image/webp']);
const isExtension = (text: string): text is Extension => Object.hasOwn(FORMATS, text);

/**
 * Reads the ending of a path and its query. An unknown size is ignored, because newer clients may know more sizes.
 *
 * @param stored The type of the stored image.
 * @returns null when the stored image is what is wanted, and for types that are not converted.
 */
export function readWanted(path: string, query: string, stored: string): ImageRequest | null {
  const ending = path.slice(path.lastIndexOf('.') + 1);
  if (!isExtension(ending) || (!isServed(stored) && stored !== AVIF)) return null;
  const params = new URLSearchParams(query);
  const asked = Number(params.get('size') ?? '');
  const size = SIZES.has(asked) ? asked : null;
  // Other formats do not convert well to GIF, and still images are not converted.
  const type =
    ending !== 'gif' || stored === 'image/gif' ? FORMATS[ending] : isServed(stored) ? stored : null;
  if (type === null) return null;
  const asksToMove = ending === 'gif' || (type === 'image/webp' && params.get('animated') === 'true');
  const isAnimated = MOVING.has(stored) && MOVING.has(type) && asksToMove;
  // A WebP may move, and is wanted still.
  if (size === null && type === stored && (isAnimated || !MOVING.has(type))) return null;
  const isLossless = params.get('quality') === 'lossless' || params.get('lossless') === 'true';
  return { type, size, isAnimated, isLossless: isLossless && type === 'image/webp' };
}

/** An image that is drawn onto another. */
const ICON = { type: 'image/png', isAnimated: false, isLossless: false } as const;

/** Bounds of the work: together they bound memory, at about 300 MB while it is at its busiest. */
const BOUNDS = {
  /** Pixels of an image, or of all frames together. */
  pixelsMax: 4096 * 4096,
  runningMax: 2,
  waitingMax: 64,
  timeoutSec: 10,
  cacheBytesMax: 32 << 20,
} as const;

type Bounds = { readonly [Key in keyof typeof BOUNDS]: number };
/** The part of the library that is used here: without an installed library there are no types either. */
interface Drawing {
  timeout(options: { readonly seconds: number }): Drawing;
  rotate(): Drawing;
  resize(
    width: number,
    height: number,
    options: { readonly fit: 'inside'; readonly withoutEnlargement: true } | { readonly fit: 'cover' },
  ): Drawing;
  composite(images: readonly { input: Uint8Array; left: number; top: number }[]): Drawing;
  flatten(options: { readonly background: string }): Drawing;
  png(): Drawing;
  jpeg(): Drawing;
  gif(): Drawing;
  webp(options: { readonly lossless: boolean }): Drawing;
  metadata(): Promise<{ readonly pages?: number }>;
  toBuffer(): Promise<Uint8Array>;
}
type Library = (bytes: Uint8Array, options: object) => Drawing;

/** An optional peer. */
const LIBRARY = 'sharp';
const isLibrary = (value: unknown): value is Library => typeof value === 'function';

/** The library is loaded with the first image that is resized. */
const installed = (): Promise<Library | null> =>
  import(LIBRARY).then(
    ({ default: found }: { readonly default: unknown }) => (isLibrary(found) ? found : null),
    () => null,
  );

/** Renders at most a few images at once and keeps the most recently used results, as far as they fit. */
export function createPictures(
  given: Partial<Bounds> = {},
  load: () => Promise<Library | null> = installed,
): Pictures {
  const bounds = { ...BOUNDS, ...given };
  const cache = new PictureCache(bounds.cacheBytesMax);
  const underWay = new Map<string, Promise<Picture | null>>();
  const waiting: (() => void)[] = [];
  let running = 0;
  let library: Promise<Library | null> | null = null;

  async function inTurn(work: () => Promise<Picture | null>): Promise<Picture | null> {
    if (running >= bounds.runningMax) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  }

  async function rendered(name: string, wanted: ImageRequest, read: () => Promise<Uint8Array | null>) {
    library ??= load();
    const sharp = await library;
    if (sharp === null) return null;
    const picture = await inTurn(async () => {
      const bytes = await read();
      return bytes && draw(sharp, bytes, wanted, bounds);
    });
    cache.put(name, picture);
    return picture;
  }

  const pictures: Pictures = {
    async overlay(png, key, { left, top, side }, read) {
      const icon = await pictures.render(key, { ...ICON, size: side }, read);
      const sharp = await library;
      if (!icon || !sharp || waiting.length >= bounds.waitingMax) return null;
      const made = await inTurn(async () => {
        const input = await sharp(icon.bytes, {}).resize(side, side, { fit: 'cover' }).png().toBuffer();
        const bytes = await sharp(png, {}).composite([{ input, left, top }]).png().toBuffer();
        return { bytes, type: ICON.type };
      });
      return made?.bytes ?? null;
    },
    async render(key, wanted, read) {
      const { type, size, isAnimated, isLossless } = wanted;
      const name = `${key} ${type} ${size} ${isAnimated} ${isLossless}`;
      const known = cache.get(name) ?? underWay.get(name);
      if (known !== undefined) return known;
      if (waiting.length >= bounds.waitingMax) return null;
      const work = rendered(name, wanted, read).finally(() => underWay.delete(name));
      underWay.set(name, work);
      return work;
    },
  };
  return pictures;
}

/** Draws one image. The bytes are untrusted; null for what is no sound image within the bounds. */
async function draw(
  sharp: Library,
  bytes: Uint8Array,
  { type, size, isAnimated, isLossless }: ImageRequest,
  { pixelsMax, timeoutSec }: Bounds,
): Promise<Picture | null> {
  // The library reads many more formats than are stored here.
  const stored = sniffImage(bytes);
  if (stored === null && readAvif(bytes) === null) return null;
  const source = sharp(bytes, {
    ...{ animated: isAnimated, failOn: 'error', limitInputPixels: pixelsMax, sequentialRead: true },
  }).timeout({ seconds: timeoutSec });
  if (size === null && stored === type && !(await moves(source))) return null;
  const upright = isAnimated ? source : source.rotate();
  const sized =
    size === null ? upright : upright.resize(size, size, { fit: 'inside', withoutEnlargement: true });
  const made = {
    'image/png': () => sized.png(),
    'image/jpeg': () => sized.flatten({ background: '#ffffff' }).jpeg(),
    'image/webp': () => sized.webp({ lossless: isLossless }),
    'image/gif': () => sized.gif(),
  }[type]();
  return made.toBuffer().then(
    (drawn) => ({ bytes: drawn, type }),
    () => null,
  );
}

/** Whether an image has more than one frame; one that never moved is its own still. */
const moves = (source: Drawing): Promise<boolean> =>
  source.metadata().then(
    ({ pages = 1 }) => pages > 1,
    () => false,
  );

/** Pictures by name, the least recently used first. */
class PictureCache {
  readonly #bytesMax: number;
  readonly #pictures = new Map<string, Picture | null>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Undefined when it is not kept; null when the image cannot be drawn. */
  get(name: string): Picture | null | undefined {
    const picture = this.#pictures.get(name);
    if (picture === undefined) return undefined;
    this.#pictures.delete(name);
    this.#pictures.set(name, picture);
    return picture;
  }

  put(name: string, picture: Picture | null): void {
    this.#pictures.set(name, picture);
    this.#bytes += weightOf(name, picture);
    for (const [oldest, old] of this.#pictures) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#pictures.delete(oldest);
      this.#bytes -= weightOf(oldest, old);
    }
  }
}

/** Approximate memory of an entry: a refusal to draw costs as much as its name. */
const weightOf = (name: string, picture: Picture | null): number =>
  name.length * 2 + 200 + (picture?.bytes.length ?? 0);

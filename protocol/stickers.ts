import { STICKER_FORMAT } from './expressions.ts';

/** A sticker that everyone may send, as a wire object. */
interface StandardSticker {
  readonly id: string;
  readonly name: string;
  readonly tags: string;
  readonly type: 1;
  readonly format_type: typeof STICKER_FORMAT.PNG;
  readonly description: string;
  readonly pack_id: string;
  readonly sort_value: number;
}

const PACK_ID = '1';

const sticker = (id: number, name: string, tags: string): StandardSticker => ({
  id: String(id),
  name,
  tags,
  type: 1,
  format_type: STICKER_FORMAT.PNG,
  description: `A banner of ${name}.`,
  pack_id: PACK_ID,
  sort_value: id,
});

const STICKERS: readonly StandardSticker[] = [
  sticker(1, 'azure', 'blue, banner'),
  sticker(2, 'slate', 'grey, banner'),
  sticker(3, 'vert', 'green, banner'),
  sticker(4, 'gold', 'yellow, banner'),
  sticker(5, 'gules', 'red, banner'),
  sticker(6, 'purpure', 'purple, banner'),
];

/** The packs of stickers, with names, numbers and pictures of our own: one plain square each. */
export const STICKER_PACKS = [
  {
    id: PACK_ID,
    sku_id: PACK_ID,
    name: 'Banners',
    description: 'Six plain banners.',
    stickers: STICKERS,
    cover_sticker_id: '1',
  },
] as const;

/** The standard sticker with a number; undefined when the number is unknown. */
export const standardSticker = (id: string): StandardSticker | undefined =>
  STICKERS.find((each) => each.id === id);

import { encodePng } from './png.ts';

/** Styles of a widget's picture; all but the smallest have the count on a wide ground. */
export const WIDGET_STYLES = ['shield', 'banner1', 'banner2', 'banner3', 'banner4'] as const;
type WidgetStyle = (typeof WIDGET_STYLES)[number];

interface Layout {
  readonly width: number;
  readonly height: number;
  /** Ground, mark and text, in this order. */
  readonly palette: readonly [string, string, string];
  /** Pixels of one dot of a digit. */
  readonly dot: number;
}

/** Sizes are those that pages reserve for the styles; the drawing is this server's own. */
const LAYOUTS: Readonly<Record<WidgetStyle, Layout>> = {
  shield: { width: 76, height: 20, palette: ['#5b6ee1', '#3fa66b', '#ffffff'], dot: 1 },
  banner1: { width: 320, height: 76, palette: ['#23272f', '#3fa66b', '#ffffff'], dot: 4 },
  banner2: { width: 320, height: 76, palette: ['#5b6ee1', '#ffffff', '#ffffff'], dot: 4 },
  banner3: { width: 320, height: 120, palette: ['#ffffff', '#3fa66b', '#23272f'], dot: 6 },
  banner4: { width: 320, height: 188, palette: ['#f1f2f5', '#5b6ee1', '#23272f'], dot: 8 },
};

const GROUND = 0;
const MARK = 1;
const TEXT = 2;
/** Three dots wide and five high, row by row. */
const DIGITS = [
  '###' + '#.#' + '#.#' + '#.#' + '###',
  '.#.' + '##.' + '.#.' + '.#.' + '###',
  '###' + '..#' + '###' + '#..' + '###',
  '###' + '..#' + '.##' + '..#' + '###',
  '#.#' + '#.#' + '###' + '..#' + '..#',
  '###' + '#..' + '###' + '..#' + '###',
  '###' + '#..' + '###' + '#.#' + '###',
  '###' + '..#' + '..#' + '.#.' + '.#.',
  '###' + '#.#' + '###' + '#.#' + '###',
  '###' + '#.#' + '###' + '..#' + '###',
];
const GLYPH = { width: 3, height: 5 };
const COUNT_MAX = 9_999_999;

/** Draws how many are online: a round mark, and the number. Every number below ten million fits every style. */
export function widgetPicture(style: WidgetStyle, online: number): Uint8Array {
  const { width, height, palette, dot } = LAYOUTS[style];
  const pixels = new Uint8Array(width * height).fill(GROUND);
  const fill = (left: number, top: number, right: number, bottom: number, colour: number): void => {
    for (let y = top; y < bottom; y += 1) pixels.fill(colour, y * width + left, y * width + right);
  };
  const middle = Math.floor(height / 2);
  const radius = Math.floor((GLYPH.height * dot) / 2);
  for (let y = -radius; y <= radius; y += 1) {
    const half = Math.floor(Math.sqrt(radius * radius - y * y));
    fill(2 * radius + 4 - half, middle + y, 2 * radius + 4 + half + 1, middle + y + 1, MARK);
  }
  const top = middle - Math.floor((GLYPH.height * dot) / 2);
  let left = 4 * radius + 8;
  for (const digit of String(Math.min(online, COUNT_MAX))) {
    const glyph = DIGITS[Number(digit)] ?? '';
    for (const [at, mark] of [...glyph].entries()) {
      if (mark !== '#') continue;
      const [x, y] = [left + (at % GLYPH.width) * dot, top + Math.floor(at / GLYPH.width) * dot];
      fill(x, y, x + dot, y + dot, TEXT);
    }
    left += (GLYPH.width + 1) * dot;
  }
  return encodePng({ width, height, depth: 8 }, pixels, palette);
}

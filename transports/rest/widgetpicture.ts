import type { Square } from './image.ts';
import { drawable, eachDot, widthOf } from './pixelfont.ts';
import { encodePng } from './png.ts';

/** Styles of a widget's picture; the smallest shows the count alone, as the platform's does. */
export const WIDGET_STYLES = ['shield', 'banner1', 'banner2', 'banner3', 'banner4'] as const;
type WidgetStyle = (typeof WIDGET_STYLES)[number];

/** The texts of a picture. */
interface WidgetShown {
  readonly name: string;
  readonly online: number;
}

/** Where a text begins and ends; it is drawn in the largest dots, of at most `dot` pixels, in which it fits. */
interface Line {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly dot: number;
}

interface Layout {
  readonly width: number;
  readonly height: number;
  /** Ground, mark, text and tile, in this order. */
  readonly palette: readonly [string, string, string, string];
  /** The square with the icon of the guild, or its initials; absent where its name is not shown. */
  readonly tile?: Square;
  readonly name?: Line;
  readonly count: Line;
  /** Text in a bar. */
  readonly footer?: Line & { readonly text: string };
}

const TILE = { left: 10, top: 10, side: 56 };
const BESIDE = { left: 78, right: 312 };

/** Sizes are those that pages reserve for the styles; the drawing is this server's own. */
const LAYOUTS: Readonly<Record<WidgetStyle, Layout>> = {
  shield: {
    ...{ width: 76, height: 20, palette: ['#5b6ee1', '#3fa66b', '#ffffff', '#ffffff'] },
    count: { left: 4, top: 6, right: 72, dot: 1 },
  },
  banner1: {
    ...{ width: 320, height: 76, palette: ['#23272f', '#3fa66b', '#ffffff', '#5b6ee1'], tile: TILE },
    name: { ...BESIDE, top: 12, dot: 2 },
    count: { ...BESIDE, top: 36, dot: 2 },
    footer: { ...BESIDE, top: 62, dot: 1, text: 'Powered by Guildhall' },
  },
  banner2: {
    ...{ width: 320, height: 76, palette: ['#5b6ee1', '#ffffff', '#ffffff', '#3f4fb0'], tile: TILE },
    name: { ...BESIDE, top: 18, dot: 2 },
    count: { ...BESIDE, top: 44, dot: 2 },
  },
  banner3: {
    ...{ width: 320, height: 120, palette: ['#ffffff', '#3fa66b', '#23272f', '#9aa6f0'], tile: TILE },
    name: { ...BESIDE, top: 18, dot: 2 },
    count: { ...BESIDE, top: 44, dot: 2 },
    footer: { left: 236, right: 312, top: 92, dot: 1, text: 'Chat now' },
  },
  banner4: {
    ...{ width: 320, height: 188, palette: ['#f1f2f5', '#3fa66b', '#23272f', '#9aa6f0'] },
    tile: { ...TILE, top: 40 },
    name: { ...BESIDE, top: 48, dot: 2 },
    count: { ...BESIDE, top: 74, dot: 2 },
    footer: { left: 60, right: 260, top: 138, dot: 2, text: 'Join us' },
  },
};

const [GROUND, MARK, TEXT, SECOND] = [0, 1, 2, 3];
/** Pixels of the font from the top of a line to its middle. */
const HALF = 3.5;
const FOOTER_MARGIN = 6;
const TILE_MARGIN = 8;
const COUNT_MAX = 9_999_999;
const INITIALS_MAX = 3;
const WORDS_READ_MAX = 100;

class Canvas {
  readonly pixels: Uint8Array;
  readonly #width: number;

  constructor(width: number, height: number) {
    this.pixels = new Uint8Array(width * height).fill(GROUND);
    this.#width = width;
  }

  fill(left: number, top: number, right: number, bottom: number, colour: number): void {
    for (let y = top; y < bottom; y += 1)
      this.pixels.fill(colour, y * this.#width + left, y * this.#width + right);
  }

  disc(x: number, y: number, radius: number, colour: number): void {
    for (let row = -radius; row <= radius; row += 1) {
      const half = Math.floor(Math.sqrt(radius * radius - row * row));
      this.fill(x - half, y + row, x + half + 1, y + row + 1, colour);
    }
  }

  text(characters: readonly string[], { left, top, dot }: Omit<Line, 'right'>, colour: number): void {
    eachDot(characters, (column, row) => {
      const [x, y] = [left + column * dot, top + row * dot];
      this.fill(x, y, x + dot, y + dot, colour);
    });
  }
}

/** A text in a line: in smaller dots if it is too long, and cut off if it is too long for the smallest. */
function fitted(text: string, line: Line): { characters: readonly string[]; dot: number; width: number } {
  const all = drawable(text);
  const room = line.right - line.left;
  let dot = line.dot;
  while (dot > 1 && widthOf(all.length) * dot > room) dot -= 1;
  let characters = all;
  for (let kept = all.length; widthOf(characters.length) * dot > room; kept -= 1)
    characters = [...all.slice(0, kept - 1), '.', '.', '.'];
  return { characters, dot, width: widthOf(characters.length) * dot };
}

/** The square for the icon of the guild; null in a style without. */
export const iconSquare = (style: WidgetStyle): Square | null => LAYOUTS[style].tile ?? null;

/** The first letters of the words of a name. */
const initialsOf = (name: string): string =>
  name
    .split(/\s+/, WORDS_READ_MAX)
    .map((word) => [...word][0] ?? '')
    .join('')
    .slice(0, INITIALS_MAX);

/**
 * Draws a guild's widget: its initials, in place of which its icon may be drawn, its name and how many are online. Every number below ten million fits every style.
 *
 * @source https://docs.discord.com/developers/resources/guild#get-guild-widget-image
 */
export function widgetPicture(style: WidgetStyle, { name, online }: WidgetShown): Uint8Array {
  const { width, height, palette, tile, name: line, count, footer } = LAYOUTS[style];
  const canvas = new Canvas(width, height);
  if (tile) {
    const { left, top, side } = tile;
    canvas.fill(left, top, left + side, top + side, SECOND);
    const {
      characters,
      dot,
      width: wide,
    } = fitted(initialsOf(name), { left, top, right: left + side - TILE_MARGIN, dot: 3 });
    const at = {
      left: left + Math.floor((side - wide) / 2),
      top: top + Math.floor(side / 2 - HALF * dot),
      dot,
    };
    canvas.text(characters, at, TEXT);
  }
  if (line) {
    const { characters, dot } = fitted(name, line);
    canvas.text(characters, { ...line, dot }, TEXT);
  }
  const radius = 3 * count.dot;
  canvas.disc(count.left + radius, count.top + radius, radius, MARK);
  const shown = `${Math.min(online, COUNT_MAX)}${line ? ' online' : ''}`;
  canvas.text(drawable(shown), { ...count, left: count.left + 2 * radius + 6 }, TEXT);
  if (footer) {
    const { characters, dot, width: wide } = fitted(footer.text, footer);
    const left = footer.left + Math.floor((footer.right - footer.left - wide) / 2);
    const top = footer.top - FOOTER_MARGIN;
    canvas.fill(footer.left, top, footer.right, footer.top + 2 * HALF * dot + FOOTER_MARGIN, SECOND);
    canvas.text(characters, { left, top: footer.top, dot }, TEXT);
  }
  return encodePng({ width, height, depth: 8 }, canvas.pixels, palette);
}

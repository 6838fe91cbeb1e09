/** Rows of a glyph from the top, each five pixels as bits; the highest bit is the left pixel. */
type Glyph = readonly number[];

const GLYPH = { width: 5, height: 7 } as const;
/** Columns from one glyph to the next. */
const ADVANCE = GLYPH.width + 1;

/** Seven rows of two hexadecimal digits each. Small letters are drawn as capitals. */
const DRAWN: Readonly<Record<string, string>> = {
  ...{
    A: '0e11111f111111',
    B: '1e11111e11111e',
    C: '0e11101010110e',
    D: '1e11111111111e',
    E: '1f10101e10101f',
  },
  ...{
    F: '1f10101e101010',
    G: '0e11101711110e',
    H: '1111111f111111',
    I: '0e04040404040e',
    J: '0702020202120c',
  },
  ...{
    K: '11121418141211',
    L: '1010101010101f',
    M: '111b1515111111',
    N: '11191513111111',
    O: '0e11111111110e',
  },
  ...{
    P: '1e11111e101010',
    Q: '0e11111115120d',
    R: '1e11111e141211',
    S: '0f10100e01011e',
    T: '1f040404040404',
  },
  ...{
    U: '1111111111110e',
    V: '11111111110a04',
    W: '11111115151b11',
    X: '11110a040a1111',
    Y: '11110a04040404',
  },
  ...{
    Z: '1f01020408101f',
    0: '0e11131519110e',
    1: '040c040404040e',
    2: '0e11010608101f',
    3: '1e01010e01011e',
  },
  ...{
    4: '02060a121f0202',
    5: '1f101e0101110e',
    6: '0608101e11110e',
    7: '1f010204080808',
    8: '0e11110e11110e',
  },
  ...{
    9: '0e11110f01020c',
    ' ': '00000000000000',
    '.': '00000000000c0c',
    ',': '000000000c0408',
    '!': '04040404040004',
  },
  ...{
    '?': '0e110102040004',
    '-': '0000001f000000',
    "'": '04040800000000',
    ':': '000c0c000c0c00',
    '/': '01010204081010',
  },
  ...{
    '&': '0814140815120d',
    '(': '02040808080402',
    ')': '08040202020408',
    '#': '0a0a1f0a1f0a0a',
    '+': '0004041f040400',
  },
};
/** For characters without a glyph. */
const BOX = '1f11111111111f';

const rowsOf = (drawn: string): Glyph =>
  Array.from({ length: GLYPH.height }, (_, row) => Number.parseInt(drawn.slice(row * 2, row * 2 + 2), 16));
const GLYPHS: ReadonlyMap<string, Glyph> = new Map(
  Object.entries(DRAWN).map(([character, drawn]) => [character, rowsOf(drawn)]),
);
const UNKNOWN = rowsOf(BOX);

/** The characters of a text that are drawn: capitals without marks. */
export const drawable = (text: string): string[] => [
  ...text.normalize('NFD').replace(/\p{M}/gu, '').toUpperCase(),
];

/** The width of so many characters, in pixels of the font. */
export const widthOf = (characters: number): number => Math.max(0, characters * ADVANCE - 1);

/** Calls `dot` for each pixel of the characters, counted from the left and the top. */
export function eachDot(characters: readonly string[], dot: (column: number, row: number) => void): void {
  for (const [at, character] of characters.entries())
    for (const [row, bits] of (GLYPHS.get(character) ?? UNKNOWN).entries())
      for (let column = 0; column < GLYPH.width; column += 1)
        if ((bits >> (GLYPH.width - 1 - column)) & 1) dot(at * ADVANCE + column, row);
}

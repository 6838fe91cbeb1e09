import type { Random } from '../random.ts';

type Path = readonly (string | number)[];

/** Text that has broken parsers, renderers and databases elsewhere. */
const ODD_TEXTS = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\udc00x',
  '\u200b',
  '\u202ereversed',
  'Z̸̡̛͎a̵l̶g̷o̴',
  '👩‍👩‍👧‍👦',
  '🏴󠁧󠁢󠁳󠁣󠁴󠁿',
  '﷽',
  '日本語',
  'שלום',
  'i̇İıß',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  'null',
  'NaN',
  '-1',
  '1e309',
  '9223372036854775807',
  '9223372036854775808',
  '18446744073709551615',
  '007',
  '0',
  '2026-01-01T00:00:00Z',
  '2026-02-31T25:61:61+99:99',
  '0000-01-01',
  '9999-12-31T23:59:59.999999999Z',
  'https://example.com/a.png',
  'http://[::1]:1/',
  'javascript:alert(1)',
  'attachment://absent.png',
  'data:image/png;base64,AAAA',
  '<@1>',
  '<@&0>',
  '<:a:1>',
  'a:1',
  '%00%ff',
] as const;

const ODD_NUMBERS = [0, -0, 1, -1, 2, 3, 17, 99, 1.5, 1e-7, 255, 256, 4096, 32_768, 16_777_215, 16_777_216];
const HUGE_NUMBERS = [
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 63,
  1e308,
  -(2 ** 31),
  -(2 ** 53),
];
const ODD_SHAPES = [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  [{}],
  { 0: 1 },
  { id: null },
  { name: '' },
  [1, 'a', null],
];

/** A value that a schema may not expect: of another type, out of bounds, or strange text. */
function oddValue(random: Random): unknown {
  switch (random.below(6)) {
    case 0:
      return random.pick(ODD_NUMBERS);
    case 1:
      return random.pick(HUGE_NUMBERS);
    case 2:
      return structuredClone(random.pick(ODD_SHAPES));
    case 3:
      return random
        .pick(['x', '😀', 'é', '\n', '﷽'])
        .repeat(random.pick([31, 32, 33, 100, 101, 256, 1025, 4001]));
    default:
      return random.pick(ODD_TEXTS);
  }
}

export const oddText = (random: Random): string => random.pick(ODD_TEXTS);

/** Paths of all values inside of a body, the body itself left out. Bodies are small: some hundreds of values. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    return [at, ...pathsOf(child, at)];
  });
}

/** A copy of a valid body with one to three values replaced, removed, repeated or moved by one. */
export function nearlyValid(random: Random, body: unknown): unknown {
  let copy = structuredClone(body);
  for (let changes = 1 + random.below(3); changes > 0; changes -= 1) copy = changed(random, copy);
  return copy;
}

function changed(random: Random, body: unknown): unknown {
  const paths = pathsOf(body);
  if (paths.length === 0) return random.next() < 0.5 ? body : oddValue(random);
  const path = random.pick(paths);
  const key = path.at(-1)!;
  const holder = path.slice(0, -1).reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], body);
  const fields = holder as Record<string | number, unknown>;
  const before = fields[key];
  switch (random.below(6)) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete fields[key];
      return body;
    case 1:
      fields[key] = null;
      return body;
    case 2:
      if (typeof before === 'number') fields[key] = before + random.pick([-1, 1, 0.5, 2 ** 31]);
      else if (typeof before === 'string') fields[key] = before.repeat(2) + oddText(random);
      else if (Array.isArray(before) && before.length > 0)
        fields[key] = Array.from({ length: random.pick([2, 5, 11, 26, 41]) }, () =>
          structuredClone(before[0]),
        );
      else fields[key] = oddValue(random);
      return body;
    case 3:
      if (Array.isArray(holder)) holder.push(oddValue(random));
      else fields[random.pick(['type', 'id', 'flags', 'name', 'url', 'emoji', 'extra'])] = oddValue(random);
      return body;
    default:
      fields[key] = oddValue(random);
      return body;
  }
}

// Writes protocol/confusables.generated.ts from the data of Unicode's security mechanisms (UTS #39), which are at
// https://www.unicode.org/Public/<version>/security/confusables.txt:
//   node scripts/confusables.mjs confusables.txt
import { readFileSync, writeFileSync } from 'node:fs';

const source = process.argv[2];
if (source === undefined) throw new Error('Name the file confusables.txt.');
const text = readFileSync(source, 'utf8').replace(/^\uFEFF/, '');
const version = /^# Version: (\S+)/m.exec(text)?.[1];
if (version === undefined) throw new Error('The file names no version.');

const decoded = (field) =>
  String.fromCodePoint(
    ...field
      .trim()
      .split(/\s+/)
      .map((code) => Number.parseInt(code, 16)),
  );
const pairs = text
  .split('\n')
  .map((line) => line.split('#', 1)[0])
  .filter((line) => line.includes(';'))
  .map((line) => line.split(';').slice(0, 2).map(decoded))
  // Names are brought to NFD before they are looked up: no character that NFD changes is ever looked up.
  .filter(([from]) => from.normalize('NFD') === from)
  .filter(([from]) => !/\p{Default_Ignorable_Code_Point}/u.test(from));

const targets = new Map();
for (const [from, to] of pairs.sort(([one], [other]) => one.codePointAt(0) - other.codePointAt(0)))
  targets.set(to, (targets.get(to) ?? '') + from);
const quoted = (chars) =>
  `'${[...chars]
    .map((char) => {
      const code = char.codePointAt(0);
      const isPlain = code > 0x20 && code < 0x7f && char !== "'" && char !== '\\';
      return isPlain
        ? char
        : code > 0xffff
          ? `\\u{${code.toString(16)}}`
          : `\\u${code.toString(16).padStart(4, '0')}`;
    })
    .join('')}'`;
const rows = [...targets].map(([to, from]) => `  [${quoted(to)}, ${quoted(from)}],`);

writeFileSync(
  new URL('../protocol/confusables.generated.ts', import.meta.url),
  `/**
 * Characters that look alike: each text, and the characters that are shown like it. Reduced from confusables.txt of
 * Unicode ${version} by scripts/confusables.mjs to the visible characters that NFD leaves as they are.
 *
 * @source https://www.unicode.org/Public/${version}/security/confusables.txt, © Unicode, Inc., Unicode License v3
 */
export const CONFUSABLES_VERSION = '${version}';

// biome-ignore format: a table that a program writes.
export const CONFUSABLES: readonly (readonly [shown: string, characters: string])[] = [
${rows.join('\n')}
];
`,
);

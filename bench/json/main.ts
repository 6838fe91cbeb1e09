import { JSON_TOKENS_MAX, parseJson } from '../../protocol/json.ts';

/**
 * Compares the cost of reading a client's JSON with `JSON.parse`, for each kind of text that makes one of them slow. Both
 * start from bytes: `JSON.parse` needs them decoded first, so decoding counts on both sides.
 *
 * `npm run bench:json`, optionally with a number of bytes for the long texts (default 12,000,000).
 */
/** Longer texts would exceed the bound on numbers of 1,000 digits. */
const BYTES_MAX = 20_000_000;
const ROUNDS = 15;
const BATCH_BYTES = 400_000;
const id = (n: number): string => String(175_928_847_299_117_063n + BigInt(n) * 4_194_304n);

/** The texts, by their content. */
function textsOf(bytes: number): Record<string, string> {
  const long = (piece: string) => `"${piece.repeat(Math.ceil(bytes / Buffer.byteLength(piece)))}"`;
  const list = (each: (n: number) => string, count = JSON_TOKENS_MAX) =>
    `[${Array.from({ length: count }, (_, n) => each(n)).join(',')}]`;
  const object = (each: (n: number) => string) => `{${list(each, JSON_TOKENS_MAX - 1).slice(1, -1)}}`;
  const nested = '['.repeat(63) + ']'.repeat(63);
  return {
    'one string, ASCII': long('a'),
    'one string, two bytes a character': long('é'),
    'one string, three bytes a character': long('漢'),
    'one string, four bytes a character': long('😀'),
    'escapes of a newline': long('\\n'),
    'escapes of a quote': long('\\"'),
    'escapes of a backslash': long('\\\\'),
    'an escape every eight characters': long('abcdefg\\n'),
    'escapes of a code unit': long('\\u0041'),
    'escapes of surrogate pairs': long('\\ud83d\\ude00'),
    'escapes of lone surrogates': long('\\ud800'),
    whitespace: `${' '.repeat(bytes)}1`,
    'numbers of 1,000 digits': list(() => '1'.repeat(1000), Math.ceil(bytes / 1001)),
    'fractions of 1,000 digits': list(() => `0.${'1'.repeat(998)}`, Math.ceil(bytes / 1001)),
    'small integers': list(() => '1'),
    'ids as integers': list(id),
    'ids as integers, in objects': object((n) => `"${n.toString(36)}x":${id(n)}`),
    'a long string and one id': `[${long('\\n')},${id(0)}]`,
    floats: list(() => '-1.2345e-7'),
    literals: list(() => 'false'),
    'short strings': list(() => '"ab"'),
    'empty objects': list(() => '{}', JSON_TOKENS_MAX / 2),
    'nested lists': list(() => nested, Math.floor(JSON_TOKENS_MAX / 65)),
    'keys, each another': object((n) => `"k${n}":1`),
    'keys, all the same': object(() => '"a":1'),
    'keys, __proto__': object(() => '"__proto__":1'),
    'a heartbeat': '{"op":1,"d":251}',
    'a voice state, ids as integers': `{"op":4,"d":{"guild_id":${id(0)},"channel_id":${id(1)},"self_mute":false,"self_deaf":false}}`,
    'a message': `{"content":"Low water at four","tts":false,"allowed_mentions":{"parse":[],"users":["${id(2)}"]}}`,
  };
}

function cpuMicros(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** The least CPU time of each over alternating rounds, in milliseconds: a disturbance affects both. */
function measured(text: string): { parse: number; decoded: number; read: number } {
  const bytes = Buffer.from(text);
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const times = Math.max(1, Math.ceil(BATCH_BYTES / bytes.length));
  const batch = (run: () => unknown) => () => {
    for (let left = times; left > 0; left -= 1) run();
  };
  const runs = {
    parse: batch(() => JSON.parse(text)),
    decoded: batch(() => JSON.parse(utf8.decode(bytes))),
    read: batch(() => parseJson(bytes)),
  };
  const least = { parse: Infinity, decoded: Infinity, read: Infinity };
  for (let round = 0; round < ROUNDS; round++)
    for (const name of ['parse', 'decoded', 'read'] as const)
      least[name] = Math.min(least[name], cpuMicros(runs[name]));
  const each = (micros: number) => micros / 1000 / times;
  return { parse: each(least.parse), decoded: each(least.decoded), read: each(least.read) };
}

const bytes = Number(process.argv[2] ?? 12_000_000);
if (!Number.isInteger(bytes) || bytes < 1 || bytes > BYTES_MAX)
  throw new RangeError(`Bytes of a long text: a whole number up to ${BYTES_MAX}.`);
const row = (cells: readonly (string | number)[]) => console.log(`| ${cells.join(' | ')} |`);
row(['text', 'bytes', 'JSON.parse alone, ms', 'decode and JSON.parse, ms', 'parseJson, ms', 'ratio']);
row(['---', '--:', '--:', '--:', '--:', '--:']);
let worst = { ratio: 0, name: '' };
for (const [name, text] of Object.entries(textsOf(bytes))) {
  const { parse, decoded, read } = measured(text);
  const ratio = read / decoded;
  if (ratio > worst.ratio) worst = { ratio, name };
  row([
    name,
    Buffer.byteLength(text),
    ...[parse, decoded, read].map((ms) => ms.toPrecision(3)),
    ratio.toFixed(2),
  ]);
}
console.log(`worst ratio: ${worst.ratio.toFixed(2)} (${worst.name})`);

/** A piece of a message's text. Views turn it into elements, so no text of a user ever becomes markup. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'break' }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: Style; readonly inside: readonly Piece[] }
  /** The URL is http or https. */
  | { readonly kind: 'link'; readonly url: string; readonly inside: readonly Piece[] }
  | { readonly kind: 'user' | 'role' | 'channel'; readonly id: string }
  | { readonly kind: 'command'; readonly name: string }
  | { readonly kind: 'emoji'; readonly id: string; readonly name: string; readonly animated: boolean }
  | { readonly kind: 'time'; readonly ms: number; readonly style: string };

export type Block =
  | { readonly kind: 'paragraph'; readonly inside: readonly Piece[] }
  | { readonly kind: 'heading'; readonly level: 1 | 2 | 3; readonly inside: readonly Piece[] }
  | { readonly kind: 'small'; readonly inside: readonly Piece[] }
  | { readonly kind: 'fence'; readonly language: string; readonly text: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly (readonly Piece[])[] };

type Style = 'bold' | 'italic' | 'underline' | 'strike' | 'spoiler';

/** Deeper nesting stays plain text, so that no message costs more than a few passes. */
const DEPTH_MAX = 6;
const CHARACTERS_MAX = 8000;

const STYLES: readonly (readonly [string, Style])[] = [
  ['**', 'bold'],
  ['__', 'underline'],
  ['~~', 'strike'],
  ['||', 'spoiler'],
  ['*', 'italic'],
  ['_', 'italic'],
];
const LINK = /^\[([^\]\n]{1,300})\]\((https?:\/\/[^\s)]{1,2000})\)/;
const BARE = /^https?:\/\/[^\s<>]{1,2000}/;
const ANGLED = /^<(https?:\/\/[^\s<>]{1,2000})>/;
const MENTION = /^<(@!?|@&|#)(\d{15,20})>/;
const COMMAND = /^<\/([^:>\n]{1,100}):\d{15,20}>/;
const EMOJI = /^<(a?):(\w{2,32}):(\d{15,20})>/;
const TIME = /^<t:(-?\d{1,12})(?::([tTdDfFR]))?>/;
const CODE = /^(`+)([^`](?:.|\n)*?[^`]|[^`])\1(?!`)/;
const PLAIN = /^[^\\`*_~|[<h\n]+/;

/** Parses the text of a message by the platform's rules of Markdown. */
export function blocksOf(text: string, depth = 0): readonly Block[] {
  const lines = text.slice(0, CHARACTERS_MAX).split('\n');
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const taken =
      fence(lines, at) ??
      quote(lines, at, depth) ??
      heading(lines, at) ??
      list(lines, at) ??
      paragraph(lines, at);
    if (taken.block !== null) blocks.push(taken.block);
    at = taken.next;
  }
  return blocks;
}

interface ParsedBlock {
  readonly block: Block | null;
  readonly next: number;
}

function fence(lines: readonly string[], at: number): ParsedBlock | null {
  const first = lines[at] ?? '';
  if (!first.startsWith('```')) return null;
  const rest = first.slice(3);
  if (rest.endsWith('```') && rest.length > 3)
    return { block: { kind: 'fence', language: '', text: rest.slice(0, -3) }, next: at + 1 };
  const end = lines.findIndex((line, index) => index > at && line.endsWith('```'));
  if (end < 0) return null;
  const isLanguage = /^[\w+#-]{0,20}$/.test(rest);
  const inside = [
    ...(isLanguage ? [] : [rest]),
    ...lines.slice(at + 1, end),
    (lines[end] ?? '').slice(0, -3),
  ];
  const text = inside.join('\n').replace(/\n$/, '');
  return { block: { kind: 'fence', language: isLanguage ? rest : '', text }, next: end + 1 };
}

function quote(lines: readonly string[], at: number, depth: number): ParsedBlock | null {
  const first = lines[at] ?? '';
  if (depth >= DEPTH_MAX) return null;
  if (first.startsWith('>>> ')) {
    const inside = [first.slice(4), ...lines.slice(at + 1)].join('\n');
    return { block: { kind: 'quote', blocks: blocksOf(inside, depth + 1) }, next: lines.length };
  }
  if (!first.startsWith('> ')) return null;
  let next = at;
  const inside: string[] = [];
  while (next < lines.length && (lines[next] ?? '').startsWith('> '))
    inside.push((lines[next++] ?? '').slice(2));
  return { block: { kind: 'quote', blocks: blocksOf(inside.join('\n'), depth + 1) }, next };
}

function heading(lines: readonly string[], at: number): ParsedBlock | null {
  const found = /^(#{1,3}|-#) (.+)$/.exec(lines[at] ?? '');
  if (found === null) return null;
  const [, marks = '', text = ''] = found;
  const inside = piecesOf(text);
  if (marks === '-#') return { block: { kind: 'small', inside }, next: at + 1 };
  const level = marks.length === 1 ? 1 : marks.length === 2 ? 2 : 3;
  return { block: { kind: 'heading', level, inside }, next: at + 1 };
}

const ITEM = /^ {0,6}(?:[-*]|(\d{1,6})\.) (.+)$/;

function list(lines: readonly string[], at: number): ParsedBlock | null {
  const first = ITEM.exec(lines[at] ?? '');
  if (first === null) return null;
  const ordered = first[1] !== undefined;
  const items: (readonly Piece[])[] = [];
  let next = at;
  for (; next < lines.length; next++) {
    const item = ITEM.exec(lines[next] ?? '');
    if (item === null || (item[1] !== undefined) !== ordered) break;
    items.push(piecesOf(item[2] ?? ''));
  }
  return { block: { kind: 'list', ordered, items }, next };
}

/** Lines up to the next block of another kind. Fences within a line's reach were looked for already. */
function paragraph(lines: readonly string[], at: number): ParsedBlock {
  let next = at + 1;
  const isOther = (line: string) => /^(```|> |>>> |#{1,3} |-# )/.test(line) || ITEM.test(line);
  while (next < lines.length && !isOther(lines[next] ?? '')) next++;
  const text = lines.slice(at, next).join('\n');
  return { block: text.trim() === '' ? null : { kind: 'paragraph', inside: piecesOf(text) }, next };
}

/** Parses one line. */
export function piecesOf(text: string, depth = 0): readonly Piece[] {
  const pieces: Piece[] = [];
  let plain = '';
  const add = (piece: Piece): void => {
    if (plain !== '') pieces.push({ kind: 'text', text: plain });
    plain = '';
    pieces.push(piece);
  };
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const run = PLAIN.exec(rest)?.[0];
    if (run !== undefined) {
      plain += run;
      at += run.length;
      continue;
    }
    const found = rest[0] === '\\' ? null : special(rest, plain.at(-1) ?? '', depth);
    if (found !== null) {
      add(found.piece);
      at += found.length;
    } else if (rest[0] === '\\' && /^\\[!-/:-@[-`{-~]/.test(rest)) {
      plain += rest[1];
      at += 2;
    } else {
      plain += rest[0];
      at++;
    }
  }
  if (plain !== '') pieces.push({ kind: 'text', text: plain });
  return pieces;
}

interface ParsedPiece {
  readonly piece: Piece;
  readonly length: number;
}

function special(rest: string, before: string, depth: number): ParsedPiece | null {
  if (rest[0] === '\n') return { piece: { kind: 'break' }, length: 1 };
  if (rest[0] === '`') return codeIn(rest);
  if (rest[0] === '<') return angled(rest);
  if (rest[0] === '[') return linkIn(rest, depth);
  if (rest[0] === 'h') return bareLink(rest, before);
  return styled(rest, before, depth);
}

function codeIn(rest: string): ParsedPiece | null {
  const code = CODE.exec(rest);
  return code === null ? null : { piece: { kind: 'code', text: code[2] ?? '' }, length: code[0].length };
}

function linkIn(rest: string, depth: number): ParsedPiece | null {
  const found = LINK.exec(rest);
  if (found === null || depth >= DEPTH_MAX) return null;
  const [{ length }, label = '', url = ''] = found;
  return linked(url, piecesOf(label, DEPTH_MAX), length);
}

function bareLink(rest: string, before: string): ParsedPiece | null {
  const found = /\w/.test(before) ? undefined : BARE.exec(rest)?.[0];
  const url = found?.replace(/[.,:;!?'")\]]+$/, '');
  return url === undefined ? null : linked(url, [{ kind: 'text', text: url }], url.length);
}

function linked(url: string, inside: readonly Piece[], length: number): ParsedPiece | null {
  return URL.canParse(url) ? { piece: { kind: 'link', url, inside }, length } : null;
}

const KINDS = { '@': 'user', '@!': 'user', '@&': 'role', '#': 'channel' } as const;
const isKind = (text: string): text is keyof typeof KINDS => text in KINDS;

function angled(rest: string): ParsedPiece | null {
  const [whole, sign = '', id = ''] = MENTION.exec(rest) ?? [];
  if (whole !== undefined && isKind(sign)) return { piece: { kind: KINDS[sign], id }, length: whole.length };
  const emoji = EMOJI.exec(rest);
  if (emoji !== null) {
    const [{ length }, animated = '', name = '', emojiId = ''] = emoji;
    return { piece: { kind: 'emoji', id: emojiId, name, animated: animated === 'a' }, length };
  }
  const time = TIME.exec(rest);
  if (time !== null)
    return {
      piece: { kind: 'time', ms: Number(time[1]) * 1000, style: time[2] ?? 'f' },
      length: time[0].length,
    };
  const command = COMMAND.exec(rest);
  if (command !== null)
    return { piece: { kind: 'command', name: command[1] ?? '' }, length: command[0].length };
  const url = ANGLED.exec(rest);
  return url === null ? null : linked(url[1] ?? '', [{ kind: 'text', text: url[1] ?? '' }], url[0].length);
}

function styled(rest: string, before: string, depth: number): ParsedPiece | null {
  if (depth >= DEPTH_MAX) return null;
  for (const [mark, kind] of STYLES) {
    if (!rest.startsWith(mark)) continue;
    // An underscore within a word is part of it.
    if (mark === '_' && /\w/.test(before)) continue;
    const end = endOf(rest, mark);
    if (end < 0) continue;
    const inside = rest.slice(mark.length, end);
    if (inside.trim() === '' || (mark.length === 1 && /^\s|\s$/.test(inside))) continue;
    return { piece: { kind, inside: piecesOf(inside, depth + 1) }, length: end + mark.length };
  }
  return null;
}

/** Where the mark closes. A backslash escapes it, and a single mark does not close inside a double one. */
function endOf(rest: string, mark: string): number {
  for (let at = rest.indexOf(mark, mark.length); at >= 0; at = rest.indexOf(mark, at + 1)) {
    if (rest[at - 1] === '\\') continue;
    if (mark.length === 1 && rest[at + 1] === mark) {
      at++;
      continue;
    }
    if (mark.length === 2 && rest[at + 2] === mark[0]) continue;
    if (mark === '_' && /\w/.test(rest[at + 1] ?? '')) continue;
    return at;
  }
  return -1;
}

// Goal: a message's Markdown becomes pieces that no text of a user can escape from, at any input and in little time.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Block, blocksOf, type Piece, piecesOf } from '../../web/chat/markdown.ts';

const inside = (piece: Piece): readonly Piece[] => ('inside' in piece ? piece.inside : []);
const everyPiece = (pieces: readonly Piece[]): readonly Piece[] =>
  pieces.flatMap((piece) => [piece, ...everyPiece(inside(piece))]);
const everyPieceOf = (blocks: readonly Block[]): readonly Piece[] =>
  blocks.flatMap((block) => {
    if (block.kind === 'quote') return everyPieceOf(block.blocks);
    if (block.kind === 'list') return everyPiece(block.items.flat());
    return block.kind === 'fence' ? [] : everyPiece(block.inside);
  });
const plain = (pieces: readonly Piece[]): string =>
  pieces.map((piece) => ('text' in piece ? piece.text : plain(inside(piece)))).join('');

describe('inline Markdown', () => {
  test.each([
    ['**a**', 'bold'],
    ['*a*', 'italic'],
    ['_a_', 'italic'],
    ['__a__', 'underline'],
    ['~~a~~', 'strike'],
    ['||a||', 'spoiler'],
  ])('reads %s as %s', (text, kind) => {
    expect(piecesOf(text)).toEqual([{ kind, inside: [{ kind: 'text', text: 'a' }] }]);
  });

  test('keeps code as it is written', () => {
    expect(piecesOf('`**no**`')).toEqual([{ kind: 'code', text: '**no**' }]);
  });

  test('leaves underscores within words and escaped marks alone', () => {
    expect(piecesOf('snake_case_name')).toEqual([{ kind: 'text', text: 'snake_case_name' }]);
    expect(piecesOf('\\*not\\*')).toEqual([{ kind: 'text', text: '*not*' }]);
  });

  test('nests styles', () => {
    expect(piecesOf('**a *b***')).toEqual([
      {
        kind: 'bold',
        inside: [
          { kind: 'text', text: 'a ' },
          { kind: 'italic', inside: [{ kind: 'text', text: 'b' }] },
        ],
      },
    ]);
  });

  test('links http and https only', () => {
    const script = 'javascript:alert(1)';
    for (const text of [`[x](${script})`, `<${script}>`, '[x](data:text/html,1)', `[x](JAVASCRIPT:alert(1))`])
      expect(everyPiece(piecesOf(text)).some(({ kind }) => kind === 'link')).toBe(false);
    expect(piecesOf('see https://example.org/a.')).toEqual([
      { kind: 'text', text: 'see ' },
      {
        kind: 'link',
        url: 'https://example.org/a',
        inside: [{ kind: 'text', text: 'https://example.org/a' }],
      },
      { kind: 'text', text: '.' },
    ]);
  });

  test('reads mentions, emojis and times', () => {
    const id = '123456789012345678';
    expect(piecesOf(`<@${id}><@&${id}><#${id}><a:wave:${id}><t:60:R></hello:${id}>`)).toEqual([
      { kind: 'user', id },
      { kind: 'role', id },
      { kind: 'channel', id },
      { kind: 'emoji', id, name: 'wave', animated: true },
      { kind: 'time', ms: 60_000, style: 'R' },
      { kind: 'command', name: 'hello' },
    ]);
  });
});

describe('blocks of Markdown', () => {
  test('reads fences, headings, quotes and lists', () => {
    const kinds = blocksOf('# One\n-# two\n```js\na\n\nb\n```\n> q\n> r\n- x\n- y\n1. z\nlast').map(
      ({ kind }) => kind,
    );
    expect(kinds).toEqual(['heading', 'small', 'fence', 'quote', 'list', 'list', 'paragraph']);
    expect(blocksOf('```js\na\n\nb\n```')).toEqual([{ kind: 'fence', language: 'js', text: 'a\n\nb' }]);
  });
});

const marks = fc.constantFrom(
  '**',
  '*',
  '_',
  '__',
  '~~',
  '||',
  '`',
  '```',
  '\n',
  '> ',
  '# ',
  '[',
  '](',
  ')',
  '<',
  '>',
  '<@1>',
  '\\',
  'a b',
  'http://x',
  'javascript:',
);

describe('Markdown of any text', () => {
  test('keeps text without marks', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-gi-z0-9 .,]{0,200}$/), (text) => {
        expect(plain(piecesOf(text))).toBe(text);
      }),
    );
  });

  test('yields links to the web only, and never throws', () => {
    const text = fc.array(fc.oneof(marks, fc.string()), { maxLength: 60 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (given) => {
        for (const piece of everyPieceOf(blocksOf(given)))
          if (piece.kind === 'link') expect(piece.url).toMatch(/^https?:\/\//);
      }),
      { numRuns: 500 },
    );
  });

  test.each(['*', '_', '**', '||', '`', '[', '<', '> ', '>>> ', '```\n', '- '])(
    'reads thousands of %j within a fraction of a second',
    (mark) => {
      const startedMs = performance.now();
      blocksOf(mark.repeat(4000));
      expect(performance.now() - startedMs).toBeLessThan(1500);
    },
  );
});

// Goal: what is typed in the text channel of the page is completed from the commands that can be used there.
import { describe, expect, test } from 'vitest';
import { completionsOf, quoted, typedCommand, typingIn } from '../../web/chat/completion.ts';

const DEEP = [
  { type: 4, name: 'n' },
  { type: 3, name: 'text', autocomplete: true },
];
const command = { application_id: '1', version: '1', type: 1 };
const commands = [
  {
    ...{ ...command, id: '2', name: 'klingel', name_default: 'ping', description: 'Answers.' },
    options: [
      { type: 3, name: 'text', autocomplete: true, required: true },
      { type: 3, name: 'colour', choices: [{ name: 'dark red', value: 'r' }] },
    ],
  },
  {
    ...{ ...command, id: '3', name: 'deep' },
    options: [{ type: 2, name: 'group', options: [{ type: 1, name: 'sub', options: DEEP }] }],
  },
  { ...command, id: '4', name: 'Greet', type: 2 },
  {
    ...{ ...command, id: '5', name: 'files' },
    options: [
      { type: 11, name: 'first' },
      { type: 11, name: 'second' },
      { type: 5, name: 'flag' },
      { type: 6, name: 'who' },
      { type: 3, name: 'text' },
    ],
  },
];
const people = ({ type }: { readonly type: number }) =>
  type === 6
    ? [
        { value: '7', label: '@ann' },
        { value: '8', label: '@Abe' },
      ]
    : [];
const texts = (typed: string) => completionsOf(typed, commands, people).map(({ text }) => text);

describe('completions', () => {
  test.each<[string, string[]]>([
    ['/', ['/ping ', '/deep ', '/files ']],
    ['/pi', ['/ping ']],
    ['/ping ', ['/ping text:', '/ping colour:']],
    ['/ping text:a c', ['/ping text:a colour:']],
    ['/ping colour:d', ['/ping colour:"dark red" ']],
    ['/deep ', ['/deep group ']],
    ['/deep group ', ['/deep group sub ']],
    ['/deep group sub ', ['/deep group sub n:', '/deep group sub text:']],
    ['/files flag:t', ['/files flag:true ']],
    ['/files who:a', ['/files who:<@7> ', '/files who:<@8> ']],
    ['/files text:"a b" f', ['/files text:"a b" first:', '/files text:"a b" flag:']],
    ['hello', []],
    ['/none ', []],
  ])('%j is completed to %j', (typed, wanted) => {
    expect(texts(typed)).toEqual(wanted);
  });

  test('ask the application only for options with autocomplete', () => {
    expect(typingIn('/ping text:re', commands)).toEqual({
      ...{ name: 'ping', option: 'text', value: 're', others: {}, before: '/ping text:' },
    });
    expect(typingIn('/deep group sub n:1 text:"dark r', commands)).toMatchObject({
      ...{ name: 'deep group sub', option: 'text', value: 'dark r', others: { n: '1' } },
      before: '/deep group sub n:1 text:',
    });
    expect(typingIn('/ping colour:re', commands)).toBeNull();
    expect(typingIn('text:re', commands)).toBeNull();
  });

  test('a value with quotes or spaces is quoted', () => {
    expect(['a', 'a b', 'a"b'].map(quoted)).toEqual(['a', '"a b"', '"a\\"b"']);
  });
});

describe('the files of a command', () => {
  const [one, two] = ['a', 'b'].map((filename) => ({ filename, bytes: new Uint8Array() }));

  test('are those of the options that the line names, then of the others', () => {
    const line = '/files second: text:x';
    expect(typedCommand(commands, line, [one!])).toEqual({
      name: 'files',
      values: { text: 'x', second: one },
    });
    expect(typedCommand(commands, line, [one!, two!]).values).toEqual({ text: 'x', second: one, first: two });
    expect(typedCommand(commands, '/deep group sub n:1', [])).toEqual({
      name: 'deep group sub',
      values: { n: '1' },
    });
  });

  test('are refused when the command accepts fewer', () => {
    expect(() => typedCommand(commands, '/ping', [one!])).toThrow('/ping takes no files.');
    expect(() => typedCommand(commands, '/files', [one!, one!, one!])).toThrow('/files takes 2 files.');
  });
});

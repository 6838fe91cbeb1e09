// Goal: what is typed in the text channel of the page is completed from the commands that can be used there.
import { describe, expect, test } from 'vitest';
import { completionsOf, typingIn } from '../../web/chat/completion.ts';

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
    options: [
      { type: 2, name: 'group', options: [{ type: 1, name: 'sub', options: [{ type: 4, name: 'n' }] }] },
    ],
  },
  { ...command, id: '4', name: 'Greet', type: 2 },
];
const texts = (typed: string) => completionsOf(typed, commands).map(({ text }) => text);

describe('completions', () => {
  test.each<[string, string[]]>([
    ['/', ['/ping ', '/deep ']],
    ['/pi', ['/ping ']],
    ['/ping ', ['/ping text:', '/ping colour:']],
    ['/ping text:a c', ['/ping text:a colour:']],
    ['/ping colour:d', ['/ping colour:"dark red" ']],
    ['/deep ', ['/deep group ']],
    ['/deep group ', ['/deep group sub ']],
    ['/deep group sub ', ['/deep group sub n:']],
    ['hello', []],
    ['/none ', []],
  ])('%j goes on as %j', (typed, wanted) => {
    expect(texts(typed)).toEqual(wanted);
  });

  test('ask the application only for options with autocomplete', () => {
    expect(typingIn('/ping text:re', commands)).toEqual({ name: 'ping', option: 'text', value: 're' });
    expect(typingIn('/ping colour:re', commands)).toBeNull();
    expect(typingIn('text:re', commands)).toBeNull();
  });
});

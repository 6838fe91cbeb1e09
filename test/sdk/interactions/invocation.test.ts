// Goal: what a person types becomes the options that the command takes, and every mistake says what to type.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  commandOf,
  type IndexedCommand,
  parseInvocation,
  typedOptions,
} from '../../../sdk/interactions/invocation.ts';

const ping: IndexedCommand = {
  ...{ id: '1', application_id: '2', version: '3', type: 1, name: 'klingel', name_default: 'ping' },
  options: [
    { type: 3, name: 'text' },
    { type: 4, name: 'count', choices: [{ name: 'one', value: 1 }] },
    { type: 5, name: 'flag' },
    { type: 6, name: 'user' },
    { type: 11, name: 'file' },
  ],
};
const deep: IndexedCommand = {
  ...{ id: '4', application_id: '2', version: '3', type: 1, name: 'deep' },
  options: [
    { type: 2, name: 'group', options: [{ type: 1, name: 'sub', options: [{ type: 10, name: 'n' }] }] },
  ],
};

describe('a typed invocation', () => {
  test.each([
    ['/ping', { words: ['ping'], values: {} }],
    ['ping text:hello', { words: ['ping'], values: { text: 'hello' } }],
    ['/deep group sub n:1.5', { words: ['deep', 'group', 'sub'], values: { n: '1.5' } }],
    [String.raw`/ping text:"two \"words\""`, { words: ['ping'], values: { text: 'two "words"' } }],
    ['/ping text: flag:true', { words: ['ping'], values: { text: '', flag: 'true' } }],
    ['/ping user:<@5> text:a:b', { words: ['ping'], values: { user: '<@5>', text: 'a:b' } }],
  ])('%s is read', (text, parsed) => {
    expect(parseInvocation(text)).toEqual(parsed);
  });

  test.each(['', '/', '/ping text:hello more', '/ping :x', '/ping text:"open'])(
    '%j returns the expected input',
    (text) => {
      expect(() => parseInvocation(text)).toThrow(/Type|no name/);
    },
  );

  test('never fails in another way, and is read the same when it is written again', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          const { words, values } = parseInvocation(text);
          const quoted = Object.entries(values).map(
            ([name, value]) => `${name}:"${value.replace(/[\\"]/g, String.raw`\$&`)}"`,
          );
          expect(parseInvocation(`/${[...words, ...quoted].join(' ')}`)).toEqual({ words, values });
        } catch (error) {
          expect((error as Error).name).toBe('InvocationError');
        }
      }),
    );
  });
});

describe('typed options', () => {
  test('have the types of the command', () => {
    const bytes = new Uint8Array([1]);
    const values = { text: 'a', count: 'one', flag: 'yes', user: '<@!7>', file: { filename: 'f', bytes } };
    expect(typedOptions(ping, [], values)).toEqual({
      options: [
        { type: 3, name: 'text', value: 'a' },
        { type: 4, name: 'count', value: 1 },
        { type: 5, name: 'flag', value: true },
        { type: 6, name: 'user', value: '7' },
        { type: 11, name: 'file', value: '0' },
      ],
      files: [{ filename: 'f', bytes }],
    });
  });

  test('are nested in their subcommand', () => {
    const sub = { type: 1, name: 'sub', options: [{ type: 10, name: 'n', value: 2 }] };
    expect(typedOptions(deep, ['group', 'sub'], { n: '2' }).options).toEqual([
      { type: 2, name: 'group', options: [sub] },
    ]);
  });

  test('return the options of the command when they are wrong', () => {
    expect(() => typedOptions(ping, [], { none: 'x' })).toThrow('text, count, flag, user, file');
    expect(() => typedOptions(ping, [], { count: 'many' })).toThrow('takes a number');
    expect(() => typedOptions(ping, [], { flag: 'maybe' })).toThrow('true or false');
    expect(() => typedOptions(deep, [], {})).toThrow('needs a subcommand');
    expect(() => typedOptions(deep, ['other'], {})).toThrow('no subcommand "other"');
    expect(() => commandOf([ping], ['pong'])).toThrow('There is: ping.');
  });

  test('find a command by its name in any language', () => {
    expect(commandOf([ping], ['klingel'])).toBe(ping);
    expect(commandOf([ping], ['ping'])).toBe(ping);
  });
});

// Goal: every bound of an option holds at its number and is refused one beyond it, with code and path.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AppCommand } from '../../../engine/appcommand/appcommand.ts';
import { readDraft } from '../../../engine/appcommand/draft.ts';
import { Form } from '../../../engine/channel/form.ts';
import { readOptions } from '../../../engine/interaction/options.ts';
import { checkResolved } from '../../../engine/interaction/resolved.ts';
import { leavesOf } from '../../support/errortree.ts';

/** A command that was really read, so that the rules meet its normal form. */
function commandOf(...options: object[]): AppCommand {
  const described = (each: object): object => {
    const { options: inside, ...rest } = { description: 'd', ...each } as { options?: object[] };
    return { ...rest, ...(inside && { options: inside.map(described) }) };
  };
  const raw = { name: 'tide', description: 'd', options: options.map(described) };
  const read = readDraft(raw, { isGuild: false, installations: [0] });
  if (!read.ok) throw new Error(JSON.stringify(read.refusal));
  return {
    ...read.value,
    id: '1',
    application_id: '2',
    guild_id: null,
    version: '3',
  } as unknown as AppCommand;
}

function reading(command: AppCommand, raw: unknown, kind: 'command' | 'autocomplete' = 'command') {
  const form = new Form();
  const read = readOptions(command, raw, kind, form);
  return { ...read, form, problems: leavesOf(form.refusal()?.errors ?? {}) };
}

const problemsOf = (option: object, value: unknown): string[] => {
  const command = commandOf({ name: 'port', ...option });
  return reading(command, [{ name: 'port', type: command.options[0]?.type, value }]).problems;
};

const x = (length: number) => 'x'.repeat(length);
const VALUE = 'data.options.0.value';
const choices = [
  { name: 'One', value: 1 },
  { name: 'Two', value: 2 },
];
const MAX = 2 ** 53;

describe('the value of an option', () => {
  test.each<[string, object, unknown, unknown, string]>([
    ['a text of 6,000 characters', { type: 3 }, x(6_000), x(6_001), 'BASE_TYPE_MAX_LENGTH'],
    ['a text of max_length', { type: 3, max_length: 4 }, '😀😀😀😀', x(5), 'BASE_TYPE_MAX_LENGTH'],
    ['a text of min_length', { type: 3, min_length: 2 }, 'xx', 'x', 'BASE_TYPE_BAD_LENGTH'],
    ['a text, not an object', { type: 3 }, 'x', {}, 'STRING_TYPE_CONVERT'],
    ['the value of a text', { type: 3 }, '', null, 'BASE_TYPE_REQUIRED'],
    ['the largest integer', { type: 4 }, MAX, '9007199254740993', 'NUMBER_TYPE_MAX'],
    ['the largest integer as a bigint', { type: 4 }, 2n ** 53n, 2n ** 53n + 1n, 'NUMBER_TYPE_MAX'],
    ['the smallest integer', { type: 4 }, -MAX, '-9007199254740993', 'NUMBER_TYPE_MIN'],
    ['an integer of min_value', { type: 4, min_value: 3 }, 3, 2, 'NUMBER_TYPE_MIN'],
    ['an integer of max_value', { type: 4, max_value: 3 }, '3', 4, 'NUMBER_TYPE_MAX'],
    ['an integer without a fraction', { type: 4 }, 1, 1.5, 'NUMBER_TYPE_COERCE'],
    ['an integer among choices', { type: 4, choices }, 2, 3, 'BASE_TYPE_CHOICES'],
    ['a number of min_value', { type: 10, min_value: 0.5 }, 0.5, 0.25, 'NUMBER_TYPE_MIN'],
    ['a number of max_value', { type: 10, max_value: 0.5 }, '0.5', 0.75, 'NUMBER_TYPE_MAX'],
    ['a finite number', { type: 10 }, 1.5, Number.NaN, 'NUMBER_TYPE_COERCE'],
    ['a boolean, not a text', { type: 5 }, false, 'false', 'BOOLEAN_TYPE_CONVERT'],
    ['the id of a user', { type: 6 }, '123', '12x', 'NUMBER_TYPE_COERCE'],
    ['the id of a channel', { type: 7 }, (1n << 63n) - 1n, 1n << 63n, 'NUMBER_TYPE_COERCE'],
    ['the id of a role', { type: 8 }, 123, 1.5, 'NUMBER_TYPE_COERCE'],
    ['the id of a mentionable', { type: 9 }, '0', '00', 'NUMBER_TYPE_COERCE'],
    ['the index of an attachment', { type: 11 }, 0, -1, 'NUMBER_TYPE_COERCE'],
  ])('%s is accepted at the bound and refused beyond', (_, option, good, bad, code) => {
    expect(problemsOf(option, good)).toEqual([]);
    expect(problemsOf(option, bad)).toEqual([`${VALUE}: ${code}`]);
  });
});

describe('the options of an invocation', () => {
  const flat = commandOf({ name: 'a', type: 3, required: true }, { name: 'b', type: 4 });
  const deep = commandOf({
    ...{ name: 'g', type: 2 },
    options: [{ name: 's', type: 1, options: [{ name: 'n', type: 4, required: true }] }],
  });
  const a = { name: 'a', type: 3, value: 'x' };
  const sub = (options: unknown) => [{ name: 'g', type: 2, options: [{ name: 's', type: 1, options }] }];

  test.each<[string, AppCommand, unknown, string[]]>([
    ['all required ones', flat, [a], []],
    ['a missing one', flat, [], ['data.options: BASE_TYPE_REQUIRED']],
    ['none at all', flat, undefined, ['data.options: BASE_TYPE_REQUIRED']],
    ['an unknown one', flat, [a, { name: 'c', type: 3, value: '' }], ['data.options.1.name: OPTION_UNKNOWN']],
    ['one of another type', flat, [{ ...a, type: 4 }], ['data.options.0.type: OPTION_TYPE_INVALID']],
    ['one twice', flat, [a, a], ['data.options.1.name: OPTION_REPEATED']],
    ['no list', flat, 'a', ['data.options: LIST_TYPE_CONVERT']],
    ['no objects', flat, [1], ['data.options.0: MODEL_TYPE_CONVERT']],
    ['more than a command has', flat, Array(26).fill(a), ['data.options: BASE_TYPE_MAX_LENGTH']],
    ['a subcommand', deep, sub([{ name: 'n', type: 4, value: 1 }]), []],
    ['no subcommand', deep, [], ['data.options: BASE_TYPE_REQUIRED']],
    ['two subcommands', deep, [...sub([]), ...sub([])], ['data.options: BASE_TYPE_MAX_LENGTH']],
    [
      'a wrong value in a subcommand',
      deep,
      sub([{ name: 'n', type: 4, value: 'x' }]),
      ['data.options.0.options.0.options.0.value: NUMBER_TYPE_COERCE'],
    ],
  ])('are accepted or refused with %s', (_, command, raw, problems) => {
    expect(reading(command, raw).problems).toEqual(problems);
  });

  test('are refused if they refer to unknown objects', () => {
    const named = commandOf(
      { name: 'u', type: 6 },
      { name: 'c', type: 7, channel_types: [2] },
      { name: 'm', type: 9 },
      { name: 'f', type: 11, file_types: ['image', '.pdf'] },
    );
    const raw = ['u', 'c', 'm', 'f'].map((name, at) => ({ name, type: named.options[at]?.type, value: '7' }));
    const check = (resolved: object, uploads: Record<string, { filename: string }>) => {
      const { form, checks } = reading(named, raw);
      checkResolved(checks, resolved, uploads, form);
      return leavesOf(form.refusal()?.errors ?? {});
    };
    const user = { 7: { id: '7' } };
    const voice = { 7: { id: '7', type: 2 } };
    expect(check({ users: user, channels: voice }, { 7: { filename: 'A.PNG' } })).toEqual([]);
    expect(
      check({ roles: user, channels: { 7: { id: '7', type: 0 } } }, { 7: { filename: 'a.exe' } }),
    ).toEqual([
      'data.options.0.value: INVALID_USER',
      'data.options.1.value: CHANNEL_TYPE_INVALID',
      'data.options.3.value: FILE_TYPE_INVALID',
    ]);
    expect(check({}, {})).toHaveLength(4);
  });
});

describe('an autocomplete', () => {
  const command = commandOf(
    { name: 'a', type: 4, required: true, autocomplete: true },
    { name: 'b', type: 3, required: true },
  );
  const typing = (...raw: object[]) => reading(command, raw, 'autocomplete');

  test('requires no other option, and accepts a partial value', () => {
    const { problems, options, focused } = typing({ name: 'a', type: 4, value: 'tw', focused: true });
    expect([problems, focused?.name]).toEqual([[], 'a']);
    expect(options).toEqual([{ name: 'a', type: 4, value: 'tw', focused: true }]);
  });

  test('is for one option that has autocomplete', () => {
    expect(typing({ name: 'a', type: 4, value: 1 }).problems).toEqual([
      'data.options: AUTOCOMPLETE_NOT_FOCUSED',
    ]);
    expect(typing({ name: 'b', type: 3, value: 'x', focused: true }).problems).toEqual([
      'data.options.0.focused: AUTOCOMPLETE_INVALID',
    ]);
  });
});

test('no options cause an exception', () => {
  const command = commandOf({ name: 'a', type: 3 }, { name: 'b', type: 4 }, { name: 'c', type: 6 });
  const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'x');
  const option = fc.record({ name, type: fc.anything(), value: fc.anything() }, { requiredKeys: [] });
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.array(option)), fc.boolean(), (raw, types) => {
      reading(command, raw, types ? 'autocomplete' : 'command');
    }),
  );
});

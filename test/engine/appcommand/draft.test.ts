/** Goal: every bound of an application command holds at its number and is refused one beyond it, with code and path. */
import { describe, expect, it } from 'vitest';
import { type DraftScope, readDraft } from '../../../engine/appcommand/draft.ts';
import { LOCALES } from '../../../protocol/appcommands.ts';
import { leavesOf } from '../../support/errortree.ts';

const GLOBAL: DraftScope = { isGuild: false, installations: [0] };
const GUILD: DraftScope = { isGuild: true, installations: [0] };

const x = (length: number) => 'x'.repeat(length);
const many = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length }, (_, at) => make(at));
const slash = (more: object = {}) => ({ name: 'tide', description: 'High water', ...more });
const option = (more: object = {}) => ({ type: 3, name: 'port', description: 'Where', ...more });
const withOption = (more: object) => slash({ options: [option(more)] });
const sub = (more: object = {}) => option({ type: 1, name: 'sub', ...more });
const group = (more: object = {}) => option({ type: 2, name: 'group', ...more });
const choices = (length: number, more: object = {}) =>
  many(length, (at) => ({ name: `c${at}`, value: `v${at}`, ...more }));
const numbers = (more: object) => withOption({ type: 4, ...more });
const menu = (more: object = {}) => ({ type: 2, name: 'Report user', ...more });
const entry = (more: object = {}) => ({ type: 4, name: 'Launch', ...more });
/** A command with this many counted characters: name and description 14, each option 3, each choice up to 103. */
const sized = (total: number) => {
  let rest = total - 14 - 10 * 3;
  const options = many(10, (at) => {
    const filled = many(25, (index) => {
      const length = Math.max(0, Math.min(rest, 103));
      rest -= length;
      return { name: `c${String(index).padStart(2, '0')}`, value: x(Math.max(0, length - 3)), length };
    });
    return option({
      name: `o${at}`,
      description: 'x',
      choices: filled.filter(({ length }) => length > 0),
    });
  });
  return slash({ options });
};

function problems(body: unknown, scope = GLOBAL): string[] {
  const read = readDraft(body, scope);
  if (read.ok) return [];
  expect(read.refusal).toMatchObject({ status: 400, code: 50035, message: 'Invalid Form Body' });
  return leavesOf(read.refusal.errors ?? {});
}

const LENGTH = 'BASE_TYPE_BAD_LENGTH';
const TOO_LONG = 'BASE_TYPE_MAX_LENGTH';
const MAX = 2 ** 53;

// The bounds are written out, so that a wrong table of limits fails these tests.
const BOUNDS: readonly [what: string, good: object, bad: object, problem: string][] = [
  ['a name of 32 characters', slash({ name: x(32) }), slash({ name: x(33) }), `name: ${LENGTH}`],
  ['a name of one character', slash({ name: 'x' }), slash({ name: '' }), `name: ${LENGTH}`],
  [
    'a name of 32 astral characters',
    slash({ name: '𐐨'.repeat(32) }),
    slash({ name: '𐐨'.repeat(33) }),
    `name: ${LENGTH}`,
  ],
  ['a menu name of 32 characters', menu({ name: x(32) }), menu({ name: x(33) }), `name: ${LENGTH}`],
  [
    'a description of 100 characters',
    slash({ description: x(100) }),
    slash({ description: x(101) }),
    `description: ${LENGTH}`,
  ],
  [
    'a description of one character',
    slash({ description: 'x' }),
    slash({ description: '' }),
    `description: ${LENGTH}`,
  ],
  [
    'an empty menu description',
    menu({ description: '' }),
    menu({ description: 'x' }),
    `description: ${TOO_LONG}`,
  ],
  [
    'an entry point description of 100',
    entry({ description: x(100) }),
    entry({ description: x(101) }),
    `description: ${TOO_LONG}`,
  ],
  [
    '25 options',
    slash({ options: many(25, (at) => option({ name: `o${at}` })) }),
    slash({ options: many(26, (at) => option({ name: `o${at}` })) }),
    `options: ${TOO_LONG}`,
  ],
  [
    '25 options of a subcommand',
    slash({ options: [sub({ options: many(25, (at) => option({ name: `o${at}` })) })] }),
    slash({ options: [sub({ options: many(26, (at) => option({ name: `o${at}` })) })] }),
    `options.0.options: ${TOO_LONG}`,
  ],
  [
    '25 subcommands of a group',
    slash({ options: [group({ options: many(25, (at) => sub({ name: `o${at}` })) })] }),
    slash({ options: [group({ options: many(26, (at) => sub({ name: `o${at}` })) })] }),
    `options.0.options: ${TOO_LONG}`,
  ],
  [
    'an option name of 32 characters',
    withOption({ name: x(32) }),
    withOption({ name: x(33) }),
    `options.0.name: ${LENGTH}`,
  ],
  [
    'an option description of 100',
    withOption({ description: x(100) }),
    withOption({ description: x(101) }),
    `options.0.description: ${LENGTH}`,
  ],
  [
    'an option description of one',
    withOption({ description: 'x' }),
    withOption({ description: '' }),
    `options.0.description: ${LENGTH}`,
  ],
  [
    '25 choices',
    withOption({ choices: choices(25) }),
    withOption({ choices: choices(26) }),
    `options.0.choices: ${TOO_LONG}`,
  ],
  [
    'a choice name of 100',
    withOption({ choices: choices(1, { name: x(100) }) }),
    withOption({ choices: choices(1, { name: x(101) }) }),
    `options.0.choices.0.name: ${LENGTH}`,
  ],
  [
    'a choice name of one',
    withOption({ choices: choices(1, { name: 'x' }) }),
    withOption({ choices: choices(1, { name: '' }) }),
    `options.0.choices.0.name: ${LENGTH}`,
  ],
  [
    'a choice value of 100',
    withOption({ choices: choices(1, { value: x(100) }) }),
    withOption({ choices: choices(1, { value: x(101) }) }),
    `options.0.choices.0.value: ${TOO_LONG}`,
  ],
  [
    'an integer choice of 2^53',
    numbers({ choices: choices(1, { value: MAX }) }),
    numbers({ choices: choices(1, { value: '9007199254740993' }) }),
    'options.0.choices.0.value: NUMBER_TYPE_MAX',
  ],
  [
    'an integer choice of -2^53',
    numbers({ choices: choices(1, { value: -MAX }) }),
    numbers({ choices: choices(1, { value: '-9007199254740993' }) }),
    'options.0.choices.0.value: NUMBER_TYPE_MIN',
  ],
  [
    'an integer choice that is whole',
    numbers({ choices: choices(1, { value: 1 }) }),
    numbers({ choices: choices(1, { value: 1.5 }) }),
    'options.0.choices.0.value: NUMBER_TYPE_COERCE',
  ],
  [
    'a double choice of 2^53',
    withOption({ type: 10, choices: choices(1, { value: MAX }) }),
    withOption({ type: 10, choices: choices(1, { value: MAX + 2 }) }),
    'options.0.choices.0.value: NUMBER_TYPE_MAX',
  ],
  [
    'a min_value of -2^53',
    numbers({ min_value: -MAX }),
    numbers({ min_value: -MAX - 2 }),
    'options.0.min_value: NUMBER_TYPE_MIN',
  ],
  [
    'a max_value of 2^53',
    numbers({ max_value: MAX }),
    numbers({ max_value: MAX + 2 }),
    'options.0.max_value: NUMBER_TYPE_MAX',
  ],
  [
    'a max_value that equals min_value',
    numbers({ min_value: 3, max_value: 3 }),
    numbers({ min_value: 3, max_value: 2 }),
    'options.0.max_value: NUMBER_TYPE_MIN',
  ],
  [
    'a min_length of 0',
    withOption({ min_length: 0 }),
    withOption({ min_length: -1 }),
    'options.0.min_length: NUMBER_TYPE_MIN',
  ],
  [
    'a min_length of 6000',
    withOption({ min_length: 6_000 }),
    withOption({ min_length: 6_001 }),
    'options.0.min_length: NUMBER_TYPE_MAX',
  ],
  [
    'a max_length of 1',
    withOption({ max_length: 1 }),
    withOption({ max_length: 0 }),
    'options.0.max_length: NUMBER_TYPE_MIN',
  ],
  [
    'a max_length of 6000',
    withOption({ max_length: 6_000 }),
    withOption({ max_length: 6_001 }),
    'options.0.max_length: NUMBER_TYPE_MAX',
  ],
  [
    'a max_length that equals min_length',
    withOption({ min_length: 9, max_length: 9 }),
    withOption({ min_length: 9, max_length: 8 }),
    'options.0.max_length: NUMBER_TYPE_MIN',
  ],
  [
    '10 file types',
    withOption({ type: 11, file_types: many(10, (at) => `.e${at}`) }),
    withOption({ type: 11, file_types: many(11, (at) => `.e${at}`) }),
    `options.0.file_types: ${TOO_LONG}`,
  ],
  [
    'a translated name of 32',
    slash({ name_localizations: { de: x(32) } }),
    slash({ name_localizations: { de: x(33) } }),
    `name_localizations.de: ${LENGTH}`,
  ],
  [
    'a translated description of 100',
    slash({ description_localizations: { de: x(100) } }),
    slash({ description_localizations: { de: x(101) } }),
    `description_localizations.de: ${LENGTH}`,
  ],
  [
    'a translated choice of 100',
    withOption({ choices: choices(1, { name_localizations: { ja: x(100) } }) }),
    withOption({ choices: choices(1, { name_localizations: { ja: x(101) } }) }),
    `options.0.choices.0.name_localizations.ja: ${LENGTH}`,
  ],
  ['8000 characters in all', sized(8_000), sized(8_001), ': APPLICATION_COMMAND_TOO_LARGE'],
  [
    'permissions of 54 bits',
    slash({ default_member_permissions: '18014398509481983' }),
    slash({ default_member_permissions: '18014398509481984' }),
    'default_member_permissions: NUMBER_TYPE_MAX',
  ],
  [
    'permissions of 0',
    slash({ default_member_permissions: 0 }),
    slash({ default_member_permissions: -1 }),
    'default_member_permissions: NUMBER_TYPE_MIN',
  ],
  ['one context', slash({ contexts: [2] }), slash({ contexts: [] }), `contexts: ${LENGTH}`],
  [
    'three contexts',
    slash({ contexts: [0, 1, 2] }),
    slash({ contexts: [3] }),
    'contexts.0: BASE_TYPE_CHOICES',
  ],
  [
    'one integration type',
    slash({ integration_types: [1] }),
    slash({ integration_types: [] }),
    `integration_types: ${LENGTH}`,
  ],
  [
    'two integration types',
    slash({ integration_types: [0, 1] }),
    slash({ integration_types: [2] }),
    'integration_types.0: BASE_TYPE_CHOICES',
  ],
];

const RULES: readonly [what: string, good: object, bad: object, problem: string][] = [
  ['a type of 1 to 4', entry(), entry({ type: 5 }), 'type: BASE_TYPE_CHOICES'],
  ['a name', slash(), slash({ name: null }), 'name: BASE_TYPE_REQUIRED'],
  [
    'a description of a slash command',
    slash(),
    slash({ description: null }),
    'description: BASE_TYPE_REQUIRED',
  ],
  [
    'letters, digits, hyphens and underscores',
    slash({ name: "a-1_'é" }),
    slash({ name: 'a b' }),
    'name: APPLICATION_COMMAND_INVALID_NAME',
  ],
  [
    'Devanagari and Thai with their signs',
    slash({ name: 'नमस्ते' }),
    slash({ name: 'a.b' }),
    'name: APPLICATION_COMMAND_INVALID_NAME',
  ],
  [
    'letters without case',
    slash({ name: '潮汐' }),
    slash({ name: 'Tide' }),
    'name: APPLICATION_COMMAND_INVALID_NAME',
  ],
  [
    'spaces and mixed case in menus',
    menu({ name: 'Report This' }),
    menu({ name: 'a\u200bb' }),
    'name: APPLICATION_COMMAND_INVALID_NAME',
  ],
  [
    'lower case in translations',
    slash({ name_localizations: { fr: 'marée' } }),
    slash({ name_localizations: { fr: 'Marée' } }),
    'name_localizations.fr: APPLICATION_COMMAND_INVALID_NAME',
  ],
  [
    'published locales',
    slash({ name_localizations: Object.fromEntries(LOCALES.map((key) => [key, 'x'])) }),
    slash({ name_localizations: { en: 'x' } }),
    'name_localizations.en: BASE_TYPE_CHOICES',
  ],
  [
    'required before optional',
    slash({ options: [option({ required: true }), option({ name: 'b' })] }),
    slash({ options: [option(), option({ name: 'b', required: true })] }),
    'options.1: APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID',
  ],
  [
    'required before optional in subcommands',
    slash({ options: [sub({ options: [option({ required: true }), option({ name: 'b' })] })] }),
    slash({ options: [sub({ options: [option(), option({ name: 'b', required: true })] })] }),
    'options.0.options.1: APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID',
  ],
  [
    'unique option names',
    slash({ options: [option(), option({ name: 'b' })] }),
    slash({ options: [option(), option()] }),
    'options.1: APPLICATION_COMMAND_OPTIONS_NAME_INVALID',
  ],
  [
    'unique choice names',
    withOption({ choices: choices(2) }),
    withOption({ choices: choices(2, { name: 'c' }) }),
    'options.0.choices.1: APPLICATION_COMMAND_OPTIONS_CHOICE_NAME_ALREADY_EXISTS',
  ],
  [
    'subcommands beside groups',
    slash({ options: [sub(), group()] }),
    slash({ options: [option(), sub()] }),
    'options.1: APPLICATION_COMMAND_OPTIONS_TYPE_INVALID',
  ],
  [
    'subcommands in groups',
    slash({ options: [group({ options: [sub()] })] }),
    slash({ options: [group({ options: [option()] })] }),
    'options.0.options.0: UNION_TYPE_CHOICES',
  ],
  [
    'values in subcommands',
    slash({ options: [sub({ options: [option()] })] }),
    slash({ options: [sub({ options: [sub()] })] }),
    'options.0.options.0: UNION_TYPE_CHOICES',
  ],
  [
    'one level of groups',
    slash({ options: [group({ options: [sub({ options: [option()] })] })] }),
    slash({ options: [group({ options: [group()] })] }),
    'options.0.options.0: UNION_TYPE_CHOICES',
  ],
  [
    'option types of 1 to 11',
    withOption({ type: 11 }),
    withOption({ type: 12 }),
    'options.0: UNION_TYPE_CHOICES',
  ],
  [
    'an option type',
    withOption({ type: 3 }),
    withOption({ type: null }),
    'options.0.type: BASE_TYPE_REQUIRED',
  ],
  [
    'subcommands that are not required',
    slash({ options: [sub({ required: false })] }),
    slash({ options: [sub({ required: true })] }),
    'options.0.required: APPLICATION_COMMAND_REQUIRED_INVALID',
  ],
  [
    'autocomplete without choices',
    withOption({ autocomplete: true, choices: [] }),
    withOption({ autocomplete: true, choices: choices(1) }),
    'options.0.autocomplete: APPLICATION_COMMAND_AUTOCOMPLETE_INVALID',
  ],
  [
    'a value of each choice',
    withOption({ choices: choices(1) }),
    withOption({ choices: choices(1, { value: null }) }),
    'options.0.choices.0.value: BASE_TYPE_REQUIRED',
  ],
  [
    'known channel types',
    withOption({ type: 7, channel_types: [0, 16] }),
    withOption({ type: 7, channel_types: [0, 17] }),
    'options.0.channel_types.1: BASE_TYPE_CHOICES',
  ],
  [
    'file types with a dot or of a group',
    withOption({ type: 11, file_types: ['image', '.PDF'] }),
    withOption({ type: 11, file_types: ['pdf'] }),
    'options.0.file_types.0: FILE_TYPE_INVALID',
  ],
  [
    'no options of a menu entry',
    menu({ options: [] }),
    menu({ options: [option()] }),
    `options: ${TOO_LONG}`,
  ],
  ['a handler of an entry point', entry({ handler: 2 }), entry({ handler: 3 }), 'handler: BASE_TYPE_CHOICES'],
  [
    'no handler of other commands',
    slash({ handler: null }),
    slash({ handler: 1 }),
    'handler: APPLICATION_COMMAND_HANDLER_INVALID',
  ],
  ['booleans for nsfw', slash({ nsfw: true }), slash({ nsfw: 'yes' }), 'nsfw: BOOLEAN_TYPE_CONVERT'],
];

describe('an application command', () => {
  it.each([...BOUNDS, ...RULES])(
    'accepts %s and rejects the nearest invalid value',
    (_, good, bad, problem) => {
      expect(problems(good)).toEqual([]);
      expect(problems(bad)).toEqual([problem]);
    },
  );

  it.each([
    ['a list', [], ': MODEL_TYPE_CONVERT'],
    ['a text', 'tide', ': MODEL_TYPE_CONVERT'],
    ['options that are not a list', slash({ options: {} }), 'options: LIST_TYPE_CONVERT'],
    ['an option that is not an object', slash({ options: [1] }), 'options.0: MODEL_TYPE_CONVERT'],
    [
      'translations that are not a map',
      slash({ name_localizations: ['de'] }),
      'name_localizations: MODEL_TYPE_CONVERT',
    ],
    ['a name that is not a text', slash({ name: {} }), 'name: STRING_TYPE_CONVERT'],
    [
      'permissions that are not a number',
      slash({ default_member_permissions: 'all' }),
      'default_member_permissions: NUMBER_TYPE_COERCE',
    ],
  ])('rejects %s', (_, body, problem) => {
    expect(problems(body)).toEqual([problem]);
  });

  it('rejects an entry point in a guild', () => {
    expect(problems(entry(), GUILD)).toEqual(['type: BASE_TYPE_CHOICES']);
  });

  it('fills in the defaults of a global command', () => {
    expect(readDraft(slash(), { ...GLOBAL, installations: [0, 1] })).toEqual({
      ok: true,
      value: {
        ...{ type: 1, name: 'tide', name_localizations: null },
        ...{ description: 'High water', description_localizations: null, options: [] },
        ...{ default_member_permissions: null, nsfw: false, integration_types: [0, 1], contexts: null },
      },
    });
  });

  it('ignores contexts and integration types in a guild', () => {
    const read = readDraft(slash({ contexts: [9], integration_types: [9] }), GUILD);
    expect(read).toMatchObject({ ok: true });
    expect(read.ok && Object.keys(read.value)).not.toContain('contexts');
  });

  it('derives its contexts from dm_permission unless it has contexts', () => {
    const contexts = (more: object) => {
      const read = readDraft(slash(more), GLOBAL);
      return read.ok && read.value.contexts;
    };
    expect(contexts({ dm_permission: false })).toEqual([0]);
    expect(contexts({ dm_permission: true })).toBe(null);
    expect(contexts({ dm_permission: false, contexts: [0, 2] })).toEqual([0, 2]);
  });

  it('stores file types in lower case and without duplicates', () => {
    const read = readDraft(withOption({ type: 11, file_types: ['.PDF', '.pdf', 'Image'] }), GLOBAL);
    expect(read.ok && read.value.options[0]?.file_types).toEqual(['.pdf', 'image']);
  });

  it('counts only the longest translation of each text', () => {
    const translations = Object.fromEntries(LOCALES.map((key) => [key, x(100)]));
    const options = many(25, (at) => option({ name: `o${at}`, description_localizations: translations }));
    expect(problems(slash({ options, description_localizations: translations }))).toEqual([]);
  });
});

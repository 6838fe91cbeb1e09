// Goal: uses of components, forms and suggestions hold at every bound and are refused one beyond it, with code and path.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CommandOption } from '../../../engine/appcommand/appcommand.ts';
import { Form } from '../../../engine/channel/form.ts';
import { localizedChoices, readChoices } from '../../../engine/interaction/choices.ts';
import { readComponentUse } from '../../../engine/interaction/components.ts';
import {
  callbackRefusal,
  followUpRefusal,
  type Interaction,
  isExpired,
} from '../../../engine/interaction/interaction.ts';
import { readModal, readSubmission } from '../../../engine/interaction/modal.ts';
import { modalComponents } from '../../support/components.ts';
import { leavesOf } from '../../support/errortree.ts';

const x = (length: number) => 'x'.repeat(length);
const problems = (form: Form): string[] => leavesOf(form.refusal()?.errors ?? {});

const option = (type: number): CommandOption =>
  ({
    type,
    name: 'n',
    description: 'd',
    name_localizations: null,
    description_localizations: null,
  }) as CommandOption;
const choice = (more: object = {}) => ({ name: 'n', value: 'v', ...more });

describe('an interaction', () => {
  const MINUTE_MS = 60_000;
  const followUps = (sent: number, isInstalledHere: boolean) =>
    followUpRefusal({ isInstalledHere, followUps: sent } as Interaction)?.code ?? null;

  test('accepts five follow-ups of an application that only the user installed, and any number of other applications', () => {
    expect([followUps(4, false), followUps(5, false), followUps(500, true)]).toEqual([null, 40_094, null]);
  });

  test('expires with its token, fifteen minutes after its start', () => {
    const at = (nowMs: number) => isExpired({ createdMs: 1_000 }, 1_000 + nowMs);
    expect([at(15 * MINUTE_MS - 1), at(15 * MINUTE_MS)]).toEqual([false, true]);
  });

  test('accepts one callback of its type within three seconds', () => {
    const codeOf = (state: string, type: number, nowMs: number) =>
      callbackRefusal(
        { ...{ type: 2, source: null, createdMs: 0 }, state: { kind: state } } as Interaction,
        type as 4,
        nowMs,
      )?.code ?? null;
    expect([codeOf('waiting', 4, 2_999), codeOf('waiting', 4, 3_000)]).toEqual([null, 10_062]);
    expect([codeOf('answering', 4, 0), codeOf('answered', 4, 0), codeOf('failed', 4, 0)]).toEqual([
      40_060, 40_060, 10_062,
    ]);
    expect([codeOf('waiting', 6, 0), codeOf('waiting', 8, 0), codeOf('waiting', 9, 0)]).toEqual([
      50_035,
      50_035,
      null,
    ]);
  });
});

describe('autocomplete choices', () => {
  const wrong = (raw: unknown, type = 3): string[] => {
    const form = new Form();
    readChoices(raw, option(type), form);
    return problems(form);
  };

  test.each<[string, unknown, unknown, string, number]>([
    ['25 choices', Array(25).fill(choice()), Array(26).fill(choice()), 'data.choices', 3],
    ['a name', [choice({ name: x(100) })], [choice({ name: x(101) })], 'data.choices.0.name', 3],
    ['a missing name', [choice({ name: 'n' })], [choice({ name: '' })], 'data.choices.0.name', 3],
    ['a text', [choice({ value: x(100) })], [choice({ value: x(101) })], 'data.choices.0.value', 3],
    ['an integer', [choice({ value: 2 ** 53 })], [choice({ value: 1.5 })], 'data.choices.0.value', 4],
    ['a number', [choice({ value: 1.5 })], [choice({ value: 'many' })], 'data.choices.0.value', 10],
    ['a list', [], undefined, 'data.choices', 3],
  ])('%s are accepted at the bound and refused beyond', (_, good, bad, path, type) => {
    expect(wrong(good, type)).toEqual([]);
    expect(wrong(bad, type).map((leaf) => leaf.split(':')[0])).toEqual([path]);
  });

  test('are localized for the reader', () => {
    const choices = [{ name: 'red', name_localizations: { de: 'rot', 'en-GB': 'crimson' }, value: 'r' }];
    expect(localizedChoices(choices, ['de'])).toEqual([{ name: 'rot', value: 'r' }]);
    expect(localizedChoices(choices, ['en-US', 'en-GB'])).toEqual([{ name: 'crimson', value: 'r' }]);
    expect(localizedChoices(choices, ['fr'])).toEqual([{ name: 'red', value: 'r' }]);
  });
});

describe('the value of a component', () => {
  const select = {
    type: 3,
    custom_id: 's',
    min_values: 1,
    max_values: 2,
    options: [{ value: 'a' }, { value: 'b' }, { value: 'c' }],
  };
  const users = { type: 5, custom_id: 'u', min_values: 1, max_values: 1 };
  const row = (...components: object[]) => ({ type: 1, components });
  const message = {
    components: [
      row({ type: 2, style: 1, custom_id: 'b' }, { type: 2, style: 4, custom_id: 'off', disabled: true }),
      row({ type: 2, style: 5, url: 'https://example.com' }),
      {
        type: 17,
        components: [{ type: 9, components: [], accessory: { type: 2, style: 1, custom_id: 'deep' } }],
      },
      row(select),
      row(users),
    ],
  } as never;
  const use = (raw: object) => {
    const form = new Form();
    return { read: readComponentUse(message, { ...raw }, form), wrong: problems(form) };
  };

  test.each<[string, object, string[]]>([
    ['a button', { component_type: 2, custom_id: 'b' }, []],
    ['a button in a section of a container', { component_type: 2, custom_id: 'deep' }, []],
    ['a disabled button', { component_type: 2, custom_id: 'off' }, ['data.custom_id: COMPONENT_DISABLED']],
    [
      'an unknown component',
      { component_type: 2, custom_id: 'x' },
      ['data.custom_id: COMPONENT_VALIDATION_FAILED'],
    ],
    ['another type', { component_type: 3, custom_id: 'b' }, ['data.component_type: BASE_TYPE_CHOICES']],
    ['the most values', { component_type: 3, custom_id: 's', values: ['a', 'c'] }, []],
    [
      'too many values',
      { component_type: 3, custom_id: 's', values: ['a', 'b', 'c'] },
      ['data.values: BASE_TYPE_BAD_LENGTH'],
    ],
    [
      'too few values',
      { component_type: 3, custom_id: 's', values: [] },
      ['data.values: BASE_TYPE_BAD_LENGTH'],
    ],
    [
      'a value twice',
      { component_type: 3, custom_id: 's', values: ['a', 'a'] },
      ['data.values.1: SET_TYPE_ALREADY_CONTAINS_VALUE'],
    ],
    [
      'an unknown value',
      { component_type: 3, custom_id: 's', values: ['d'] },
      ['data.values.0: BASE_TYPE_CHOICES'],
    ],
    ['a user', { component_type: 5, custom_id: 'u', values: ['123'] }, []],
    [
      'an id that is no user',
      { component_type: 5, custom_id: 'u', values: ['x'] },
      ['data.values.0: BASE_TYPE_CHOICES'],
    ],
  ])('%s is accepted or refused', (_, raw, wrong) => {
    expect(use(raw).wrong).toEqual(wrong);
    expect(use(raw).read === null).toBe(wrong.some((leaf) => !/\.\d+:/.test(leaf)));
  });
});

describe('a modal', () => {
  const label = (component: object) => ({ type: 18, label: 'l', component });
  const text = (more: object = {}) => label({ type: 4, custom_id: 't', style: 1, ...more });
  const modal = (more: object = {}) => ({ custom_id: 'm', title: 't', components: [text()], ...more });
  const wrong = (raw: unknown): string[] => {
    const form = new Form();
    readModal(raw, form);
    return problems(form).map((leaf) => leaf.split(':')[0] ?? '');
  };
  const texts = (count: number) => Array.from({ length: count }, (_, at) => text({ custom_id: `t${at}` }));

  test.each<[string, object, object, string]>([
    ['the custom id', { custom_id: x(100) }, { custom_id: x(101) }, 'data.custom_id'],
    ['the title', { title: x(45) }, { title: x(46) }, 'data.title'],
    ['a missing title', { title: 'x' }, { title: '' }, 'data.title'],
    ['the number of fields', { components: texts(5) }, { components: texts(6) }, 'data.components'],
    ['a missing field', { components: texts(1) }, { components: [] }, 'data.components'],
  ])('%s is accepted at the bound and refused beyond', (_, good, bad, path) => {
    expect(wrong(modal(good))).toEqual([]);
    expect(wrong(modal(bad))).toEqual([path]);
  });

  test('is parsed equally a second time', () => {
    fc.assert(
      fc.property(modalComponents(), (components) => {
        const form = new Form();
        const once = readModal(modal({ components }), form);
        if (once) expect(readModal(once, new Form())).toEqual(once);
      }),
    );
  });

  const known = readModal(
    modal({
      components: [
        text({ min_length: 2, max_length: 4 }),
        label({
          type: 3,
          custom_id: 's',
          options: [{ label: 'A', value: 'a' }],
          required: false,
          min_values: 0,
        }),
        label({
          type: 21,
          custom_id: 'r',
          options: [
            { label: 'A', value: 'a' },
            { label: 'B', value: 'b' },
          ],
        }),
        label({ type: 23, custom_id: 'c' }),
      ],
    }),
    new Form(),
  );
  const fields = (more: Record<string, object | null> = {}) =>
    Object.entries({ t: { value: 'abc' }, r: { value: 'a' }, ...more }).flatMap(([custom_id, given]) =>
      given ? [{ type: 18, component: { custom_id, ...given } }] : [],
    );
  const submit = (components: unknown, custom_id = 'm') => {
    const form = new Form();
    const read = readSubmission(known!, { custom_id, components }, form);
    return { read, wrong: problems(form).map((leaf) => leaf.split(': ')[1]) };
  };

  test('is submitted with the values in its own nesting', () => {
    expect(submit(fields({ c: { value: true }, s: { values: ['a'] } })).read?.data).toEqual({
      custom_id: 'm',
      components: [
        { type: 18, id: 1, component: { type: 4, id: 2, custom_id: 't', value: 'abc' } },
        { type: 18, id: 3, component: { type: 3, id: 4, custom_id: 's', values: ['a'] } },
        { type: 18, id: 5, component: { type: 21, id: 6, custom_id: 'r', value: 'a' } },
        { type: 18, id: 7, component: { type: 23, id: 8, custom_id: 'c', value: true } },
      ],
    });
  });

  test.each<[string, unknown, string[]]>([
    ['optional values left out', fields(), []],
    ['a text of its least length', fields({ t: { value: 'ab' } }), []],
    ['a text that is too short', fields({ t: { value: 'a' } }), ['BASE_TYPE_BAD_LENGTH']],
    ['a text that is too long', fields({ t: { value: 'abcde' } }), ['BASE_TYPE_BAD_LENGTH']],
    ['no text', fields({ t: null }), ['BASE_TYPE_REQUIRED']],
    ['an unknown choice', fields({ r: { value: 'c' } }), ['BASE_TYPE_CHOICES']],
    ['no choice', fields({ r: null }), ['BASE_TYPE_REQUIRED']],
    ['a box that is no boolean', fields({ c: { value: 'yes' } }), ['BOOLEAN_TYPE_CONVERT']],
    ['an unknown field', fields({ z: { value: 'a' } }), ['BASE_TYPE_CHOICES']],
    ['nothing', undefined, ['BASE_TYPE_REQUIRED', 'BASE_TYPE_REQUIRED']],
  ])('is accepted or refused with %s', (_, components, wrong_) => {
    expect(submit(components).wrong).toEqual(wrong_);
  });

  test('is refused under another custom id, and no body causes an exception', () => {
    expect(submit(fields(), 'other').wrong).toEqual(['BASE_TYPE_CHOICES']);
    fc.assert(fc.property(fc.anything(), (raw) => void submit(raw)));
    fc.assert(fc.property(fc.anything(), (raw) => void readModal(raw, new Form())));
  });
});

/** Goal: every bound of every component holds at its number and one beyond it. */
import { describe, expect, it } from 'vitest';
import { wrongIn } from '../../support/builtcomponents.ts';
import type { Tree } from '../../support/components.ts';

const button = (more: object = {}) => ({ type: 2, style: 1, custom_id: 'b', label: 'Go', ...more });
const link = (more: object = {}) => ({
  type: 2,
  style: 5,
  label: 'Tide',
  url: 'https://example.com',
  ...more,
});
const row = (...components: object[]) => ({ type: 1, components });
const text = (content = 'x') => ({ type: 10, content });
const select = (more: object = {}) => ({ type: 5, custom_id: 's', ...more });
const media = { url: 'https://example.com/a.png' };

describe('bounds', () => {
  const x = (length: number) => 'x'.repeat(length);
  const options = (length: number, more: object = {}) =>
    Array.from({ length }, (_, index) => ({ label: 'l', value: `v${index}`, ...more }));
  const strings = (more: object) => [row({ type: 3, custom_id: 's', options: options(25), ...more })];
  const option = (more: object) => strings({ options: [{ label: 'l', value: 'v', ...more }] });
  const ids = Array.from({ length: 99 }, (_, index) => `b${index}`);
  const buttons = (length: number) => row(...Array.from({ length }, () => button({ custom_id: ids.pop() })));
  const users = (length: number) =>
    Array.from({ length }, (_, index) => ({ id: String(index), type: 'user' }));
  const thumbnail = (more: object) => [
    { type: 9, components: [text()], accessory: { type: 11, media, ...more } },
  ];
  const gallery = (...items: object[]) => [{ type: 12, items }];
  const url = (length: number) => `https://example.com/${x(length - 20)}`;
  const many = (length: number, make: (index: number) => object) =>
    Array.from({ length }, (_, index) => make(index));

  // The numbers are those of the component reference, written out: the schema must not be its own witness.
  it.each<[string, unknown[], unknown[], string]>([
    ['a text display', [text(x(4_000))], [text(x(4_001))], '0.content: BASE_TYPE_BAD_LENGTH'],
    [
      'characters beyond the basic plane count as one',
      [text('😀'.repeat(4_000))],
      [text('😀'.repeat(4_001))],
      '0.content: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'a custom id',
      [row(button({ custom_id: x(100) }))],
      [row(button({ custom_id: x(101) }))],
      '0.components.0.custom_id: BASE_TYPE_BAD_LENGTH',
    ],
    ['a text display, at least', [text('x')], [text('')], '0.content: BASE_TYPE_REQUIRED'],
    [
      'a custom id, at least',
      [row(button({ custom_id: 'x' }))],
      [row(button({ custom_id: '' }))],
      '0.components.0.custom_id: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the style of a button',
      [row(button({ style: 4 }))],
      [row(button({ style: 7 }))],
      '0.components.0.style: BASE_TYPE_CHOICES',
    ],
    [
      'the style of a button, at least',
      [row(button({ style: 1 }))],
      [row(button({ style: 0 }))],
      '0.components.0.style: BASE_TYPE_CHOICES',
    ],
    [
      'a select of a row',
      [row(select())],
      [row(select(), select({ custom_id: 't' }))],
      '0.components.1: COMPONENT_LAYOUT_WIDTH_EXCEEDED',
    ],
    [
      'preset values, at least',
      [row(select({ min_values: 2, max_values: 3, default_values: users(2) }))],
      [row(select({ min_values: 2, max_values: 3, default_values: users(1) }))],
      '0.components.0.default_values: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'preset options',
      strings({ options: options(1, { default: true }) }),
      strings({ options: options(2, { default: true }) }),
      '0.components.0.options: SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES',
    ],
    [
      'min_values up to max_values',
      strings({ min_values: 2, max_values: 2 }),
      strings({ min_values: 3, max_values: 2 }),
      '0.components.0.min_values: NUMBER_TYPE_MAX',
    ],
    [
      'options of a select as many as can be chosen',
      strings({ options: options(3), max_values: 3 }),
      strings({ options: options(3), max_values: 4 }),
      '0.components.0.options: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the label of an option, at least',
      option({ label: 'x' }),
      option({ label: '' }),
      '0.components.0.options.0.label: BASE_TYPE_REQUIRED',
    ],
    [
      'the value of an option, at least',
      option({ value: 'x' }),
      option({ value: '' }),
      '0.components.0.options.0.value: BASE_TYPE_REQUIRED',
    ],
    [
      'types of channels',
      [row({ type: 8, custom_id: 's', channel_types: [0, 16] })],
      [row({ type: 8, custom_id: 's', channel_types: [0, 17] })],
      '0.components.0.channel_types.1: BASE_TYPE_CHOICES',
    ],
    [
      'the description of a thumbnail, at least',
      thumbnail({ description: 'x' }),
      thumbnail({ description: '' }),
      '0.accessory.description: BASE_TYPE_BAD_LENGTH',
    ],
    ['items of a gallery, at least', gallery({ media }), gallery(), '0.items: BASE_TYPE_REQUIRED'],
    [
      'the spacing of a separator, at least',
      [{ type: 14, spacing: 1 }],
      [{ type: 14, spacing: 0 }],
      '0.spacing: BASE_TYPE_CHOICES',
    ],
    [
      'the colour of a container, at least',
      [{ type: 17, accent_color: 0, components: [text()] }],
      [{ type: 17, accent_color: -1, components: [text()] }],
      '0.accent_color: NUMBER_TYPE_MIN',
    ],
    [
      'kinds of a container',
      [{ type: 17, components: [text()] }],
      [{ type: 17, components: [{ type: 17, components: [text()] }] }],
      '0.components.0: UNION_TYPE_CHOICES',
    ],
    ['an id, at least', [{ ...text(), id: 0 }], [{ ...text(), id: -1 }], '0.id: NUMBER_TYPE_MIN'],
    [
      'an id once',
      [text(), { ...text(), id: 7 }],
      [
        { ...text(), id: 7 },
        { ...text(), id: 7 },
      ],
      '1.id: COMPONENT_ID_DUPLICATED',
    ],
    [
      'a custom id once',
      [row(button(), button({ custom_id: 'c' }))],
      [row(button(), button())],
      '0.components.1.custom_id: COMPONENT_CUSTOM_ID_DUPLICATED',
    ],
    [
      'a label',
      [row(button({ label: x(80) }))],
      [row(button({ label: x(81) }))],
      '0.components.0.label: BASE_TYPE_MAX_LENGTH',
    ],
    [
      'the address of a link',
      [row(link({ url: url(512) }))],
      [row(link({ url: url(513) }))],
      '0.components.0.url: BASE_TYPE_MAX_LENGTH',
    ],
    [
      'the address of media',
      gallery({ media: { url: url(2_048) } }),
      gallery({ media: { url: url(2_049) } }),
      '0.items.0.media.url: BASE_TYPE_MAX_LENGTH',
    ],
    [
      'a placeholder',
      strings({ placeholder: x(150) }),
      strings({ placeholder: x(151) }),
      '0.components.0.placeholder: BASE_TYPE_MAX_LENGTH',
    ],
    [
      'options of a select',
      strings({}),
      strings({ options: options(26) }),
      '0.components.0.options: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'options of a select, at least',
      strings({ options: options(1) }),
      strings({ options: [] }),
      '0.components.0.options: BASE_TYPE_REQUIRED',
    ],
    [
      'the label of an option',
      option({ label: x(100) }),
      option({ label: x(101) }),
      '0.components.0.options.0.label: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the value of an option',
      option({ value: x(100) }),
      option({ value: x(101) }),
      '0.components.0.options.0.value: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the description of an option',
      option({ description: x(100) }),
      option({ description: x(101) }),
      '0.components.0.options.0.description: BASE_TYPE_MAX_LENGTH',
    ],
    [
      'min_values',
      strings({ min_values: 25, max_values: 25 }),
      strings({ min_values: 26, max_values: 25 }),
      '0.components.0.min_values: NUMBER_TYPE_MAX',
    ],
    [
      'min_values, at least',
      strings({ min_values: 0 }),
      strings({ min_values: -1 }),
      '0.components.0.min_values: NUMBER_TYPE_MIN',
    ],
    [
      'max_values',
      strings({ max_values: 25 }),
      strings({ max_values: 26 }),
      '0.components.0.max_values: NUMBER_TYPE_MAX',
    ],
    [
      'max_values, at least',
      strings({ max_values: 1 }),
      strings({ max_values: 0 }),
      '0.components.0.max_values: NUMBER_TYPE_MIN',
    ],
    [
      'preset values',
      [row(select({ max_values: 25, default_values: users(25) }))],
      [row(select({ max_values: 25, default_values: users(26) }))],
      '0.components.0.default_values: BASE_TYPE_BAD_LENGTH',
    ],
    ['buttons of a row', [buttons(5)], [buttons(6)], '0.components: BASE_TYPE_BAD_LENGTH'],
    ['rows', many(5, () => buttons(1)), many(6, () => buttons(1)), ': BASE_TYPE_MAX_LENGTH'],
    [
      'texts of a section',
      [{ type: 9, components: many(3, () => text()), accessory: button() }],
      [{ type: 9, components: many(4, () => text()), accessory: button() }],
      '0.components: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'texts of a section, at least',
      [{ type: 9, components: [text()], accessory: button() }],
      [{ type: 9, components: [], accessory: button() }],
      '0.components: BASE_TYPE_REQUIRED',
    ],
    [
      'the description of a thumbnail',
      thumbnail({ description: x(1_024) }),
      thumbnail({ description: x(1_025) }),
      '0.accessory.description: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the description of an item',
      gallery({ media, description: x(1_024) }),
      gallery({ media, description: x(1_025) }),
      '0.items.0.description: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the description of an item, at least',
      gallery({ media, description: 'x' }),
      gallery({ media, description: '' }),
      '0.items.0.description: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'items of a gallery',
      gallery(...many(10, () => ({ media }))),
      gallery(...many(11, () => ({ media }))),
      '0.items: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'the spacing of a separator',
      [{ type: 14, spacing: 2 }],
      [{ type: 14, spacing: 3 }],
      '0.spacing: BASE_TYPE_CHOICES',
    ],
    [
      'the colour of a container',
      [{ type: 17, accent_color: 0xffffff, components: [text()] }],
      [{ type: 17, accent_color: 0x1000000, components: [text()] }],
      '0.accent_color: NUMBER_TYPE_MAX',
    ],
    [
      'components of a container, at least',
      [{ type: 17, components: [text()] }],
      [{ type: 17, components: [] }],
      '0.components: BASE_TYPE_REQUIRED',
    ],
    ['an id', [{ ...text(), id: 2 ** 31 - 1 }], [{ ...text(), id: 2 ** 31 }], '0.id: NUMBER_TYPE_MAX'],
    ['components at the top', many(40, () => text()), many(41, () => text()), ': BASE_TYPE_MAX_LENGTH'],
    [
      'components in all',
      [{ type: 17, components: many(39, () => text()) }],
      [{ type: 17, components: many(40, () => text()) }],
      ': COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED',
    ],
    [
      'the name of an emoji',
      [row(button({ emoji: { id: '1', name: x(32) } }))],
      [row(button({ emoji: { id: '1', name: x(33) } }))],
      '0.components.0.emoji.name: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'all components as JSON',
      many(16, () => text(x(4_000))),
      many(17, () => text(x(4_000))),
      ': BASE_TYPE_MAX_LENGTH',
    ],
  ])('%s: good at the bound, refused beyond', (_, good, beyond, problem) => {
    const standalone = (good[0] as Tree).type !== 1;
    expect(wrongIn(good, standalone)).toEqual([]);
    const named = problem.startsWith(':') ? `components${problem}` : `components.${problem}`;
    expect(wrongIn(beyond, standalone)).toEqual([named]);
  });
});

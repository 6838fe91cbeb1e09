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
    ['a text display', [text(x(4_000))], [text(x(4_001))], '0.content'],
    [
      'characters beyond the basic plane count as one',
      [text('😀'.repeat(4_000))],
      [text('😀'.repeat(4_001))],
      '0.content',
    ],
    [
      'a custom id',
      [row(button({ custom_id: x(100) }))],
      [row(button({ custom_id: x(101) }))],
      '0.components.0.custom_id',
    ],
    ['a label', [row(button({ label: x(80) }))], [row(button({ label: x(81) }))], '0.components.0.label'],
    [
      'the address of a link',
      [row(link({ url: url(512) }))],
      [row(link({ url: url(513) }))],
      '0.components.0.url',
    ],
    [
      'the address of media',
      gallery({ media: { url: url(2_048) } }),
      gallery({ media: { url: url(2_049) } }),
      '0.items.0.media.url',
    ],
    [
      'a placeholder',
      strings({ placeholder: x(150) }),
      strings({ placeholder: x(151) }),
      '0.components.0.placeholder',
    ],
    ['options of a select', strings({}), strings({ options: options(26) }), '0.components.0.options'],
    [
      'options of a select, at least',
      strings({ options: options(1) }),
      strings({ options: [] }),
      '0.components.0.options',
    ],
    [
      'the label of an option',
      option({ label: x(100) }),
      option({ label: x(101) }),
      '0.components.0.options.0.label',
    ],
    [
      'the value of an option',
      option({ value: x(100) }),
      option({ value: x(101) }),
      '0.components.0.options.0.value',
    ],
    [
      'the description of an option',
      option({ description: x(100) }),
      option({ description: x(101) }),
      '0.components.0.options.0.description',
    ],
    [
      'min_values',
      strings({ min_values: 25, max_values: 25 }),
      strings({ min_values: 26, max_values: 25 }),
      '0.components.0.min_values',
    ],
    [
      'min_values, at least',
      strings({ min_values: 0 }),
      strings({ min_values: -1 }),
      '0.components.0.min_values',
    ],
    ['max_values', strings({ max_values: 25 }), strings({ max_values: 26 }), '0.components.0.max_values'],
    [
      'max_values, at least',
      strings({ max_values: 1 }),
      strings({ max_values: 0 }),
      '0.components.0.max_values',
    ],
    [
      'preset values',
      [row(select({ max_values: 25, default_values: users(25) }))],
      [row(select({ max_values: 25, default_values: users(26) }))],
      '0.components.0.default_values',
    ],
    ['buttons of a row', [buttons(5)], [buttons(6)], '0.components'],
    ['rows', many(5, () => buttons(1)), many(6, () => buttons(1)), ''],
    [
      'texts of a section',
      [{ type: 9, components: many(3, () => text()), accessory: button() }],
      [{ type: 9, components: many(4, () => text()), accessory: button() }],
      '0.components',
    ],
    [
      'texts of a section, at least',
      [{ type: 9, components: [text()], accessory: button() }],
      [{ type: 9, components: [], accessory: button() }],
      '0.components',
    ],
    [
      'the description of a thumbnail',
      thumbnail({ description: x(1_024) }),
      thumbnail({ description: x(1_025) }),
      '0.accessory.description',
    ],
    [
      'the description of an item',
      gallery({ media, description: x(1_024) }),
      gallery({ media, description: x(1_025) }),
      '0.items.0.description',
    ],
    [
      'the description of an item, at least',
      gallery({ media, description: 'x' }),
      gallery({ media, description: '' }),
      '0.items.0.description',
    ],
    [
      'items of a gallery',
      gallery(...many(10, () => ({ media }))),
      gallery(...many(11, () => ({ media }))),
      '0.items',
    ],
    ['the spacing of a separator', [{ type: 14, spacing: 2 }], [{ type: 14, spacing: 3 }], '0.spacing'],
    [
      'the colour of a container',
      [{ type: 17, accent_color: 0xffffff, components: [text()] }],
      [{ type: 17, accent_color: 0x1000000, components: [text()] }],
      '0.accent_color',
    ],
    [
      'components of a container, at least',
      [{ type: 17, components: [text()] }],
      [{ type: 17, components: [] }],
      '0.components',
    ],
    ['an id', [{ ...text(), id: 2 ** 31 - 1 }], [{ ...text(), id: 2 ** 31 }], '0.id'],
    ['components at the top', many(40, () => text()), many(41, () => text()), ''],
    [
      'components in all',
      [{ type: 17, components: many(39, () => text()) }],
      [{ type: 17, components: many(40, () => text()) }],
      '',
    ],
    [
      'the name of an emoji',
      [row(button({ emoji: { id: '1', name: x(32) } }))],
      [row(button({ emoji: { id: '1', name: x(33) } }))],
      '0.components.0.emoji.name',
    ],
    ['all components as JSON', many(16, () => text(x(4_000))), many(17, () => text(x(4_000))), ''],
  ])('%s: good at the bound, refused beyond', (_, good, beyond, path) => {
    const standalone = (good[0] as Tree).type !== 1;
    expect(wrongIn(good, standalone)).toEqual([]);
    const at = path === '' ? 'components' : `components.${path}`;
    expect(wrongIn(beyond, standalone).map((leaf) => leaf.split(':')[0])).toContain(at);
  });
});

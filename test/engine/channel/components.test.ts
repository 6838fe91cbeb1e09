/** Goal: every kind of component is held to its schema, each wrong field is named, and what passes is whole. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COMPONENT_ROOTS } from '../../../protocol/components.ts';
import { build, built, leavesOf, misshapen, wrongIn } from '../../support/builtcomponents.ts';
import { mutationsOf } from '../../support/componentmutations.ts';
import {
  attachments,
  everyComponent,
  IS_COMPONENTS_V2,
  messageComponents,
  type Tree,
} from '../../support/components.ts';

const button = (more: object = {}) => ({ type: 2, style: 1, custom_id: 'b', label: 'Go', ...more });
const link = (more: object = {}) => ({
  type: 2,
  style: 5,
  url: 'https://example.com',
  label: 'Tide',
  ...more,
});
const row = (...components: object[]) => ({ type: 1, components });
const text = (content = 'x') => ({ type: 10, content });
const select = (more: object = {}) => ({ type: 5, custom_id: 's', ...more });
const media = { url: 'https://example.com/a.png' };

describe('buildComponents', () => {
  it('numbers components in reading order, around the ids that were given', () => {
    expect(
      built([row(button(), button({ id: 2, custom_id: 'c' })), row(button({ custom_id: 'd' }))]),
    ).toEqual([
      { ...row(button({ id: 3 }), button({ id: 2, custom_id: 'c' })), id: 1 },
      { ...row(button({ id: 5, custom_id: 'd' })), id: 4 },
    ]);
    expect(built([{ ...row(button({ id: 0 })), id: null }])).toMatchObject([
      { id: 1, components: [{ id: 2 }] },
    ]);
  });

  it('numbers the accessory of a section', () => {
    const section = { type: 9, components: [text()], accessory: button() };
    expect(built([section], true)).toMatchObject([{ id: 1, components: [{ id: 2 }], accessory: { id: 3 } }]);
  });

  it('says what the author left out, and drops what they left empty or made up', () => {
    const tree = {
      type: 17,
      components: [{ type: 14 }, row(select({ max_values: 3, placeholder: null }))],
      x: 1,
    };
    expect(built([tree], true)).toEqual([
      {
        type: 17,
        id: 1,
        accent_color: null,
        spoiler: false,
        components: [
          { type: 14, id: 2, spacing: 1, divider: true },
          { type: 1, id: 3, components: [{ type: 5, id: 4, custom_id: 's', min_values: 1, max_values: 3 }] },
        ],
      },
    ]);
  });

  it('takes numbers as text and ids as numbers, as clients in other languages send them', () => {
    const user = { id: 1_234, type: 'user' };
    expect(
      built([{ type: '1', components: [select({ max_values: '2', default_values: [user] })] }]),
    ).toMatchObject([
      { type: 1, components: [{ max_values: 2, default_values: [{ id: '1234', type: 'user' }] }] },
    ]);
  });

  it.each([
    ['a container without components', [{ type: 17 }], 'components.0.components: BASE_TYPE_REQUIRED'],
    ['a section without anything', [{ type: 9 }], 'components.0.accessory: BASE_TYPE_REQUIRED'],
    ['a gallery without items', [{ type: 12 }], 'components.0.items: BASE_TYPE_REQUIRED'],
    ['a file without a file', [{ type: 13 }], 'components.0.file: BASE_TYPE_REQUIRED'],
    ['a row without components', [{ type: 1 }], 'components.0.components: BASE_TYPE_REQUIRED'],
    [
      'a container in a container',
      [{ type: 17, components: [{ type: 17, components: [text()] }] }],
      'components.0.components.0: UNION_TYPE_CHOICES',
    ],
    ['a row in a row', [row(row(button()))], 'components.0.components.0: UNION_TYPE_CHOICES'],
    ['a button at the top', [button()], 'components.0: UNION_TYPE_CHOICES'],
    ['a radio group', [{ type: 21, custom_id: 'r', options: [] }], 'components.0: UNION_TYPE_CHOICES'],
    [
      'a text input in a row',
      [row({ type: 4, custom_id: 't', style: 1 })],
      'components.0.components.0: UNION_TYPE_CHOICES',
    ],
    ['what is no component', ['row'], 'components.0: MODEL_TYPE_CONVERT'],
    ['a null', [null], 'components.0: MODEL_TYPE_CONVERT'],
    [
      'a link that runs a script',
      [row(link({ url: 'javascript:alert(1)' }))],
      'components.0.components.0.url: URL_TYPE_INVALID_SCHEME',
    ],
    [
      'a link broken over lines',
      [row(link({ url: 'https://exa\nmple.com' }))],
      'components.0.components.0.url: URL_TYPE_INVALID_URL',
    ],
    [
      'a picture from the reader’s disk',
      [{ type: 12, items: [{ media: { url: 'file:///a.png' } }] }],
      'components.0.items.0.media.url: URL_TYPE_INVALID_SCHEME',
    ],
    ['a file from the web', [{ type: 13, file: media }], 'components.0.file.url: URL_TYPE_INVALID_SCHEME'],
    [
      'a file that was not sent',
      [{ type: 13, file: { url: 'attachment://no.txt' } }],
      'components.0.file.url: ATTACHMENT_NOT_FOUND',
    ],
    [
      'an id twice',
      [row(button({ id: 7 }), button({ id: 7, custom_id: 'c' }))],
      'components.0.components.1.id: COMPONENT_ID_DUPLICATED',
    ],
    [
      'a custom id twice',
      [row(button()), row(select({ custom_id: 'b' }))],
      'components.1.components.0.custom_id: COMPONENT_CUSTOM_ID_DUPLICATED',
    ],
    [
      'two selects in a row',
      [row(select(), select({ custom_id: 't' }))],
      'components.0.components.1: COMPONENT_LAYOUT_WIDTH_EXCEEDED',
    ],
    [
      'a button beside a select',
      [row(button(), select())],
      'components.0.components.1: COMPONENT_LAYOUT_WIDTH_EXCEEDED',
    ],
    [
      'a button that says nothing back',
      [row({ type: 2, style: 1, label: 'x' })],
      'components.0.components.0.custom_id: BUTTON_COMPONENT_CUSTOM_ID_REQUIRED',
    ],
    [
      'a button that answers and leads away',
      [row(button({ url: 'https://example.com' }))],
      'components.0.components.0.url: BUTTON_COMPONENT_URL_NOT_ALLOWED',
    ],
    [
      'a link that leads nowhere',
      [row({ type: 2, style: 5, label: 'x' })],
      'components.0.components.0.url: BUTTON_COMPONENT_URL_REQUIRED',
    ],
    [
      'a link with a custom id',
      [row(link({ custom_id: 'x' }))],
      'components.0.components.0.custom_id: BUTTON_COMPONENT_CUSTOM_ID_NOT_ALLOWED',
    ],
    [
      'a premium button of nothing',
      [row({ type: 2, style: 6 })],
      'components.0.components.0.sku_id: BUTTON_COMPONENT_SKU_ID_REQUIRED',
    ],
    [
      'a premium button of an unknown SKU',
      [row({ type: 2, style: 6, sku_id: '123' })],
      'components.0.components.0.sku_id: BUTTON_COMPONENT_INVALID_SKU',
    ],
    [
      'an emoji that is none',
      [row(button({ emoji: { name: 'fire' } }))],
      'components.0.components.0.emoji.name: BUTTON_COMPONENT_INVALID_EMOJI',
    ],
    ['a text of spaces', [text(' \n\u00a0')], 'components.0.content: BASE_TYPE_REQUIRED'],
    [
      'an option called nothing',
      [row({ type: 3, custom_id: 's', options: [{ label: ' ', value: 'v' }] })],
      'components.0.components.0.options.0.label: BASE_TYPE_REQUIRED',
    ],
    [
      'more to choose than there are options',
      [row({ type: 3, custom_id: 's', max_values: 2, options: [{ label: 'a', value: 'v' }] })],
      'components.0.components.0.options: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'more wanted than there are options',
      [row({ type: 3, custom_id: 's', min_values: 2, max_values: 2, options: [{ label: 'a', value: 'v' }] })],
      'components.0.components.0.options: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'more wanted than may be chosen of enough options',
      [
        row({
          type: 3,
          custom_id: 's',
          min_values: 2,
          max_values: 1,
          options: ['a', 'b'].map((value) => ({ label: value, value })),
        }),
      ],
      'components.0.components.0.min_values: NUMBER_TYPE_MAX',
    ],
    [
      'more wanted than the one that is allowed by default',
      [row(select({ min_values: 2 }))],
      'components.0.components.0.min_values: NUMBER_TYPE_MAX',
    ],
    [
      'more wanted than allowed',
      [row(select({ min_values: 3, max_values: 2 }))],
      'components.0.components.0.min_values: NUMBER_TYPE_MAX',
    ],
    [
      'a role preset in a select of users',
      [row(select({ default_values: [{ id: '1', type: 'role' }] }))],
      'components.0.components.0.default_values.0.type: BASE_TYPE_CHOICES',
    ],
    [
      'more presets than may be chosen',
      [
        row(
          select({
            default_values: [
              { id: '1', type: 'user' },
              { id: '2', type: 'user' },
            ],
          }),
        ),
      ],
      'components.0.components.0.default_values: BASE_TYPE_BAD_LENGTH',
    ],
    [
      'an option twice',
      [
        row({
          type: 3,
          custom_id: 's',
          options: [
            { label: 'a', value: 'v' },
            { label: 'b', value: 'v' },
          ],
        }),
      ],
      'components.0.components.0.options.1.value: SELECT_COMPONENT_OPTION_VALUE_DUPLICATED',
    ],
    [
      'two options preset of one to choose',
      [
        row({
          type: 3,
          custom_id: 's',
          options: ['a', 'b'].map((value) => ({ label: 'a', value, default: true })),
        }),
      ],
      'components.0.components.0.options: SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES',
    ],
    [
      'a channel type twice',
      [row({ type: 8, custom_id: 's', channel_types: [0, 0] })],
      'components.0.components.0.channel_types.1: SET_TYPE_ALREADY_CONTAINS_VALUE',
    ],
  ])('refuses %s', (_, raw, leaf) => {
    const standalone = (raw[0] as Tree | null)?.type !== 1;
    expect(wrongIn(raw as unknown[], standalone)).toContain(leaf);
  });

  it.each([undefined, null, '', '  ', '\n'])(
    'refuses buttons and links whose label is %j, without an emoji',
    (label) => {
      expect(wrongIn([row(button({ label }))])).toEqual([
        'components.0.components.0.label: BASE_TYPE_REQUIRED',
      ]);
      const section = { type: 9, components: [text()], accessory: link({ label }) };
      expect(wrongIn([section], true)).toEqual(['components.0.accessory.label: BASE_TYPE_REQUIRED']);
    },
  );

  it('takes buttons with an emoji alone, and labels that libraries send for blank ones', () => {
    const emoji = { name: '🔥' };
    const blanks = [
      button({ label: '\u200b' }),
      button({ custom_id: 'c', label: '', emoji }),
      button({ custom_id: 'd', label: null, emoji }),
      link({ label: undefined, emoji }),
      link({ label: '\u2800' }),
    ];
    expect(wrongIn([row(...blanks)])).toEqual([]);
    expect(wrongIn([text('\u200b')], true)).toEqual([]);
  });

  it('names a wrong label or emoji once, and does not ask for one beside it', () => {
    expect(wrongIn([row(button({ label: 'x'.repeat(81) }))])).toEqual([
      'components.0.components.0.label: BASE_TYPE_MAX_LENGTH',
    ]);
    expect(wrongIn([row(button({ label: undefined, emoji: { name: 'fire' } }))])).toEqual([
      'components.0.components.0.emoji.name: BUTTON_COMPONENT_INVALID_EMOJI',
    ]);
    expect(wrongIn([row(button({ custom_id: 'x'.repeat(101) }))])).toEqual([
      'components.0.components.0.custom_id: BASE_TYPE_BAD_LENGTH',
    ]);
  });

  it('names every wrong field at once', () => {
    const gallery = { type: 12, items: [{ media: { url: 'file:///x' }, spoiler: 1 }, {}] };
    expect(wrongIn([text(''), gallery], true)).toEqual([
      'components.0.content: BASE_TYPE_REQUIRED',
      'components.1.items.0.media.url: URL_TYPE_INVALID_SCHEME',
      'components.1.items.0.spoiler: BOOLEAN_TYPE_CONVERT',
      'components.1.items.1.media: BASE_TYPE_REQUIRED',
    ]);
  });

  it('shows at most a hundred wrong fields, and reads no more than forty components of an endless list', () => {
    const many = Array.from({ length: 40 }, () => ({ type: 17, components: Array(40).fill({ type: 10 }) }));
    const wrong = wrongIn(many, true);
    expect(wrong.length).toBeLessThanOrEqual(100);
    expect(wrong).toContain('components: COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED');
  });
});

describe('what a person may send', () => {
  it('is rows of links, with any text beside them', () => {
    expect(wrongIn([row(link(), link({ label: 'Rules' }))], false, false)).toEqual([]);
  });

  it.each([
    ['a button', row(button()), 'components.0.components.0: COMPONENT_RESERVED_FOR_APPLICATIONS'],
    ['a select', row(select()), 'components.0.components.0: COMPONENT_RESERVED_FOR_APPLICATIONS'],
  ])('is not %s', (_, raw, leaf) => {
    expect(wrongIn([raw], false, false)).toContain(leaf);
  });

  it('is refused as such, not for what is wrong in it besides', () => {
    const wrong = [row(button({ style: 9, label: '' })), row(select({ min_values: 99 }), link({ url: 'x' }))];
    expect(wrongIn(wrong, false, false)).toEqual([
      'components.0.components.0: COMPONENT_RESERVED_FOR_APPLICATIONS',
      'components.1.components.0: COMPONENT_RESERVED_FOR_APPLICATIONS',
    ]);
  });

  it.each([text(), { type: 14 }, { type: 12, items: [{ media }] }, { type: 17, components: [row(link())] }])(
    'is not a component of kind $type',
    (raw) => {
      expect(wrongIn([raw], true, false)).toContain('components.0: COMPONENT_RESERVED_FOR_APPLICATIONS');
    },
  );
});

describe('media', () => {
  const upload = attachments[0]!;
  const shown = {
    id: upload.id,
    attachment_id: upload.id,
    url: upload.url,
    proxy_url: upload.proxy_url,
    content_type: 'image/png',
    size: 3,
    width: 4,
    height: 3,
    flags: 0,
  };

  it('shows an upload with its address, type and size', () => {
    const url = 'attachment://map.png';
    const accessory = { type: 11, media: { url }, description: 'd', spoiler: true };
    const tree = [
      { type: 9, components: [text()], accessory },
      { type: 12, items: [{ media: { url } }] },
      { type: 13, file: { url: 'attachment://notes.txt' }, spoiler: true },
    ];
    expect(built(tree, true)).toMatchObject([
      { accessory: { media: shown, description: 'd', spoiler: true } },
      { items: [{ media: shown, description: null, spoiler: false }] },
      { name: 'notes.txt', size: 3, spoiler: true, file: { attachment_id: attachments[1]!.id, width: null } },
    ]);
  });

  it('shows an address of the web with an id of its own, and nothing that the client made up', () => {
    const forged = {
      ...media,
      attachment_id: upload.id,
      id: '1',
      proxy_url: 'https://evil.example',
      width: 9,
    };
    const [gallery] = built([{ type: 12, items: [{ media: forged }] }], true);
    const [item] = gallery!.items as { media: Tree }[];
    expect(item!.media).toMatchObject({ url: media.url, proxy_url: media.url, id: '700001', width: null });
    expect(item!.media).not.toHaveProperty('attachment_id');
  });

  it('is the same upload when a client sends back what it was shown, signed as it was', () => {
    const sent = { ...shown, url: `${upload.url}?ex=1&is=2&hm=3&` };
    expect(built([{ type: 13, file: sent }], true)).toMatchObject([{ file: shown, name: 'map.png' }]);
  });

  it('answers which uploads are shown', () => {
    const result = build([{ type: 12, items: [{ media: { url: 'attachment://notes.txt' } }] }], true);
    expect(result.ok && [...result.value.shownIds]).toEqual([attachments[1]!.id]);
  });
});

describe('any components', () => {
  it('pass when they are valid, have ids of their own, and pass again as they are shown', () => {
    fc.assert(
      fc.property(messageComponents(), ({ flags, components }) => {
        const standalone = flags === IS_COMPONENTS_V2;
        const first = built(components, standalone);
        const ids = everyComponent(first).map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        for (const [index, { id }] of everyComponent(components).entries())
          if (id !== undefined) expect(ids[index]).toBe(id);
        expect(built(structuredClone(first), standalone)).toEqual(first);
      }),
      { numRuns: 300 },
    );
  });

  it('are refused with one field out of its bounds, and the field is named', () => {
    fc.assert(
      fc.property(messageComponents(), fc.nat(), ({ flags, components }, pick) => {
        const standalone = flags === IS_COMPONENTS_V2;
        const { kinds } = standalone ? COMPONENT_ROOTS.standalone : COMPONENT_ROOTS.legacy;
        const all = mutationsOf(components, kinds, 'message');
        // A few of each tree: some have hundreds.
        for (let step = 0; step < Math.min(12, all.length); step += 1) {
          const { what, components: raw, path } = all[(pick + step * 31) % all.length]!;
          const named = wrongIn(raw, standalone).map((leaf) => leaf.split(':')[0]!);
          const at = path.join('.');
          expect(
            named.some((one) => one === at || one.startsWith(`${at}.`)),
            `${what}: ${named}`,
          ).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('are accepted or refused without an exception, whatever JSON they are', () => {
    const keys = fc.constantFrom(
      'type',
      'id',
      'components',
      'accessory',
      'items',
      'media',
      'file',
      'options',
      'emoji',
      'style',
      'custom_id',
      'content',
      'min_values',
      'max_values',
      'default_values',
      '__proto__',
      '_errors',
    );
    const { component } = fc.letrec((tie) => ({
      component: fc.dictionary(keys, tie('value'), { maxKeys: 5 }),
      value: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        fc.integer({ min: 0, max: 25 }),
        fc.jsonValue({ maxDepth: 1 }),
        tie('component'),
        fc.array(tie('component'), { maxLength: 3 }),
      ),
    }));
    fc.assert(
      fc.property(fc.array(component, { maxLength: 6 }), fc.boolean(), fc.boolean(), (raw, alone, app) => {
        const result = build(raw, alone, app);
        if (result.ok) return;
        expect(leavesOf(result.refusal).length).toBeGreaterThan(0);
        expect(misshapen(result.refusal.errors)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

/** Goal: what a component shows and leads to is what its reader takes it for. */
import { describe, expect, it } from 'vitest';
import { built, wrongIn } from '../../support/builtcomponents.ts';

const row = (...components: object[]) => ({ type: 1, components });
const button = (more: object) => ({ type: 2, style: 1, custom_id: 'b', label: 'Go', ...more });
const link = (url: string) => row({ type: 2, style: 5, label: 'Tide', url });
const gallery = (url: string, more: object = {}) => ({ type: 12, items: [{ media: { url }, ...more }] });
const thumbnail = (url: string) => ({
  type: 9,
  components: [{ type: 10, content: 'x' }],
  accessory: { type: 11, media: { url } },
});

describe('addresses of components', () => {
  it('are kept as URIs', () => {
    const [sent, url] = ['https://example.org/ü', 'https://example.org/%C3%BC'];
    expect(built([link(sent)])).toMatchObject([{ components: [{ url }] }]);
    expect(built([gallery(sent), thumbnail(sent)], true)).toMatchObject([
      { items: [{ media: { url } }] },
      { accessory: { media: { url } } },
    ]);
  });

  it.each([
    'https://example.com/a b"><x>',
    'https://example.com\\@evil.test/',
    'https://user:pass@example.com/',
    'https://example.com/\u202egnp.exe',
    'http:///etc/passwd',
    '',
  ])('are refused when two readers could read two of them, as of %j', (url) => {
    const wrong = 'URL_TYPE_INVALID_URL';
    expect(wrongIn([link(url)])).toEqual([`components.0.components.0.url: ${wrong}`]);
    expect(wrongIn([gallery(url), thumbnail(url)], true)).toEqual([
      `components.0.items.0.media.url: ${wrong}`,
      `components.1.accessory.media.url: ${wrong}`,
    ]);
  });
});

describe('texts of components', () => {
  it('lose direction controls where clients show them as labels, and keep zero-width spaces', () => {
    const turned = 'a\u202eb\u2066';
    const options = [{ label: turned, value: turned, description: turned }];
    const select = { type: 3, custom_id: 's', placeholder: turned, options };
    expect(
      built([row(button({ label: turned })), row(select), row(button({ custom_id: 'c', label: '\u200b' }))]),
    ).toMatchObject([
      { components: [{ label: 'ab' }] },
      { components: [{ placeholder: 'ab', options: [{ label: 'ab', value: turned, description: 'ab' }] }] },
      { components: [{ label: '\u200b' }] },
    ]);
    expect(built([gallery('https://a.test/', { description: turned })], true)).toMatchObject([
      { items: [{ description: 'ab' }] },
    ]);
    expect(wrongIn([row(button({ label: '\u202e' }))])).toEqual([
      'components.0.components.0.label: BASE_TYPE_REQUIRED',
    ]);
  });

  it('are taken from numbers as long as no digit is lost', () => {
    const label = Number.MAX_SAFE_INTEGER;
    expect(built([row(button({ label }))])).toMatchObject([{ components: [{ label: '9007199254740991' }] }]);
    for (const more of [2 ** 67, -1e300])
      expect(wrongIn([row(button({ label: more }))])).toEqual([
        'components.0.components.0.label: STRING_TYPE_CONVERT',
      ]);
  });
});

it.each([
  [5, 'user'],
  [6, 'role'],
  [7, 'user'],
  [8, 'channel'],
])('default_values of a select of type %i name each id once', (type, kind) => {
  const select = (...ids: string[]) =>
    row({ type, custom_id: 's', max_values: 3, default_values: ids.map((id) => ({ id, type: kind })) });
  expect(wrongIn([select('1', '2')])).toEqual([]);
  expect(wrongIn([select('1', '2', '1')])).toEqual([
    'components.0.components.0.default_values.2.id: SET_TYPE_ALREADY_CONTAINS_VALUE',
  ]);
});

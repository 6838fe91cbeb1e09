/** Goal: what a component shows and leads to is what its reader takes it for. */
import { describe, expect, it } from 'vitest';
import { built, wrongIn } from '../../support/builtcomponents.ts';

const row = (...components: object[]) => ({ type: 1, components });
const link = (url: string) => row({ type: 2, style: 5, label: 'Tide', url });
const gallery = (url: string) => ({ type: 12, items: [{ media: { url } }] });
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

/** Goal: components that client libraries cannot read are distinguished from readable ones. */
import { describe, expect, it } from 'vitest';
import { areReadable } from '../../protocol/components.ts';

const text = { type: 10, content: 'x' };
const file = { url: 'https://example.com' };

describe('areReadable', () => {
  it.each([
    ['no components', []],
    [
      'a container as clients receive it',
      [{ type: 17, id: 1, accent_color: null, spoiler: false, components: [text] }],
    ],
    [
      'a gallery as clients receive it',
      [{ type: 12, id: 1, items: [{ media: file, description: null, spoiler: false }] }],
    ],
    [
      'a row of what each kind requires',
      [{ type: 1, components: [{ type: 2, style: 5, url: 'https://example.com' }] }],
    ],
  ])('accepts %s', (_, components) => {
    expect(areReadable(components)).toBe(true);
  });

  it.each([
    ['a container without components', [{ type: 17 }]],
    ['a section without an accessory', [{ type: 9, components: [text] }]],
    ['a gallery without items', [{ type: 12 }]],
    ['a row without components', [{ type: 1 }]],
    ['a file without its media', [{ type: 13, name: 'x' }]],
    [
      'a malformed component deep inside',
      [{ type: 17, components: [{ type: 17, components: [{ type: 9 }] }] }],
    ],
    ['options that are no list', [{ type: 1, components: [{ type: 3, custom_id: 's', options: 'x' }] }]],
    ['an unknown kind', [{ type: 16 }]],
    ['a kind named like a method of objects', [{ type: 'toString' }]],
    ['what is no component', ['x', null]],
  ])('rejects %s', (_, components) => {
    expect(areReadable(components)).toBe(false);
  });
});

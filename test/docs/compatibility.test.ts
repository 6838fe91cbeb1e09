// Goal: the table of docs/compatibility.md names exactly the clients that its script tries, in the script's order.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/source.ts';

interface Client {
  readonly name: string;
  readonly kind: string;
  readonly packages: readonly string[];
}
interface Table {
  namesIn(page: string): string[];
  pageWith(page: string, rows: readonly (readonly string[])[]): string;
  rowOf(client: { readonly name: string }, found: object): string[];
}

/** The script is JavaScript, so that it runs without a build. */
const load = async <T>(name: string): Promise<T> => (await import(join(ROOT, 'test/compat', name))) as T;
const { CLIENTS } = await load<{ CLIENTS: readonly Client[] }>('clients.mjs');
const { LIBRARIES } = await load<{ LIBRARIES: object }>('libraries.mjs');
const { namesIn, pageWith, rowOf } = await load<Table>('table.mjs');

const page = readFileSync(join(ROOT, 'docs/compatibility.md'), 'utf8');
const FOUND = { ready: true, guild: true, answer: true, again: true, voice: null, notes: [] as string[] };

test('the page has a row for every client of the script, and for no other', () => {
  expect(namesIn(page)).toEqual(CLIENTS.map(({ name }) => name));
});

test('every client has a bot, and every package a version', () => {
  for (const { kind, packages } of CLIENTS) {
    if (kind !== 'discordpy') expect(Object.keys(LIBRARIES)).toContain(kind);
    for (const name of packages) expect(name).toMatch(/.@\d+(\.\d+){0,2}$/);
  }
});

describe('a row', () => {
  test.each([
    ['nothing failed', FOUND, 'yes'],
    ['voice works too', { ...FOUND, voice: true }, 'yes'],
    ['voice failed', { ...FOUND, voice: false }, 'no'],
    ['it fell silent after a cut', { ...FOUND, again: false }, 'no'],
  ])('says whether a client works, when %s', (_, found, works) => {
    expect(rowOf({ name: 'any' }, found)[1]).toBe(works);
  });

  test('stays one row of seven cells whatever a library says', () => {
    const row = rowOf({ name: 'any' }, { ...FOUND, notes: ['a | b\n<c>'] });
    const made = pageWith(page, [row]);
    expect(namesIn(made)).toEqual(['any']);
    expect(made).toContain('| any | yes | yes | yes | yes | – | a \\| b &lt;c> |');
  });
});

test('a page keeps what stands around its table', () => {
  const made = pageWith(page, [rowOf({ name: 'any' }, FOUND)]);
  expect(pageWith(made, [])).toBe(pageWith(page, []));
  expect(() => pageWith('no place for it', [])).toThrow('lacks');
});

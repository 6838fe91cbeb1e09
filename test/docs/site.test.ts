// Goal: the site is made of every page, each link and anchor leads somewhere, and a page needs nothing but its own site.
import { join, normalize } from 'node:path/posix';
import MiniSearch, { type Options } from 'minisearch';
import { beforeAll, describe, expect, test } from 'vitest';
import { ROOT, read } from '../support/source.ts';

interface Site {
  readonly SEARCH: Options;
  pagesOf(root: string): string[];
  siteOf(root: string, assets: object, version: string): Map<string, string>;
}

/** The builder is JavaScript, so that it runs without a build. */
const { SEARCH, pagesOf, siteOf } = (await import(join(ROOT, 'scripts/docs/site.mjs'))) as Site;
const ASSETS = { script: 'assets/docs.js', style: 'assets/docs.css' };
const GIVEN = new Set([...Object.values(ASSETS), 'icon.svg']);
const INDEX_BYTES_MAX = 1_500_000;

let site: Map<string, string>;
let pages: [string, string][];
beforeAll(() => {
  site = siteOf(ROOT, ASSETS, '1.2.3');
  pages = [...site].filter(([path]) => path.endsWith('.html'));
});

describe('the site', () => {
  test('has a page for each page of the repository', () => {
    expect(pages).toHaveLength(pagesOf(ROOT).length);
    expect(site.has('index.html')).toBe(true);
    expect(site.get('project/readme.html')).toContain('<h2 id="quick-start">');
  });

  test('links only to what exists, anchors included', () => {
    const idsOf = new Map(
      pages.map(([path, html]) => [path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
    );
    const missing = pages.flatMap(([path, html]) =>
      [...html.matchAll(/ (?:href|src)="([^"]+)"/g)].flatMap(([, href = '']) => {
        if (/^https?:/.test(href)) return [];
        const [target = '', anchor] = href.split('#');
        const place = target === '' ? path : normalize(join(path, '..', target));
        const isThere = GIVEN.has(place) || site.has(place);
        return isThere && (anchor === undefined || idsOf.get(place)?.has(anchor)) ? [] : [`${path}: ${href}`];
      }),
    );
    expect(missing).toEqual([]);
  });

  test('copies no file that the build of the container image does not have', () => {
    const left = read('.dockerignore').split('\n').filter(Boolean);
    const copied = [...site.keys()].flatMap((path) => /^files\/([^/]+)/.exec(path)?.[1] ?? []);
    expect(copied.length).toBeGreaterThan(10);
    expect(copied.filter((name) => left.includes(name))).toEqual([]);
  });

  test('loads nothing from elsewhere and has no inline script or style', () => {
    for (const [path, html] of pages) {
      expect(html.match(/<(?:script|link|img|iframe)[^>]+(?:src|href)="(?:https?:)?\/\//g), path).toBeNull();
      expect(html.match(/<script(?![^>]+src=)|<style| style="| on\w+="/g), path).toBeNull();
    }
  });

  test('gives every page one heading of the first order, a title and a place among the pages', () => {
    for (const [path, html] of pages) {
      expect(html.match(/<h1 /g), path).toHaveLength(1);
      expect(html, path).toMatch(/<title>.+<\/title>/);
      const isListed =
        path === 'index.html' || path.startsWith('adr/') || html.includes('aria-current="page"');
      expect([path, isListed]).toEqual([path, true]);
    }
  });

  test('escapes markup that pages show', () => {
    expect(site.get('configuration.html')).toContain('https://&lt;id&gt;.activities.example.org');
  });
});

describe('the search', () => {
  let index: MiniSearch;
  beforeAll(() => {
    const text = site.get('search.json') ?? '';
    expect(text.length).toBeLessThan(INDEX_BYTES_MAX);
    index = MiniSearch.loadJSON(text, SEARCH);
  });

  test.each([
    ['nginx', 'deploy.html'],
    ['restore', 'backup.html'],
    ['voice_udp_port', 'configuration.html'],
    ['createEngine', 'embedding.html'],
  ])('finds %s in %s', (words, page) => {
    const found = index.search(words, { prefix: true, combineWith: 'AND', boost: { heading: 4, page: 2 } });
    expect(found.slice(0, 5).map(({ id }) => String(id).split('#')[0])).toContain(page);
  });

  test('is asked as it was indexed', () => {
    const asked = /const INDEXED: Options = (\{.*\});/.exec(read('web/docs/main.ts'))?.[1] ?? '';
    for (const name of [...(SEARCH.fields ?? []), ...(SEARCH.storeFields ?? [])])
      expect(asked).toContain(`'${name}'`);
  });
});

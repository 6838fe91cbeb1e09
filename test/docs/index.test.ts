// Goal: every page is two clicks from the README, every link leads somewhere, and the README stays short.
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesUnder, ROOT, read } from '../support/source.ts';

const README_LINES_MAX = 150;
const pages = filesUnder('docs').filter((path) => path.endsWith('.md') && !path.startsWith('docs/adr/'));

/** Relative links of a page, as paths from the root; anchors are cut off. */
const linksOf = (page: string): readonly string[] =>
  [...read(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target.split('#')[0]!)
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target))
    .map((target) => normalize(join(dirname(page), target)));

describe('the documentation', () => {
  test('lists every page in docs/index.md', () => {
    const listed = new Set(linksOf('docs/index.md'));
    expect(pages.filter((page) => page !== 'docs/index.md' && !listed.has(page))).toEqual([]);
  });

  test('has no link that leads nowhere', () => {
    const missing = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...pages].flatMap(
      (page) =>
        linksOf(page)
          .filter((target) => !existsSync(join(ROOT, target)))
          .map((target) => `${page}: ${target}`),
    );
    expect(missing).toEqual([]);
  });

  test('answers ten questions, each with links to pages that exist', () => {
    const rows = read('docs/questions.md')
      .split('\n')
      .filter((line) => /^\| .+\? \|/.test(line));
    expect(rows).toHaveLength(10);
    for (const row of rows) expect([row, row.includes('.md)')]).toEqual([row, true]);
    const missing = linksOf('docs/questions.md').filter((target) => !existsSync(join(ROOT, target)));
    expect(missing).toEqual([]);
    expect(linksOf('docs/index.md')).toContain('docs/questions.md');
  });

  test('begins with a README of at most 150 lines, with the quick start first and a link to the index', () => {
    const lines = read('README.md').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(README_LINES_MAX);
    expect(lines.find((line) => line.startsWith('## '))).toBe('## Quick start');
    expect(linksOf('README.md')).toContain('docs/index.md');
  });
});

// Goal: the pages that say where things go name files and folders that exist.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesUnder, ROOT, read } from '../support/source.ts';

const PAGES = ['CONTRIBUTING.md', 'docs/architecture.md', 'docs/cluster.md'];
const ROOMS =
  /^(actors|bench|cli|compose|config|docs|engine|examples|media|protocol|scripts|sdk|services|storage|test|transports|web)\//;

/** Paths that a page names in backticks, as files or folders; `<op>` and `*` stand for any name. */
function pathsIn(page: string): string[] {
  const named = [...read(page).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);
  return named.filter((text) => ROOMS.test(text) && !/\s/.test(text));
}

const files = filesUnder('.', /\.\w+$/);
const exists = (path: string): boolean => {
  if (!/[<*{]/.test(path)) return existsSync(join(ROOT, path));
  const alternatives = path
    .replace(/[.+^$()|[\]\\]/g, '\\$&')
    .replace(/\{([^}]+)\}/g, (_, list: string) => `(${list.replace(/,\s*/g, '|')})`);
  const pattern = new RegExp(`^${alternatives.replace(/<[^>]+>|\*+/g, '[^/]+')}`);
  return files.some((file) => pattern.test(file));
};

describe.each(PAGES)('%s', (page) => {
  test('names only files and folders that exist', () => {
    const paths = pathsIn(page);
    expect(paths.length).toBeGreaterThan(3);
    expect(paths.filter((path) => !exists(path))).toEqual([]);
  });
});

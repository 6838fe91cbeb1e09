import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from './root.ts';

export const ADVICE =
  '<!-- Generated from the declarations by `npm run reference`; a test fails when it is stale. -->';

/** Compares a page with the file in docs/reference/; with `-u` writes it. */
export const isPage = (name: string, lines: readonly string[]): Promise<void> =>
  expect(`${lines.join('\n').trimEnd()}\n`).toMatchFileSnapshot(join(ROOT, `docs/reference/${name}.md`));

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);

export const code = (text: string): string => `\`${text}\``;

import { filesUnder, read } from './source.ts';

/** A fenced block of a page. */
export interface DocsBlock {
  readonly language: string;
  readonly text: string;
  /** Why the tests do not run it, as the page says; null when they do. */
  readonly reason: string | null;
  /** The file that it is saved as, which its first line names. */
  readonly file: string | null;
}

/** Languages whose blocks are run, or saved and then run by a command. */
const PROGRAMS = new Set(['sh', 'js', 'ts', 'py', 'java', 'go', 'c', 'cs', 'gdscript']);
const FENCE = /^( *)```([\w-]*)\n([\s\S]*?)^\1```$/gm;
const REASON = /\*(Not run here[\s\S]*?)\*\s*$/;
/** Why no command of a page is run, at its begin. */
const REASON_OF_PAGE = /^# .*\n\n\*(Not run on this page[\s\S]*?)\*\n/;
const NAMED = /^(?:\/\/|#|\/\*) ([\w.-]+\.\w+)/;

/** Pages with blocks that a reader follows literally. */
export const GUIDES = [...filesUnder('docs/start'), ...filesUnder('docs/how-to')].filter((path) =>
  path.endsWith('.md'),
);

/** Other pages whose commands run in order against one server too. */
export const COMMAND_PAGES = [
  ...['docs/clients.md', 'docs/guildpages.md', 'docs/lobbies.md', 'docs/social.md', 'docs/start.md'],
  ...['docs/accounts.md', 'docs/webhooks.md'],
];

export function blocksOf(page: string): readonly DocsBlock[] {
  const markdown = read(page);
  const ofPage = REASON_OF_PAGE.exec(markdown)?.[1] ?? null;
  return [...markdown.matchAll(FENCE)].map(({ index, 1: indent = '', 2: language = '', 3: body = '' }) => {
    const before = markdown.slice(0, index).trimEnd();
    const paragraph = before.slice(before.lastIndexOf('\n\n') + 2);
    const text = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    return {
      ...{ language, text },
      reason: REASON.exec(paragraph)?.[1] ?? ofPage,
      file: language === 'sh' ? null : (NAMED.exec(text)?.[1] ?? null),
    };
  });
}

export const isProgram = ({ language }: DocsBlock): boolean => PROGRAMS.has(language);

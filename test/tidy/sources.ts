import { describe, expect, test } from 'vitest';
import { parse, type Source } from '../support/source.ts';

/** A tag and its text, which ends where the next tag begins. */
const TAG = /(?:^|\s)@source(?=\s|$)([\s\S]*?)(?=\n[\s*]*@|\s@source\b|$)/g;
/** References that a reader can open: an address, or an RFC by its number. */
const OPENABLE = /https:\/\/\w|\bRFC \d/;

/** The `@source` tags of a file that name nothing a reader can open. */
function unopenable({ path, comments, lineAt }: Source): string[] {
  return comments.flatMap(({ value, start }) =>
    [...value.matchAll(TAG)].flatMap(([, text = '']) => {
      const shown = text.replace(/\s*\n[\s*]*/g, ' ').trim();
      return OPENABLE.test(shown) ? [] : [`${path}:${lineAt(start)} ${shown}: name an address or an RFC`];
    }),
  );
}

/** Comments name their sources so that a reader can open them. */
export function sourceRules(sources: readonly Source[]): void {
  describe('comments', () => {
    test('sources name an address or an RFC', () => {
      expect(sources.flatMap(unopenable)).toEqual([]);
    });

    test.each([
      ['/** @source https://example.org/page#part */', 0],
      ['/** Why. @source RFC 6749, section 5.1; ours beyond it */', 0],
      ['/**\n * Why.\n *\n * @source\n * https://example.org/page\n */', 0],
      ['// @source RFC 6749', 0],
      ['/** The tag `@source` names an origin. */', 0],
      ['const text = "@source the manual";', 0],
      ['/** @source the manual */', 1],
      ['/** @source RFC */', 1],
      ['// Why. @source the manual', 1],
      ['/**\n * @source the manual\n * @returns https://example.org/page\n */', 1],
      ['/** @source the manual @source RFC 6749 */', 1],
      ['/**\n * @source the manual\n * @source a book\n */', 2],
    ])('%j has %i sources that nobody can open', (text, count) => {
      expect(unopenable(parse('engine/sample.ts', text))).toHaveLength(count);
    });
  });
}

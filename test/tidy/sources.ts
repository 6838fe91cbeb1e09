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

/** First words of a comment that is no sentence by itself: the rest of it would be the code below. */
const FRAGMENT = /^[\s*]*(Of|Those|Whose|Whom|Whoever|Who)\b/;

/** The comments of a file that begin as a fragment. */
function fragments({ path, comments, lineAt }: Source): string[] {
  return comments
    .filter(({ value }) => FRAGMENT.test(value))
    .map(
      ({ value, start }) => `${path}:${lineAt(start)} ${value.trim().slice(0, 60)}: name the subject first`,
    );
}

/** Comments are sentences, and name their sources so that a reader can open them. */
export function sourceRules(sources: readonly Source[]): void {
  describe('comments', () => {
    test('sources name an address or an RFC', () => {
      expect(sources.flatMap(unopenable)).toEqual([]);
    });

    test('name their subject first', () => {
      expect(sources.flatMap(fragments)).toEqual([]);
    });

    test.each([
      ['/** Of posts in forums. */', 1],
      ['// Those who may not decide are refused.', 1],
      ['/**\n * Whose turn it is.\n */', 1],
      ['/** For posts in forums. */', 0],
      ['/** Official clients ask this. */', 0],
      ['/** The members of a guild, of whom\n * who may is asked. */', 0],
    ])('%j has %i comments that begin as a fragment', (text, count) => {
      expect(fragments(parse('engine/sample.ts', text))).toHaveLength(count);
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

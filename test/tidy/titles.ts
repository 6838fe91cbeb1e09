import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';

/** Pronouns that continue a sentence which the title does not hold: `that is small`, `whose token ended is closed`. */
const PRONOUN = /^(that|those|who|whom|whose|whoever|which|what|whatever|where|wherever)\b/i;
/** Prepositions that begin an adverbial instead of a claim: `of a bot`, `with a wrong token is refused`. */
const PREPOSITION =
  /^(of|in|on|at|by|for|from|to|with|without|within|as|like|into|onto|upon|over|under|above|below|behind|beside|besides|beyond|between|among|against|across|through|throughout|during|inside|outside|near|past|per|via|despite|except|toward|towards|out|off)\b/i;
/** Conjunctions that begin a clause without its claim: `and an owner`, `when a shard ends`. */
const CONJUNCTION =
  /^(and|or|but|nor|than|after|before|when|whenever|while|until|till|unless|because|since|once|if|although|though|whether|so|not|either)\b/i;
/** A predicate without what it denies: `is none`. */
const NO_PREDICATE = /^(is|are|has|have) none\b|\b(is|are) none$/;
/** Placeholders of `test.each`, whose values may be any number of words. */
const TEXTS = /%[sjoOp]|\$\{|\$\w/;
const NUMBERS = /%[dif]/;

/** Verbs of titles, without the ending of the third person; a new one is added here. */
const VERBS = new Set(
  `abandon accept access acknowledge add admit adopt agree allow alternate announce answer append apply
  approve arrive ascend ask assign attach authenticate authorize become begin belong bound break bring call
  carry cause change choose claim clean close come compare compile complete compute concern configure
  connect contain continue converge convert copy cost count cover create cut decide default delay delete
  deliver describe detach differ discard dispatch distinguish distribute disturb downgrade drain draw drop
  echo edit end enter equal escape evict exceed exchange exclude excuse execute exempt exist exit expect
  expire explain export fail fall fill find finish fire fit follow forbid forget forward free gain gate get
  give go grant greet hand hear hide hold identify ignore import include inform inject insert insist issue
  join judge keep know last lead learn leave let limit link list listen load lock log look lose make map
  mark mask match measure mend mention merge mix move multiply mute name narrow need nest notify number
  offer omit open other outlive outrank overwrite owe page parse pass play prefer prepare press prevent
  print publish put quarantine queue raise rank rate reach react read receive reconnect record redirect
  refer refuse rehash reject release remember remove rename render renew replace replay report request
  require resolve respect respond restart restore result resume retry return reuse revoke ring rise rule
  run say seal search see send serve set settle share show sign skip speak spell spread start stay stop
  store strike submit sum suppress survive sweep take talk terminate throw time track trust type unpin
  unsubscribe update use validate verify wait want widen withdraw work wrap write yield`.split(/\s+/),
);
const AUXILIARY = /^(is|are|has|have|does|do|may|can|cannot|must|will|never)$/i;
/** A claim about everything says nothing. */
const EMPTY = /^(it\b|works?( (fine|correctly|as expected))?$)/i;

/** Whether a word is a verb in the present tense: `carry` and `carries`, `pass` and `passes`, `is`. */
function isVerb(word: string): boolean {
  const bases = [word, word.replace(/s$/, ''), word.replace(/es$/, ''), word.replace(/ies$/, 'y')];
  return AUXILIARY.test(word) || bases.some((base) => VERBS.has(base.toLowerCase()));
}

/**
 * Whether a test's title says something by itself, as a line of a CI log shows it: a claim that begins with its subject,
 * or with its verb when the subject is the `describe`. `Only moderators …` and `neither votes nor …` are such claims.
 */
function readsAlone(title: string): boolean {
  const text = title.trim();
  if ([PRONOUN, PREPOSITION, CONJUNCTION, NO_PREDICATE, EMPTY].some((fragment) => fragment.test(text)))
    return false;
  // Texts of `test.each` may hold the verb; numbers do not.
  if (TEXTS.test(text)) return true;
  const words = text.replaceAll(/%\w/g, '').match(/[a-z]+/gi) ?? [];
  return (words.length > 1 || NUMBERS.test(text)) && words.some(isVerb);
}

/** `test`, also in `test.each(…)`, `it.runIf(…)` and their like. */
function calleeName(callee: Node): string {
  if (callee.type === 'MemberExpression') return calleeName(callee.object as Node);
  if (callee.type === 'CallExpression' || callee.type === 'TaggedTemplateExpression')
    return calleeName((callee.callee ?? callee.tag) as Node);
  return String(callee.name ?? '');
}

/** The titles that are written where the test is; those that are computed say nothing here. */
function titlesOf({ program, text, lineAt }: Source): { title: string; line: number }[] {
  const found: { title: string; line: number }[] = [];
  visit(program, (node) => {
    if (node.type !== 'CallExpression') return;
    const [given] = node.arguments as Node[];
    if (!given || !['test', 'it'].includes(calleeName(node.callee as Node))) return;
    const isText =
      given.type === 'TemplateLiteral' || (given.type === 'Literal' && typeof given.value === 'string');
    if (!isText) return;
    const title = given.type === 'Literal' ? String(given.value) : text.slice(given.start + 1, given.end - 1);
    found.push({ title, line: lineAt(given.start) });
  });
  return found;
}

/** Titles, and whether they read alone. */
const SAMPLES: [title: string, isAlone: boolean][] = [
  ['keeps one MLS group with 50 members', true],
  ['rejects a wrong client secret even for public clients', true],
  ['a guild without channels has none', true],
  ['is refused with 403', true],
  ['%s is refused', true],
  ['\u0024{state} keeps \u0024{count} frames', true],
  ['%s', true],
  ['counts', false],
  ['members of a guild', false],
  ['the owner, then the rest', false],
  ['expected behaviour', false],
  ['bots of %i guilds', false],
  ['a channel %s', true],
  ['it works', false],
  ['it refuses a wrong token', false],
  ['works', false],
  ['works as expected', false],
  ['works without a token', true],
  ['carries two frames', true],
  ['%s: %s', true],
  ['that is small', false],
  ['That is small', false],
  ['those of a bot are refused', false],
  ['who is banned stays out', false],
  ['whom nobody knows is refused', false],
  ['whose token ended is closed', false],
  ['of a bot', false],
  ['of %s is refused', false],
  ['and an owner', false],
  ['or nothing at all', false],
  ['is none', false],
  ['is none of the owner', false],
  ['%j is none', false],
  ['after a restart replays', false],
  ['when %s', false],
  ['with a wrong token is refused', false],
  ['With %s is refused', false],
  ['without a nonce is refused with 4000', false],
  ['in \u0024{state}, by \u0024{type}, is \u0024{wanted}', false],
  ['by the client itself leaves the call', false],
  ['on() sees each dispatch once', false],
  ['as a table ends with its one headline', false],
  ['beyond the largest packet are refused', false],
  ['what version 1 sent is read', false],
  ['whatever fails, every commit is answered', false],
  ['not when everything was answered', false],
  ['only moderators edit messages in a locked thread', true],
  ['neither votes nor joins a reaction', true],
  ['replays after a restart', true],
  ['informs the application of a denial', true],
  ['insists on a token', true],
  ['outlives its shard', true],
  ['thatched roofs are thatched', true],
  ['offers of a guild expire', true],
  ['android clients reconnect', true],
];

/** Titles of tests read alone; `tests` are the files of tests. */
export function titleRules(tests: readonly Source[]): void {
  describe('test titles', () => {
    test('read alone', () => {
      const fragments = tests.flatMap((source) =>
        titlesOf(source)
          .filter(({ title }) => !readsAlone(title))
          .map(({ title, line }) => `${source.path}:${line} ${title}: begin with the subject or the verb`),
      );
      expect(fragments).toEqual([]);
    });

    test.each(SAMPLES)('%j reads alone: %s', (title, expected) => {
      expect(readsAlone(title)).toBe(expected);
    });

    test('are found behind each form of a test, and nowhere else', () => {
      const text = `test('a 1'); it.each([1])('b %i', f); test.runIf(x)(\`c \${1}\`); describe('d'); run('e');
        test.each\`x\`('f 1'); /test/.test('g'); test(title, f);`;
      const titles = titlesOf(parse('test/a.test.ts', text)).map(({ title }) => title);
      expect(titles).toEqual(['a 1', 'b %i', 'c \u0024{1}', 'f 1']);
    });
  });
}

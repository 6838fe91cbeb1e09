// Goal: a stranger's pattern costs time linear in the text, and one that cannot be run so is refused.
import { describe, expect, it } from 'vitest';
import { compilePattern } from '../../../engine/automod/regex.ts';
import { LIMITS } from '../../../protocol/limits.ts';

describe('a pattern', () => {
  it.each([
    ['b[a4]d', 'so b4d', 'b4d'],
    ['(b|c)at', 'a cat', 'cat'],
    ['(?i)STOP', 'please stop', 'stop'],
    ['STOP', 'please stop', null],
    ['^(?:[0-9]{1,3}\\.){3}[0-9]{1,3}$', '127.0.0.1', '127.0.0.1'],
    ['\\p{Greek}+', 'to αβγ', 'αβγ'],
    ['(?P<a>x)(?<b>y)', 'xy', 'xy'],
    ['\\bfree\\s+nitro\\b', 'get free  nitro now', 'free  nitro'],
  ])('%s in %j is %j', (source, text, expected) => {
    const match = compilePattern(source)?.find(text, 0) ?? null;
    expect(match && text.slice(match.start, match.end)).toBe(expected);
  });

  it.each([
    ['(a', 'an open group'],
    ['(?=a)b', 'a look ahead'],
    ['(?<!a)b', 'a look behind'],
    ['(a)\\1', 'a back reference'],
    ['a{2,1}', 'a count that ends before it begins'],
    ['a{1001}', 'a count beyond the engine'],
    ['\\b{start}a', 'a word boundary that only the other engine has'],
    ['[a-z&&[^b]]', 'a class that only the other engine has'],
    ['\\pL{1000}', 'a large program'],
    [`(?:${'a'.repeat(240)}){1000}`, 'a huge program'],
    [`(?:${'.?'.repeat(110)}){1000}`, 'a huge program of options'],
    ['((((a{10}){10}){10}){10}){10}', 'nested counts'],
  ])('%s is refused as %s', (source) => {
    const begun = performance.now();
    expect(compilePattern(source)).toBeNull();
    expect(performance.now() - begun).toBeLessThan(200);
  });

  it('ends at once where a backtracking engine would be busy for ever', () => {
    const text = 'a'.repeat(LIMITS.content_chars_max);
    for (const source of ['(a*)*x', '(a|a)*x', '(a+)+$x', '(?:a?){100}a{100}x']) {
      const begun = performance.now();
      expect(compilePattern(source)?.find(text, 0)).toBeNull();
      expect(performance.now() - begun).toBeLessThan(1_000);
    }
  });
});

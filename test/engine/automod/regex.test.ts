// Goal: an untrusted pattern runs in time linear in the text, and a pattern that cannot is rejected.
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
  ])('%s in %j matches %j', (source, text, expected) => {
    const match = compilePattern(source)?.find(text, 0) ?? null;
    expect(match && text.slice(match.start, match.end)).toBe(expected);
  });

  it.each([
    ['(a', 'an open group'],
    ['(?=a)b', 'a look ahead'],
    ['(?<!a)b', 'a look behind'],
    ['(a)\\1', 'a back reference'],
    ['a{2,1}', 'a count range that ends before it begins'],
    ['a{1001}', 'a count beyond the limit of the engine'],
    ['\\b{start}a', 'a word boundary that the engine does not support'],
    ['[a-z&&[^b]]', 'a class operation that the engine does not support'],
    ['\\pL{1000}', 'a large program'],
    [`(?:${'a'.repeat(240)}){1000}`, 'a huge program'],
    [`(?:${'.?'.repeat(110)}){1000}`, 'a huge program of options'],
    ['((((a{10}){10}){10}){10}){10}', 'nested counts'],
  ])('%s is rejected as %s', (source) => {
    const begun = performance.now();
    expect(compilePattern(source)).toBeNull();
    expect(performance.now() - begun).toBeLessThan(200);
  });

  it('finishes within a second where a backtracking engine would not terminate', () => {
    const text = 'a'.repeat(LIMITS.content_chars_max);
    for (const source of ['(a*)*x', '(a|a)*x', '(a+)+$x', '(?:a?){100}a{100}x']) {
      const begun = performance.now();
      expect(compilePattern(source)?.find(text, 0)).toBeNull();
      expect(performance.now() - begun).toBeLessThan(1_000);
    }
  });
});

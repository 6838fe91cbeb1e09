// Goal: a link that passes is a URI that every reader parses alike, and links that people copy from a browser pass.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readLink } from '../../protocol/links.ts';

const MAX = 2_048;
/** The link as it is kept, or the code of its problem. */
const read = (text: string, max = MAX): string => {
  const link = readLink(text, max);
  return link.ok ? link.url : link.problem.code;
};
/** Characters and escapes of a URI. @source RFC 3986, appendix A */
const URI =
  /^https?:\/\/(?:[\w.~!$&'()*+,;=-]+|\[[0-9a-f:.]+\])(?::\d*)?(?:\/(?:[\w.~!$&'()*+,;=:@/-]|%[0-9a-f]{2})*)?(?:\?(?:[\w.~!$&'()*+,;=:@/?-]|%[0-9a-f]{2})*)?(?:#(?:[\w.~!$&'()*+,;=:@/?-]|%[0-9a-f]{2})*)?$/i;

describe('readLink', () => {
  test.each([
    'https://example.com',
    'HTTP://EXAMPLE.COM:8080',
    'https://example.com/a/../b?x=1&y=%20#part',
    'https://example.com./a@b:c',
    'http://[::1]:5173/',
    'http://127.0.0.1/',
  ])('keeps %s as it was sent', (url) => expect(read(url)).toBe(url));

  test.each([
    ['https://example.org/ü', 'https://example.org/%C3%BC'],
    ['https://example.org/?q=北京#ä', 'https://example.org/?q=%E5%8C%97%E4%BA%AC#%C3%A4'],
    ['https://bücher.example', 'https://xn--bcher-kva.example/'],
    ['https://example。com/', 'https://example.com/'],
    ['https://example.org/👩‍💻', 'https://example.org/%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB'],
    ['https://example.org/?a[]=1&b=100%#c#d', 'https://example.org/?a%5B%5D=1&b=100%25#c%23d'],
    ['http://0x7f.1/', 'http://127.0.0.1/'],
    ['https://ex%61mple.com/a', 'https://example.com/a'],
  ])('escapes %s', (sent, kept) => expect(read(sent)).toBe(kept));

  test.each([...' "<>\\^`{|}\u007f\u0000\t\n\u0085\u00a0\u3000'])(
    'refuses the character %j, which no URI has',
    (character) => {
      for (const at of ['host', '/path', '/?query', '/#part'])
        expect(read(`https://example.com${at}${character}x`)).toBe('URL_TYPE_INVALID_URL');
    },
  );

  test.each([
    ['a backslash before another host', 'https://example.com\\@evil.com/'],
    ['a name and a password', 'https://user:pass@example.com/'],
    ['a name that looks like a host', 'https://good.example\u2044@evil.example/'],
    ['an empty name', 'https://@example.com/'],
    ['no host', 'http:///etc/passwd'],
    ['no host but a port', 'http://:80/'],
    ['one slash', 'http:/example.com'],
    ['a host of dots', 'https://.../'],
    ['a host with an empty label', 'https://a..example/'],
    ['a host that is a wide slash away from another', 'https://example.com\uff0f.evil.example/'],
    ['a zero-width space', 'https://exam\u200bple.com/'],
    ['a direction override', 'https://example.com/\u202egnp.exe'],
    ['a soft hyphen in the host', 'https://exam\u00adple.com/'],
    ['half of a pair', 'https://example.com/\ud800'],
    ['a port that is none', 'https://example.com:99999/'],
    ['no address', 'nowhere'],
    ['nothing', ''],
  ])('refuses %s', (_, url) => expect(read(url)).toBe('URL_TYPE_INVALID_URL'));

  test('refuses every scheme but http and https by its name', () => {
    expect(read('javascript:alert(1)')).toBe('URL_TYPE_INVALID_SCHEME');
    expect(read('ftp://example.com')).toBe('URL_TYPE_INVALID_SCHEME');
  });

  test('bounds the link as it was sent and as it is kept', () => {
    expect(read('https://a.example/ü', 24)).toBe('https://a.example/%C3%BC');
    expect(read('https://a.example/ü', 23)).toBe('BASE_TYPE_MAX_LENGTH');
    expect(read(`https://a.example/${'a'.repeat(100_000)}`)).toBe('BASE_TYPE_MAX_LENGTH');
  });

  test('accepts Latin-1 letters in hosts after thousands of calls', () => {
    for (let call = 0; call < 20_000; call++) read('https://bücher.example');
    expect(read('https://bücher.example')).toBe('https://xn--bcher-kva.example/');
  });

  test('converts accepted links to a URI with an unchanged host, and accepts that URI unchanged', () => {
    const part = fc.oneof(
      fc.constantFrom(
        'example.com',
        '/',
        '?',
        '#',
        ':',
        '@',
        '%',
        '[',
        ']',
        '.',
        'ü',
        '\u200d',
        '👩',
        '\\',
        '|',
      ),
      fc.string({ maxLength: 3, unit: 'binary' }),
    );
    const texts = fc.array(part, { maxLength: 8 }).map((parts) => `https://${parts.join('')}`);
    fc.assert(
      fc.property(texts, (text) => {
        const link = readLink(text, MAX);
        if (!link.ok) return;
        expect(link.url).toMatch(URI);
        expect(readLink(link.url, MAX)).toEqual(link);
        const { hostname, username, password } = new URL(link.url);
        expect(/^https:\/\/(\[.*?\]|[^/?#:]*)/.exec(link.url)?.[1]?.toLowerCase()).toBe(hostname);
        expect(username + password).toBe('');
      }),
      { numRuns: 2_000 },
    );
  });
});

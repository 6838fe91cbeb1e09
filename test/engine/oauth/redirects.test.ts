// Goal: an answer goes where its application registered, and nowhere else.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answeredAt, isCustomScheme, matchRedirect, mayRegister } from '../../../engine/oauth/redirects.ts';

const HOME = 'https://game.example/callback';
const LOCAL = 'http://127.0.0.1/callback';
const CUSTOM = 'game-1234:/authorize/callback';

describe('the registration of a redirect', () => {
  test.each([
    HOME,
    LOCAL,
    CUSTOM,
    'https://game.example',
    'http://localhost:3000/cb?x=1',
    'http://[::1]:80/cb',
    'com.example.game:/authorize/callback',
  ])('accepts %s', (uri) => {
    expect(mayRegister(uri)).toBe(true);
  });

  test.each([
    '',
    'game.example/callback',
    '/callback',
    '//game.example/callback',
    'https://',
    'https://game.example/#fragment',
    'https://user@game.example/',
    'https://user:pass@game.example/',
    'https://game.example/a b',
    'https://game.example/\\evil.example',
    'https://game.example/\r\nLocation: x',
    'https://gäme.example/',
    'javascript:/alert(1)',
    'javascript:alert(1)',
    'data:/text/html,x',
    'vbscript:/x',
    'file:/etc/passwd',
    'http:/game.example',
    'GAME:/authorize/callback',
    'game://authorize/callback',
    `https://game.example/${'x'.repeat(2_048)}`,
  ])('rejects %j', (uri) => {
    expect(mayRegister(uri)).toBe(false);
  });
});

describe('the match of a redirect', () => {
  test('compares character by character', () => {
    const registered = [HOME, CUSTOM];
    expect(matchRedirect(registered, HOME)).toBe(HOME);
    expect(matchRedirect(registered, CUSTOM)).toBe(CUSTOM);
    for (const other of [
      `${HOME}/`,
      `${HOME}?x=1`,
      `${HOME}/../evil`,
      'https://game.example/Callback',
      'http://game.example/callback',
      'https://game.example:443/callback',
      'https://game.example.evil.example/callback',
      'https://game.example@evil.example/callback',
      'https://evil.example/https://game.example/callback',
      'game-1234:/authorize/callback?x',
      'game-12345:/authorize/callback',
      LOCAL,
      '',
    ])
      expect(matchRedirect(registered, other), other).toBeNull();
  });

  test('uses the only registered address if none is requested', () => {
    expect(matchRedirect([HOME], null)).toBe(HOME);
    expect(matchRedirect([HOME, CUSTOM], null)).toBeNull();
    expect(matchRedirect([], null)).toBeNull();
  });

  test('accepts any port of a loopback redirect, and no other difference', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 65_535 }), (port) => {
        const uri = `http://127.0.0.1:${port}/callback`;
        expect(matchRedirect([LOCAL], uri)).toBe(uri);
        expect(matchRedirect(['http://127.0.0.1:9/callback'], uri)).toBe(uri);
        for (const other of [
          `http://127.0.0.1:${port}/other`,
          `http://127.0.0.1:${port}/callback?x`,
          `https://127.0.0.1:${port}/callback`,
          `http://localhost:${port}/callback`,
          `http://127.0.0.2:${port}/callback`,
          `http://[::1]:${port}/callback`,
          `http://127.0.0.1:${port}@evil.example/callback`,
          `http://127.0.0.1:${port}.evil.example/callback`,
        ])
          expect(matchRedirect([LOCAL], other), other).toBeNull();
      }),
    );
    expect(matchRedirect([LOCAL], 'http://127.0.0.1:65536/callback')).toBeNull();
    expect(matchRedirect(['http://[::1]/cb'], 'http://[::1]:5/cb')).toBe('http://[::1]:5/cb');
    // Only where a loopback redirect is registered.
    expect(matchRedirect([HOME], 'http://127.0.0.1:1/callback')).toBeNull();
  });

  test('never accepts another host than the registered one, for any requested address', () => {
    const hosts = new Set(['game.example', '127.0.0.1']);
    const near = fc
      .tuple(fc.constantFrom(HOME, LOCAL), fc.string({ maxLength: 12 }), fc.nat(60))
      .map(([uri, text, at]) => uri.slice(0, at) + text + uri.slice(at));
    fc.assert(
      fc.property(fc.oneof(near, fc.webUrl(), fc.string({ maxLength: 60 })), (uri) => {
        const matched = matchRedirect([HOME, LOCAL], uri);
        if (matched !== null) expect(hosts.has(new URL(matched).hostname)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('responses to a redirect', () => {
  test('contain their values after any query or fragment, and keep the rest of the address', () => {
    const places = fc.constantFrom(HOME, `${HOME}?a=b`, LOCAL, CUSTOM);
    fc.assert(
      fc.property(places, fc.string({ maxLength: 40, unit: 'binary' }), (uri, state) => {
        const inQuery = new URL(answeredAt(uri, 'query', { code: 'c', state, none: null }));
        expect(inQuery.searchParams.get('state')).toBe(state);
        expect(inQuery.searchParams.get('code')).toBe('c');
        expect(inQuery.searchParams.has('none')).toBe(false);
        expect(inQuery.hash).toBe('');
        expect(answeredAt(uri, 'query', { state })).toSatisfy((text: string) => text.startsWith(uri));
        const { hash, origin, pathname } = new URL(answeredAt(uri, 'fragment', { access_token: 't', state }));
        expect(new URLSearchParams(hash.slice(1)).get('state')).toBe(state);
        expect([origin, pathname]).toEqual([new URL(uri).origin, new URL(uri).pathname]);
      }),
    );
  });

  test('distinguish a private-use scheme from a web address', () => {
    expect([HOME, LOCAL, CUSTOM].map(isCustomScheme)).toEqual([false, false, true]);
  });
});

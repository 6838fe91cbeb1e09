// Goal: only an issuer that the public can reach is taken, however it is spelt, and only its own discovery document.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { discoveryUrl, issuerProblem, readDiscovery } from '../../../engine/provisional/issuer.ts';

describe('an issuer', () => {
  test.each([
    'https://id.example.org',
    'https://id.example.org/',
    'https://id.example.org/realms/one',
    'https://id.example.org:8443/realms/one',
    'https://xn--bcher-kva.example',
  ])('may be %s', (text) => {
    expect(issuerProblem(text, false)).toBeNull();
  });

  test.each([
    '',
    'id.example.org',
    'http://id.example.org',
    'ftp://id.example.org',
    'https://id.example.org?',
    'https://id.example.org/?a=b',
    'https://id.example.org/#',
    'https://id.example.org/#a',
    'https://user@id.example.org',
    'https://user:password@id.example.org',
    'https://@id.example.org',
    'https://localhost',
    'https://example',
    'https://example.',
    'https://id.example.org.',
    'https://.example.org',
    'https://id..example.org',
    'https://printer.local',
    'https://PRINTER.LOCAL',
    'https://1.0.0.127.in-addr.arpa',
    'https://metadata.google.internal',
    'https://a.localhost',
    'https://127.0.0.1',
    'https://127.1',
    'https://2130706433',
    'https://0x7f.0.0.1',
    'https://017700000001',
    'https://8.8.8.8',
    'https://[::1]',
    'https://[2001:4860:4860::8888]',
    'https://id.example.org\n.evil',
    'https://id.exam\tple.org',
    ' https://id.example.org',
    'https://ïd.example.org',
    `https://id.example.org/${'a'.repeat(2048)}`,
  ])('may not be %j', (text) => {
    expect(issuerProblem(text, false)).toEqual(expect.any(String));
  });

  test('is checked in all but its host when its origin is allowed', () => {
    expect(issuerProblem('https://localhost:9443/a', true)).toBeNull();
    expect(issuerProblem('http://localhost:9443/a', true)).toEqual(expect.any(String));
    expect(issuerProblem('https://localhost:9443/a?b', true)).toEqual(expect.any(String));
  });

  test('never crashes the rule, and what passes is https with two labels of letters', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl(), fc.webUrl({ validSchemes: ['https'] })), (text) => {
        if (issuerProblem(text, false) !== null) return;
        const url = new URL(text);
        expect(url.protocol).toBe('https:');
        expect(url.hostname.split('.').length).toBeGreaterThan(1);
        expect(url.hostname).toMatch(/[a-z][^.]*$/);
        expect(url.search + url.hash + url.username + url.password).toBe('');
      }),
    );
  });

  test.each(
    ['local', 'arpa', 'internal', 'localhost'].flatMap((top) => [
      `https://a.${top}/x`,
      `https://a.b.${top}:1`,
    ]),
  )('is refused in a private domain, whatever stands before it: %s', (text) => {
    expect(issuerProblem(text, false)).toBe('Its host must not be of a private domain.');
  });
});

describe('a discovery document', () => {
  const issuer = 'https://id.example.org/one';
  const document = {
    issuer,
    jwks_uri: 'https://keys.example.org/jwks',
    id_token_signing_alg_values_supported: ['none', 'HS256', 'ES256', 'RS256'],
  };

  test('is where the issuer says', () => {
    expect(discoveryUrl(issuer)).toBe('https://id.example.org/one/.well-known/openid-configuration');
    expect(discoveryUrl(`${issuer}/`)).toBe('https://id.example.org/one/.well-known/openid-configuration');
  });

  test('gives the keys and those of its algorithms that count', () => {
    expect(readDiscovery(document, issuer)).toEqual({
      jwksUri: 'https://keys.example.org/jwks',
      algorithms: ['RS256', 'ES256'],
    });
  });

  test.each([
    [{ ...document, issuer: `${issuer}/` }],
    [{ ...document, issuer: 'https://ID.example.org/one' }],
    [{ ...document, jwks_uri: 'http://keys.example.org/jwks' }],
    [{ ...document, jwks_uri: 'https://a:b@keys.example.org/jwks' }],
    [{ ...document, jwks_uri: 5 }],
    [{ ...document, id_token_signing_alg_values_supported: ['none', 'HS256'] }],
    [{ ...document, id_token_signing_alg_values_supported: 'RS256' }],
    [{ issuer }],
    [[document]],
    [null],
    ['text'],
  ])('does not count when it is %j', (wrong) => {
    expect(readDiscovery(wrong, issuer)).toBeNull();
  });

  test('never crashes the rule, whatever its shape', () => {
    fc.assert(
      fc.property(fc.anything(), (anything) => {
        expect(readDiscovery(anything, issuer)).toBeNull();
      }),
    );
  });
});

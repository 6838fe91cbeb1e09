// Goal: a request on a stranger's word reaches public addresses only, the very ones that were checked, within its bounds.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Resolve } from '../../../transports/outgoing/connection.ts';
import { createOutgoing, type OutgoingSettings } from '../../../transports/outgoing/providers.ts';
import { openIssuer } from '../../support/oidc.ts';

let issuer: Awaited<ReturnType<typeof openIssuer>>;
beforeAll(async () => {
  issuer = await openIssuer();
});
afterAll(() => issuer.close());

const outgoing = (more: Partial<OutgoingSettings> = {}, resolve?: Resolve) =>
  createOutgoing(
    {
      privateOrigins: new Set([issuer.issuer]),
      extraCa: issuer.ca,
      timeoutMs: 2_000,
      bytesMax: 1_000,
      requestsMax: 4,
      ...more,
    },
    resolve,
  );
const port = () => new URL(issuer.issuer).port;
/** Answers any name with these addresses, one list after another. */
const resolving = (...lists: readonly (readonly string[])[]): { resolve: Resolve; asked: string[] } => {
  const asked: string[] = [];
  const resolve: Resolve = (host, done) => {
    const list = lists[Math.min(asked.length, lists.length - 1)]!;
    asked.push(host);
    done(
      null,
      list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { resolve, asked };
};

describe('a request', () => {
  test('answers the JSON of an allowed origin', async () => {
    const url = `${issuer.issuer}/.well-known/openid-configuration`;
    expect(await outgoing().json({ url })).toEqual(issuer.discovery());
    expect(outgoing().allowsPrivate(url)).toBe(true);
    expect(outgoing().allowsPrivate(issuer.issuer.replace('https', 'http'))).toBe(false);
    expect(outgoing().allowsPrivate(`https://localhost:${Number(port()) + 1}`)).toBe(false);
    expect(outgoing().allowsPrivate('nonsense')).toBe(false);
  });

  test.each([
    ['127.0.0.1'],
    ['169.254.169.254'],
    ['10.1.2.3'],
    ['::1'],
    ['fd00:ec2::254'],
    ['8.8.8.8', '127.0.0.1'],
  ])('does not leave for a name that resolves to %s %s', async (...addresses) => {
    const before = issuer.requests.length;
    const { resolve } = resolving(addresses);
    const url = `https://public.example.org:${port()}/jwks`;
    await expect(outgoing({}, resolve).json({ url })).rejects.toThrow('The host is not public.');
    expect(issuer.requests).toHaveLength(before);
  });

  test('resolves a name once: the second answer of its owner is never asked for', async () => {
    const { resolve, asked } = resolving(['192.0.2.1'], ['127.0.0.1']);
    const url = `https://rebinding.example.org:${port()}/jwks`;
    const before = issuer.requests.length;
    await expect(outgoing({}, resolve).json({ url })).rejects.toThrow('The host is not public.');
    expect(asked).toEqual(['rebinding.example.org']);
    expect(issuer.requests).toHaveLength(before);
  });

  test.each(['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '169.254.169.254', '0x7f.1', '2130706433'])(
    'does not leave for the address %s, which is never resolved',
    async (host) => {
      const url = `https://${host}:${port()}/jwks`;
      await expect(outgoing().json({ url })).rejects.toThrow('The host is not public.');
    },
  );

  test('speaks https only', async () => {
    const url = issuer.issuer.replace('https', 'http');
    await expect(outgoing().json({ url })).rejects.toThrow('Only https URLs are allowed.');
  });

  test('does not follow a redirect, and rejects other statuses', async () => {
    issuer.override('/away', { status: 302, headers: { location: `${issuer.issuer}/jwks` } });
    const before = issuer.requests.length;
    await expect(outgoing().json({ url: `${issuer.issuer}/away` })).rejects.toThrow('status 302');
    expect(issuer.requests.slice(before)).toEqual(['/away']);
    await expect(outgoing().json({ url: `${issuer.issuer}/none` })).rejects.toThrow('status 404');
  });

  test('fails when the response is too large, no JSON or missing', async () => {
    issuer.override('/large', { body: JSON.stringify('x'.repeat(2_000)) });
    await expect(outgoing().json({ url: `${issuer.issuer}/large` })).rejects.toThrow('too large');
    issuer.override('/text', { body: 'hello' });
    await expect(outgoing().json({ url: `${issuer.issuer}/text` })).rejects.toThrow('not JSON');
    issuer.override('/hang', { hang: true });
    const slow = outgoing({ timeoutMs: 100 }).json({ url: `${issuer.issuer}/hang` });
    await expect(slow).rejects.toThrow('The request failed');
  });

  test('is rejected beyond the bound of concurrent requests, and frees its place when it ends', async () => {
    const bounded = outgoing({ requestsMax: 1, timeoutMs: 1000 });
    const first = bounded.json({ url: `${issuer.issuer}/hang` });
    await expect(bounded.json({ url: `${issuer.issuer}/jwks` })).rejects.toThrow('Too many requests');
    await expect(first).rejects.toThrow();
    expect(await bounded.json({ url: `${issuer.issuer}/jwks` })).toHaveProperty('keys');
  });

  test('trusts only configured certificates, and its fault names none', async () => {
    const url = `${issuer.issuer}/jwks`;
    const fault = await outgoing({ extraCa: null })
      .json({ url })
      .catch((error: Error) => error);
    expect(String(fault)).toMatch(/^OutgoingFault: The request failed: [A-Z_]+\.$/);
  });

  test('carries a form and headers', async () => {
    issuer.override('/echo', (request) => ({ body: JSON.stringify(request) }));
    const answer = await outgoing().json({
      url: `${issuer.issuer}/echo`,
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'application/x-www-form-urlencoded' },
      body: 'token=é',
    });
    expect(answer).toEqual({ method: 'POST', authorization: 'Bearer x', body: 'token=é' });
  });
});

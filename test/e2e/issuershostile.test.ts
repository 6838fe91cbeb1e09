// Goal: no issuer, nor who forges its tokens, makes the server believe, follow, wait or grow; and of two who link one player,
// or one who links two, at the same time, one does.
import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OAuthClient } from '../support/oauth.ts';
import { openIssuer } from '../support/oidc.ts';
import { ask } from '../support/players.ts';
import { startServer, type TestServer } from '../support/server.ts';

const CALLBACK = 'https://game.example/callback';
const DISCOVERY = '/.well-known/openid-configuration';
/** How long the server waits for an issuer, and a little more. */
const TIMEOUT_MS = 15_000;
const GREW_BYTES_MAX = 200 << 20;

type Issuer = Awaited<ReturnType<typeof openIssuer>>;
type Game = Awaited<ReturnType<typeof OAuthClient.make>>;

/** One for each way to misbehave: what is known of an issuer is kept for a while. */
const KINDS = [
  'good',
  'hanging',
  'slow',
  'huge',
  'moved',
  'inward',
  'garbled',
  'flooded',
  'rotated',
] as const;
type Kind = (typeof KINDS)[number];

let folder: string;
let server: TestServer;
let startedBytes: number;
let inside: Server;
/** Connections to a service that only this machine should reach. */
let reached = 0;
const issuers = new Map<Kind, Issuer>();
const games = new Map<Kind, Game>();
beforeAll(async () => {
  for (const kind of KINDS) issuers.set(kind, await openIssuer());
  inside = createServer((socket) => {
    reached += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
  folder = await mkdtemp(join(tmpdir(), 'guildhall-issuers-'));
  await writeFile(join(folder, 'ca.pem'), issuers.get('good')!.ca);
  const identity_issuers_private = [...issuers.values()].map(({ issuer }) => issuer).join(',');
  server = await startServer({
    set: { identity_issuers_private, identity_ca_file: join(folder, 'ca.pem') },
  });
  for (const [kind, { issuer }] of issuers) {
    const game = await OAuthClient.make(server, { redirect_uris: [CALLBACK] });
    games.set(kind, game);
    const oidc = { type: 'OIDC', issuer, client_id: 'game' };
    await server.admin(`/applications/${game.id}/identity-providers`, oidc);
  }
  startedBytes = await server.rssBytes();
});
afterAll(async () => {
  await server?.finish();
  for (const { close } of issuers.values()) await close();
  inside.close();
  await rm(folder, { recursive: true, force: true });
});

const issuerOf = (kind: Kind) => issuers.get(kind)!;

const proof = (kind: Kind, token: string) => ({
  client_id: games.get(kind)!.id,
  client_secret: games.get(kind)!.secret,
  external_auth_type: 'OIDC',
  external_auth_token: token,
});
const signIn = (kind: Kind, token: string) =>
  ask(server, null, ['POST', '/partner-sdk/token', proof(kind, token)]);
const signInAs = async (kind: Kind, sub: string) => signIn(kind, await issuerOf(kind).idToken({ sub }));

const part = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

describe('a forged token', () => {
  test('is rejected without a signature, and with an HMAC made from the public key', async () => {
    expect((await signInAs('good', 'known')).status).toBe(200);
    const { jwk } = issuerOf('good').keys[0]!;
    const [, claims = ''] = (await issuerOf('good').idToken({ sub: 'known' })).split('.');
    const pem = createPublicKey({ key: jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    const forged: string[] = [];
    for (const alg of ['none', 'None', 'NONE', '', null, ['ES256']])
      forged.push(`${part({ alg, kid: jwk.kid })}.${claims}.`);
    for (const secret of [pem, JSON.stringify(jwk), String(jwk.x), ''])
      for (const alg of ['HS256', 'HS512', 'ES256']) {
        const text = `${part({ alg, kid: jwk.kid })}.${claims}`;
        forged.push(`${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`);
      }
    // Zero for both halves of the signature: a checker that forgets to look takes it for any message.
    forged.push(
      `${part({ alg: 'ES256', kid: jwk.kid })}.${claims}.${Buffer.alloc(64).toString('base64url')}`,
    );
    for (const token of forged)
      expect(await signIn('good', token), token.slice(0, 60)).toMatchObject({
        status: 400,
        body: { code: 530_020 },
      });
  });

  test('cannot bring its own key in the header, nor a URL to fetch one', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { port } = inside.address() as AddressInfo;
    const own = await exportJWK(publicKey);
    const place = `https://127.0.0.1:${port}/jwks`;
    const { issuer, keys } = issuerOf('good');
    for (const header of [
      { jwk: own },
      { jku: place },
      { x5u: place },
      { x5c: ['MIIB'] },
      { crit: ['exp'] },
      { b64: false, crit: ['b64'] },
    ]) {
      const nowSec = Math.floor(Date.now() / 1000);
      const token = await new SignJWT({
        iss: issuer,
        aud: 'game',
        sub: 'known',
        iat: nowSec,
        exp: nowSec + 600,
      })
        .setProtectedHeader({ alg: 'ES256', kid: keys[0]!.jwk.kid!, ...header } as never)
        .sign(privateKey)
        .catch(() => `${part({ alg: 'ES256', kid: keys[0]!.jwk.kid, ...header })}.e30.AAAA`);
      expect((await signIn('good', token)).status, JSON.stringify(header)).toBe(400);
    }
    expect(reached).toBe(0);
  });

  test('is refused with 400 in any form', async () => {
    const deep = `${'['.repeat(3_000)}${']'.repeat(3_000)}`;
    const head = part({ alg: 'ES256', kid: 'key-0' });
    const odd = [
      '.',
      '..',
      'a.b.c',
      `${head}.${part(deep)}.x`,
      `${part(deep)}.e30.x`,
      `${head}.${part('null')}.x`,
      `${head}.${part('{"iss":')}.x`,
      'x'.repeat(10_240),
      '\u0000.\ud800.x',
      `${head}.${part({ iss: { toString: 1 } })}.x`,
      '..'.repeat(5_000),
    ];
    for (const token of odd) {
      const answer = await signIn('good', token);
      expect(answer.status, token.slice(0, 40)).toBe(400);
    }
    for (const sub of ['', 'x'.repeat(1_025), 'a\u0000b', '\ud800', 7, null, {}])
      expect(
        (await signIn('good', await issuerOf('good').idToken({ sub }))).status,
        JSON.stringify(sub),
      ).toBe(400);
  });
});

describe('an issuer', () => {
  test('delays only its own players when it never answers, and within a timeout', async () => {
    issuerOf('hanging').override(DISCOVERY, { hang: true });
    issuerOf('slow').override('/jwks', { hang: true });
    const startedMs = Date.now();
    const waiting = Promise.all([signInAs('hanging', 'a'), signInAs('hanging', 'b'), signInAs('slow', 'a')]);
    for (let others = 0; others < 5; others += 1)
      expect((await signInAs('good', `other ${others}`)).status).toBe(200);
    expect(Date.now() - startedMs).toBeLessThan(TIMEOUT_MS / 3);
    const codes = (await waiting).map(({ status, body }) => [status, body.code]);
    expect(codes).toEqual([
      [400, 530_008],
      [400, 530_008],
      [400, 530_009],
    ]);
    expect(Date.now() - startedMs).toBeLessThan(TIMEOUT_MS);
  }, 60_000);

  test('is refused when its documents are larger than allowed', async () => {
    issuerOf('huge').override('/jwks', { body: `{"keys":[${'{"kty":"RSA"},'.repeat(2_000_000)}{}]}` });
    expect(await signInAs('huge', 'a')).toMatchObject({ status: 400, body: { code: 530_009 } });
  });

  test('is rejected when it redirects, and the redirect is not followed', async () => {
    const { port } = inside.address() as AddressInfo;
    for (const location of [
      `https://127.0.0.1:${port}/`,
      `http://127.0.0.1:${port}/`,
      `${issuerOf('good').issuer}${DISCOVERY}`,
    ]) {
      issuerOf('moved').override(DISCOVERY, { status: 302, headers: { location } });
      expect((await signInAs('moved', 'a')).body.code, location).toBe(530_008);
    }
    expect(reached).toBe(0);
  });

  test('cannot make the server request an internal address, in any spelling', async () => {
    const { port } = inside.address() as AddressInfo;
    const { issuer } = issuerOf('inward');
    const hosts = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '017700000001',
      'localhost',
      'LOCALHOST.',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[0:0:0:0:0:ffff:127.0.0.1]',
      '0.0.0.0',
      '[::]',
      '①②⑦.0.0.1',
      '127.0.0.1%2f.example.org',
      'user@127.0.0.1',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
    ];
    for (const host of hosts)
      for (const url of [`https://${host}:${port}/jwks`, `http://${host}:${port}/jwks`]) {
        issuerOf('inward').override(DISCOVERY, {
          body: JSON.stringify({ issuer, jwks_uri: url, id_token_signing_alg_values_supported: ['ES256'] }),
        });
        const { admin } = server.info;
        const answer = await fetch(
          `${admin.url}/applications/${games.get('inward')!.id}/identity-providers`,
          {
            method: 'POST',
            headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
            body: JSON.stringify({ type: 'OIDC', issuer, client_id: 'game' }),
          },
        );
        expect(answer.status, url).toBe(400);
      }
    expect((await signInAs('inward', 'a')).status).toBe(400);
    expect(reached).toBe(0);
  });

  test('is refused when its documents are garbage', async () => {
    const { issuer } = issuerOf('garbled');
    const good = issuerOf('garbled').discovery();
    const bodies = [
      '',
      'null',
      '[]',
      '{',
      '"x"',
      `${'['.repeat(50_000)}`,
      JSON.stringify({ ...good, issuer: `${issuer}/` }),
      JSON.stringify({ ...good, issuer: issuerOf('good').issuer }),
      JSON.stringify({ ...good, id_token_signing_alg_values_supported: ['none', 'HS256'] }),
      JSON.stringify({ ...good, jwks_uri: ['x'] }),
      '{"__proto__":{"issuer":"x"}}',
    ];
    for (const body of bodies) {
      issuerOf('garbled').override(DISCOVERY, { body });
      const { admin } = server.info;
      const answer = await fetch(`${admin.url}/applications/${games.get('garbled')!.id}/identity-providers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ type: 'OIDC', issuer, client_id: 'game' }),
      });
      expect(answer.status, body.slice(0, 60)).toBe(400);
    }
  });

  test('receives at most two requests for 200 tokens with unknown keys', async () => {
    expect((await signInAs('flooded', 'a')).status).toBe(200);
    const before = issuerOf('flooded').requests.length;
    const tokens = Array.from({ length: 200 }, (_, index) =>
      issuerOf('flooded').idToken({ sub: 'a' }, { kid: `none ${index}` }),
    );
    for (const answer of await Promise.all(tokens.map(async (token) => signIn('flooded', await token))))
      expect(answer.body.code).toBe(530_020);
    expect(issuerOf('flooded').requests.length - before).toBeLessThanOrEqual(2);
  });

  test('may rotate its keys; the new key is accepted soon, and the old one no more', async () => {
    const old = await issuerOf('rotated').idToken({ sub: 'a' });
    expect((await signIn('rotated', old)).status).toBe(200);
    await issuerOf('rotated').rotate('RS256', true);
    const fresh = await issuerOf('rotated').idToken({ sub: 'a' });
    await expect
      .poll(async () => (await signIn('rotated', fresh)).status, { timeout: 20_000, interval: 1_000 })
      .toBe(200);
    expect(await signIn('rotated', old)).toMatchObject({ status: 400, body: { code: 530_020 } });
  }, 60_000);
});

/** A person who lets the good game act for them, and a code for it. */
async function agreed(username: string) {
  const { user, token } = await server.admin<{ user: { id: string }; token: string }>('/users', { username });
  const game = games.get('good')!;
  const asked = { response_type: 'code', redirect_uri: CALLBACK, scope: 'openid sdk.social_layer' };
  const code = async () =>
    new URL((await game.decide(token, asked)).body.location!).searchParams.get('code')!;
  return { id: user.id, token, code };
}

const merge = async (code: string, sub: string) =>
  games.get('good')!.post<{ code?: number; access_token?: string }>('token', {
    grant_type: 'authorization_code',
    redirect_uri: CALLBACK,
    code,
    external_auth_type: 'OIDC',
    external_auth_token: await issuerOf('good').idToken({ sub }),
  });

const whoHas = async (sub: string) =>
  (await signInAs('good', sub)).body as { code?: number; user_id?: string };

describe('players and accounts', () => {
  test('are linked one to one under concurrent attempts', async () => {
    const people = await Promise.all(Array.from({ length: 6 }, (_, index) => agreed(`links.${index}`)));
    await signInAs('good', 'wanted');
    const codes = await Promise.all(people.map(({ code }) => code()));
    const answers = await Promise.all(codes.map((code) => merge(code, 'wanted')));
    const winners = people.filter((_, index) => answers[index]!.status === 200);
    expect(winners).toHaveLength(1);
    expect(await whoHas('wanted')).toMatchObject({ code: 530_010, user_id: winners[0]!.id });

    const [one] = [await agreed('links.many')];
    const subs = Array.from({ length: 6 }, (_, index) => `of one ${index}`);
    for (const sub of subs) await signInAs('good', sub);
    const own = await Promise.all(subs.map(() => one.code()));
    const merged = await Promise.all(own.map((code, index) => merge(code, subs[index]!)));
    expect(merged.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status } of merged) expect([200, 400, 423]).toContain(status);
    const held = await Promise.all(subs.map(whoHas));
    expect(held.filter(({ user_id }) => user_id === one.id)).toHaveLength(1);
  });

  test('come to one end when they are linked, parted and banned at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const sub = `torn ${round}`;
      const who = await agreed(`torn.${round}`);
      await signInAs('good', sub);
      const code = await who.code();
      const token = await issuerOf('good').idToken({ sub });
      const unmerge = () =>
        ask(server, null, ['POST', '/partner-sdk/provisional-accounts/unmerge', proof('good', token)]);
      const answers = await Promise.all([
        merge(code, sub),
        unmerge(),
        signIn('good', token),
        server.admin(`/users/${who.id}/ban`, {}).then(() => ({ status: 204 })),
        unmerge(),
        signIn('good', token),
      ]);
      for (const { status } of answers) expect(status).toBeLessThan(500);
      const [merged] = answers;
      const access = (merged as { body?: { access_token?: string } }).body?.access_token;
      if (access) expect((await server.restOf(`Bearer ${access}`).ask('get_my_user')).status).toBe(401);
      // Banned, the account has no player, and the player an account of their own.
      await expect.poll(async () => (await signInAs('good', sub)).status, { timeout: 20_000 }).toBe(200);
    }
  });
});

test('the server survives all attacks without a logged fault and within bounded memory', async () => {
  expect(server.complaints).toEqual([]);
  expect((await server.rssBytes()) - startedBytes).toBeLessThan(GREW_BYTES_MAX);
});

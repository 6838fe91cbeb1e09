// Goal: a proof of a player counts only if its provider stands behind it now, and a provider is never asked too often.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import type { ProviderSettings } from '../../../engine/provisional/providers.ts';
import type { ApplicationId } from '../../../protocol/ids.ts';
import { KEY_SET_BOUNDS, KeySets } from '../../../services/players/keysets.ts';
import type { OutgoingHttp } from '../../../services/players/ports.ts';
import { createVerifiers, type ForeignAuthType } from '../../../services/players/verifiers.ts';
import { createOutgoing } from '../../../transports/outgoing/providers.ts';
import { openIssuer } from '../../support/oidc.ts';
import { codeOf, ScriptedOutgoing } from './arrange.ts';

const GAME = '500' as ApplicationId;
const SECOND_MS = 1_000;

/** Verifiers of a game that has set up one provider. */
function verifiersOf(settings: ProviderSettings | null, outgoing: OutgoingHttp, clock = new VirtualClock()) {
  const keySets = new KeySets({ outgoing, monotonic: () => clock.monotonic() });
  const verifiers = createVerifiers({
    keySets,
    outgoing,
    settings: async (_, type) => (settings?.type === type ? settings : null),
    nowMs: () => clock.now(),
  });
  const verify = (type: ForeignAuthType, token: string) => verifiers[type].verify(GAME, token);
  return { clock, keySets, verify };
}

describe('an ID token of an OIDC issuer', () => {
  let issuer: Awaited<ReturnType<typeof openIssuer>>;
  let at: ReturnType<typeof verifiersOf>;
  beforeAll(async () => {
    issuer = await openIssuer();
  });
  afterAll(() => issuer.close());
  beforeEach(async () => {
    await issuer.rotate('ES256', true);
    for (const path of ['/jwks', '/.well-known/openid-configuration']) issuer.override(path, null);
    issuer.requests.length = 0;
    const outgoing = createOutgoing({
      privateOrigins: new Set([issuer.issuer]),
      extraCa: issuer.ca,
      timeoutMs: 5_000,
      bytesMax: 100_000,
      requestsMax: 8,
    });
    at = verifiersOf({ type: 'OIDC', issuer: issuer.issuer, clientId: 'game' }, outgoing);
  });
  const token = (claims: object = {}, header: object = {}) => issuer.idToken(claims, header, at.clock.now());
  const check = async (text: string) => codeOf(await at.verify('OIDC', text));

  test('names the player, and its keys are fetched once', async () => {
    const named = await token({ sub: 'p1', preferred_username: 'Ada' });
    const player = {
      providerType: 'OIDC',
      providerId: issuer.issuer,
      providerIssuedUserId: 'p1',
      name: 'Ada',
    };
    expect(await at.verify('OIDC', named)).toEqual({ ok: true, value: player });
    await Promise.all(Array.from({ length: 10 }, async () => expect(await check(named)).toBe(0)));
    expect(issuer.requests).toEqual(['/.well-known/openid-configuration', '/jwks']);
  });

  test('is accepted with RSA', async () => {
    await issuer.rotate('RS256');
    expect(await check(await token())).toBe(0);
  });

  test.each([
    [{ iss: 'https://evil.example.org' }, {}, 530_002],
    [{ aud: 'other' }, {}, 530_003],
    [{ exp: 1 }, {}, 530_001],
    [{ iat: 1 }, {}, 530_004],
    [{ sub: undefined }, {}, 530_020],
    [{}, { kid: undefined }, 530_027],
  ])('is refused for claims %j and header %j with %i, without a request', async (claims, header, code) => {
    expect(await check(await token(claims, header))).toBe(code);
    expect(issuer.requests).toEqual([]);
  });

  test('is rejected when altered, unsigned or signed with another key', async () => {
    const good = await token();
    const [head, body, signature] = good.split('.') as [string, string, string];
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    const header = JSON.parse(Buffer.from(head, 'base64url').toString());
    const bent = [
      `${head}.${encode({ ...claims, sub: 'another' })}.${signature}`,
      `${encode({ alg: 'none', kid: header.kid })}.${body}.`,
      `${encode({ ...header, alg: 'HS256' })}.${body}.${signature}`,
      `${encode({ ...header, alg: 'RS256' })}.${body}.${signature}`,
      `${encode({ ...header, crit: ['exp'] })}.${body}.${signature}`,
      `${head}.${body}`,
      `${head}..${signature}`,
      'a.b.c',
      '....',
      'hello',
    ];
    for (const text of bent) expect(await check(text), text).toBe(530_020);
    expect(await check(good)).toBe(0);
  });

  test('causes a fetch of the keys for an unknown key id, at a bounded rate', async () => {
    expect(await check(await token())).toBe(0);
    await issuer.rotate('ES256', true);
    const rotated = await token();
    expect(await check(rotated)).toBe(530_020);
    at.clock.advance(KEY_SET_BOUNDS.retry_ms);
    issuer.requests.length = 0;
    const forged = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => check(await token({}, { kid: `unknown-${index}` }))),
    );
    expect(new Set(forged)).toEqual(new Set([530_020]));
    expect(issuer.requests).toEqual(['/jwks']);
    expect(await check(rotated)).toBe(0);
  });

  test('signed with a withdrawn key is rejected when the cached keys expire', async () => {
    const old = await issuer.idToken({ exp: 4_000_000_000 }, {}, at.clock.now());
    expect(await check(old)).toBe(0);
    await issuer.rotate('ES256', true);
    at.clock.advance(KEY_SET_BOUNDS.keys_age_ms + SECOND_MS);
    expect(await check(old)).toBe(530_020);
  });

  test('is accepted for a day while the issuer cannot be reached', async () => {
    const long = await issuer.idToken({ exp: 4_000_000_000 }, {}, at.clock.now());
    expect(await check(long)).toBe(0);
    issuer.override('/jwks', { status: 500 });
    at.clock.advance(KEY_SET_BOUNDS.keys_age_ms + SECOND_MS);
    expect(await check(long)).toBe(0);
    at.clock.advance(KEY_SET_BOUNDS.stale_age_ms);
    expect(await check(long)).toBe(530_009);
  });

  test.each([
    ['/.well-known/openid-configuration', { status: 404 }, 530_008],
    ['/.well-known/openid-configuration', { body: '[]' }, 530_008],
    ['/.well-known/openid-configuration', { status: 302, headers: { location: '/jwks' } }, 530_008],
    ['/jwks', { status: 404 }, 530_009],
    ['/jwks', { body: '{}' }, 530_009],
    ['/jwks', { body: 'null' }, 530_009],
    ['/jwks', { status: 301, headers: { location: '/keys' } }, 530_009],
  ])('ends when %s answers %j with %i, and the issuer gets time', async (path, answer, code) => {
    issuer.override(path, answer);
    const text = await token();
    expect(await check(text)).toBe(code);
    const asked = issuer.requests.length;
    expect(await check(text)).toBe(code);
    expect(issuer.requests).toHaveLength(asked);
    issuer.override(path, null);
    at.clock.advance(KEY_SET_BOUNDS.retry_ms);
    expect(await check(text)).toBe(0);
  });

  test('waits for one shared attempt when its issuer hangs', async () => {
    let asked = 0;
    const outgoing: OutgoingHttp = {
      allowsPrivate: () => false,
      async json() {
        asked += 1;
        await Promise.resolve();
        hung.clock.advance(KEY_SET_BOUNDS.retry_ms + SECOND_MS);
        throw new Error('It does not answer.');
      },
    };
    const hung = verifiersOf({ type: 'OIDC', issuer: issuer.issuer, clientId: 'game' }, outgoing);
    const text = await issuer.idToken({ exp: 4_000_000_000 }, {}, hung.clock.now());
    const waiting = Array.from({ length: 20 }, async () => codeOf(await hung.verify('OIDC', text)));
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([530_008]));
    expect(asked).toBe(1);
  });

  test('is never verified with a shared or private key of the document', async () => {
    const { jwk } = issuer.keys[0]!;
    const secret = { kty: 'oct', k: 'c2VjcmV0', kid: 'shared', alg: 'HS256' };
    issuer.override('/jwks', { body: JSON.stringify({ keys: [5, null, secret, { ...jwk, d: 'AAAA' }] }) });
    expect(await check(await token({}, { kid: 'shared' }))).toBe(530_020);
    expect(await check(await token())).toBe(0);
  });
});

describe('an issuer', () => {
  test('is probed before it is configured', async () => {
    const outgoing = new ScriptedOutgoing();
    const { keySets } = verifiersOf(null, outgoing);
    const issuer = 'https://id.example.org';
    expect(codeOf(await keySets.probe(issuer))).toBe(530_008);
    outgoing.answers.set(`${issuer}/.well-known/openid-configuration`, {
      issuer,
      jwks_uri: `${issuer}/jwks`,
      id_token_signing_alg_values_supported: ['ES256'],
    });
    expect(codeOf(await keySets.probe(issuer))).toBe(530_009);
    outgoing.answers.set(`${issuer}/jwks`, { keys: [] });
    expect(codeOf(await keySets.probe(issuer))).toBe(0);
  });
});

describe('a session ticket', () => {
  const API = 'https://partner.steam-api.com';
  const CHECK = `${API}/ISteamUserAuth/AuthenticateUserTicket/v1/`;
  const settings = { type: 'STEAM', appId: '480', webApiKey: 'KEY' } as const;
  const passed = (more: object = {}) => ({
    response: { params: { result: 'OK', steamid: '76561198000000000', publisherbanned: false, ...more } },
  });

  test('is verified at the provider, which names the player', async () => {
    const outgoing = new ScriptedOutgoing();
    const { verify } = verifiersOf(settings, outgoing);
    outgoing.answers.set(CHECK, passed());
    const player = { providerType: 'STEAM', providerId: null, providerIssuedUserId: '76561198000000000' };
    expect(await verify('STEAM_SESSION_TICKET', '14aF')).toEqual({
      ok: true,
      value: { ...player, name: null },
    });
    outgoing.answers.set(`${API}/ISteamUser/GetPlayerSummaries/v2/`, {
      response: { players: [{ personaname: 'Ada' }] },
    });
    expect(await verify('STEAM_SESSION_TICKET', '14aF')).toMatchObject({ value: { name: 'Ada' } });
    expect(outgoing.asked[0]).toBe(`${CHECK}?key=KEY&appid=480&ticket=14aF`);
  });

  test.each([
    ['14aF', undefined],
    ['14aF', {}],
    ['14aF', { response: { error: { errorcode: 101 } } }],
    ['14aF', passed({ result: 'Fail' })],
    ['14aF', passed({ steamid: '1' })],
    ['14aF', passed({ steamid: { a: 1 } })],
    ['14aF', passed({ publisherbanned: true })],
    ['14aF&steamid=1', passed()],
    ['zz', passed()],
  ])('%s does not count when the provider says %j', async (ticket, answer) => {
    const outgoing = new ScriptedOutgoing();
    if (answer) outgoing.answers.set(CHECK, answer);
    const { verify } = verifiersOf(settings, outgoing);
    expect(codeOf(await verify('STEAM_SESSION_TICKET', ticket))).toBe(50_025);
  });
});

describe('an access token of the account service', () => {
  const API = 'https://api.epicgames.dev/epic';
  const ACCOUNT = 'ab'.repeat(16);
  const settings = { type: 'EPIC_ONLINE_SERVICES', clientId: 'client' } as const;

  test('is verified at the provider, which names the player', async () => {
    const outgoing = new ScriptedOutgoing();
    const { verify } = verifiersOf(settings, outgoing);
    const info = { active: true, account_id: ACCOUNT, client_id: 'client' };
    outgoing.answers.set(`${API}/oauth/v2/tokenInfo`, info);
    outgoing.answers.set(`${API}/id/v2/accounts`, [{ accountId: ACCOUNT, displayName: 'Ada' }]);
    expect(await verify('EPIC_ONLINE_SERVICES_ACCESS_TOKEN', 'eg1~a&b')).toEqual({
      ok: true,
      value: {
        providerType: 'EPIC_ONLINE_SERVICES',
        providerId: null,
        providerIssuedUserId: ACCOUNT,
        name: 'Ada',
      },
    });
    expect(outgoing.asked[0]).toBe(`${API}/oauth/v2/tokenInfo token=eg1%7Ea%26b`);
    for (const wrong of [{ active: false }, { client_id: 'other' }, { account_id: '../x' }]) {
      outgoing.answers.set(`${API}/oauth/v2/tokenInfo`, { ...info, ...wrong });
      expect(codeOf(await verify('EPIC_ONLINE_SERVICES_ACCESS_TOKEN', 'eg1'))).toBe(50_025);
    }
    expect(codeOf(await verify('EPIC_ONLINE_SERVICES_ACCESS_TOKEN', 'a\r\nb'))).toBe(50_025);
  });
});

describe('ID tokens of providers with one issuer', () => {
  test.each([
    ['EPIC_ONLINE_SERVICES_ID_TOKEN', { type: 'EPIC_ONLINE_SERVICES', clientId: 'game' }],
    ['UNITY_SERVICES_ID_TOKEN', { type: 'UNITY', projectId: 'game' }],
    ['APPLE_ID_TOKEN', { type: 'APPLE', clientId: 'game' }],
    [
      'PLAYSTATION_NETWORK_ID_TOKEN',
      { type: 'PLAYSTATION_NETWORK', issuer: 'https://id.example.org', clientId: 'game' },
    ],
  ] as const)('%s is checked against its own issuer', async (type, settings) => {
    const outgoing = new ScriptedOutgoing();
    const { clock, verify } = verifiersOf(settings, outgoing);
    const nowSec = Math.floor(clock.now() / 1000);
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { iss: 'https://evil.example.org', aud: 'game', sub: 'p', iat: nowSec, exp: nowSec + 60 };
    const token = `${encode({ alg: 'RS256', kid: 'a' })}.${encode(claims)}.AAAA`;
    expect(codeOf(await verify(type, token))).toBe(530_002);
    expect(codeOf(await verifiersOf(null, outgoing).verify(type, token))).toBe(530_000);
    expect(outgoing.asked).toEqual([]);
  });
});

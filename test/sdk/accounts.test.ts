// Goal: sign-in asks the right page, believes the right answer alone, and tokens are exchanged as the standards say.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AuthorizationArgs, readRedirect } from '../../sdk/authorize.ts';
import {
  AuthenticationExternalAuthType,
  AuthorizationTokenType,
  ErrorType,
  IntegrationType,
} from '../../sdk/enums.ts';
import { base64Url, createVerifier } from '../../sdk/pkce.ts';
import { ACCESS_TOKEN, APPLICATION, ME, refusal, scriptedClient, settle } from '../support/sdk.ts';

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 2, 1, 12) }));
afterEach(() => void vi.useRealTimers());

const client_ = () => scriptedClient({ applicationId: APPLICATION });
const REDIRECT = 'http://127.0.0.1:7777/callback';
const tokens = {
  access_token: 'a.b.c',
  refresh_token: 'r.s.t',
  token_type: 'Bearer',
  expires_in: 604_800,
  scope: 'openid',
};

async function asking(args: Partial<AuthorizationArgs> = {}) {
  const { client, server } = client_();
  const answer = client.authorize({ scopes: 'openid  sdk.social_layer', ...args });
  answer.catch(() => {});
  await settle();
  const page = new URL(server.opened.at(-1)!);
  return { client, server, answer, page, state: page.searchParams.get('state')! };
}

describe('authorize', () => {
  test('opens the consent page, and resolves with the code of the redirect', async () => {
    const { codeChallenge, verifier } = await createVerifier().then(({ challenge, verifier: text }) => ({
      codeChallenge: challenge,
      verifier: text,
    }));
    const args = { codeChallenge, nonce: 'n-1', integrationType: IntegrationType.UserInstall };
    const { server, answer, page, state } = await asking(args);
    expect(`${page.origin}${page.pathname}`).toBe('http://server.test/oauth2/authorize');
    expect(Object.fromEntries(page.searchParams)).toEqual({
      client_id: APPLICATION,
      response_type: 'code',
      scope: 'openid sdk.social_layer',
      redirect_uri: REDIRECT,
      state,
      nonce: 'n-1',
      code_challenge: codeChallenge.challenge,
      code_challenge_method: 'S256',
      integration_type: '1',
    });
    expect(state.length).toBeGreaterThanOrEqual(43);
    expect(page.href).not.toContain(verifier);
    expect(server.redirect?.arrived(`${REDIRECT}?code=c0de&state=${state}`)).toBe(true);
    expect(await answer).toEqual({ code: 'c0de', redirectUri: REDIRECT });
    expect(server.redirect?.closed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('ignores redirects with another state or address, and keeps waiting', async () => {
    const { server, answer, state } = await asking();
    const { arrived } = server.redirect!;
    for (const forged of [
      `${REDIRECT}?code=evil&state=guess`,
      `${REDIRECT}?code=evil`,
      `http://127.0.0.1:7777/other?code=evil&state=${state}`,
      `https://evil.test/callback?code=evil&state=${state}`,
      'nonsense',
    ])
      expect(arrived(forged)).toBe(false);
    expect(arrived(`${REDIRECT}?code=good&state=${state}`)).toBe(true);
    expect((await answer).code).toBe('good');
  });

  test('two questions never have the same state', async () => {
    const states = new Set<string>();
    for (let times = 0; times < 20; times++) states.add((await asking()).state);
    expect(states.size).toBe(20);
  });

  test('is refused when the person declines, gives up, closes the window or does nothing', async () => {
    const declined = await asking();
    declined.server.redirect!.arrived(`${REDIRECT}?error=access_denied&state=${declined.state}`);
    expect((await refusal(declined.answer)).type).toBe(ErrorType.AuthorizationFailed);
    const abortedOne = await asking();
    abortedOne.client.abortAuthorize();
    expect((await refusal(abortedOne.answer)).type).toBe(ErrorType.Aborted);
    const closed = await asking();
    closed.server.redirect!.gone();
    expect((await refusal(closed.answer)).type).toBe(ErrorType.Aborted);
    const idle = await asking();
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    expect((await refusal(idle.answer)).type).toBe(ErrorType.NetworkError);
  });

  test('asks one question at a time', async () => {
    const { client, answer } = await asking();
    const second = client.authorize({ scopes: 'openid' });
    expect((await refusal(answer)).type).toBe(ErrorType.Aborted);
    client.abortAuthorize();
    expect((await refusal(second)).type).toBe(ErrorType.Aborted);
  });

  test('is completed by the application for a custom scheme', async () => {
    const { client, server, answer, page, state } = await asking({ customSchemeParam: 'mygame' });
    expect(server.redirect).toBeNull();
    expect(page.searchParams.get('redirect_uri')).toBe('mygame:/authorize/callback');
    expect(client.completeAuthorize(`mygame:/authorize/callback?code=evil&state=other`)).toBe(false);
    expect(client.completeAuthorize(`mygame:/authorize/callback?code=c0de&state=${state}`)).toBe(true);
    expect(await answer).toEqual({ code: 'c0de', redirectUri: 'mygame:/authorize/callback' });
    expect(client.completeAuthorize(`mygame:/authorize/callback?code=c0de&state=${state}`)).toBe(false);
  });

  test.each(['my game', 'javascript:alert(1)', '1x', ''])('%j is no scheme', async (scheme) => {
    const { client } = client_();
    const { type } = await refusal(client.authorize({ scopes: 'openid', customSchemeParam: scheme }));
    expect(type).toBe(ErrorType.ValidationError);
  });

  test('reads any address without throwing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl({ withQueryParameters: true })), (address) => {
        expect(readRedirect(address, { redirectUri: REDIRECT, state: 's' })).toBeNull();
      }),
    );
  });
});

describe('arguments', () => {
  test('can be tested, copied, and stand for none', () => {
    const args = new AuthorizationArgs({
      clientId: APPLICATION,
      scopes: 'openid',
      codeChallenge: { method: 0, challenge: 'x' },
    });
    expect([args.valid(), AuthorizationArgs.nullobj.valid(), new AuthorizationArgs().valid()]).toEqual([
      true,
      false,
      false,
    ]);
    const copy = args.copy();
    copy.scopes = 'openid email';
    expect(args.scopes).toBe('openid');
    expect(copy.codeChallenge).toEqual(args.codeChallenge);
    expect(copy.codeChallenge).not.toBe(args.codeChallenge);
    expect(() => {
      AuthorizationArgs.nullobj.scopes = 'openid';
    }).toThrow(TypeError);
  });
});

describe('a verifier', () => {
  test('has the form and the challenge of RFC 7636', async () => {
    const { verifier, challenge } = await createVerifier();
    expect(verifier).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
    expect(challenge).toEqual({ method: 0, challenge: Buffer.from(hash).toString('base64url') });
  });

  test('is written as base64url', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(base64Url(bytes)).toBe(Buffer.from(bytes).toString('base64url'));
      }),
    );
  });
});

describe('tokens', () => {
  const external = AuthenticationExternalAuthType;
  type TestClient = ReturnType<typeof client_>['client'];
  test.each<[string, (client: TestClient) => Promise<unknown>, string, object]>([
    [
      'of a code',
      (client) => client.getToken(APPLICATION, 'c0de', 'verifier', REDIRECT),
      '/oauth2/token',
      {
        grant_type: 'authorization_code',
        client_id: APPLICATION,
        code: 'c0de',
        code_verifier: 'verifier',
        redirect_uri: REDIRECT,
      },
    ],
    [
      'of a code, with what was done without an account',
      (client) =>
        client.getTokenFromProvisionalMerge(
          APPLICATION,
          'c0de',
          'verifier',
          REDIRECT,
          external.OIDC,
          'ticket',
        ),
      '/oauth2/token',
      {
        grant_type: 'authorization_code',
        client_id: APPLICATION,
        code: 'c0de',
        code_verifier: 'verifier',
        redirect_uri: REDIRECT,
        external_auth_type: 'OIDC',
        external_auth_token: 'ticket',
      },
    ],
    [
      'again',
      (client) => client.refreshToken(APPLICATION, 'r.s.t'),
      '/oauth2/token',
      { grant_type: 'refresh_token', client_id: APPLICATION, refresh_token: 'r.s.t' },
    ],
    [
      'without an account',
      (client) => client.getProvisionalToken(APPLICATION, external.SteamSessionTicket, 'ticket'),
      '/partner-sdk/token',
      { client_id: APPLICATION, external_auth_type: 'STEAM_SESSION_TICKET', external_auth_token: 'ticket' },
    ],
    [
      'of a child',
      (client) => client.exchangeChildToken('parent', '5002'),
      '/partner-sdk/child-token',
      { parent_access_token: 'parent', child_application_id: '5002' },
    ],
  ])('%s', async (_, call, path, body) => {
    const { client, server } = client_();
    server.answer(`POST ${path}`, () => ({ body: tokens }));
    expect(await call(client)).toEqual({
      accessToken: 'a.b.c',
      refreshToken: 'r.s.t',
      tokenType: 'Bearer',
      expiresIn: 604_800,
      scopes: 'openid',
      idToken: '',
    });
    expect(server.asked).toMatchObject([{ path, body, authorization: null }]);
  });

  test('are revoked, and accounts unmerged', async () => {
    const { client, server } = client_();
    server.answer('POST /oauth2/token/revoke', () => ({}));
    server.answer('POST /partner-sdk/provisional-accounts/unmerge', () => ({ status: 204 }));
    await client.revokeToken(APPLICATION, 'a.b.c');
    await client.unmergeIntoProvisionalAccount(APPLICATION, external.AppleIdToken, 'ticket');
    expect(server.asked.map(({ body }) => body)).toEqual([
      { client_id: APPLICATION, token: 'a.b.c' },
      { client_id: APPLICATION, external_auth_type: 'APPLE_ID_TOKEN', external_auth_token: 'ticket' },
    ]);
  });

  test('are not sent when they are empty, and the error names which', async () => {
    const { client, server } = client_();
    const words: [Promise<unknown>, string][] = [
      [client.refreshToken(APPLICATION, ''), 'refreshToken is empty'],
      [client.revokeToken(APPLICATION, ''), 'The token to revoke is empty'],
      [client.exchangeChildToken('', '5002'), 'parentApplicationToken is empty'],
      [client.getProvisionalToken(APPLICATION, external.OIDC, ''), 'The external token is empty'],
      [client.getToken(APPLICATION, '', 'verifier', REDIRECT), 'code is empty'],
    ];
    for (const [call, expected] of words) {
      const { type, message } = await refusal(call);
      expect([type, message]).toEqual([ErrorType.ValidationError, expect.stringContaining(expected)]);
    }
    const long = client.getProvisionalToken(APPLICATION, external.OIDC, 'x'.repeat(10_241));
    expect((await refusal(long)).message).toContain('at most 10240 are allowed');
    expect(server.asked).toEqual([]);
  });

  test('are refused when the answer holds no token', async () => {
    const { client, server } = client_();
    for (const body of [{}, { access_token: 5 }, [], 'text', { access_token: '' }]) {
      server.answer('POST /oauth2/token', () => ({ body }));
      expect((await refusal(client.refreshToken(APPLICATION, 'r.s.t'))).type).toBe(ErrorType.HTTPError);
    }
  });

  test('resolve to their user', async () => {
    const { client, server } = client_();
    server.answer('GET /users/@me', () => ({ body: { id: ME, username: 'me', global_name: 'Me' } }));
    const user = await client.fetchCurrentUser(AuthorizationTokenType.Bearer, ACCESS_TOKEN);
    expect([user.displayName, server.asked[0]?.authorization, client.isAuthenticated()]).toEqual([
      'Me',
      `Bearer ${ACCESS_TOKEN}`,
      false,
    ]);
  });

  test('a display name is changed', async () => {
    const { client, server } = client_();
    await client.updateToken(AuthorizationTokenType.Bearer, ACCESS_TOKEN);
    server.answer('PATCH /users/@me/account', () => ({ body: {} }));
    await client.updateProvisionalAccountDisplayName('Red');
    expect(server.asked[0]?.body).toEqual({ global_name: 'Red' });
  });
});

describe('a device', () => {
  const device = {
    device_code: 'device',
    user_code: 'ABCD-EFGH',
    verification_uri: 'http://server.test/activate',
    verification_uri_complete: 'http://server.test/activate?user_code=ABCD-EFGH',
    expires_in: 60,
    interval: 5,
  };

  function waiting(answers: readonly { status: number; body: object }[]) {
    const { client, server } = client_();
    const polls: number[] = [];
    const startMs = Date.now();
    server.answer('POST /oauth2/device/authorize', () => ({ body: device }));
    server.answer('POST /oauth2/token', () => {
      polls.push((Date.now() - startMs) / 1000);
      return answers[Math.min(polls.length, answers.length) - 1]!;
    });
    let closed = 0;
    client.setAuthorizeDeviceScreenClosedCallback(() => closed++);
    const answer = client.getTokenFromDevice({ scopes: 'openid' });
    answer.catch(() => {});
    return { client, server, polls, answer, closed: () => closed };
  }
  const says = (error: string) => ({ status: 400, body: { error } });

  test('asks as often as the server wants until the person has answered', async () => {
    const { server, polls, answer, closed } = waiting([
      says('authorization_pending'),
      says('slow_down'),
      { status: 503, body: {} },
      { status: 200, body: tokens },
    ]);
    await vi.advanceTimersByTimeAsync(40_000);
    expect((await answer).accessToken).toBe('a.b.c');
    expect(polls).toEqual([5, 10, 20, 30]);
    expect(server.opened).toEqual([device.verification_uri_complete]);
    expect(server.asked.at(-1)?.body).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: APPLICATION,
      device_code: 'device',
    });
    expect(closed()).toBe(1);
  });

  test('ends when the person declines, the code ends, or the application gives up', async () => {
    const declined = waiting([says('access_denied')]);
    await vi.advanceTimersByTimeAsync(5000);
    expect((await refusal(declined.answer)).type).toBe(ErrorType.AuthorizationFailed);
    const late = waiting([says('authorization_pending')]);
    await vi.advanceTimersByTimeAsync(61_000);
    expect((await refusal(late.answer)).type).toBe(ErrorType.NetworkError);
    const expired = waiting([says('expired_token')]);
    await vi.advanceTimersByTimeAsync(5000);
    expect((await refusal(expired.answer)).result.status).toBe(400);
    const given = waiting([says('authorization_pending')]);
    await vi.advanceTimersByTimeAsync(7000);
    given.client.abortGetTokenFromDevice();
    expect((await refusal(given.answer)).type).toBe(ErrorType.Aborted);
    expect(vi.getTimerCount()).toBe(0);
  });
});

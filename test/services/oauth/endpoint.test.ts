// Goal: the token endpoint gives tokens to who may have them, once, and takes them from everyone when one was stolen.
import { afterEach, describe, expect, test } from 'vitest';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import { CODE_LIFE_MS } from '../../../engine/oauth/holdings.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import type { TokenAnswer, TokenRequest } from '../../../services/oauth/ports.ts';
import { ANNA, arrange, BERT, GAME, OTHER } from './arrange.ts';
import { agreedTo, asking, CALLBACK, CHALLENGE, codeIn, tokenRequest, VERIFIER } from './flows.ts';

type World = ReturnType<typeof arrange>;

const given = (reply: Reply<TokenAnswer>): TokenAnswer => {
  if (!reply.ok) throw new Error(JSON.stringify(reply.refusal));
  return reply.value;
};
const refusedAs = (reply: Reply<TokenAnswer>) => (reply.ok ? null : reply.refusal.oauthError);

/** A request with a code that Anna has just agreed to, without PKCE unless `pkce`. */
async function withCode({ oauth, secretOf }: World, pkce = false): Promise<TokenRequest> {
  const challenge = pkce ? { code_challenge: CHALLENGE, code_challenge_method: 'S256' } : {};
  const code = codeIn(await agreedTo(oauth, asking({ scope: 'identify openid', ...challenge })));
  const verifier = pkce ? { codeVerifier: VERIFIER } : {};
  return tokenRequest(secretOf(GAME), {
    grantType: 'authorization_code',
    code,
    redirectUri: CALLBACK,
    ...verifier,
  });
}

const refreshOf = ({ secretOf }: World, tokens: TokenAnswer): TokenRequest =>
  tokenRequest(secretOf(GAME), {
    grantType: 'refresh_token',
    refreshToken: tokens.refreshToken!.reveal(),
  });

describe('an authorization code', () => {
  test('is exchanged for tokens of the user with the agreed scopes', async () => {
    const world = arrange();
    const tokens = given(await world.oauth.token(await withCode(world)));
    expect(tokens).toMatchObject({ expiresInSec: 604_800, guild: null });
    expect(tokens.scopes).toEqual(new Set(['identify', 'openid']));
    expect(tokens.idToken).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(await world.oauth.authenticate(tokens.accessToken.reveal())).toMatchObject({ userId: ANNA });
  });

  test('works once; a second use ends the tokens of the first', async () => {
    const world = arrange();
    const request = await withCode(world);
    const tokens = given(await world.oauth.token(request));
    expect(refusedAs(await world.oauth.token(request))).toBe('invalid_grant');
    expect(await world.oauth.authenticate(tokens.accessToken.reveal())).toBeNull();
    expect(refusedAs(await world.oauth.token(refreshOf(world, tokens)))).toBe('invalid_grant');
    expect(world.log.revoked).toEqual([`${ANNA} ${GAME}`]);
    const whose = { user_id: ANNA, application_id: GAME };
    expect(world.security).toEqual([['authorization_code_reused', whose]]);
  });

  test('yields tokens to one of two clients that exchange it at once, and ends them', async () => {
    const world = arrange();
    const request = await withCode(world);
    const replies = await Promise.all([world.oauth.token(request), world.oauth.token(request)]);
    const [first] = replies.filter(({ ok }) => ok);
    expect(replies.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await world.oauth.authenticate(given(first!).accessToken.reveal())).toBeNull();
  });

  test('expires after ten minutes', async () => {
    const world = arrange();
    const [early, late] = [await withCode(world), await withCode(world)];
    world.clock.nowMs += CODE_LIFE_MS - 1;
    expect((await world.oauth.token(early)).ok).toBe(true);
    world.clock.nowMs += 1;
    expect(refusedAs(await world.oauth.token(late))).toBe('invalid_grant');
  });

  test.each([
    ['another redirect', { redirectUri: `${CALLBACK}/` }],
    ['no redirect', { redirectUri: null }],
    ['an unknown code', { code: 'x.y.z' }],
  ])('is no good with %s, and still is with its own', async (_, change) => {
    const world = arrange();
    const request = await withCode(world);
    expect(refusedAs(await world.oauth.token({ ...request, ...change }))).toBe('invalid_grant');
    expect((await world.oauth.token(request)).ok).toBe(true);
  });

  test('requested without a redirect is exchanged without one', async () => {
    const world = arrange();
    const code = codeIn(await agreedTo(world.oauth, asking({ redirect_uri: null })));
    const request = tokenRequest(world.secretOf(GAME), { grantType: 'authorization_code', code });
    expect((await world.oauth.token(request)).ok).toBe(true);
  });

  test('is useless to another client, which cannot end it either', async () => {
    const world = arrange();
    const request = await withCode(world);
    const foreign = { ...request, clientId: OTHER, clientSecret: world.secretOf(OTHER) };
    expect(refusedAs(await world.oauth.token(foreign))).toBe('invalid_grant');
    expect((await world.oauth.token(request)).ok).toBe(true);
    expect(refusedAs(await world.oauth.token(foreign))).toBe('invalid_grant');
    expect(world.log.revoked).toEqual([]);
  });
});

describe('PKCE', () => {
  test('needs the verifier for a code with a challenge', async () => {
    const world = arrange();
    const request = await withCode(world, true);
    for (const codeVerifier of [null, 'b'.repeat(43), CHALLENGE])
      expect(refusedAs(await world.oauth.token({ ...request, codeVerifier }))).toBe('invalid_grant');
    expect((await world.oauth.token(request)).ok).toBe(true);
  });

  test('rejects a verifier for a code without a challenge, because the challenge may have been stripped', async () => {
    const world = arrange();
    const request = { ...(await withCode(world)), codeVerifier: VERIFIER };
    expect(refusedAs(await world.oauth.token(request))).toBe('invalid_grant');
  });

  test('rejects a malformed verifier', async () => {
    const world = arrange();
    const request = await withCode(world, true);
    expect(refusedAs(await world.oauth.token({ ...request, codeVerifier: 'short' }))).toBe('invalid_request');
  });
});

describe('a client', () => {
  test('authenticates by its secret, or as a public client by a verifier', async () => {
    const world = arrange();
    const request = { ...(await withCode(world, true)), clientSecret: null };
    expect(refusedAs(await world.oauth.token(request))).toBe('invalid_client');
    world.application(GAME, { oauth2: { publicClient: true, approvedScopes: [] } });
    expect((await world.oauth.token(request)).ok).toBe(true);
    const bare = { ...(await withCode(world)), clientSecret: null };
    expect(refusedAs(await world.oauth.token(bare))).toBe('invalid_client');
  });

  test('is rejected for a wrong secret, also where no secret is needed', async () => {
    const world = arrange();
    world.application(GAME, { oauth2: { publicClient: true, approvedScopes: [] } });
    const request = await withCode(world, true);
    for (const clientSecret of ['wrong', world.secretOf(OTHER), `${world.secretOf(GAME)}x`])
      expect(refusedAs(await world.oauth.token({ ...request, clientSecret }))).toBe('invalid_client');
  });

  test.each(['', '0', 'x', '99', '1100000000000000099'])('%j is rejected as unknown', async (clientId) => {
    const world = arrange();
    const request = { ...(await withCode(world)), clientId };
    expect(refusedAs(await world.oauth.token(request))).toBe('invalid_client');
  });

  test.each(['', 'password', 'toString', 'AUTHORIZATION_CODE'])(
    'is refused the grant type %j',
    async (grantType) => {
      const world = arrange();
      const reply = await world.oauth.token(tokenRequest(world.secretOf(GAME), { grantType }));
      expect(refusedAs(reply)).toBe('unsupported_grant_type');
    },
  );
});

describe('a refresh token', () => {
  const TEXT = 'Invalid "refresh_token" in request';

  test('is exchanged for a new pair, and both old tokens end at once', async () => {
    const world = arrange();
    const first = given(await world.oauth.token(await withCode(world)));
    world.clock.nowMs += 1_000;
    const second = given(await world.oauth.token(refreshOf(world, first)));
    expect(await world.oauth.authenticate(first.accessToken.reveal())).toBeNull();
    expect(await world.oauth.authenticate(second.accessToken.reveal())).toMatchObject({ userId: ANNA });
    expect(second).toMatchObject({ expiresInSec: 604_800, scopes: first.scopes });
    expect(second.refreshToken!.reveal()).not.toBe(first.refreshToken!.reveal());
    expect(second.idToken).not.toBeNull();
  });

  test('outlives the access token', async () => {
    const world = arrange();
    const tokens = given(await world.oauth.token(await withCode(world)));
    world.clock.nowMs += 400 * 86_400_000;
    expect(await world.oauth.authenticate(tokens.accessToken.reveal())).toBeNull();
    expect((await world.oauth.token(refreshOf(world, tokens))).ok).toBe(true);
  });

  test('used twice ends its chain, including newer tokens', async () => {
    const world = arrange();
    const first = given(await world.oauth.token(await withCode(world)));
    const second = given(await world.oauth.token(refreshOf(world, first)));
    const third = given(await world.oauth.token(refreshOf(world, second)));
    const reply = await world.oauth.token(refreshOf(world, first));
    expect(reply).toMatchObject({ ok: false, refusal: { status: 400, message: TEXT } });
    expect(await world.oauth.authenticate(third.accessToken.reveal())).toBeNull();
    expect(refusedAs(await world.oauth.token(refreshOf(world, third)))).toBe('invalid_grant');
    expect(world.log.revoked).toEqual([`${ANNA} ${GAME}`]);
    const whose = { user_id: ANNA, application_id: GAME };
    expect(world.security).toEqual([['refresh_token_reused', whose]]);
  });

  test('survives when another chain of the same user and application ends', async () => {
    const world = arrange();
    const [stolen, other] = [
      given(await world.oauth.token(await withCode(world))),
      given(await world.oauth.token(await withCode(world))),
    ];
    for (let turn = 0; turn < 2; turn += 1) await world.oauth.token(refreshOf(world, stolen));
    expect((await world.oauth.token(refreshOf(world, other))).ok).toBe(true);
  });

  test('fails with one refusal, whatever the cause', async () => {
    const world = arrange();
    const tokens = given(await world.oauth.token(await withCode(world)));
    const good = refreshOf(world, tokens);
    const revoked = given(await world.oauth.token(await withCode(world)));
    const foreign = { ...good, clientId: OTHER, clientSecret: world.secretOf(OTHER) };
    const causes = [
      { ...good, refreshToken: null },
      { ...good, refreshToken: 'nonsense' },
      { ...good, refreshToken: tokens.accessToken.reveal() },
      foreign,
    ];
    const replies = [];
    for (const request of causes) replies.push(await world.oauth.token(request));
    await world.oauth.deauthorize(ANNA, GAME);
    replies.push(await world.oauth.token(refreshOf(world, revoked)));
    for (const reply of replies) expect(reply).toEqual(replies[0]);
    expect(replies[0]).toMatchObject({
      refusal: { status: 400, oauthError: 'invalid_grant', message: TEXT },
    });
  });
});

describe('client credentials', () => {
  test('return a token of the owner, without a refresh token', async () => {
    const world = arrange();
    const request = tokenRequest(world.secretOf(GAME), {
      grantType: 'client_credentials',
      scope: 'identify applications.commands.update',
    });
    const tokens = given(await world.oauth.token(request));
    expect(tokens.refreshToken).toBeNull();
    expect(await world.oauth.authenticate(tokens.accessToken.reveal())).toMatchObject({ userId: BERT });
  });

  test('need the secret, a scope and an owner', async () => {
    const world = arrange();
    world.application(GAME, { oauth2: { publicClient: true, approvedScopes: [] } });
    const ask = (secret: string | null, scope: string | null) =>
      world.oauth.token(tokenRequest(secret, { grantType: 'client_credentials', scope }));
    expect(refusedAs(await ask(null, 'identify'))).toBe('invalid_client');
    expect(refusedAs(await ask(world.secretOf(GAME), null))).toBe('invalid_scope');
    expect(refusedAs(await ask(world.secretOf(GAME), 'bot'))).toBe('invalid_scope');
    world.application(GAME, { owner_id: GAME as string as UserId });
    expect(refusedAs(await ask(world.secretOf(GAME), 'identify'))).toBe('unauthorized_client');
  });
});

describe('a ban while tokens are issued', () => {
  const banned = new Set<string>();
  const world = () => arrange({ isBanned: async (userId) => banned.has(userId) });
  afterEach(() => banned.clear());

  test.each(['authorization_code', 'refresh_token', 'implicit'] as const)(
    'revokes the tokens of a pending %s and leaves no grant',
    async (way) => {
      const at = world();
      const { oauth, rows } = at;
      const code = await withCode(at);
      const request = way === 'refresh_token' ? refreshOf(at, given(await oauth.token(code))) : code;
      banned.add(ANNA);
      if (way === 'implicit') await agreedTo(oauth, asking({ response_type: 'token' }));
      else expect(refusedAs(await oauth.token(request))).toBe('access_denied');
      expect([rows.chains.size, rows.codes.size, rows.grants.size]).toEqual([0, 0, 0]);
    },
  );

  test('refuses an owner with client credentials, and revokes nothing on later attempts', async () => {
    const { oauth, secretOf, log } = world();
    banned.add(BERT);
    const request = { grantType: 'client_credentials', scope: 'identify' } as const;
    expect(refusedAs(await oauth.token(tokenRequest(secretOf(GAME), request)))).toBe('access_denied');
    expect(log.deauthorized).toEqual([]);
  });
});

describe('a merge at the token endpoint', () => {
  const external = { externalAuthType: 'OIDC', externalAuthToken: 'proof' } as const;

  test('runs after the code was validated and before it is redeemed', async () => {
    const orders: object[] = [];
    const world = arrange({
      merge: async (order) => {
        orders.push(order);
        return { ok: true, value: null };
      },
    });
    const request = { ...(await withCode(world)), external };
    expect(refusedAs(await world.oauth.token({ ...request, code: 'x.y.z' }))).toBe('invalid_grant');
    expect(refusedAs(await world.oauth.token({ ...request, redirectUri: null }))).toBe('invalid_grant');
    expect(orders).toEqual([]);
    expect((await world.oauth.token(request)).ok).toBe(true);
    expect(orders).toEqual([{ ...external, userId: ANNA, applicationId: GAME }]);
  });

  test('leaves the code valid when it is refused, and returns its own refusal', async () => {
    let answer: Reply<null> = { ok: false, refusal: refusal('UNAUTHORIZED') };
    const world = arrange({ merge: async () => answer });
    const request = { ...(await withCode(world)), external };
    expect(await world.oauth.token(request)).toEqual(answer);
    answer = { ok: true, value: null };
    expect((await world.oauth.token(request)).ok).toBe(true);
  });
});

describe('revocation', () => {
  test('revokes the whole grant by either token', async () => {
    for (const which of ['accessToken', 'refreshToken'] as const) {
      const world = arrange();
      const tokens = given(await world.oauth.token(await withCode(world)));
      const other = given(await world.oauth.token(await withCode(world)));
      const client = await world.oauth.client(GAME, world.secretOf(GAME));
      await world.oauth.revoke(client!, tokens[which]!.reveal());
      expect(await world.oauth.authenticate(other.accessToken.reveal())).toBeNull();
      expect(await world.oauth.granted(ANNA, GAME)).toBeNull();
      expect(world.log.deauthorized).toEqual([`${ANNA} ${GAME}`]);
    }
  });

  test('ignores unknown tokens and those of another application', async () => {
    const world = arrange();
    const tokens = given(await world.oauth.token(await withCode(world)));
    const foreign = await world.oauth.client(OTHER, world.secretOf(OTHER));
    for (const token of ['', 'x', tokens.accessToken.reveal(), tokens.refreshToken!.reveal()])
      await world.oauth.revoke(foreign!, token);
    expect(await world.oauth.authenticate(tokens.accessToken.reveal())).not.toBeNull();
  });
});

// Goal: an access token stands for what was granted exactly as long as it was, and its text is nowhere but in its owner's hands.
import { decodeProtectedHeader, importJWK, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { CHAINS_PER_GRANT_MAX, TOKEN_LIFE_SEC } from '../../../engine/oauth/holdings.ts';
import { makeToken } from '../../../services/identity/identity.ts';
import { KEY_PERIOD_MS } from '../../../services/oauth/idtokens.ts';
import { ANNA, arrange, BERT, countingBytes, GAME, OTHER, START_MS } from './arrange.ts';

const order = (scopes: readonly ('identify' | 'openid' | 'guilds' | 'sdk.social_layer')[] = ['identify']) =>
  ({ userId: ANNA, applicationId: GAME, scopes, refreshable: true }) as const;

describe('issue', () => {
  test('returns a token for user, application and scopes', async () => {
    const { oauth } = arrange();
    const tokens = await oauth.issue(order(['identify', 'guilds']));
    expect(tokens).toMatchObject({ expiresInSec: TOKEN_LIFE_SEC, idToken: null });
    expect(await oauth.authenticate(tokens.accessToken.reveal())).toEqual({
      userId: ANNA,
      bot: false,
      applicationId: GAME,
      applicationFlags: 0,
      authorization: {
        id: expect.any(String),
        applicationId: GAME,
        scopes: new Set(['identify', 'guilds']),
        expiresMs: START_MS + TOKEN_LIFE_SEC * 1000,
      },
    });
    expect(await oauth.authenticate(tokens.refreshToken!.reveal())).toBeNull();
  });

  test('adds implied scopes', async () => {
    const { oauth } = arrange();
    const { scopes } = await oauth.issue(order(['sdk.social_layer']));
    expect([...scopes]).toEqual(expect.arrayContaining(['identify', 'lobbies.write', 'gateway.connect']));
    expect(await oauth.granted(ANNA, GAME)).toEqual(scopes);
    expect(await oauth.granted(ANNA, OTHER)).toBeNull();
  });

  test('stores no token, only hashes', async () => {
    const { oauth, facts } = arrange();
    const tokens = await oauth.issue(order());
    const written = JSON.stringify(facts);
    for (const secret of [tokens.accessToken, tokens.refreshToken!])
      for (const part of [secret.reveal(), secret.reveal().split('.')[2]!])
        expect(written).not.toContain(part);
  });

  test('widens the grant while earlier tokens keep their scopes', async () => {
    const { oauth, rows } = arrange();
    const first = await oauth.issue(order(['identify']));
    await oauth.issue(order(['guilds']));
    expect(rows.grants.size).toBe(1);
    expect(await oauth.granted(ANNA, GAME)).toEqual(new Set(['identify', 'guilds']));
    const principal = await oauth.authenticate(first.accessToken.reveal());
    expect(principal?.authorization?.scopes).toEqual(new Set(['identify']));
  });

  test('reports seven days, however long the commit took', async () => {
    const { oauth, clock } = arrange();
    const issued = oauth.issue(order());
    clock.nowMs += 400;
    expect((await issued).expiresInSec).toBe(TOKEN_LIFE_SEC);
  });

  test("limits a token's life when asked to", async () => {
    const { oauth, clock } = arrange();
    const untilMs = START_MS + 60_000;
    const { accessToken, expiresInSec } = await oauth.issue({ ...order(), refreshable: false, untilMs });
    expect(expiresInSec).toBe(60);
    clock.nowMs = untilMs - 1;
    expect(await oauth.authenticate(accessToken.reveal())).not.toBeNull();
    clock.nowMs = untilMs;
    expect(await oauth.authenticate(accessToken.reveal())).toBeNull();
  });

  test('ends the oldest tokens of the user and application beyond the bound', async () => {
    const { oauth, rows } = arrange();
    const other = await oauth.issue({ ...order(), applicationId: OTHER });
    const first = await oauth.issue(order());
    for (let more = 1; more < CHAINS_PER_GRANT_MAX; more += 1) await oauth.issue(order());
    expect(await oauth.authenticate(first.accessToken.reveal())).not.toBeNull();
    await oauth.issue(order());
    expect(await oauth.authenticate(first.accessToken.reveal())).toBeNull();
    expect(await oauth.authenticate(other.accessToken.reveal())).not.toBeNull();
    expect([...rows.chains.values()].filter(({ applicationId }) => applicationId === GAME)).toHaveLength(
      CHAINS_PER_GRANT_MAX,
    );
  });

  test('sweeps expired tokens', async () => {
    const { oauth, rows, clock } = arrange();
    await oauth.issue({ ...order(), refreshable: false });
    await oauth.issue(order());
    clock.nowMs += TOKEN_LIFE_SEC * 1000;
    await oauth.issue(order());
    expect(rows.chains.size).toBe(2);
  });

  test('fails when the commit fails, and leaves no valid token', async () => {
    const { oauth, steer, rows } = arrange();
    steer.fail = true;
    await expect(oauth.issue(order())).rejects.toThrow('disk');
    expect(rows.chains.size).toBe(0);
  });
});

describe('authenticate', () => {
  test('reads a user once for valid and invalid tokens, and again after a change', async () => {
    const { oauth, log } = arrange();
    const { accessToken } = await oauth.issue(order());
    const wrong = makeToken(ANNA, START_MS, countingBytes());
    const before = log.reads;
    for (const token of [accessToken, wrong, accessToken]) await oauth.authenticate(token.reveal());
    expect(log.reads).toBe(before + 1);
    await oauth.issue(order());
    await oauth.authenticate(accessToken.reveal());
    expect(log.reads).toBe(before + 3);
  });

  test('rejects the secret of one user under the id of another', async () => {
    const { oauth } = arrange();
    const { accessToken } = await oauth.issue(order());
    const [, time, secret] = accessToken.reveal().split('.');
    const claim = Buffer.from(BERT).toString('base64url');
    expect(await oauth.authenticate(`${claim}.${time}.${secret}`)).toBeNull();
  });
});

describe('endRevoked', () => {
  test('closes the sessions of grants that are not stored', async () => {
    const { oauth, log } = arrange();
    const tokens = await oauth.issue(order());
    const principal = await oauth.authenticate(tokens.accessToken.reveal());
    const authorization = principal!.authorization!;
    await oauth.endRevoked([{ userId: ANNA, authorization }]);
    expect(log.revoked).toEqual([]);
    const ended = { id: '5', applicationId: GAME };
    await oauth.endRevoked([
      { userId: ANNA, authorization: ended },
      { userId: BERT, authorization: ended },
    ]);
    expect(log.revoked).toEqual([`${ANNA} ${GAME} 5`, `${BERT} ${GAME} 5`]);
  });
});

describe('deauthorize', () => {
  test('ends every token of the grant, notifies sessions, and queues the event in the same commit', async () => {
    const { oauth, facts, log, application } = arrange();
    application(GAME, {
      event_webhooks_url: 'https://game.example/events',
      event_webhooks_status: 2,
      event_webhooks_types: ['APPLICATION_DEAUTHORIZED'],
    });
    const tokens = [await oauth.issue(order()), await oauth.issue(order())];
    const other = await oauth.issue({ ...order(), applicationId: OTHER });
    facts.length = 0;
    expect(await oauth.deauthorize(ANNA, GAME)).toBe(true);
    for (const { accessToken } of tokens) expect(await oauth.authenticate(accessToken.reveal())).toBeNull();
    expect(await oauth.authenticate(other.accessToken.reveal())).not.toBeNull();
    expect(await oauth.granted(ANNA, GAME)).toBeNull();
    expect(facts.map(({ type }) => type)).toEqual(['grantEnded', 'webhookEventQueued']);
    expect(facts[1]).toMatchObject({
      event: { applicationId: GAME, type: 'APPLICATION_DEAUTHORIZED', data: { user: { id: ANNA } } },
    });
    expect(log).toMatchObject({ revoked: [`${ANNA} ${GAME}`], deauthorized: [`${ANNA} ${GAME}`] });
  });

  test('notifies sessions and queues no event with `silent`', async () => {
    const { oauth, facts, log, application } = arrange();
    application(GAME, {
      event_webhooks_url: 'https://game.example/events',
      event_webhooks_status: 2,
      event_webhooks_types: ['APPLICATION_DEAUTHORIZED'],
    });
    await oauth.issue(order());
    facts.length = 0;
    expect(await oauth.deauthorize(ANNA, GAME, { silent: true })).toBe(true);
    expect(facts.map(({ type }) => type)).toEqual(['grantEnded']);
    expect(log.revoked).toEqual([`${ANNA} ${GAME}`]);
  });

  test('does nothing without a grant', async () => {
    const { oauth, facts, log } = arrange();
    expect(await oauth.deauthorize(ANNA, GAME)).toBe(false);
    expect({ facts, revoked: log.revoked }).toEqual({ facts: [], revoked: [] });
  });
});

describe('an ID token', () => {
  test('is signed for the application with a published key, and names the user', async () => {
    const { oauth } = arrange();
    const { idToken } = await oauth.issue({ ...order(['openid']), nonce: 'n-0' });
    const [key] = await oauth.publicKeys();
    const { payload, protectedHeader } = await jwtVerify(idToken!, await importJWK({ ...key! }, 'RS256'), {
      issuer: 'https://guild.example',
      audience: GAME,
      currentDate: new Date(START_MS),
    });
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: key!.kid });
    const seconds = START_MS / 1000;
    expect(payload).toMatchObject({ sub: ANNA, nonce: 'n-0', iat: seconds, auth_time: seconds });
    expect(payload.exp).toBe(seconds + TOKEN_LIFE_SEC);
  });

  test('is verifiable after key rotation; its key is withdrawn a period later', async () => {
    const { oauth, clock } = arrange();
    const { idToken } = await oauth.issue(order(['openid']));
    const { kid } = decodeProtectedHeader(idToken!);
    clock.nowMs += KEY_PERIOD_MS;
    const turned = await oauth.publicKeys();
    expect(turned.map((key) => key.kid)).toEqual([expect.not.stringMatching(kid!), kid]);
    clock.nowMs += KEY_PERIOD_MS;
    expect((await oauth.publicKeys()).map((key) => key.kid)).not.toContain(kid);
  });

  test('is signed with one key by all processes of a database', async () => {
    const first = arrange();
    const second = arrange({
      settings: {
        get: async (key) => first.settings.get(key) ?? null,
        putIfAbsent: async (key) => first.settings.get(key)!,
      },
    });
    expect(await first.oauth.publicKeys()).toEqual(await second.oauth.publicKeys());
  });
});

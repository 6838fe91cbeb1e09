// Goal: a person agrees to what an application may ask for, and the answer goes to that application alone.
import { describe, expect, test } from 'vitest';
import type { AuthorizeQuery } from '../../../engine/oauth/request.ts';
import { type FreshId, snowflakeOf, type UserId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { ANNA, arrange, BERT, GAME, MANAGED, VISITED } from './arrange.ts';
import { AGREE, agreedTo, asking, CALLBACK, CHALLENGE, codeIn } from './flows.ts';

const NOTHING_SAID: Partial<AuthorizeQuery> = { response_type: null, redirect_uri: null };
const BOT: Partial<AuthorizeQuery> = {
  ...NOTHING_SAID,
  scope: 'bot applications.commands',
  permissions: '2048',
};

/** The `error` that an application receives, and where. */
async function told(query: AuthorizeQuery, world = arrange()) {
  const described = await world.oauth.consents.describe(ANNA, query);
  if (described.kind !== 'redirect') return described.kind;
  const url = new URL(described.location);
  const values = url.hash ? new URLSearchParams(url.hash.slice(1)) : url.searchParams;
  expect(values.get('state')).toBe('s t&=');
  expect(described.location.startsWith(CALLBACK)).toBe(true);
  return values.get('error');
}

describe('a request', () => {
  test.each<[string, Partial<AuthorizeQuery>]>([
    ['of no client', { client_id: null }],
    ['of an unknown client', { client_id: '99' }],
    ['of a client that is no id', { client_id: '../x' }],
    ['to a foreign redirect', { redirect_uri: 'https://evil.example/callback' }],
    ['to a redirect that only begins right', { redirect_uri: `${CALLBACK}.evil.example` }],
    ['to an empty redirect', { redirect_uri: '' }],
    ['for a bot alone, to a foreign redirect', { ...BOT, redirect_uri: 'https://evil.example' }],
  ])('%s is shown to the person and redirects nowhere', async (_, change) => {
    const world = arrange();
    for (const query of [asking(change), asking({ ...change, scope: 'nonsense', response_type: 'x' })])
      expect(await told(query, world)).toBe('refused');
    expect(
      await world.oauth.consents.decide(ANNA, asking(change), { ...AGREE, authorize: false }),
    ).toMatchObject({ kind: 'refused' });
    expect(world.facts).toEqual([]);
  });

  test.each<[string, Partial<AuthorizeQuery>, string]>([
    ['without a response type', { response_type: null }, 'invalid_request'],
    ['for another response type', { response_type: 'id_token' }, 'unsupported_response_type'],
    ['without scopes', { scope: null }, 'invalid_scope'],
    ['for an unknown scope', { scope: 'identify nonsense' }, 'invalid_scope'],
    ['for a partner scope', { scope: 'rpc' }, 'invalid_scope'],
    [
      'with a plain challenge',
      { code_challenge: CHALLENGE, code_challenge_method: 'plain' },
      'invalid_request',
    ],
    ['with a challenge of no method', { code_challenge: CHALLENGE }, 'invalid_request'],
    ['with a method of no challenge', { code_challenge_method: 'S256' }, 'invalid_request'],
    ['with another prompt', { prompt: 'login' }, 'invalid_request'],
    ['for another integration type', { integration_type: '2' }, 'invalid_request'],
    ['with permissions that are none', { permissions: '-1' }, 'invalid_request'],
    ['with permissions beyond 64 bits', { permissions: '18446744073709551616' }, 'invalid_request'],
    ['for a guild that is no id', { guild_id: 'x' }, 'invalid_request'],
    ['for a bot for the user', { scope: 'bot', integration_type: '1' }, 'invalid_request'],
    [
      'for linked roles by the implicit grant',
      { response_type: 'token', scope: 'identify role_connections.write' },
      'invalid_scope',
    ],
    [
      'for tokens with a challenge',
      { response_type: 'token', code_challenge: CHALLENGE, code_challenge_method: 'S256' },
      'invalid_request',
    ],
  ])('%s is sent to the application', async (_, change, error) => {
    expect(await told(asking(change))).toBe(error);
  });

  test('requires PKCE for a custom URI scheme', async () => {
    const world = arrange();
    const redirect = 'game:/authorize/callback';
    world.application(GAME, { redirect_uris: [redirect] });
    const bare = await world.oauth.consents.describe(ANNA, asking({ redirect_uri: redirect }));
    expect(bare).toMatchObject({ kind: 'redirect', location: expect.stringContaining('invalid_request') });
    const pkce = { code_challenge: CHALLENGE, code_challenge_method: 'S256' };
    const url = await agreedTo(world.oauth, asking({ redirect_uri: redirect, ...pkce }));
    expect(url.href.startsWith(`${redirect}?code=`)).toBe(true);
  });
});

describe('a decision', () => {
  test('redirects with a code and the state', async () => {
    const { oauth } = arrange();
    const url = await agreedTo(oauth);
    expect([...url.searchParams.keys()]).toEqual(['code', 'state']);
    expect(url.searchParams.get('state')).toBe('s t&=');
    expect(await oauth.granted(ANNA, GAME)).toEqual(new Set(['identify']));
  });

  test('informs the application of a denial and grants nothing', async () => {
    const { oauth, facts } = arrange();
    const decided = await oauth.consents.decide(ANNA, asking(), { ...AGREE, authorize: false });
    expect(decided).toMatchObject({
      kind: 'decided',
      location: expect.stringContaining('error=access_denied'),
    });
    expect(facts).toEqual([]);
  });

  test('puts the tokens of an implicit grant into the fragment, without a refresh token', async () => {
    const { oauth, rows } = arrange();
    const url = await agreedTo(oauth, asking({ response_type: 'token', scope: 'identify guilds' }));
    expect(url.search).toBe('');
    const values = new URLSearchParams(url.hash.slice(1));
    expect(Object.fromEntries(values)).toEqual({
      token_type: 'Bearer',
      access_token: expect.any(String),
      expires_in: '604800',
      scope: 'identify guilds',
      state: 's t&=',
    });
    expect(await oauth.authenticate(values.get('access_token')!)).toMatchObject({ userId: ANNA });
    expect([...rows.chains.values()].map(({ refreshHash }) => refreshHash)).toEqual([null]);
  });

  test('is remembered for the same request, and asked again for a wider one', async () => {
    const { oauth } = arrange();
    const agreed = async (change: Partial<AuthorizeQuery>) => {
      const described = await oauth.consents.describe(ANNA, asking(change));
      return described.kind === 'consent' && described.consent.agreed;
    };
    expect(await agreed({})).toBe(false);
    await agreedTo(oauth, asking({ scope: 'identify guilds' }));
    expect(await agreed({})).toBe(true);
    expect(await agreed({ scope: 'identify email' })).toBe(false);
    expect(await agreed({ scope: 'identify bot' })).toBe(false);
    await oauth.deauthorize(ANNA, GAME);
    expect(await agreed({})).toBe(false);
  });

  test('queues the webhook event for a subscribed application', async () => {
    const { oauth, application, facts } = arrange();
    application(GAME, {
      event_webhooks_url: 'https://game.example/events',
      event_webhooks_status: 2,
      event_webhooks_types: ['APPLICATION_AUTHORIZED'],
    });
    await agreedTo(oauth);
    expect(facts.find(({ type }) => type === 'webhookEventQueued')).toMatchObject({
      event: { type: 'APPLICATION_AUTHORIZED', data: { user: { id: ANNA }, scopes: ['identify'] } },
    });
  });
});

describe('a bot', () => {
  test('is added where the user may, without a redirect', async () => {
    const { oauth, log, rows } = arrange();
    const described = await oauth.consents.describe(ANNA, asking(BOT));
    expect(described).toMatchObject({ kind: 'consent', consent: { guilds: [{ id: MANAGED }] } });
    const decided = await oauth.consents.decide(ANNA, asking(BOT), { ...AGREE, guildId: MANAGED });
    expect(decided).toEqual({ kind: 'decided', location: null, guildId: MANAGED });
    expect(log.installed).toEqual([`${ANNA} ${GAME} ${MANAGED} 2048`]);
    expect(rows.grants.size).toBe(0);
  });

  test.each([
    ['no server', null],
    ['a server that the person does not manage', VISITED],
    ['a server of others', '77'],
  ])('is added to %s: refused', async (_, guildId) => {
    const { oauth, log } = arrange();
    const decided = await oauth.consents.decide(ANNA, asking(BOT), { ...AGREE, guildId: guildId as never });
    expect(decided.kind).toBe('refused');
    expect(log.installed).toEqual([]);
  });

  test('is added only to the guild that the application fixed', async () => {
    const { oauth } = arrange();
    const fixed = asking({ ...BOT, guild_id: VISITED, disable_guild_select: 'true' });
    expect(await oauth.consents.describe(ANNA, fixed)).toMatchObject({ consent: { guilds: [] } });
    const elsewhere = await oauth.consents.decide(ANNA, fixed, { ...AGREE, guildId: MANAGED });
    expect(elsewhere.kind).toBe('refused');
  });

  test('gets at most the requested permissions, and fewer if the user chooses', async () => {
    const { oauth, log } = arrange();
    for (const permissions of ['8', '2056', '0'])
      await oauth.consents.decide(ANNA, asking(BOT), { ...AGREE, guildId: MANAGED, permissions });
    expect(log.installed.map((line) => line.split(' ')[3])).toEqual(['0', '2048', '0']);
  });

  test('is added only by its owner when its application is private', async () => {
    const { oauth, application } = arrange();
    application(GAME, { bot_public: false });
    const decide = (userId: UserId) =>
      oauth.consents.decide(userId, asking(BOT), { ...AGREE, guildId: MANAGED });
    expect((await decide(ANNA)).kind).toBe('refused');
    expect((await decide(BERT)).kind).toBe('decided');
  });

  test('is added by members of the team that owns its private application', async () => {
    const members = [{ userId: ANNA, role: 'read_only', state: 2 }] as const;
    const team = { id: '900' as FreshId, name: 'Crew', icon: null, ownerId: BERT, members };
    const { oauth, application } = arrange({
      teams: { get: async (id) => (id === '900' ? team : null) },
    });
    application(GAME, { bot_public: false, team_id: snowflakeOf(900n) });
    const choice = { ...AGREE, guildId: MANAGED };
    expect((await oauth.consents.decide(ANNA, asking(BOT), choice)).kind).toBe('decided');
    application(GAME, { bot_public: false, team_id: snowflakeOf(901n) });
    expect((await oauth.consents.decide(ANNA, asking(BOT), choice)).kind).toBe('refused');
  });

  test('is added at the code exchange when it requires a code grant', async () => {
    const { oauth, application, log, secretOf } = arrange();
    application(GAME, { bot_require_code_grant: true });
    const scope = 'identify bot';
    expect(await told(asking({ ...BOT, scope: 'bot' }))).toBe('consent');
    const decided = await oauth.consents.decide(ANNA, asking({ scope, permissions: '8' }), {
      ...AGREE,
      guildId: MANAGED,
    });
    expect(log.installed).toEqual([]);
    const code = codeIn(new URL((decided as { location: string }).location));
    const reply = await oauth.token({
      clientId: GAME,
      clientSecret: secretOf(GAME),
      grantType: 'authorization_code',
      code,
      redirectUri: CALLBACK,
      codeVerifier: null,
      refreshToken: null,
      scope: null,
      deviceCode: null,
      external: null,
    });
    expect(log.installed).toEqual([`${ANNA} ${GAME} ${MANAGED} 8`]);
    expect(reply).toMatchObject({ ok: true, value: { guild: { id: MANAGED } } });
  });

  test('leaves grants and codes unchanged when the guild refuses it', async () => {
    const { oauth, facts } = arrange({
      addBot: async () => ({ ok: false, refusal: refusal('MISSING_PERMISSIONS') }),
    });
    const decided = await oauth.consents.decide(ANNA, asking(BOT), { ...AGREE, guildId: MANAGED });
    expect(decided).toMatchObject({ kind: 'refused', refusal: { code: 50013 } });
    expect(facts).toEqual([]);
  });

  test('is not required by commands for the user', async () => {
    const { oauth, rows, log } = arrange();
    const query = asking({ ...NOTHING_SAID, scope: 'applications.commands', integration_type: '1' });
    expect(await oauth.consents.decide(ANNA, query, AGREE)).toMatchObject({
      kind: 'decided',
      location: null,
    });
    expect([...rows.grants.values()]).toMatchObject([
      { userInstall: true, scopes: ['applications.commands'] },
    ]);
    expect(log.installed).toEqual([]);
  });
});

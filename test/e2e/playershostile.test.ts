// Goal: no token of another application, of another scope or of yesterday opens anything, and a code, however many use it at
// the same time, gives tokens once.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AnyOperation } from '../../transports/rest/operation.ts';
import { operations, unlisted } from '../../transports/rest/resources/index.ts';
import { OAuthClient, pkce, type Tokens } from '../support/oauth.ts';
import { ask as askOf, playerOf } from '../support/players.ts';
import type { Call } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const CALLBACK = 'https://game.example/callback';

let server: TestServer;
let game: Awaited<ReturnType<typeof OAuthClient.make>>;
beforeAll(async () => {
  server = await startServer({ bots: 2 });
  game = await OAuthClient.make(server, { owner_id: person().id, redirect_uris: [CALLBACK] });
});
afterAll(() => server?.finish());

const person = (index = 0) => server.info.users[index]!;
const player = (name: string, of = 0) => playerOf(server, name, of);
const ask = (authorization: string | null, ...asked: Parameters<typeof askOf>[2]) =>
  askOf(server, authorization, asked);

describe('tokens of another application', () => {
  test('find no lobby of this one on any route: the responses match those for an unknown lobby', async () => {
    const [ann, eve] = [await player('owned'), await player('foreign', 1)];
    const { id: lobby_id } = await server.bot().call<{ id: string }>('create_lobby', {
      body: { metadata: { secret: 'sauce' }, members: [{ id: ann.id, flags: 1 }] },
    });
    const said = { params: { lobby_id }, body: { content: 'among us' } };
    const { id: message_id } = await ann.rest.call<{ id: string }>('create_lobby_message', said);
    const bodies: Record<string, unknown> = {
      edit_lobby: { metadata: { a: 'b' } },
      add_lobby_member: {},
      bulk_update_lobby_members: [{ id: eve.id }],
      edit_lobby_channel_link: { channel_id: server.info.guild.text_channel_id },
      create_lobby_message: { content: 'let me in' },
      update_lobby_message_external_moderation_metadata: { a: 'b' },
    };
    const paths = Object.entries(operations).filter(([, { path }]) => path.startsWith('/lobbies/:lobby_id'));
    expect(paths.length).toBe(13);
    for (const [operation, { auth }] of paths)
      for (const [name, rest] of [
        ['bot', server.bot(1)],
        ['player', eve.rest],
      ] as const) {
        const call = (lobbyId: string): Call => ({
          params: { lobby_id: lobbyId, user_id: ann.id, message_id },
          ...(bodies[operation] !== undefined && { body: bodies[operation] }),
        });
        const [real, unreal] = [
          await rest.ask(operation, call(lobby_id)),
          await rest.ask(operation, call('1')),
        ];
        const what = `${operation} by a ${name}`;
        expect({ status: real.status, body: real.body }, what).toEqual({
          status: unreal.status,
          body: unreal.body,
        });
        const isGone = operation === 'delete_lobby' && name === 'bot';
        if (isGone) expect(real.status, what).toBe(204);
        else if (name === 'bot' || auth === 'any')
          expect(real, what).toMatchObject({ status: 404, body: { code: 10031 } });
        else expect(real.status, what).toBe(403);
      }
    expect(await server.bot().call('get_lobby', { params: { lobby_id } })).toMatchObject({
      metadata: { secret: 'sauce' },
      members: [{ id: ann.id }],
    });
  });

  test('get an error that names the missing scope on every route that requires one', async () => {
    const built: Readonly<Record<string, AnyOperation>> = { ...operations, ...unlisted };
    const scoped = Object.entries(built).filter(([, { scope }]) => scope !== undefined && scope !== 'any');
    expect(scoped.length).toBeGreaterThan(30);
    // Each asks with a token that has one other scope: of the demo's applications none may have all, so these are the usual.
    const tokens = new Map<string, Tokens>();
    for (const scope of ['identify', 'openid'])
      tokens.set(scope, await game.signIn(person().token, CALLBACK, scope));
    for (const [operation, { method, path, scope }] of scoped) {
      const needed: readonly string[] = [scope].flat() as string[];
      const other = needed.includes('identify') ? 'openid' : 'identify';
      const filled = path.replaceAll(/:\w+/g, '1');
      const answer = await ask(
        `Bearer ${tokens.get(other)!.access_token}`,
        method,
        filled,
        method === 'GET' ? undefined : {},
      );
      expect(answer, operation).toMatchObject({ status: 403, body: { code: 50026 } });
      expect(
        needed.some((name) => answer.body.message.includes(name)),
        `${operation}: ${answer.body.message}`,
      ).toBe(true);
    }
  });

  test('are accepted in the header alone, and only unchanged', async () => {
    const { access_token: token } = await game.signIn(person().token, CALLBACK, 'identify');
    for (const query of [`access_token=${token}`, `token=${token}`, `authorization=Bearer%20${token}`])
      expect((await ask(null, 'GET', `/users/@me?${query}`)).status, query.slice(0, 12)).toBe(401);
    const { user } = await server.admin<{ user: { id: string } }>('/users', { username: 'nobody.else' });
    const forged = Buffer.from(user.id).toString('base64url') + token.slice(token.indexOf('.'));
    for (const bad of [
      `Bearer ${token}x`,
      `Bearer ${token.slice(0, -1)}`,
      `Bot ${token}`,
      `Basic ${token}`,
      `bearer`,
      `Bearer ${token} ${token}`,
      `Bearer ${forged}`,
      token,
    ])
      expect((await ask(bad, 'GET', '/users/@me')).status, bad.slice(0, 20)).toBe(401);
    const body = { access_token: token };
    expect(
      (await fetch(`${server.info.api}/v10/users/@me`, { method: 'POST', body: new URLSearchParams(body) }))
        .status,
    ).toBe(405);
  });

  test('open nothing at the authorization server, and neither do its secrets', async () => {
    const other = await OAuthClient.make(server, { redirect_uris: [CALLBACK] });
    const forged = new OAuthClient(server, { id: game.id, secret: other.secret });
    const tokens = await game.signIn(person().token, CALLBACK, 'identify');
    for (const fields of [
      { grant_type: 'refresh_token', refresh_token: tokens.refresh_token! },
      { grant_type: 'client_credentials', scope: 'identify' },
      { grant_type: 'refresh_token', refresh_token: tokens.refresh_token!, client_secret: '' },
    ] as Record<string, string>[])
      expect(await forged.post('token', fields)).toMatchObject({
        status: 401,
        body: { error: 'invalid_client' },
      });
    expect((await other.refresh(tokens.refresh_token!)).body.error).toBe('invalid_grant');
    expect((await other.post('token/revoke', { token: tokens.access_token })).status).toBe(200);
    expect((await forged.post('token/revoke', { token: tokens.access_token })).status).toBe(401);
    expect((await server.restOf(`Bearer ${tokens.access_token}`).ask('get_my_user')).status).toBe(200);
    expect((await game.refresh(tokens.refresh_token!)).status).toBe(200);
  });
});

/** A code of the person for the game, and what it was asked for with. */
async function codeFor(query: Readonly<Record<string, string>> = {}, who = 0) {
  const asked = { response_type: 'code', redirect_uri: CALLBACK, scope: 'identify', ...query };
  const { body } = await game.decide(person(who).token, asked);
  return new URL(body.location!).searchParams.get('code')!;
}

describe('codes', () => {
  const grant = { grant_type: 'authorization_code', redirect_uri: CALLBACK };

  test('need the verifier of their challenge, and take none without a challenge', async () => {
    const { verifier, asked } = pkce();
    const code = await codeFor(asked);
    for (const [fields, error] of [
      [{}, 'invalid_grant'],
      [{ code_verifier: pkce().verifier }, 'invalid_grant'],
      [{ code_verifier: asked.code_challenge }, 'invalid_grant'],
      [{ code_verifier: 'short' }, 'invalid_request'],
      [{ code_verifier: '' }, 'invalid_grant'],
      [{ code_verifier: verifier, redirect_uri: `${CALLBACK}/` }, 'invalid_grant'],
      [{ code_verifier: verifier, redirect_uri: '' }, 'invalid_grant'],
    ] as const)
      expect(
        (await game.post('token', { ...grant, code, ...fields })).body.error,
        JSON.stringify(fields),
      ).toBe(error);
    expect((await game.post('token', { ...grant, code, code_verifier: verifier })).status).toBe(200);
    const bare = { ...grant, code: await codeFor(), code_verifier: verifier };
    expect((await game.post('token', bare)).body.error).toBe('invalid_grant');
    for (const method of ['plain', 's256', ''])
      expect(
        (
          await game.decide(person().token, {
            response_type: 'code',
            redirect_uri: CALLBACK,
            scope: 'identify',
            code_challenge: verifier,
            code_challenge_method: method,
          })
        ).body.location,
        method,
      ).toContain('error=invalid_request');
  });

  test('are exchanged once under simultaneous requests, and their tokens are revoked', async () => {
    const code = await codeFor();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => game.post<Tokens>('token', { ...grant, code })),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    // A code that is used twice was stolen, and the server cannot know which client is the thief.
    expect((await server.restOf(`Bearer ${won[0]!.body.access_token}`).ask('get_my_user')).status).toBe(401);
    expect((await game.refresh(won[0]!.body.refresh_token!)).status).toBe(400);
  });

  test('a refresh token under simultaneous requests is exchanged once, and its chain is revoked', async () => {
    const tokens = await game.signIn(person().token, CALLBACK, 'identify');
    const answers = await Promise.all(Array.from({ length: 20 }, () => game.refresh(tokens.refresh_token!)));
    const won = answers.filter(({ status }) => status === 200).map(({ body }) => body as unknown as Tokens);
    expect(won).toHaveLength(1);
    for (const { access_token } of [tokens, ...won])
      expect((await server.restOf(`Bearer ${access_token}`).ask('get_my_user')).status).toBe(401);
  });

  test('give a device its tokens once, and none after the person has revoked the grant', async () => {
    const begin = async () =>
      (await game.post<Record<string, string>>('device/authorize', { scope: 'identify' })).body;
    const finish = (user_code: string, result: string, who = 0) =>
      ask(`Bearer ${person(who).token}`, 'POST', '/oauth2/device/finish', { user_code, result });
    const poll = (device_code: string) =>
      game.post<Tokens & { error: string }>('token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code,
      });
    const first = await begin();
    const decided = await Promise.all([0, 1, 0, 1].map((who) => finish(first.user_code!, 'granted', who)));
    expect(decided.filter(({ status }) => status === 204)).toHaveLength(1);
    const polled = await Promise.all(Array.from({ length: 10 }, () => poll(first.device_code!)));
    expect(polled.filter(({ status }) => status === 200)).toHaveLength(1);

    const second = await begin();
    expect((await finish(second.user_code!, 'granted')).status).toBe(204);
    const grants = await ask(`Bearer ${person().token}`, 'GET', '/oauth2/tokens');
    const own = (grants.body as unknown as { id: string; application: { id: string } }[]).find(
      ({ application }) => application.id === game.id,
    )!;
    expect((await ask(`Bearer ${person().token}`, 'DELETE', `/oauth2/tokens/${own.id}`)).status).toBe(204);
    expect(await poll(second.device_code!)).toMatchObject({ status: 400, body: { error: 'access_denied' } });
  });
});

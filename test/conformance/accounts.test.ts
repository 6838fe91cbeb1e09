// Goal: every operation of accounts, lobbies and friends that is listed answers as the published file says, and so do its refusals.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../embedding.ts';
import { createEngine } from '../../main.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { AnyOperation } from '../../transports/rest/operation.ts';
import { lobbies } from '../../transports/rest/resources/lobbies.ts';
import { oauth2 } from '../../transports/rest/resources/oauth2.ts';
import { provisional } from '../../transports/rest/resources/provisional.ts';
import { roleConnections } from '../../transports/rest/resources/roleconnections.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { specOperations, validateResponse } from '../support/openapi.ts';
import { type Call, RestClient } from '../support/rest-client.ts';

const listed: Readonly<Record<string, AnyOperation>> = {
  ...oauth2,
  ...provisional,
  ...lobbies,
  ...roleConnections,
};
/** Operations that need a provider's word for a player, or a merge: `test/e2e/provisional.test.ts` tests them. */
const ELSEWHERE = new Set([
  'partner_sdk_token',
  'partner_sdk_unmerge_provisional_account',
  'bot_partner_sdk_unmerge_provisional_account',
]);
const EVERY_SCOPE = 'sdk.social_layer openid email connections role_connections.write';

let engine: Engine;
let api: string;
let gateway: string;
/** Operations that were answered with the status of their success. */
const accepted = new Set<string>();
const mismatches = new Set<string>();

type WithId = { readonly id: string };

/** Asks and compares the answer with the file. */
async function ask<T = unknown>(authorization: string | null, operationId: string, call: Call = {}) {
  const { status, body } = await new RestClient(api, authorization).ask<T>(operationId, call);
  for (const mismatch of validateResponse(operationId, status, body)) mismatches.add(mismatch);
  if (status === listed[operationId]?.status) accepted.add(operationId);
  return { status, body };
}

async function call<T = unknown>(authorization: string, operationId: string, given: Call = {}): Promise<T> {
  const { status, body } = await ask<T>(authorization, operationId, given);
  if (status >= 300) expect.fail(`${operationId} was answered ${status} ${JSON.stringify(body)}`);
  return body;
}

async function post<T>(path: string, authorization: string | null, body: object): Promise<T> {
  const isForm = body instanceof URLSearchParams;
  const response = await fetch(`${api}/v10${path}`, {
    method: 'POST',
    headers: {
      ...(authorization !== null && { authorization }),
      ...(!isForm && { 'content-type': 'application/json' }),
    },
    body: isForm ? body : JSON.stringify(body),
  });
  const answered = (await response.json()) as T;
  if (!response.ok) expect.fail(`${path} was answered ${response.status} ${JSON.stringify(answered)}`);
  return answered;
}

/** A game, its bot, its owner with a guild, and a player authenticated by the bot. */
async function arrange() {
  const { user, token } = await engine.admin.createUser({ username: 'owner' });
  const ownerId = user.id as UserId;
  const guild = await engine.admin.createGuild({ name: 'Test', ownerId });
  const made = await engine.admin.createApplication({ name: 'Game', ownerId });
  const bot = `Bot ${made.botToken}`;
  const tokenFor = async (scope: string) => {
    const form = { grant_type: 'client_credentials', scope };
    const client = { client_id: made.application.id, client_secret: made.clientSecret };
    const fields = new URLSearchParams({ ...form, ...client });
    const { access_token } = await post<{ access_token: string }>('/oauth2/token', null, fields);
    return `Bearer ${access_token}`;
  };
  const player = async (name: string) => {
    const body = { external_user_id: name, preferred_global_name: 'Player' };
    const { access_token } = await call<{ access_token: string }>(bot, 'bot_partner_sdk_token', { body });
    const bearer = `Bearer ${access_token}`;
    return { bearer, id: (await call<WithId>(bearer, 'get_my_user')).id };
  };
  const channels = await call<{ id: string; type: number }[]>(bot0(token), 'list_guild_channels', {
    params: { guild_id: guild.id },
  });
  return {
    application_id: made.application.id,
    bot,
    ownerId,
    channel_id: channels.find(({ type }) => type === 0)!.id,
    person: bot0(token),
    owner: await tokenFor(EVERY_SCOPE),
    narrow: await tokenFor('identify'),
    player: await player('one'),
    guest: await player('two'),
  };
}
const bot0 = (token: string) => `Bearer ${token}`;

let here: Awaited<ReturnType<typeof arrange>>;
beforeAll(async () => {
  engine = await createEngine({
    config: { log_level: 'silent', listen_port: 0, voice: false, rate_limits: false },
  });
  ({ api, gateway } = await engine.listen());
  here = await arrange();
}, 60_000);
afterAll(async () => engine?.close());

test('the own account, its grants and the public keys answer as published', async () => {
  const { owner, person } = here;
  expect(await call(owner, 'get_my_oauth2_authorization')).toMatchObject({ user: { id: here.ownerId } });
  expect(await call(owner, 'get_openid_connect_userinfo')).toMatchObject({ sub: here.ownerId });
  await call(person, 'get_public_keys');
  await call(owner, 'get_my_user');
});

test('role connections and linked accounts answer as published', async () => {
  const { owner, bot, application_id } = here;
  const params = { application_id };
  const record = { type: 2, key: 'wins', name: 'Wins', description: 'Games won' };
  await call(bot, 'update_application_role_connections_metadata', { params, body: [record] });
  await call(bot, 'get_application_role_connections_metadata', { params });
  await call(owner, 'get_application_user_role_connection', { params });
  const body = { platform_name: 'Game', platform_username: 'player', metadata: { wins: '7' } };
  await call(owner, 'update_application_user_role_connection', { params, body });
  expect(await call(owner, 'get_application_user_role_connection', { params })).toMatchObject(body);
  await call(owner, 'delete_application_user_role_connection', { params });
  await call(owner, 'list_my_connections');
});

test('lobbies made by players, and their messages, answer as published', async () => {
  const { owner, player, bot } = here;
  const body = { secret: 'a secret', lobby_metadata: { map: 'dunes' }, member_metadata: { team: 'red' } };
  const { id: lobby_id } = await call<WithId>(owner, 'create_or_join_lobby', { body });
  await call(player.bearer, 'create_or_join_lobby', { body: { secret: 'a secret' } });
  const params = { lobby_id };
  const said = await call<WithId>(player.bearer, 'create_lobby_message', {
    params,
    body: { content: 'Here', metadata: { kind: 'taunt' } },
  });
  await call(bot, 'update_lobby_message_external_moderation_metadata', {
    params: { ...params, message_id: said.id },
    body: { verdict: 'fine' },
  });
  expect(await call(owner, 'get_lobby_messages', { params, query: { limit: 10 } })).toMatchObject([
    { id: said.id },
  ]);
  await call(player.bearer, 'leave_lobby', { params });
});

test('lobbies made by the game, their members and their channel answer as published', async () => {
  const { owner, ownerId, bot, player, guest, channel_id } = here;
  const member = { id: ownerId, metadata: { rank: '1' }, flags: 1 };
  const { id: lobby_id } = await call<WithId>(bot, 'create_lobby', {
    body: { metadata: { mode: 'duel' }, members: [member], idle_timeout_seconds: 600 },
  });
  const params = { lobby_id };
  const added = { ...params, user_id: player.id };
  await call(bot, 'add_lobby_member', { params: added, body: { additional_name: 'Captain' } });
  const bulk = [{ id: guest.id, metadata: { rank: '2' } }];
  expect(await call(bot, 'bulk_update_lobby_members', { params, body: bulk })).toMatchObject([
    { id: guest.id },
  ]);
  await call(bot, 'get_lobby', { params });
  await call(owner, 'edit_lobby_channel_link', { params, body: { channel_id } });
  await call(owner, 'create_linked_lobby_guild_invite_for_self', { params });
  await call(bot, 'create_linked_lobby_guild_invite_for_user', { params: added });
  const linked = await call<{ linked_channel?: WithId }>(bot, 'get_lobby', { params });
  expect(linked.linked_channel?.id).toBe(channel_id);
  await call(player.bearer, 'create_lobby_message', { params, body: { content: 'Into the channel' } });
  await call(here.person, 'list_messages', { params: { channel_id } });
  await call(owner, 'edit_lobby_channel_link', { params, body: {} });
  await call(bot, 'edit_lobby', { params, body: { metadata: null, members: [member] } });
  await call(bot, 'delete_lobby_member', { params: added });
  await call(bot, 'delete_lobby', { params });
  expect((await ask(bot, 'get_lobby', { params })).body).toMatchObject({ code: 10031 });
});

test('moderation metadata of direct messages answers as published', async () => {
  const { owner, player, bot, ownerId } = here;
  // Both are in the game.
  const sessions = await Promise.all(
    [owner, player.bearer].map((token) => GatewayClient.ready(gateway, { token })),
  );
  const sent = await post<WithId>(`/users/${player.id}/messages`, owner, { content: 'Hello' });
  await call(bot, 'update_user_message_external_moderation_metadata', {
    params: { user_id_1: ownerId, user_id_2: player.id, message_id: sent.id },
    body: { verdict: 'fine' },
  });
  for (const session of sessions) await session.close();
});

test('unmerging of provisional accounts answers as published', async () => {
  const { bot, player } = here;
  const unknown = await ask(bot, 'bot_partner_sdk_unmerge_provisional_account', {
    body: { external_user_id: 'nobody' },
  });
  expect(unknown.status).toBe(404);
  const provisionalOne = await ask(bot, 'bot_partner_sdk_unmerge_provisional_account', {
    body: { external_user_id: 'one' },
  });
  expect(provisionalOne.body).toMatchObject({ code: 50229 });
  await call(player.bearer, 'get_my_user');
});

const ids = Object.keys(listed);
const nowhere = new Proxy({}, { get: () => '1' }) as Record<string, string>;

test.each(ids)('%s refuses strangers, bodies that are none and players without the scope', async (id) => {
  const { auth, scope, method } = listed[id]!;
  const body = { secret: 7, members: 'all', content: {}, client_id: 'x' };
  const bad = { params: nowhere, ...(method !== 'GET' && { body }) };
  const statuses: number[] = [];
  for (const caller of [null, 'Bot nobody', here.bot, here.narrow, here.person, here.guest.bearer])
    statuses.push((await ask(caller, id, bad)).status);
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
  if (auth !== 'none') expect(statuses.slice(0, 2)).toEqual([401, 401]);
  if (auth !== 'none' && auth !== 'bot' && scope !== 'any') {
    const { status, body } = await ask(here.narrow, id, bad);
    const opened = [scope ?? []].flat().includes('identify');
    if (!opened)
      expect({ status, code: (body as { code: number }).code }).toEqual({ status: 403, code: 50026 });
  }
});

test('every listed operation is accepted at least once', () => {
  expect(ids.filter((id) => !accepted.has(id) && !ELSEWHERE.has(id))).toEqual([]);
});

test('none was answered in a way that the file does not know', () => {
  expect([...mismatches]).toEqual([]);
});

test('the file lists them all', () => {
  const known = specOperations();
  expect(ids.filter((id) => !known.has(id))).toEqual([]);
});

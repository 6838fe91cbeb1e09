// Goal: an express app that checks signatures with discord-interactions gets its webhook events, and no URL that does not is taken.
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyKey, verifyWebhookEventMiddleware } from 'discord-interactions';
import express from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callerOf } from '../support/callers.ts';
import { startServer, type TestServer } from '../support/server.ts';

interface Sent {
  readonly type: number;
  readonly event?: { readonly id: string; readonly type: string; readonly data: Record<string, unknown> };
}

let server: TestServer;
let app: Server;
/** Events as the app got them, whether or not it acknowledged them. */
const events: NonNullable<Sent['event']>[] = [];
/** Events that came to the URL of a lobby. */
const lobbyEvents: NonNullable<Sent['event']>[] = [];
/** How many further events the app answers with 500. */
let failures = 0;
let lobbyId: string;

const origin = () => `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
const set = (body: object) =>
  server.bot().ask<{ event_webhooks_url: string }>('update_my_application', { body });

beforeAll(async () => {
  server = await startServer();
  const { public_key: key } = server.info.application;
  const web = express();
  web.post('/events', verifyWebhookEventMiddleware(key));
  // The middleware acknowledges at once, so what it verified is read beside it.
  web.post('/read', express.raw({ type: '*/*' }), async (request, response) => {
    const [signature, timestamp] = ['X-Signature-Ed25519', 'X-Signature-Timestamp'].map(
      (name) => request.get(name) ?? '',
    );
    if (!(await verifyKey(request.body, signature ?? '', timestamp ?? '', key)))
      return void response.sendStatus(401);
    const { type, event } = JSON.parse(String(request.body)) as Sent;
    if (type === 1 && event) events.push(event);
    if (type === 1 && failures > 0) {
      failures -= 1;
      return void response.sendStatus(500);
    }
    response.sendStatus(204);
  });
  web.post('/lobby', express.raw({ type: '*/*' }), async (request, response) => {
    const [signature = '', timestamp = ''] = ['X-Signature-Ed25519', 'X-Signature-Timestamp'].map((name) =>
      request.get(name),
    );
    if (!(await verifyKey(request.body, signature, timestamp, key))) return void response.sendStatus(401);
    const { event } = JSON.parse(String(request.body)) as Sent;
    if (event) lobbyEvents.push(event);
    response.sendStatus(204);
  });
  web.post('/trusting', (_, response) => void response.sendStatus(204));
  app = web.listen(0, '127.0.0.1');
  await once(app, 'listening');
});
afterAll(async () => {
  app?.closeAllConnections();
  app?.close();
  await server?.finish();
});

test('a URL is taken when its app checks signatures, and refused when it does not', async () => {
  const taken = await set({ event_webhooks_url: `${origin()}/events` });
  expect([taken.status, taken.body.event_webhooks_url]).toEqual([200, `${origin()}/events`]);
  for (const path of ['/trusting', '/missing']) {
    const { status, body } = await set({ event_webhooks_url: origin() + path });
    expect([status, body]).toMatchObject([400, { code: 50_035, errors: { event_webhooks_url: {} } }]);
  }
  const internal = await set({ event_webhooks_url: 'http://169.254.169.254/latest' });
  expect(internal.body).toMatchObject({ code: 50_035, errors: { event_webhooks_url: {} } });
  expect((await set({ interactions_endpoint_url: `${origin()}/read` })).body).toMatchObject({
    errors: { interactions_endpoint_url: {} },
  });
});

test('events reach the app in order, also those that it did not acknowledge at first', async () => {
  const types = ['LOBBY_MESSAGE_CREATE', 'LOBBY_MESSAGE_DELETE'];
  const change = { event_webhooks_url: `${origin()}/read`, event_webhooks_types: types };
  expect((await set({ ...change, event_webhooks_status: 2 })).status).toBe(200);
  const { access_token: token } = await server
    .bot()
    .call<{ access_token: string }>('bot_partner_sdk_token', { body: { external_user_id: 'ann' } });
  const ann = server.restOf(`Bearer ${token}`);
  const lobby = await ann.call<{ id: string }>('create_or_join_lobby', { body: { secret: 'table' } });
  lobbyId = lobby.id;
  failures = 2;
  for (const content of ['one', 'two', 'three'])
    await ann.call('create_lobby_message', { params: { lobby_id: lobbyId }, body: { content } });
  await expect.poll(() => events.at(-1)?.data.content, { timeout: 15_000 }).toBe('three');
  expect(events.map(({ data }) => data.content)).toEqual(['one', 'one', 'one', 'two', 'three']);
  expect(new Set(events.map(({ id }) => id)).size).toBe(3);
  expect(events[0]).toMatchObject({ type: 'LOBBY_MESSAGE_CREATE', data: { lobby_id: lobbyId } });
});

test('messages of a linked channel reach the app when they are written, edited and deleted, or the lobby’s own URL', async () => {
  const kinds = ['CREATE', 'UPDATE', 'DELETE'].map((what) => `LOBBY_MESSAGE_${what}`);
  expect((await set({ event_webhooks_types: kinds })).status).toBe(200);
  const bot = server.bot();
  const { guild } = server.info;
  const { access_token: token } = await bot.call<{ access_token: string }>('bot_partner_sdk_token', {
    body: { external_user_id: 'linking' },
  });
  const player = server.restOf(`Bearer ${token}`);
  const { id: playerId } = await player.call<{ id: string }>('get_my_user');
  await server.admin(`/guilds/${guild.id}/members`, { user_id: playerId, permissions: '16' });
  const made = await bot.call<{ id: string }>('create_lobby', {
    body: { members: [{ id: playerId, flags: 1 }] },
  });
  const params = { lobby_id: made.id };
  const channel = { channel_id: guild.text_channel_id };
  await player.call('edit_lobby_channel_link', { params, body: channel });
  /** Writes, edits and deletes a message in the channel. @returns its id. */
  const talk = async (content: string): Promise<string> => {
    const { id } = await bot.call<{ id: string }>('create_message', { params: channel, body: { content } });
    const message = { params: { ...channel, message_id: id } };
    await bot.call('update_message', { ...message, body: { content: `${content}, edited` } });
    await bot.call('delete_message', message);
    return id;
  };
  const told = (id: string, content: string) => [
    { type: kinds[0], data: { id, content, lobby_id: made.id, ...channel } },
    {
      type: kinds[1],
      data: { id, content: `${content}, edited`, edited_timestamp: expect.any(String), lobby_id: made.id },
    },
    { type: kinds[2], data: { id, lobby_id: made.id } },
  ];
  try {
    const before = events.length;
    const first = await talk('to the app');
    await expect.poll(() => events.length, { timeout: 15_000 }).toBe(before + 3);
    expect(events.slice(before)).toMatchObject(told(first, 'to the app'));
    await bot.call('edit_lobby', { params, body: { override_event_webhooks_url: `${origin()}/lobby` } });
    const second = await talk('to the lobby');
    await expect.poll(() => lobbyEvents.length, { timeout: 15_000 }).toBe(3);
    expect(lobbyEvents).toMatchObject(told(second, 'to the lobby'));
    expect(events).toHaveLength(before + 3);
  } finally {
    await bot.call('delete_lobby', { params });
  }
});

test('the game receives events for the private messages that it carries, with edits and deletions', async () => {
  const kinds = ['CREATE', 'UPDATE', 'DELETE'].map((what) => `GAME_DIRECT_MESSAGE_${what}`);
  expect((await set({ event_webhooks_types: kinds })).status).toBe(200);
  const { id: client_id, client_secret } = server.info.application;
  const response = await fetch(`${server.info.api}/v10/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ grant_type: 'client_credentials', scope: 'sdk.social_layer' },
      ...{ client_id, client_secret },
    }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  const plays = callerOf(server, `Bearer ${token}`);
  const { id: playsId } = await plays<{ id: string }>('GET /users/@me');
  const peer = await server.admin<{ token: string; user: { id: string } }>('/users', { username: 'peer' });
  await plays(`PUT /users/@me/relationships/${peer.user.id}`, {});
  await callerOf(server, `Bearer ${peer.token}`)(`PUT /users/@me/relationships/${playsId}`, {});
  const to = `/users/${peer.user.id}/messages`;
  const { id } = await plays<{ id: string }>(`POST ${to}`, { content: 'gg' });
  await plays(`PATCH ${to}/${id}`, { content: 'good game' });
  await plays(`DELETE ${to}/${id}`);
  await expect.poll(() => events.at(-1)?.type, { timeout: 15_000 }).toBe(kinds[2]);
  expect(events.slice(-3)).toMatchObject([
    { type: kinds[0], data: { id, content: 'gg', author: { id: playsId }, channel: { type: 1 } } },
    { type: kinds[1], data: { id, content: 'good game', edited_timestamp: expect.any(String) } },
    { type: kinds[2], data: { id } },
  ]);
});

test('an application receives events for authorizations, and for entitlements granted and revoked', async () => {
  const { id: applicationId } = server.info.application;
  const [person] = server.info.users;
  const kinds = ['AUTHORIZED', 'DEAUTHORIZED'].map((what) => `APPLICATION_${what}`);
  const sold = ['CREATE', 'UPDATE', 'DELETE'].map((what) => `ENTITLEMENT_${what}`);
  const config = { integration_types_config: { 0: {}, 1: {} } };
  expect((await set({ event_webhooks_types: [...kinds, ...sold], ...config })).status).toBe(200);
  const before = events.length;
  const user = callerOf(server, `Bearer ${person!.token}`);
  const link = `client_id=${applicationId}&scope=applications.commands&integration_type=1`;
  await user(`POST /oauth2/authorize?${link}`, { authorize: true, integration_type: 1 });
  const grants = await user<{ id: string; application: { id: string } }[]>('GET /oauth2/tokens');
  await user(
    `DELETE /oauth2/tokens/${grants.find(({ application }) => application.id === applicationId)!.id}`,
  );
  const sell = <T>(path: string, body: object) =>
    server.admin<T>(`/applications/${applicationId}${path}`, body);
  const { skus } = await sell<{ skus: { id: string }[] }>('/skus', { name: 'Patron', type: 'subscription' });
  const { entitlements, subscriptions } = await sell<{
    readonly entitlements: readonly { readonly id: string }[];
    readonly subscriptions: readonly { readonly id: string }[];
  }>('/grants', { sku_id: skus[0]!.id, user_id: person!.id });
  await sell('/subscriptions/cancel', { subscription_id: subscriptions[0]!.id, at_once: true });
  await sell('/refunds', { entitlement_id: entitlements[0]!.id });
  await expect.poll(() => events.at(-1)?.type, { timeout: 15_000 }).toBe(sold[2]);
  const entitlement = { id: entitlements[0]!.id, user_id: person!.id };
  expect(events.slice(before)).toMatchObject([
    { type: kinds[0], data: { integration_type: 1, user: { id: person!.id } } },
    { type: kinds[1], data: { user: { id: person!.id } } },
    ...sold.map((type) => ({ type, data: entitlement })),
  ]);
});

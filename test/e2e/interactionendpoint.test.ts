// Goal: an express app that checks signatures with discord-interactions gets interactions by HTTP only, and answers them in its responses.
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyKeyMiddleware } from 'discord-interactions';
import express from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GatewayClient } from '../support/gateway-client.ts';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

interface Received {
  readonly id: string;
  readonly type: number;
  readonly token: string;
  readonly data?: { readonly name: string };
}

let server: TestServer;
let app: Server;
let ann: Person;
let gateway: GatewayClient;
let ping: { id: string; version: string; name: string; type: number };
/** The app's answer, by the type of the interaction. */
let answer: (one: Received) => { readonly status: number; readonly body?: object | FormData };
const received: Received[] = [];

const origin = () => `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
const message = (content: string, more: object = {}) => ({
  status: 200,
  body: { type: 4, data: { content, ...more } },
});

async function sendForm(response: express.Response, form: FormData): Promise<void> {
  const whole = new Response(form);
  response.setHeader('content-type', whole.headers.get('content-type')!);
  response.end(Buffer.from(await whole.arrayBuffer()));
}

/** A callback with files, as bodies with files are sent everywhere. */
function withFiles(callback: object, files: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>) {
  const form = new FormData();
  form.set('payload_json', JSON.stringify(callback));
  for (const [index, [name, content]] of Object.entries(files).entries())
    form.set(`files[${index}]`, new Blob([content]), name);
  return form;
}

beforeAll(async () => {
  server = await startServer();
  const web = express();
  web.post('/interactions', verifyKeyMiddleware(server.info.application.public_key), (request, response) => {
    const one = request.body as Received;
    received.push(one);
    const { status, body } = answer(one);
    response.status(status);
    if (body instanceof FormData) void sendForm(response, body);
    else if (body) response.json(body);
    else response.end();
  });
  app = web.listen(0, '127.0.0.1');
  await once(app, 'listening');
  const { body } = await server.bot().ask<typeof ping>('create_application_command', {
    params: { application_id: server.info.application.id },
    body: { name: 'ping', description: 'Answers.' },
  });
  ping = body;
  gateway = await GatewayClient.ready(server.info.gateway, { token: server.info.bot.token });
  ann = await Person.of(server);
  const set = await server
    .bot()
    .ask('update_my_application', { body: { interactions_endpoint_url: `${origin()}/interactions` } });
  expect(set.status).toBe(200);
});

afterAll(async () => {
  ann?.close();
  gateway?.close();
  app?.closeAllConnections();
  app?.close();
  await server?.finish();
});

test('an interaction goes to the app alone, and the body of the response answers it', async () => {
  answer = () => message('by HTTP');
  const { id, nonce } = await ann.slash(ping);
  await ann.hears('INTERACTION_SUCCESS', nonce);
  expect(await ann.answer(id)).toMatchObject({ content: 'by HTTP', type: 20 });
  expect(received.at(-1)).toMatchObject({
    ...{
      id,
      type: 2,
      data: { name: 'ping' },
      version: 1,
      context: 0,
      application_id: server.info.application.id,
    },
    guild: { id: server.info.guild.id, locale: 'en-US' },
    member: { user: { id: ann.userId }, permissions: expect.any(String) },
    channel: { id: server.info.guild.text_channel_id },
    authorizing_integration_owners: { 0: server.info.guild.id },
    attachment_size_limit: 10 * 1_048_576,
  });
  await gateway.settled(server.info.guild.id);
  expect(gateway.names).not.toContain('INTERACTION_CREATE');
});

test('an app that answers 202 uses the callback route and the token', async () => {
  answer = () => ({ status: 202 });
  const { id } = await ann.slash(ping);
  await expect.poll(() => received.at(-1)?.id).toBe(id);
  const { token } = received.at(-1)!;
  const anyone = server.restOf(null);
  const params = { interaction_id: id, interaction_token: token };
  const wrong = await anyone.ask('create_interaction_response', {
    params: { ...params, interaction_token: `${token}x` },
    body: { type: 5 },
  });
  expect(wrong.body.code).toBe(10_062);
  expect((await anyone.ask('create_interaction_response', { params, body: { type: 5 } })).status).toBe(204);
  const edited = await anyone.ask<{ content: string }>('update_original_webhook_message', {
    params: { webhook_id: server.info.application.id, webhook_token: token },
    body: { content: 'later' },
  });
  expect([edited.status, edited.body.content]).toEqual([200, 'later']);
  const follow = await anyone.ask<{ content: string }>('execute_webhook', {
    params: { webhook_id: server.info.application.id, webhook_token: token },
    body: { content: 'and more' },
  });
  expect([follow.status, follow.body.content]).toEqual([200, 'and more']);
});

test('the body of the response brings files', async () => {
  const attachments = [{ id: 0, description: 'What was found' }];
  const callback = { type: 4, data: { content: 'see', attachments } };
  const large = new Uint8Array(9 << 20).fill(7);
  answer = () => ({ status: 200, body: withFiles(callback, { 'report.txt': 'found', 'all.bin': large }) });
  const { id, nonce } = await ann.slash(ping);
  await ann.hears('INTERACTION_SUCCESS', nonce);
  const { content, attachments: shown } = await ann.answer(id);
  expect([content, shown.map(({ filename }) => filename)]).toEqual(['see', ['report.txt', 'all.bin']]);
  expect(shown[0]).toMatchObject({ description: 'What was found', size: 5 });
  expect(await (await fetch(shown[0]!.url)).text()).toBe('found');
  expect((await (await fetch(shown[1]!.url)).arrayBuffer()).byteLength).toBe(9 << 20);
});

test('the files of a hidden answer are fetched by its link', async () => {
  answer = () => ({ status: 200, body: withFiles({ type: 4, data: { flags: 64 } }, { 'own.txt': 'mine' }) });
  const { id } = await ann.slash(ping);
  const { attachments } = await ann.answer(id);
  expect(attachments).toMatchObject([{ filename: 'own.txt', ephemeral: true }]);
  expect(await (await fetch(attachments[0]!.url)).text()).toBe('mine');
});

test('an answer that is none fails the interaction at once', async () => {
  for (const [given, reason] of [
    [{ status: 500 }, 1],
    [{ status: 200, body: { type: 7, data: {} } }, 1],
    [{ status: 200, body: { type: 4, data: { content: 'x'.repeat(2_001) } } }, 1],
    [{ status: 200, body: { nothing: true } }, 1],
    [
      { status: 200, body: withFiles({ type: 4, data: { content: 'x'.repeat(2_001) } }, { 'a.txt': 'a' }) },
      1,
    ],
    [{ status: 200, body: withFiles({ type: 4 }, { 'large.bin': new Uint8Array((10 << 20) + 1) }) }, 1],
  ] as const) {
    answer = () => given;
    const { nonce } = await ann.slash(ping);
    expect(await ann.hears('INTERACTION_FAILURE', nonce)).toMatchObject({ reason_code: reason });
  }
});

test('an app that cannot be reached fails the interaction at once', async () => {
  app.closeAllConnections();
  app.close();
  await once(app, 'close');
  const { nonce } = await ann.slash(ping);
  expect(await ann.hears('INTERACTION_FAILURE', nonce)).toMatchObject({ reason_code: 3 });
});

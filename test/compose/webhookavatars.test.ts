// Goal: a message of a webhook shows the picture that it names by a URL, and no URL makes the server fetch what it must not.
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import { pngPixel } from '../support/media.ts';
import { validateResponse } from '../support/openapi.ts';

let engine: Awaited<ReturnType<typeof createEngine>>;
let api: string;
let owner: string;
let channelId: string;

const ask = async (method: string, path: string, authorization: string | null, body?: object) => {
  const headers = { 'content-type': 'application/json', ...(authorization !== null && { authorization }) };
  const response = await fetch(`${api}${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text,
  };
};

/** A new webhook, by its path with the token. */
async function hook() {
  const { body } = await ask('POST', `/channels/${channelId}/webhooks`, owner, { name: 'Herald' });
  return { id: body.id as string, path: `/webhooks/${body.id}/${body.token}` };
}

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, voice: false, log_level: 'silent', rate_limits: false },
  });
  api = `${(await engine.listen()).api}/v10`;
  const anna = await engine.admin.createUser({ username: 'anna' });
  owner = `Bearer ${anna.token}`;
  const guild = await engine.admin.createGuild({ name: 'Harbour', ownerId: anna.user.id as never });
  channelId = (await ask('POST', `/guilds/${guild.id}/channels`, owner, { name: 'talk' })).body.id;
}, 60_000);
afterAll(() => engine.close());

describe('the avatar that a message names by a URL', () => {
  const PNG = pngPixel();
  const answers: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
    '/face.png': (response) => response.end(PNG),
    '/page': (response) => response.end('<html>'),
    '/large.png': (response) => response.end(Buffer.concat([PNG, Buffer.alloc(1 << 20)])),
    '/moved.png': (response) => response.writeHead(302, { location: '/face.png' }).end(),
    '/gone.png': (response) => response.writeHead(404).end(PNG),
  };
  let host: Server;
  let asked: (string | undefined)[] = [];
  const urlOf = (path: string) => `http://127.0.0.1:${(host.address() as AddressInfo).port}${path}`;

  beforeAll(async () => {
    host = createServer((request, response) => {
      asked.push(request.url);
      answers[request.url ?? '']?.(response);
    }).listen(0, '127.0.0.1');
    await once(host, 'listening');
  });
  afterAll(() => {
    host.closeAllConnections();
    host.close();
  });

  const sentWith = async (made: { readonly path: string }, body: object) => {
    const sent = await ask('POST', `${made.path}?wait=true`, null, { content: 'x', ...body });
    expect(sent.status).toBe(200);
    expect(validateResponse('execute_webhook', 200, sent.body)).toEqual([]);
    return sent.body.author;
  };

  test('is fetched once and served by this server', async () => {
    asked = [];
    const made = await hook();
    const { avatar, username } = await sentWith(made, { avatar_url: urlOf('/face.png'), username: 'Guest' });
    expect([avatar, username]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), 'Guest']);
    expect((await sentWith(made, { avatar_url: urlOf('/face.png') })).avatar).toBe(avatar);
    expect(asked).toEqual(['/face.png']);
    const cdn = api.replace(/\/api\/v10$/, '');
    const shown = await fetch(`${cdn}/avatars/${made.id}/${avatar}.png`);
    expect(Buffer.from(await shown.arrayBuffer())).toEqual(PNG);
    const slack = await ask('POST', `${made.path}/slack`, null, { text: 'x', icon_url: urlOf('/face.png') });
    expect(slack.status).toBe(200);
    const [newest] = (await ask('GET', `/channels/${channelId}/messages?limit=1`, owner)).body;
    expect(newest.author.avatar).toBe(avatar);
  });

  test.each(['/page', '/large.png', '/moved.png', '/gone.png'])(
    'falls back to the avatar of the webhook when the URL has no small image (%s)',
    async (path) => {
      asked = [];
      expect((await sentWith(await hook(), { avatar_url: urlOf(path) })).avatar).toBeNull();
      expect(asked).toEqual([path]);
    },
  );

  test.each(['http://192.168.0.1/x.png', 'https://[::ffff:10.0.0.1]/x.png', 'http://127.0.0.1:1/x.png'])(
    'is left out of the message when the URL is forbidden or unreachable (%s)',
    async (url) => {
      expect((await sentWith(await hook(), { avatar_url: url })).avatar).toBeNull();
    },
  );
});

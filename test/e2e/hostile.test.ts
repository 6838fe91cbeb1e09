// Goal: whatever comes from the network, each gets its error or close code, and the same server goes on serving within bounded memory.
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OP } from '../../protocol/opcodes.ts';
import { writeEtf, writeTerm } from '../support/codec-client.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import type { ErrorBody, RestClient } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { type Exchanged, exchange, put } from '../support/socket-client.ts';

const IDENTIFY_TIMEOUT_MS = 1000;
const REQUEST_TIMEOUT_MS = 1500;
const GROWTH_BYTES_MAX = 200 << 20;

let server: TestServer;
let rest: RestClient;
let channel: { readonly channel_id: string };
let guild: { readonly guild_id: string };
let rssAtStart: number;
/** Lasts as long as everything else: connections that say nothing, or never finish their headers. */
let silent: Promise<Exchanged>[];

beforeAll(async () => {
  server = await startServer({
    relayed: false,
    set: {
      identify_timeout_ms: IDENTIFY_TIMEOUT_MS,
      request_timeout_ms: REQUEST_TIMEOUT_MS,
      request_bytes_max: 2 << 20,
      upload_bytes_max: 1 << 20,
    },
  });
  rest = server.bot();
  channel = { channel_id: server.info.guild.text_channel_id };
  guild = { guild_id: server.info.guild.id };
  await rest.call('create_message', { params: channel, body: { content: 'Before the storm' } });
  rssAtStart = await server.rssBytes();
  silent = [
    exchange(server.port, () => {}, 60_000),
    exchange(server.port, dribble('GET /api/v10/gateway HTTP/1.1\r\nHost: a\r\nX-Slow: '), 60_000),
  ];
});
afterAll(() => server.finish());

/** Sends a byte now and then, until the server has had enough. */
const dribble = (head: string) => async (socket: Socket) => {
  await put(socket, head);
  while (!socket.destroyed) {
    await put(socket, 'x');
    await delay(200);
  }
};

const still = async () => expect((await rest.ask('get_my_user')).status).toBe(200);

describe('frames on the gateway', () => {
  const deep = `{"op":1,"d":${'['.repeat(1000)}${']'.repeat(1000)}}`;
  const text: Record<string, string | Buffer> = {
    'half a JSON text': '{"op":1,"d":',
    'no JSON at all': 'GET / HTTP/1.1',
    nothing: '',
    'a list': '[1,2]',
    null: 'null',
    'no op': '{"d":1}',
    'an op that is text': '{"op":"1"}',
    'an op that is no whole number': '{"op":1.5}',
    'more than 4096 bytes': JSON.stringify({ op: 1, d: 'x'.repeat(4096) }),
    'deep nesting': deep,
    'a zlib bomb': deflateSync(Buffer.alloc(1 << 20, ' ')),
    'broken zlib': Buffer.from([0x78, 0x9c, 1, 2, 3, 4]),
    'bytes that are no UTF-8': Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  };
  test.each(Object.entries(text))('close with 4002 as JSON: %s', async (_, frame) => {
    const client = await GatewayClient.connect(server.info.gateway);
    client.sendRaw(frame);
    expect(await client.closed).toMatchObject({ code: 4002 });
  });

  const list = (count: number) => Buffer.from([131, 108, count >>> 24, count >>> 16, count >>> 8, count]);
  const etf: Record<string, string | Buffer> = {
    'a text frame': 'hello',
    'another version': Buffer.from([130, 106]),
    'a term cut short': writeEtf({ op: 1, d: 'abc' }).subarray(0, -2),
    'a term and a rest': Buffer.concat([writeEtf({ op: 1, d: null }), Buffer.from([106])]),
    'a list longer than the world': list(0xffffffff),
    'deep nesting': Buffer.concat([
      Buffer.from([131]),
      ...Array.from({ length: 500 }, () => list(1).subarray(1)),
    ]),
    'atoms as keys': Buffer.from([131, 116, 0, 0, 0, 1, 115, 2, 0x6f, 0x70, 97, 1]),
    'a compressed term': Buffer.concat([
      Buffer.from([131, 80, 0, 16, 0, 0]),
      deflateSync(Buffer.concat([writeTerm('x'.repeat(1 << 20))])),
    ]),
    'a number without end': Buffer.from([131, 111, 0xff, 0xff, 0xff, 0xff, 0]),
    'a function': Buffer.from([131, 112, 0, 0, 0, 0]),
  };
  test.each(Object.entries(etf))('close with 4002 as ETF: %s', async (_, frame) => {
    const client = await GatewayClient.connect(server.info.gateway, { encoding: 'etf' });
    client.sendRaw(frame);
    expect(await client.closed).toMatchObject({ code: 4002 });
  });

  test('text frames that are not UTF-8, and oversized frames, close the connection', async () => {
    const large = await GatewayClient.connect(server.info.gateway);
    large.sendRaw(' '.repeat(1 << 20));
    expect([1006, 1009, 4002]).toContain((await large.closed).code);
    const garbled = await GatewayClient.connect(server.info.gateway);
    garbled.sendRaw(Buffer.from([0x7b, 0xff, 0xfe]), false);
    expect([1006, 1007, 4002]).toContain((await garbled.closed).code);
  });

  test('a socket that sends nothing, or only heartbeats, is closed with 4003 after the timeout', async () => {
    const startMs = performance.now();
    const clients = await Promise.all([1, 2, 3].map(() => GatewayClient.connect(server.info.gateway)));
    clients[1]!.send(OP.HEARTBEAT, null);
    for (const client of clients) expect(await client.closed).toMatchObject({ code: 4003 });
    expect(performance.now() - startMs).toBeLessThan(IDENTIFY_TIMEOUT_MS * 3);
  });
});

describe('every opcode with wrong contents', () => {
  const before = [OP.IDENTIFY, OP.RESUME];
  const after = [
    OP.PRESENCE_UPDATE,
    OP.VOICE_STATE_UPDATE,
    OP.REQUEST_GUILD_MEMBERS,
    OP.REQUEST_SOUNDBOARD_SOUNDS,
    OP.REQUEST_CHANNEL_INFO,
  ];
  const wrong: unknown[] = [
    null,
    1,
    'text',
    true,
    [[]],
    {
      token: 1,
      session_id: {},
      seq: 'x',
      intents: {},
      status: 7,
      activities: 1,
      guild_id: {},
      guild_ids: 1,
      fields: 1,
    },
    {
      token: ['a'],
      session_id: null,
      intents: '513',
      status: 'asleep',
      guild_id: '-1',
      guild_ids: ['x'],
      fields: [1],
    },
  ];
  const cases = wrong.map((d) => [JSON.stringify(d), d] as const);

  test.each(cases)('%s: 4001', async (_, d) => {
    for (const op of before) {
      const client = await GatewayClient.connect(server.info.gateway);
      client.send(op, d);
      expect({ op, ...(await client.closed) }).toMatchObject({ op, code: 4001 });
    }
    for (const op of after) {
      const client = await GatewayClient.ready(server.info.gateway, { token: server.info.bot.token });
      client.send(op, d);
      expect({ op, ...(await client.closed) }).toMatchObject({ op, code: 4001 });
    }
  });

  test('well-formed payloads with unknown ids are ignored', async () => {
    const client = await GatewayClient.ready(server.info.gateway, { token: server.info.bot.token });
    const nowhere = { guild_id: '1', channel_id: '2', self_mute: true, self_deaf: true };
    client.send(OP.VOICE_STATE_UPDATE, nowhere);
    client.send(OP.VOICE_STATE_UPDATE, { ...nowhere, guild_id: guild.guild_id });
    client.send(OP.REQUEST_GUILD_MEMBERS, { guild_id: '1', query: '', limit: 0 });
    client.send(OP.REQUEST_GUILD_MEMBERS, { guild_id: guild.guild_id, query: '\ud800', limit: 1e15 });
    client.send(OP.REQUEST_SOUNDBOARD_SOUNDS, { guild_ids: ['1', '2', '1'] });
    client.send(OP.REQUEST_CHANNEL_INFO, { guild_id: '1', fields: ['x'] });
    const activities = [{ name: '\ud800\u0000', type: 99 }, {}, { name: 'x'.repeat(1000), type: 0 }];
    client.send(OP.PRESENCE_UPDATE, { since: null, activities, status: 'online', afk: false });
    await client.settled(guild.guild_id);
    await client.close();
  });
});

describe('requests', () => {
  const authorization = () => `Authorization: Bot ${server.info.bot.token}\r\n`;
  const post = (headers: string) =>
    `POST /api/v10/channels/${channel.channel_id}/messages HTTP/1.1\r\nHost: a\r\n${authorization()}${headers}\r\n`;
  const form = 'Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n';
  const part = '--b\r\nContent-Disposition: form-data; name="files[0]"; filename="a"\r\n\r\n';
  const chunk = (data: string) => `${data.length.toString(16)}\r\n${data}\r\n`;

  test('are cut off when they have 10,000 header lines', async () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => `X-${index}: y\r\n`).join('');
    const { status } = await exchange(server.port, (socket) =>
      put(socket, `GET /api/v10/gateway HTTP/1.1\r\nHost: a\r\n${lines}\r\n`),
    );
    expect([null, 400, 431]).toContain(status);
    await still();
  });

  test('are cut off with 408 when their body arrives too slowly', async () => {
    const head = post('Content-Type: application/json\r\nContent-Length: 100000\r\n');
    const { status, tookMs, body } = await exchange(server.port, dribble(head));
    expect(status).toBe(408);
    expect(JSON.parse(body)).toMatchObject({ code: 0 });
    expect(tookMs).toBeLessThan(REQUEST_TIMEOUT_MS * 3);
  });

  test('a form without end is cut with 413, one that stops with 408', async () => {
    const endless = async () => {
      const { status } = await exchange(server.port, async (socket) => {
        await put(socket, post(form) + chunk(part));
        const block = chunk('x'.repeat(65_536));
        for (let sent = 0; sent < 128 && !socket.destroyed; sent += 1) await put(socket, block);
      });
      return status;
    };
    // A client that still sends when the connection is cut may learn of the cut before it reads the answer.
    await expect.poll(endless, { timeout: 20_000 }).toBe(413);
    const stopped = await exchange(server.port, (socket) => put(socket, post(form) + chunk(part)));
    expect(stopped.status).toBe(408);
    await still();
  });

  test('are rejected with 413 before the body is sent if content-length is above the bound', async () => {
    const head = post(`Content-Type: application/json\r\nContent-Length: ${1 << 30}\r\n`);
    expect((await exchange(server.port, (socket) => put(socket, head))).status).toBe(413);
  });

  test('are refused or cut off when they are not HTTP', async () => {
    for (const bytes of [
      '\u0000\u0001\u0002',
      'GET\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\r\n'.repeat(5000),
    ]) {
      const { status } = await exchange(server.port, async (socket) => {
        await put(socket, bytes);
        socket.end();
      });
      expect([null, 400, 404, 505]).toContain(status);
    }
    await still();
  });

  test.each([
    ['GET', '/api/v10/nowhere', 404],
    ['GET', '/api/v10/channels/%zz', 400],
    ['GET', '/api/v10/channels/%00', 400],
    ['GET', '/api/v11/gateway', 400],
    ['GET', '/api', 404],
    ['GET', '/elsewhere', 404],
    ['GET', '/attachments/1/2/..%2f..%2f..%2fetc%2fpasswd', 404],
    ['GET', '/attachments/../../../../etc/passwd', 404],
    ['GET', '/icons/1/%2e%2e%2f%2e%2e%2fdatabase.png', 404],
    ['DELETE', '/api/v10/gateway', 405],
    ['PATCH', '/api/v10/users/@me/guilds', 405],
  ])('%s %s is %i in the shape of every error', async (method, path, status) => {
    const answer = await exchange(server.port, (socket) =>
      put(socket, `${method} ${path} HTTP/1.1\r\nHost: a\r\n${authorization()}\r\n`),
    );
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body)).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
  });

  test('are rejected with 400 or 415 if the body is not JSON, too deep or of another type', async () => {
    const url = `${server.info.api}/v10/channels/${channel.channel_id}/messages`;
    const send = async (body: string, type: string) => {
      const headers = { authorization: `Bot ${server.info.bot.token}`, 'content-type': type };
      const response = await fetch(url, { method: 'POST', headers, body });
      return [response.status, ((await response.json()) as ErrorBody).code];
    };
    expect(await send('{"content":', 'application/json')).toEqual([400, 50109]);
    expect(await send('['.repeat(100_000), 'application/json')).toEqual([400, 50109]);
    expect(await send(`[${'1,'.repeat(25_000)}1]`, 'application/json')).toEqual([400, 50109]);
    expect(await send('"text"', 'application/json')).toEqual([400, 50035]);
    expect(await send('content=hello', 'application/x-www-form-urlencoded')).toEqual([415, 50035]);
    expect((await send('--b--', 'multipart/form-data; boundary=b'))[0]).toBe(400);
    expect((await send('no parts', 'multipart/form-data'))[0]).toBe(400);
  });

  test.each([
    '0',
    '-1',
    'abc',
    '1e5',
    '18446744073709551616',
    '9'.repeat(60),
    '１２３',
    ' 1',
    '../1',
    '1\u0000',
  ])('the id %j names nothing, politely', async (id) => {
    for (const [operationId, params] of [
      ['get_channel', { channel_id: id }],
      ['get_guild', { guild_id: id }],
      ['get_user', { user_id: id }],
      ['get_message', { ...channel, message_id: id }],
      ['delete_guild_role', { ...guild, role_id: id }],
    ] as const) {
      const { status, body } = await rest.ask(operationId, { params });
      expect([operationId, [400, 403, 404].includes(status)]).toEqual([operationId, true]);
      expect(body.code).toEqual(expect.any(Number));
    }
    const { status } = await rest.ask('list_messages', { params: channel, query: { before: id, limit: 5 } });
    expect([200, 400]).toContain(status);
  });

  test('errors of nested fields are found where they are', async () => {
    const { status, body } = await rest.ask('create_message', {
      params: channel,
      body: { embeds: [{ title: 'fine' }, { fields: [{ name: 'only a name' }] }] },
    });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      code: 50035,
      errors: { embeds: { 1: { fields: { 0: { value: { _errors: [{ code: 'BASE_TYPE_REQUIRED' }] } } } } } },
    });
  });
});

describe('text', () => {
  const say = (content: string) =>
    rest.ask<{ content: string } & ErrorBody>('create_message', { params: channel, body: { content } });

  test('2000 astral characters fit, 2001 do not', async () => {
    const { status, body } = await say('🜁'.repeat(2000));
    expect([status, body.content]).toEqual([200, '🜁'.repeat(2000)]);
    expect((await say('🜁'.repeat(2001))).body).toMatchObject({
      code: 50035,
      errors: { content: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH' }] } },
    });
  });

  test('is an empty message when it has no visible characters; unusual characters arrive unchanged', async () => {
    for (const content of ['', '  \n\t ', '\u200b\u200d\ufeff'])
      expect((await say(content)).body.code).toBe(50006);
    const odd = 'a\u202eb\u0301\u200d👨‍👩‍👧‍👦ﷺ\u2028z̷̳͗';
    expect((await say(odd)).body.content).toBe(odd);
    expect((await say('a\ud83dz')).body.content).toBe('a\ufffdz');
    expect((await say('a\u0000b')).body.content).toBe('ab');
  });

  const strange = {
    'a surrogate alone': '\ud800',
    'a NUL': 'a\u0000b',
    'a space without width': '\u200b',
    'an order of writing without text': '\u202e\u0301',
    'two thousand astral characters': '🜁'.repeat(2000),
    'a key of every object': '__proto__',
    'an encoded NUL': '%00',
    'a line break': '\r\n',
    'a piece of SQL': "'; --",
  };
  test.each(Object.entries(strange))('%s is text like any wherever text may stand', async (_, text) => {
    const { id: message_id } = await rest.call<{ id: string }>('create_message', {
      params: channel,
      body: { content: 'To be changed' },
    });
    const message = { ...channel, message_id };
    const user = { ...guild, user_id: server.info.users[0]!.id };
    for (const [operationId, params, body] of [
      [
        'create_message',
        channel,
        { content: text, nonce: text, embeds: [{ title: text, footer: { text } }] },
      ],
      ['update_message', message, { content: text, embeds: [{ description: text, url: text }] }],
      ['create_guild_role', guild, { name: text, unicode_emoji: text, icon: text }],
      ['create_guild_channel', guild, { name: text, topic: text, rtc_region: text }],
      ['update_guild', guild, { description: text }],
      ['update_guild_member', user, { nick: text }],
      ['update_my_user', {}, { username: text, avatar: text }],
      ['update_my_application', {}, { description: text, tags: [text] }],
      ['create_channel_invite', channel, { target_user_id: text }],
      ['create_dm', {}, { recipient_id: text }],
      ['add_my_message_reaction', { ...message, emoji_name: text }, undefined],
    ] as const) {
      const { status } = await rest.ask(operationId, { params, body, reason: text });
      expect([operationId, status >= 200 && status < 500]).toEqual([operationId, true]);
    }
    const { status } = await rest.ask('search_guild_members', { params: guild, query: { query: text } });
    // 24 KB of query: more than the native parser of newer builds takes.
    expect([200, 400, 431]).toContain(status);
  });

  test('file names cannot leave their folder, nor headers their line', async () => {
    for (const name of ['../../etc/passwd', 'a\r\nX-Evil: 1', '\u0000', '..', 'ー'.repeat(300), 'a"b;c']) {
      const { status, body } = await rest.ask<{ attachments: { url: string }[] }>('create_message', {
        params: channel,
        body: {},
        files: [{ name, bytes: Buffer.from('x'), type: 'text/html\r\nX-Evil: 1' }],
      });
      expect([200, 400]).toContain(status);
      if (status !== 200) continue;
      const response = await fetch(body.attachments[0]!.url);
      expect(await response.text()).toBe('x');
      expect(response.headers.get('x-evil')).toBeNull();
      expect(response.headers.get('content-type')).not.toContain('html');
    }
  });

  test('no JSON that can be sent as a message or a role is a fault of the server', async () => {
    const fields = fc.dictionary(
      fc.constantFrom(
        'content',
        'embeds',
        'flags',
        'attachments',
        'allowed_mentions',
        'message_reference',
        'nonce',
        'poll',
        'components',
        'sticker_ids',
        'tts',
        'name',
        'color',
        'permissions',
        'colors',
      ),
      fc.jsonValue({ maxDepth: 4 }),
    );
    await fc.assert(
      fc.asyncProperty(fields, async (body) => {
        const [message, role] = await Promise.all([
          rest.ask('create_message', { params: channel, body }),
          rest.ask('create_guild_role', { params: guild, body: { ...body, name: 'x' } }),
        ]);
        expect(Math.max(message.status, role.status)).toBeLessThan(500);
      }),
      { numRuns: 60 },
    );
  });
});

test('the same server still serves after all attacks, within bounded memory, without idle sockets', async () => {
  const flood = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const socket = connect(server.port, '127.0.0.1').on('error', () => {});
      await put(socket, 'POST /api/v10/users/@me/channels HTTP/1.1\r\nContent-Length: 100\r\n');
      return socket;
    }),
  );
  for (const socket of flood) socket.destroy();
  for (const { status, tookMs } of await Promise.all(silent)) {
    expect([null, 408]).toContain(status);
    expect(tookMs).toBeLessThan(40_000);
  }
  const client = await GatewayClient.ready(server.info.gateway, { token: server.info.bot.token });
  const { id } = await rest.call<{ id: string }>('create_message', {
    params: channel,
    body: { content: 'After the storm' },
  });
  await client.dispatch('MESSAGE_CREATE', (d) => d.id === id);
  await client.close();
  expect((await server.rssBytes()) - rssAtStart).toBeLessThan(GROWTH_BYTES_MAX);
  expect(server.complaints).toEqual([]);
});

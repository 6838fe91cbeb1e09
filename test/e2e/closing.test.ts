// Goal: the gateway closes with the platform's code for each thing a client must not do, and revoked tokens end at once.
import { Client, Events, GatewayIntentBits } from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OP } from '../../protocol/opcodes.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const PRESENCE = { since: null, activities: [], status: 'online', afk: false };

let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    bots: 2,
    rateLimits: true,
    set: { sharding_required_guilds: 1, session_starts_per_day: 40, max_concurrency: 2 },
  });
});
afterAll(() => server.finish());

const url = () => server.info.gateway;
const token = () => server.info.bot.token;

/** How a connection ends after what it says. */
async function endOf(say: (client: GatewayClient) => void): Promise<number> {
  const client = await GatewayClient.connect(url());
  say(client);
  return (await client.closed).code;
}

const identified = (more: object) =>
  endOf((client) => client.identify({ token: token(), intents: 1, ...more }));

test.each([
  ['an opcode that is none', 4001, OP.DISPATCH, null],
  ['another that is none', 4001, 999, null],
  ['a presence before IDENTIFY', 4003, OP.PRESENCE_UPDATE, PRESENCE],
  ['a request before IDENTIFY', 4003, OP.REQUEST_GUILD_MEMBERS, { guild_id: '1', query: '', limit: 0 }],
])('%s: %i', async (_, code, op, d) => {
  expect(await endOf((client) => client.send(op, d))).toBe(code);
});

test.each([
  ['a token that is nobody’s', 4004, { token: 'MTIzNDU2.abc.def' }],
  ['an empty token', 4004, { token: '' }],
  ['a shard beyond its number', 4010, { shard: [2, 2] }],
  ['a negative shard', 4010, { shard: [-1, 2] }],
  ['a shard that is no pair', 4010, { shard: [0] }],
  ['an intent that is none', 4013, { intents: 2 ** 40 }],
  ['a negative intent', 4013, { intents: -1 }],
  ['no intents', 4013, { intents: null }],
])('IDENTIFY with %s: %i', async (_, code, more) => {
  expect(await identified(more)).toBe(code);
});

test('an unsupported gateway version closes with 4012', async () => {
  const client = await GatewayClient.connect(url(), { v: 8 });
  expect(await client.closed).toMatchObject({ code: 4012 });
});

test('a privileged intent without the application flag closes with 4014', async () => {
  const bot = await server.newBot('Snuffer', { flags: 0 });
  for (const intents of [1 << 1, 1 << 8, 1 << 15]) {
    const client = await GatewayClient.connect(url());
    client.identify({ token: bot.token, intents });
    expect(await client.closed).toMatchObject({ code: 4014 });
  }
  const client = await GatewayClient.ready(url(), { token: bot.token, intents: 1 | (1 << 9) });
  await client.close();
});

test('a second IDENTIFY closes with 4005', async () => {
  const client = await GatewayClient.ready(url(), { token: token() });
  client.identify({ token: token(), intents: 1 });
  expect(await client.closed).toMatchObject({ code: 4005 });
});

test('more guilds than one shard may have close the session with 4011', async () => {
  const bot = await server.newBot('Chandelier');
  const { guild } = await server.admin<{ guild: { id: string } }>('/guilds', {
    name: 'Annex',
    owner_id: server.info.users[0]!.id,
  });
  await server.admin(`/guilds/${guild.id}/members`, { user_id: bot.id });
  const client = await GatewayClient.connect(url());
  client.identify({ token: bot.token, intents: 1 });
  expect(await client.closed).toMatchObject({ code: 4011 });
});

test('more than 120 events in a minute close the connection with 4008, and the session resumes', async () => {
  const client = await GatewayClient.ready(url(), { token: server.info.bots[1]!.token });
  for (let count = 0; count < 130; count += 1) client.send(OP.HEARTBEAT, client.seq);
  expect(await client.closed).toMatchObject({ code: 4008 });
  expect(client.received.filter(({ op }) => op === OP.HEARTBEAT_ACK)).toHaveLength(119);
  const again = await GatewayClient.connect(url());
  again.resume(server.info.bots[1]!.token, client.sessionId, client.seq!);
  await again.dispatch('RESUMED');
  await again.close();
});

test('five of twelve presence updates sent at once are dispatched', async () => {
  const watcher = await server.newBot('Watcher');
  const seer = await GatewayClient.ready(url(), { token: watcher.token });
  const actor = await server.newBot('Flicker');
  const client = await GatewayClient.ready(url(), { token: actor.token });
  const of = (d: Record<string, unknown>) => (d.user as { id: string }).id === actor.id;
  await seer.dispatch('PRESENCE_UPDATE', of);
  for (let count = 0; count < 12; count += 1)
    client.send(OP.PRESENCE_UPDATE, { ...PRESENCE, status: count % 2 === 0 ? 'idle' : 'dnd' });
  await client.settled(server.info.guild.id);
  await seer.settled(server.info.guild.id);
  const seen = seer.received.filter(({ t, d }) => t === 'PRESENCE_UPDATE' && of(d));
  expect(seen.map(({ d }) => d.status)).toEqual(['online', 'idle', 'dnd', 'idle', 'dnd', 'idle']);
  await Promise.all([client.close(), seer.close()]);
});

describe('starting sessions', () => {
  test('faster than max_concurrency allows is answered with op 9, and a retry succeeds', async () => {
    const bot = await server.newBot('Hasty');
    const clients = await Promise.all([0, 1, 2].map(() => GatewayClient.connect(url())));
    const outcomes = clients.map((client) => {
      client.identify({ token: bot.token, intents: 1, shard: [0, 1] });
      return client.next(({ op, t }) => op === OP.INVALID_SESSION || t === 'READY');
    });
    const answers = await Promise.all(outcomes);
    expect(answers.map(({ t }) => t ?? 'op 9').sort()).toEqual(['READY', 'op 9', 'op 9']);
    for (const client of clients) await client.close();
  });

  test('is counted down in GET /gateway/bot', async () => {
    const { session_start_limit: limit } = await server
      .bot()
      .call<{ session_start_limit: Record<string, number> }>('get_bot_gateway');
    expect(limit).toMatchObject({ total: 40, max_concurrency: 2 });
    expect(limit.remaining).toBeLessThan(40);
  });
});

describe('a token', () => {
  test('closes its sessions with 4004 at once when it is revoked, and opens none again', async () => {
    const bot = await server.newBot('Stub');
    const client = await GatewayClient.ready(url(), { token: bot.token });
    await server.admin('/tokens/revoke', { user_id: bot.id });
    expect(await client.closed).toMatchObject({ code: 4004 });
    const again = await GatewayClient.connect(url());
    again.resume(bot.token, client.sessionId, client.seq!);
    expect(await again.closed).toMatchObject({ code: 4004 });
    const { status } = await server.restOf(`Bot ${bot.token}`).ask('get_my_user');
    expect(status).toBe(401);
  });

  test('stops a discord.js bot with 4004 when it is rotated', async () => {
    const bot = await server.newBot('Ember');
    const { api, cdn } = server.info;
    const client = new Client({
      intents: [GatewayIntentBits.Guilds],
      rest: { api, cdn, mediaProxy: cdn, version: '10' },
    });
    await Promise.all([
      new Promise((resolve) => client.once(Events.ClientReady, resolve)),
      client.login(bot.token),
    ]);
    const gone = new Promise<number>((resolve) =>
      client.once(Events.ShardDisconnect, ({ code }) => resolve(code)),
    );
    const { token: next } = await server.admin<{ token: string }>('/tokens/rotate', { user_id: bot.id });
    expect(await gone).toBe(4004);
    await client.destroy();
    expect((await server.restOf(`Bot ${next}`).ask('get_my_user')).status).toBe(200);
  });
});

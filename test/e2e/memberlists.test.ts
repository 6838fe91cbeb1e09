// Goal: people's clients subscribe to ranges of member lists as the platform's own do (opcodes 14 and 37), and keep them up to date.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Viewers } from '../../bench/guild/viewers.ts';
import { OP } from '../../protocol/opcodes.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { heldRows } from '../support/rowholder.ts';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let guild: string;
let channel: string;
const clients: GatewayClient[] = [];
beforeAll(async () => {
  server = await startServer();
  guild = server.info.guild.id;
  channel = server.info.guild.text_channel_id;
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await server?.finish();
});

let made = 0;
/** A new member with a session; a number makes the name unique. */
async function member(name: string): Promise<GatewayClient> {
  const username = `${name}.${++made}`;
  const { user, token } = await server.admin<{ user: { id: string }; token: string }>('/users', { username });
  await server.admin(`/guilds/${guild}/members`, { user_id: user.id });
  const client = await GatewayClient.ready(server.info.gateway, { token });
  clients.push(client);
  return client;
}

const received = (client: GatewayClient) => client.received.map(({ t, d }) => ({ t: t ?? '', d }));

/** Tokens of new members, the first by name. */
async function tokensOf(count: number): Promise<string[]> {
  const tokens: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const { user, token } = await server.admin<{ user: { id: string }; token: string }>('/users', {
      username: `a.viewer.${++made}`,
    });
    await server.admin(`/guilds/${guild}/members`, { user_id: user.id });
    tokens.push(token);
  }
  return tokens;
}

/** Waits until the rows of the client contain these. */
async function holds(client: GatewayClient, rows: readonly string[]): Promise<void> {
  const contains = () => rows.every((row) => heldRows(received(client)).includes(row));
  while (!contains()) await client.dispatch('GUILD_MEMBER_LIST_UPDATE', contains);
}

describe('a subscription to ranges of a member list', () => {
  const ranges = { channels: () => ({ [channel]: [[0, 99]] }) };

  test.each([
    ['GUILD_SUBSCRIPTIONS', () => ({ guild_id: guild, typing: true, channels: ranges.channels() })],
    [
      'GUILD_SUBSCRIPTIONS_BULK',
      () => ({ subscriptions: { [guild]: { channels: ranges.channels(), members: [] } } }),
    ],
  ] as const)('is sent the rows and their changes over %s', async (name, d) => {
    const client = await member('asking');
    client.send(OP[name], d());
    const first = await client.dispatch('GUILD_MEMBER_LIST_UPDATE');
    expect(first).toMatchObject({
      guild_id: guild,
      id: 'everyone',
      ops: [{ op: 'SYNC', range: [0, 99] }, { op: 'INVALIDATE' }],
    });
    await holds(client, ['asking online']);
    const other = await member('lodger');
    await holds(client, ['lodger online']);
    other.send(OP.PRESENCE_UPDATE, { since: null, activities: [], status: 'dnd', afk: false });
    await holds(client, ['lodger dnd']);
  });

  test('ends the connection of a bot, whose libraries have no such opcode', async () => {
    const bot = await GatewayClient.ready(server.info.gateway, { token: server.info.bot.token });
    bot.send(OP.GUILD_SUBSCRIPTIONS, { guild_id: guild, channels: ranges.channels() });
    expect((await bot.closed).code).toBe(4001);
  });

  test('may name as many guilds as fit 15 KiB, and is refused beyond 16 KiB and in the wrong shape', async () => {
    const bulk = (count: number) => {
      const each = { typing: true, activities: true, threads: true };
      const unknown = Array.from({ length: count }, (_, at) => [String(1_000_000_000_000_000 + at), each]);
      return { subscriptions: { ...Object.fromEntries(unknown), [guild]: { channels: ranges.channels() } } };
    };
    const client = await member('bulky');
    client.send(OP.GUILD_SUBSCRIPTIONS_BULK, bulk(220));
    await client.dispatch('GUILD_MEMBER_LIST_UPDATE');
    client.send(OP.GUILD_SUBSCRIPTIONS_BULK, bulk(300));
    expect((await client.closed).code).toBe(4002);
    const wrong = await member('wrong');
    wrong.send(OP.GUILD_SUBSCRIPTIONS_BULK, {
      subscriptions: { [guild]: { channels: { [channel]: [['a']] } } },
    });
    expect((await wrong.closed).code).toBe(4001);
  });
});

describe('the viewers of a benchmark', () => {
  const plan = async (count: number) => ({
    ...{ url: server.info.gateway, guildId: guild, channelId: channel },
    ...{ tokens: await tokensOf(count), identifyPerSecond: 50 },
  });

  test('hold the rows that the server has, after some of them went offline and came back', async () => {
    const viewers = new Viewers(await plan(10));
    await viewers.open();
    const until = performance.now() + 1500;
    await viewers.comeAndGo(() => performance.now() > until);
    const { viewers: count, changes, updates, updateBytes, same, firstRowsMs } = await viewers.result();
    viewers.close();
    expect({ count, same }).toEqual({ count: 10, same: true });
    expect(changes).toBeGreaterThan(0);
    expect(changes % 2).toBe(0);
    expect(updates).toBeGreaterThanOrEqual(10);
    expect(updateBytes / updates).toBeGreaterThan(100);
    expect(firstRowsMs.max).toBeGreaterThan(0);
  });
});

// Goal: a dropped connection loses, duplicates and reorders nothing, and starts no new session.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OP } from '../../protocol/opcodes.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { botOf } from '../support/shards.ts';

const MESSAGES = 1000;
const WRITERS = 8;
const DROPS = 6;

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ bots: 2 });
});
afterAll(() => server.finish());

describe('a discord.js bot whose connection is dropped by force', () => {
  test(`receives each of ${MESSAGES} messages once and in order, without a second IDENTIFY`, async () => {
    const { guild } = server.info;
    const { client, counts, seen, login } = botOf(server);
    await login();

    const writer = server.bot(1);
    const sent: string[] = [];
    let left = MESSAGES;
    const write = async () => {
      while (left > 0) {
        left -= 1;
        const body = { content: `No. ${MESSAGES - left}` };
        const { id } = await writer.call<{ id: string }>('create_message', {
          params: { channel_id: guild.text_channel_id },
          body,
        });
        sent.push(id);
      }
    };
    const writing = Promise.all(Array.from({ length: WRITERS }, write));
    let cuts = 0;
    for (let drop = 1; drop <= DROPS; drop += 1) {
      await expect
        .poll(() => sent.length, { timeout: 60_000 })
        .toBeGreaterThan((MESSAGES / DROPS) * (drop - 0.5));
      await expect.poll(() => server.relay!.sockets, { timeout: 10_000 }).toBe(1);
      await expect.poll(() => counts.resumed, { timeout: 10_000 }).toBe(cuts);
      cuts += server.relay!.cut();
    }
    await writing;
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(MESSAGES);
    await expect.poll(() => counts.resumed, { timeout: 10_000 }).toBe(cuts);
    expect(cuts).toBe(DROPS);
    // Ids ascend in the order in which the guild accepted the messages.
    expect(seen).toEqual(sent.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1)));
    expect(counts).toEqual({ ready: 1, resumed: DROPS, guilds: 1 });
    await client.destroy();
  });
});

describe('RESUME', () => {
  const say = async (content: string) =>
    server.bot(1).call<{ id: string }>('create_message', {
      params: { channel_id: server.info.guild.text_channel_id },
      body: { content },
    });
  const open = () => GatewayClient.ready(server.info.gateway, { token: server.info.bot.token });
  const dialects = [
    { encoding: 'json' },
    { encoding: 'json', compress: 'zlib-stream' },
    { encoding: 'etf', compress: 'zlib-stream' },
  ] as const;

  test.each(dialects)('replays missed events, then sends RESUMED, then continues: %o', async (dialect) => {
    const { token } = server.info.bot;
    const first = await open();
    await first.settled(server.info.guild.id);
    await first.terminate();
    const missed = [await say('one'), await say('two'), await say('three')];
    const second = await GatewayClient.connect(server.info.gateway, dialect);
    second.resume(token, first.sessionId, first.seq!);
    await second.dispatch('RESUMED');
    const after = await say('four');
    await second.dispatch('MESSAGE_CREATE', ({ id }) => id === after.id);
    const dispatches = second.received.filter(({ op }) => op === OP.DISPATCH);
    expect(dispatches.map(({ t, d }) => (t === 'MESSAGE_CREATE' ? d.id : t))).toEqual([
      ...missed.map(({ id }) => id),
      'RESUMED',
      after.id,
    ]);
    const from = first.seq! + 1;
    expect(dispatches.map(({ s }) => s)).toEqual([from, from + 1, from + 2, from + 3, from + 4]);
    await second.close();
  });

  test('replays events again when it names an earlier sequence number', async () => {
    const first = await open();
    await say('again');
    await first.dispatch('MESSAGE_CREATE');
    await first.terminate();
    const second = await GatewayClient.connect(server.info.gateway);
    second.resume(server.info.bot.token, first.sessionId, 1);
    await second.dispatch('RESUMED');
    expect(second.names).toEqual([...first.names.slice(1), 'RESUMED']);
    await second.close();
  });

  test('takes over a session whose connection is still open', async () => {
    const first = await open();
    const second = await GatewayClient.connect(server.info.gateway);
    second.resume(server.info.bot.token, first.sessionId, first.seq!);
    await second.dispatch('RESUMED');
    expect(await first.closed).toMatchObject({ code: 4000 });
    await say('to the second');
    await second.dispatch('MESSAGE_CREATE');
    await second.close();
  });

  test('is answered with op 9 for an unknown session, after which the connection may identify', async () => {
    const client = await GatewayClient.connect(server.info.gateway);
    client.resume(server.info.bot.token, 'f'.repeat(32), 5);
    expect((await client.next(({ op }) => op === OP.INVALID_SESSION)).d).toBe(false);
    client.identify({ token: server.info.bot.token, intents: 1 });
    await client.dispatch('READY');
    await client.close();
  });

  test('finds no session after a clean close', async () => {
    const first = await open();
    await first.close(1000);
    const second = await GatewayClient.connect(server.info.gateway);
    second.resume(server.info.bot.token, first.sessionId, first.seq!);
    expect((await second.next(({ op }) => op === OP.INVALID_SESSION)).d).toBe(false);
    await second.close();
  });

  test('is closed with 4007 for an unknown sequence number, and the session ends', async () => {
    const first = await open();
    await first.terminate();
    const second = await GatewayClient.connect(server.info.gateway);
    second.resume(server.info.bot.token, first.sessionId, first.seq! + 1000);
    expect(await second.closed).toMatchObject({ code: 4007 });
    const third = await GatewayClient.connect(server.info.gateway);
    third.resume(server.info.bot.token, first.sessionId, first.seq!);
    await third.next(({ op }) => op === OP.INVALID_SESSION);
    await third.close();
  });

  test("is answered with op 9 for another's token, and closed with 4004 for an invalid one", async () => {
    const first = await open();
    await first.terminate();
    const stranger = await GatewayClient.connect(server.info.gateway);
    stranger.resume(server.info.bots[1]!.token, first.sessionId, first.seq!);
    await stranger.next(({ op }) => op === OP.INVALID_SESSION);
    await stranger.close();
    const nobody = await GatewayClient.connect(server.info.gateway);
    nobody.resume('no token', first.sessionId, first.seq!);
    expect(await nobody.closed).toMatchObject({ code: 4004 });
  });
});

test('a heartbeat that stops ends the connection, not the session', async () => {
  const brisk = await startServer({ set: { heartbeat_interval_ms: 1000, heartbeat_grace_ms: 300 } });
  const client = await GatewayClient.ready(brisk.info.gateway, { token: brisk.info.bot.token });
  await client.next(({ op }) => op === OP.HEARTBEAT_ACK);
  client.silence();
  expect(await client.closed).toMatchObject({ code: 4000 });
  const again = await GatewayClient.connect(brisk.info.gateway);
  again.resume(brisk.info.bot.token, client.sessionId, client.seq!);
  await again.dispatch('RESUMED');
  await again.close();
  await brisk.finish();
});

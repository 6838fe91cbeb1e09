// Goal: whatever is killed beneath a stock bot, it gets every message once and in order, and never identifies again.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FrontRow, FrontStatus } from '../../transports/admin/front.ts';
import { openDatabase, type TestDatabase } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { botOf, channelAt, flow, history, homeIn, ownerOf, settled } from '../support/shards.ts';

const soon = { timeout: 60_000, interval: 50 };
/** Messages between two kills. */
const MESSAGES = 100;

const database: TestDatabase | null = await openDatabase('shardskilled');
afterAll(() => database?.stop());

type Bot = ReturnType<typeof botOf>;

/** Kills while messages are on their way, and waits until all is as before and as many more have come. */
async function blow(
  server: TestServer,
  { counts, seen }: Bot,
  whom: (status: FrontStatus) => readonly FrontRow[],
): Promise<void> {
  const status = await settled(server);
  const killed = whom(status);
  const resumed = counts.resumed + (killed.includes(homeIn(status)) ? 1 : 0);
  for (const { pid } of killed) process.kill(pid as number, 'SIGKILL');
  await expect.poll(() => counts.resumed, soon).toBe(resumed);
  await settled(server);
  const { length } = seen;
  await expect.poll(() => seen.length, soon).toBeGreaterThanOrEqual(length + MESSAGES);
}

/** Expects that the bot has received all messages of the channels. */
async function expectAll(
  server: TestServer,
  { seen, counts }: Bot,
  channels: readonly string[],
  answered: readonly string[],
): Promise<void> {
  const written = await Promise.all(channels.map((channel) => history(server, channel)));
  const all = written.flat();
  await expect.poll(() => seen.length, soon).toBeGreaterThanOrEqual(all.length);
  for (const ids of written) {
    const own = new Set(ids);
    expect(seen.filter((id) => own.has(id))).toEqual(ids);
  }
  expect(seen.length).toBe(all.length);
  expect(answered.filter((id) => !all.includes(id))).toEqual([]);
  expect(counts.ready).toBe(1);
}

describe.runIf(database !== null)('a stock bot', () => {
  let server: TestServer;
  afterAll(() => server.finish());
  beforeAll(async () => {
    server = await startServer({ shards: 3, bots: 2, relayed: false, databaseUrl: database?.url ?? '' });
  });

  test('misses no event when owner shards, its home shard or all shards at once are killed', async () => {
    const status = await settled(server);
    const channels: string[] = [];
    for (const shard of status.shards) channels.push(await channelAt(server, shard, status));
    const bot = botOf(server);
    await bot.login();
    const { guilds } = bot.counts;
    const writing = flow(server, channels, 2, 5);
    const others = (now: FrontStatus) => now.shards.filter((shard) => shard !== homeIn(now));
    /** The owner of the bot's own things, when it is not its home. */
    const own = (now: FrontStatus) => others(now).find((shard) => shard === ownerOf(server.info.bot.id, now));
    await blow(server, bot, (now) => [own(now) ?? others(now)[0]!]);
    await blow(server, bot, (now) => [homeIn(now), others(now)[0]!]);
    await blow(server, bot, (now) => now.shards);
    await writing.stop();
    await expectAll(server, bot, channels, writing.answered);
    expect([bot.counts.guilds, writing.again > 0]).toEqual([guilds, true]);
    await bot.client.destroy();
  });
});

describe.runIf(database !== null)('a stock bot over one shard', () => {
  let server: TestServer;
  afterAll(() => server.finish());
  beforeAll(async () => {
    server = await startServer({ shards: 1, bots: 2, relayed: false, databaseUrl: database?.url ?? '' });
  });

  test('misses no event when the shard is killed and restarted', async () => {
    const bot = botOf(server);
    await bot.login();
    const channels = [server.info.guild.text_channel_id];
    const writing = flow(server, channels, 4, 5);
    await blow(server, bot, (now) => now.shards);
    await writing.stop();
    await expectAll(server, bot, channels, writing.answered);
    await bot.client.destroy();
  });
});

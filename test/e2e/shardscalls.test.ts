// Goal: a call goes on when the shard that holds it is gone: stock bots that are in it come to hear each other again.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { oggOpus } from '../support/ogg.ts';
import { openDatabase, type TestDatabase } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ownerOf, settled } from '../support/shards.ts';
import { decodedSamples, shareAt, toneFrames } from '../support/tone.ts';
import { VoiceBot } from '../support/voicebot.ts';

const TONE_HZ = 440;
const soon = { timeout: 60_000, interval: 200 };

const database: TestDatabase | null = await openDatabase('shardscalls');
afterAll(() => database?.stop());

describe.runIf(database !== null)('a call over three shards', () => {
  let server: TestServer;
  let folder: string;
  const frames = toneFrames(TONE_HZ, 1);
  const bots: VoiceBot[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'guildhall-shardscalls-'));
    await writeFile(join(folder, 'tone.ogg'), oggOpus(frames));
    server = await startServer({ shards: 3, bots: 2, relayed: false, databaseUrl: database?.url ?? '' });
  });
  afterAll(async () => {
    for (const bot of bots) bot.end();
    await server.finish();
    await rm(folder, { recursive: true, force: true });
  });

  test('comes back at the next owner of its guild when the shard that holds it is killed', async () => {
    const { api, ca_file: caFile, guild } = server.info;
    const place = { guildId: guild.id, channelId: guild.voice_channel_id };
    const status = await settled(server);
    const users = { userIds: server.info.bots.map(({ id }) => id) };
    for (const { token } of server.info.bots) bots.push(new VoiceBot({ api, token, caFile: caFile! }));
    const [a, b] = bots as [VoiceBot, VoiceBot];
    for (const bot of bots) {
      await bot.do('login');
      await bot.do('join', place);
    }
    const code = await a.do<string>('secured', users);
    process.kill(ownerOf(guild.id, status).pid as number, 'SIGKILL');
    // It goes to the next owner at once, and back when the shard runs anew.
    await settled(server);
    const codes = () =>
      Promise.all(
        bots.map((bot) => bot.do<string>('secured', { ...users, withinMs: 1_000 }).catch(() => '')),
      );
    const isWhole = async () => {
      // Its library gives up where it loses call and gateway at once; whoever wants to stay asks for the place again.
      for (const bot of bots)
        if ((await bot.do<{ status: string }>('status')).status === 'disconnected')
          await bot.do('join', { ...place, withinMs: 5_000 }).catch(() => null);
      const [one, other] = await codes();
      return one === other && one !== '' && one !== code;
    };
    await expect.poll(isWhole, soon).toBe(true);
    await b.do('record', { userId: users.userIds[0] });
    const heard = () => b.heard(users.userIds[0]!);
    const hear = async () => {
      await a.do('play', { file: join(folder, 'tone.ogg') });
      await delay(1_500);
      return (await heard()).length;
    };
    await expect.poll(hear, soon).toBeGreaterThan(frames.length / 2);
    expect(shareAt(decodedSamples(await heard()), TONE_HZ)).toBeGreaterThan(0.8);
  });
});

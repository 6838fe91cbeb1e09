// Goal: a call continues when its shards are restarted, and when one of them is killed: the stock bots in it receive
// each other's audio again.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayClient } from '../support/gateway-client.ts';
import { oggOpus } from '../support/ogg.ts';
import { openDatabase, type TestDatabase } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ownerOf, settled } from '../support/shards.ts';
import { ROOT } from '../support/source.ts';
import { decodedSamples, shareAt, toneFrames } from '../support/tone.ts';
import { joinChannel, VoiceClient } from '../support/voice-client.ts';
import { VoiceBot } from '../support/voicebot.ts';

const CLI = join(ROOT, 'dist/cli.js');
const TONE_HZ = 440;
/** Log lines of each bot in the message of a failure. */
const LOG_LINES = 40;
const soon = { timeout: 60_000, interval: 200 };

const database: TestDatabase | null = await openDatabase('shardscalls');
afterAll(() => database?.stop());

describe.runIf(database !== null)('a call over two shards', () => {
  let server: TestServer;
  let folder: string;
  const frames = toneFrames(TONE_HZ, 1);
  const bots: VoiceBot[] = [];
  let users: { readonly userIds: readonly string[] };
  /** Privacy code of the encrypted group, to compare. */
  let code: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'guildhall-shardscalls-'));
    await writeFile(join(folder, 'tone.ogg'), oggOpus(frames));
    server = await startServer({ shards: 2, bots: 3, databaseUrl: database?.url ?? '' });
    const { api, ca_file: caFile, guild } = server.info;
    const callers = server.info.bots.slice(0, 2);
    users = { userIds: callers.map(({ id }) => id) };
    for (const { token } of callers) bots.push(new VoiceBot({ api, token, caFile: caFile! }));
    for (const bot of bots) {
      await bot.do('login');
      await bot.do('join', { guildId: guild.id, channelId: guild.voice_channel_id });
    }
    code = await bots[0]!.do<string>('secured', users);
  });
  afterAll(async () => {
    for (const bot of bots) bot.end();
    await server.finish();
    await rm(folder, { recursive: true, force: true });
  });

  /** The test sends no op 4 again: the bots do what their library does by itself. */
  async function expectWholeAgain(): Promise<void> {
    const again = async () => {
      const [one, other] = await Promise.all(
        bots.map((bot) => bot.do<string>('secured', { ...users, withinMs: 1_000 }).catch(() => '')),
      );
      if (one === other && one !== '' && one !== code) return 'whole';
      const states = await Promise.all(bots.map((bot) => bot.do('status')));
      const logs = await Promise.all(bots.map((bot) => bot.do<unknown[]>('log')));
      return JSON.stringify({
        one,
        other,
        before: code,
        states,
        logs: logs.map((log) => log.slice(-LOG_LINES)),
      });
    };
    await expect.poll(again, soon).toBe('whole');
    const [a, b] = bots as [VoiceBot, VoiceBot];
    code = await a.do<string>('secured', users);
    const [speaker = ''] = users.userIds;
    await b.do('record', { userId: speaker });
    const hear = async () => {
      await a.do('play', { file: join(folder, 'tone.ogg') });
      await delay(1_500);
      return (await b.heard(speaker)).length;
    };
    await expect.poll(hear, soon).toBeGreaterThan(frames.length / 2);
    expect(shareAt(decodedSamples(await b.heard(speaker)), TONE_HZ)).toBeGreaterThan(0.8);
  }

  test('is reached through the port that the shards share, whichever shard accepts the connection', async () => {
    const { api, bots: all, guild } = server.info;
    const { host } = new URL(api);
    const gateway = await GatewayClient.ready(server.info.gateway, { token: all[2]!.token });
    const ticket = await joinChannel(gateway, guild.id, guild.voice_channel_id);
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const endpoint = `${host}/voice/`;
      const dialect = { caFile: null };
      const { client } = await VoiceClient.ready({ ...ticket, endpoint }, dialect, {
        max_dave_protocol_version: 1,
      });
      await client.close();
    }
    gateway.close();
  });

  test('keeps its bots while all shards are restarted one after the other', async () => {
    const { url, token } = server.info.admin;
    const env = { ...process.env, GUILDHALL_ADMIN_URL: url, GUILDHALL_ADMIN_TOKEN: token };
    await promisify(execFile)(process.execPath, [CLI, 'cluster', 'restart'], { env });
    await settled(server);
    await expectWholeAgain();
  });

  test('resumes at the next owner shard of its guild when the shard that holds it is killed', async () => {
    const owner = ownerOf(server.info.guild.id, await settled(server));
    process.kill(owner.pid as number, 'SIGKILL');
    // It goes to the next owner at once, and back when the shard runs again.
    await settled(server);
    await expectWholeAgain();
  });
});

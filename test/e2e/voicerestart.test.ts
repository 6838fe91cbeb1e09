// Goal: after a server restart in the middle of a call, stock bots that are still running join it again, under new
// keys.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../support/freeport.ts';
import { oggOpus } from '../support/ogg.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { decodedSamples, shareAt, toneFrames } from '../support/tone.ts';
import { VoiceBot } from '../support/voicebot.ts';

const TONE_HZ = 440;
const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

test('running bots rejoin their call after a server restart, and hear each other', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-voicerestart-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'tone.ogg');
  const frames = toneFrames(TONE_HZ, 1);
  await writeFile(file, oggOpus(frames));
  const [port, voicePort] = [await freePort(), await freePort()];
  const set = { voice_port: voicePort, voice_udp_port: voicePort };
  const begin = (): Promise<TestServer> =>
    startServer({ bots: 2, dataDir: join(folder, 'data'), relayed: false, port, set });

  const server = await begin();
  const { api, ca_file: caFile, bots, guild } = server.info;
  const place = { guildId: guild.id, channelId: guild.voice_channel_id };
  const users = { userIds: bots.map(({ id }) => id) };
  const [a, b] = bots.map(({ token }) => new VoiceBot({ api, token, caFile: caFile! })) as [
    VoiceBot,
    VoiceBot,
  ];
  closers.push(
    () => a.end(),
    () => b.end(),
  );
  for (const bot of [a, b]) {
    await bot.do('login');
    await bot.do('join', place);
  }
  const code = await a.do<string>('secured', users);
  await b.do('secured', users);

  expect(await server.stop()).toBe(0);
  const again = await begin();
  closers.push(() => again.finish());
  // Their library reconnects to the gateway by itself, and joins voice when the test asks for it.
  for (const bot of [a, b]) {
    const join = () => bot.do<string>('join', { ...place, withinMs: 2_000 }).catch(() => 'not yet');
    await expect.poll(join, { timeout: 40_000 }).toBe('ready');
  }
  const codes = await Promise.all([a.do<string>('secured', users), b.do<string>('secured', users)]);
  expect(codes[1]).toBe(codes[0]);
  expect(codes[0]).not.toBe(code);
  await b.do('record', { userId: users.userIds[0] });
  await a.do('play', { file });
  const heard = () => b.heard(users.userIds[0]!);
  await expect
    .poll(async () => (await heard()).length, { timeout: 15_000 })
    .toBeGreaterThan(frames.length / 2);
  expect(shareAt(decodedSamples(await heard()), TONE_HZ)).toBeGreaterThan(0.8);
});

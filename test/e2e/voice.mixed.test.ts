// Goal: where encryption between members is optional, a stock bot without it joins, all members still receive each
// other, and when it has left the others are encrypted again; where it is required, it is refused.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { oggOpus } from '../support/ogg.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { decodedSamples, shareAt, toneFrames } from '../support/tone.ts';
import { VoiceBot } from '../support/voicebot.ts';

const TONE_HZ = 660;
let server: TestServer;
let folder: string;
let bots: VoiceBot[];

beforeAll(async () => {
  server = await startServer({ bots: 3, set: { e2ee_required: false } });
  folder = await mkdtemp(join(tmpdir(), 'guildhall-voice-'));
  await writeFile(join(folder, 'tone.ogg'), oggOpus(toneFrames(TONE_HZ, 1)));
  const { api, ca_file: caFile } = server.info;
  bots = server.info.bots.map(({ token }) => new VoiceBot({ api, token, caFile: caFile! }));
  await Promise.all(bots.map((bot) => bot.do('login')));
});

afterAll(async () => {
  for (const bot of bots ?? []) bot.end();
  await server?.finish();
  await rm(folder, { recursive: true, force: true });
});

const idOf = (index: number): string => server.info.bots[index]!.id;

/** Whether `listener` makes out the tone when `speaker` plays it. */
async function hears(listener: number, speaker: number): Promise<boolean> {
  await bots[listener]!.do('record', { userId: idOf(speaker) });
  await bots[speaker]!.do('play', { file: join(folder, 'tone.ogg') });
  await sleep(2000);
  const packets = await bots[listener]!.heard(idOf(speaker));
  return packets.length > 20 && shareAt(decodedSamples(packets), TONE_HZ) > 0.8;
}

test('a call goes without encryption while someone in it has none, and takes it up again afterwards', async () => {
  const [a, b, plain] = bots as [VoiceBot, VoiceBot, VoiceBot];
  const seat = { guildId: server.info.guild.id, channelId: server.info.guild.voice_channel_id };
  await a.do('join', seat);
  await b.do('join', seat);
  const pair = { userIds: [idOf(0), idOf(1)] };
  await Promise.all([a.do('secured', pair), b.do('secured', pair)]);

  await plain.do('join', { ...seat, encryption: false });
  await sleep(3000);
  expect(await hears(0, 2)).toBe(true);
  expect(await hears(2, 0)).toBe(true);
  expect(await hears(1, 0)).toBe(true);

  await plain.do('leave');
  await sleep(3000);
  const codes = await Promise.all([a.do('secured', pair), b.do('secured', pair)]);
  expect(codes[0]).toBe(codes[1]);
  expect(await hears(1, 0)).toBe(true);
  expect(await hears(0, 1)).toBe(true);
});

// Goal: unmodified @discordjs/voice bots are in one end-to-end encrypted call here, and stay in it through what networks
// and moderators do.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { oggOpus } from '../support/ogg.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { decodedSamples, shareAt, toneFrames } from '../support/tone.ts';
import { VoiceBot } from '../support/voicebot.ts';

const SILENCE = Buffer.from([0xf8, 0xff, 0xfe]);
const TONE_HZ = 440;

let server: TestServer;
let folder: string;
let a: VoiceBot;
let b: VoiceBot;
const frames = toneFrames(TONE_HZ, 2);

interface LogLine {
  readonly atMs: number;
  readonly what: string;
}

const idOf = (index: number): string => server.info.bots[index]!.id;
const both = () => ({ userIds: [idOf(0), idOf(1)] });
const file = () => join(folder, 'tone.ogg');

beforeAll(async () => {
  server = await startServer({ bots: 2 });
  folder = await mkdtemp(join(tmpdir(), 'guildhall-voice-'));
  await writeFile(file(), oggOpus(frames));
  const { api, ca_file: caFile, bots } = server.info;
  [a, b] = bots.map(({ token }) => new VoiceBot({ api, token, caFile: caFile! })) as [VoiceBot, VoiceBot];
  await Promise.all([a.do('login'), b.do('login')]);
});

afterAll(async () => {
  a?.end();
  b?.end();
  await server?.finish();
  await rm(folder, { recursive: true, force: true });
});

/** Changes a voice member as moderator `by`; both members by their number. */
async function updateMember(by: number, whom: number, body: object): Promise<void> {
  const params = { guild_id: server.info.guild.id, user_id: idOf(whom) };
  const { status } = await server.bot(by).ask('update_guild_member', { params, body });
  expect(status).toBe(200);
}

async function bothJoin(channelId = server.info.guild.voice_channel_id): Promise<void> {
  const seat = { guildId: server.info.guild.id, channelId };
  await a.do('join', seat);
  await b.do('join', seat);
}

/** Packets that `listener` receives of `speaker` while the file plays, silence left out. */
async function play(speaker: VoiceBot, speakerId: string, listener: VoiceBot): Promise<Buffer[]> {
  await listener.do('record', { userId: speakerId });
  await speaker.do('play', { file: file() });
  for (let waited = 0; waited < 100; waited++) {
    await sleep(100);
    const heard = (await listener.heard(speakerId)).filter((frame) => !frame.equals(SILENCE));
    if (heard.length >= frames.length) return heard;
  }
  return (await listener.heard(speakerId)).filter((frame) => !frame.equals(SILENCE));
}

const isHeard = (packets: readonly Buffer[]): boolean =>
  packets.length > 20 && shareAt(decodedSamples(packets), TONE_HZ) > 0.8;

describe('two stock bots in a voice channel', () => {
  test('share one encrypted group, and read the same code', async () => {
    await bothJoin();
    const codes = await Promise.all([a.do<string>('secured', both()), b.do<string>('secured', both())]);
    expect(codes[0]).toMatch(/^\d{30}$/);
    expect(codes[1]).toBe(codes[0]);
  });

  test('hear each other, byte for byte', async () => {
    const spoken = frames.map((frame) => frame.toString('hex'));
    const heardByB = await play(a, idOf(0), b);
    expect(heardByB.map((frame) => frame.toString('hex'))).toEqual(spoken);
    const heardByA = await play(b, idOf(1), a);
    expect(heardByA.map((frame) => frame.toString('hex'))).toEqual(spoken);
    expect(isHeard(heardByA)).toBe(true);
  });

  test('keep their places over five seconds without network: op 7 is answered with op 9', async () => {
    const sinceMs = Date.now();
    await b.do('cut', { on: true });
    await sleep(5000);
    await b.do('cut', { on: false });
    await sleep(500);
    await b.do('enters', { status: 'ready' });
    const log = (await b.do<LogLine[]>('log')).filter(({ atMs }) => atMs >= sinceMs);
    const text = log.map(({ what }) => what).join('\n');
    expect(text).toContain('"op":7');
    expect(text).toContain('"op":9');
    expect(text).not.toContain('"op":0,');
    expect(isHeard(await play(a, idOf(0), b))).toBe(true);
    expect(isHeard(await play(b, idOf(1), a))).toBe(true);
  });

  test('do not hear a member whom a moderator muted', async () => {
    await updateMember(1, 0, { mute: true });
    await b.do('record', { userId: idOf(0) });
    await a.do('play', { file: file() });
    await sleep(1500);
    expect(await b.heard(idOf(0))).toEqual([]);
    await a.do('stop');
    await updateMember(1, 0, { mute: false });
    expect(isHeard(await play(a, idOf(0), b))).toBe(true);
  });

  test('share an encrypted group again after both are moved to another channel', async () => {
    const { id: guildId } = server.info.guild;
    const created = await server.bot(0).ask<{ id: string }>('create_guild_channel', {
      params: { guild_id: guildId },
      body: { name: 'Upstairs', type: 2 },
    });
    const { id: channelId } = created.body;
    for (const index of [0, 1]) await updateMember(0, index, { channel_id: channelId });
    await sleep(500);
    await Promise.all([a.do('enters', { status: 'ready' }), b.do('enters', { status: 'ready' })]);
    const codes = await Promise.all([a.do<string>('secured', both()), b.do<string>('secured', both())]);
    expect(codes[1]).toBe(codes[0]);
    expect(isHeard(await play(a, idOf(0), b))).toBe(true);
  });

  test('a bot that a moderator disconnects stays away', async () => {
    const sinceMs = Date.now();
    await updateMember(0, 1, { channel_id: null });
    await b.do('enters', { status: 'disconnected' });
    await sleep(1500);
    const log = (await b.do<LogLine[]>('log')).filter(({ atMs }) => atMs >= sinceMs);
    expect(log.some(({ what }) => what.includes('disconnected 4014'))).toBe(true);
    expect((await b.do<{ status: string }>('status')).status).toBe('disconnected');
  });

  test('a client without end-to-end encryption is closed with 4017, and the log names it once', async () => {
    const { id: guildId, voice_channel_id: channelId } = server.info.guild;
    await b.do('leave');
    const joining = b.do('join', { guildId, channelId, encryption: false, withinMs: 3000 });
    await expect(joining).rejects.toThrow('closed with 4017');
    await b.do('leave');
    const [line, ...more] = server.logged('close code 4017');
    expect(JSON.parse(line!)).toMatchObject({
      level: 40,
      userId: idOf(1),
      serverId: guildId,
      msg: expect.stringContaining('@discordjs/voice 0.19'),
    });
    expect(more).toEqual([]);
  });
});

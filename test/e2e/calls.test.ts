// Goal: an embedding program reads its calls and sets whose audio each member receives, and calls outlive their media
// worker.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { assembleEngine } from '../../compose/engine.ts';
import type { Voice } from '../../compose/voice.ts';
import type { Config } from '../../config/config.ts';
import type { Addresses, Engine } from '../../embedding.ts';
import type { UserId } from '../../protocol/ids.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { oggOpus } from '../support/ogg.ts';
import { ROOT } from '../support/source.ts';
import { decodedSamples, shareAt, toneFrames } from '../support/tone.ts';
import { connectUdp, joinChannel, VoiceClient } from '../support/voice-client.ts';
import { VoiceBot } from '../support/voicebot.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Built {
  readonly assembleEngine: typeof assembleEngine;
}

/** Media workers are threads, which need what is built; and the modules one by one, for what is behind a call. */
const built = <T>(file: string): Promise<T> => import(pathToFileURL(join(ROOT, 'dist', file)).href);

let engine: Engine;
let voice: Voice | null;
let addresses: Addresses;
let guildId: string;
let channelId: string;
let bots: { id: string; token: string }[];

async function furnish(config: Partial<Config>): Promise<void> {
  const { assembleEngine } = await built<Built>('compose/engine.js');
  ({ engine, voice } = await assembleEngine({ config: { listen_port: 0, log_level: 'silent', ...config } }));
  closers.push(() => engine.close());
  addresses = await engine.listen();
  const { user } = await engine.admin.createUser({ username: 'keeper' });
  const guild = await engine.admin.createGuild({ name: 'Harbour', ownerId: user.id as UserId });
  guildId = guild.id;
  const deck = { params: { guild_id: guildId }, body: { name: 'Deck', type: 2 } } as const;
  channelId = (await engine.api.create_guild_channel(deck, { as: user.id })).id;
  bots = [];
  for (const name of ['Ann', 'Ben', 'Cleo']) {
    const { bot, botToken } = await engine.admin.createApplication({ name, ownerId: user.id as UserId });
    await engine.admin.addMember({ guildId: guild.id as never, userId: bot.id as UserId, permissions: 8n });
    bots.push({ id: bot.id, token: botToken });
  }
}

/** A bot in the call without DAVE. */
async function plainCaller(index: number) {
  const gateway = await GatewayClient.ready(addresses.gateway, { token: bots[index]!.token });
  const ticket = await joinChannel(gateway, guildId, channelId);
  const caller = await connectUdp(ticket, { caFile: addresses.voice!.caFile });
  closers.push(
    () => gateway.close(),
    () => caller.udp.close(),
    () => caller.client.terminate(),
  );
  return { ...caller, gateway, ticket };
}

type Caller = Awaited<ReturnType<typeof plainCaller>>;

/** Sends until the listener has it, or for as long as someone might need; whether it came. */
async function reaches(from: Caller, to: Caller, text: string): Promise<boolean> {
  const payload = Buffer.from(text);
  for (let times = 0; times < 40; times += 1) {
    from.udp.sendOpus(payload);
    await sleep(25);
    if (to.udp.rtp.some((packet) => packet.payload.equals(payload))) return true;
  }
  return false;
}

describe('an embedding program', () => {
  beforeEach(() => furnish({ e2ee_required: false }));

  test('lists its calls, and limits which members hear each other', async () => {
    const [a, b, c] = [await plainCaller(0), await plainCaller(1), await plainCaller(2)];
    a.client.speak(a.ready.ssrc);
    expect(await reaches(a, b, 'to all')).toBe(true);
    expect(await reaches(a, c, 'to all')).toBe(true);

    expect(engine.calls.setAudibility(channelId, bots[0]!.id, [bots[2]!.id])).toBe(true);
    expect(await reaches(a, c, 'to one')).toBe(true);
    expect(b.udp.rtp.some(({ payload }) => payload.toString() === 'to one')).toBe(false);
    expect(engine.calls.setAudibility(channelId, bots[0]!.id, null)).toBe(true);
    expect(await reaches(a, b, 'to all again')).toBe(true);

    const [call] = await engine.calls.list();
    expect(call).toMatchObject({ callId: channelId, guildId, dave: { version: 0, phase: 'plain' } });
    const speaker = call!.members.find(({ userId }) => userId === bots[0]!.id);
    expect(speaker).toMatchObject({ transport: 'udp', attached: true, connected: true, speaking: true });
    expect(speaker!.media!.packetsIn).toBeGreaterThan(2);
    const text = await engine.metrics();
    expect(text).toMatch(/^guildhall_call_members 3$/m);
    expect(text).toMatch(/^guildhall_media_packets_out [1-9]/m);
    expect(text).toMatch(/^guildhall_media_forward_seconds_bucket\{le="\+Inf"\} [1-9]/m);
  });

  test('the deletion of a channel closes its call with 4022', async () => {
    const { client } = await plainCaller(0);
    await engine.api.delete_channel!({ params: { channel_id: channelId } }, { as: bots[1]!.id });
    expect((await client.closed).code).toBe(4022);
    expect(await engine.calls.list()).toEqual([]);
  });

  test('a member who goes offline leaves the call', async () => {
    const a = await plainCaller(0);
    const b = await plainCaller(1);
    await a.gateway.close(1000);
    expect((await a.client.closed).code).toBe(4014);
    expect((await b.client.waitFor(13)).d).toEqual({ user_id: bots[0]!.id });
  });

  test('a member who does not reconnect leaves the channel', async () => {
    await engine.close();
    await furnish({ e2ee_required: false, voice_resume_window_ms: 300 });
    const a = await plainCaller(0);
    const b = await plainCaller(1);
    await a.client.terminate();
    const gone = await b.gateway.dispatch<{ user_id: string; channel_id: string | null }>(
      'VOICE_STATE_UPDATE',
      (d) => d.user_id === bots[0]!.id && d.channel_id === null,
    );
    expect(gone.channel_id).toBeNull();
  });
});

describe('a media worker that dies', () => {
  const killWorker = async () => voice!.killWorker(0);

  test('closes connections with 4015, and after the resume the same keys and SSRCs work', async () => {
    await furnish({ e2ee_required: false });
    const [a, b] = [await plainCaller(0), await plainCaller(1)];
    expect(await reaches(a, b, 'before')).toBe(true);
    expect(await reaches(b, a, 'before')).toBe(true);
    await killWorker();
    for (const caller of [a, b]) expect((await caller.client.closed).code).toBe(4015);
    for (const { ticket, client } of [a, b]) {
      const back = await VoiceClient.connect(ticket.endpoint, { caFile: addresses.voice!.caFile });
      closers.push(() => back.terminate());
      back.resume(ticket, client.seq);
      await back.waitFor(9);
    }
    expect(await reaches(a, b, 'after')).toBe(true);
    expect(await reaches(b, a, 'after')).toBe(true);
  });

  test('does not interrupt the call of stock bots', async () => {
    await furnish({});
    const folder = await mkdtemp(join(tmpdir(), 'guildhall-calls-'));
    closers.push(() => rm(folder, { recursive: true, force: true }));
    const frames = toneFrames(440, 1);
    const file = join(folder, 'tone.ogg');
    await writeFile(file, oggOpus(frames));
    const [a, b] = bots.map(
      ({ token }) => new VoiceBot({ api: addresses.api, token, caFile: addresses.voice!.caFile! }),
    ) as [VoiceBot, VoiceBot];
    closers.push(
      () => a.end(),
      () => b.end(),
    );
    for (const bot of [a, b]) {
      await bot.do('login');
      await bot.do('join', { guildId, channelId });
    }
    const users = { userIds: [bots[0]!.id, bots[1]!.id] };
    const code = await a.do<string>('secured', users);
    await b.do('secured', users);
    await killWorker();
    for (const bot of [a, b]) {
      const log = async () => JSON.stringify(await bot.do('log'));
      await expect.poll(log, { timeout: 15_000 }).toContain('\\"op\\":9');
      await bot.do('enters', { status: 'ready' });
    }
    expect(await b.do<string>('secured', users)).toBe(code);
    await b.do('record', { userId: bots[0]!.id });
    await a.do('play', { file });
    const count = async () => (await b.heard(bots[0]!.id)).length;
    await expect.poll(count, { timeout: 15_000 }).toBeGreaterThan(frames.length / 2);
    const heard = await b.heard(bots[0]!.id);
    expect(shareAt(decodedSamples(heard), 440)).toBeGreaterThan(0.8);
  });
});

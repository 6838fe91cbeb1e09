// Goal: stock clients open and close stages, play sounds and read the statuses of voice channels, on the wire's own terms.
import {
  ChannelType,
  Client,
  type ClientEvents,
  Events,
  GatewayIntentBits,
  type StageChannel,
  type VoiceChannel,
} from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';

const TIMEOUT_MS = 10_000;
const { Guilds, GuildVoiceStates, GuildModeration } = GatewayIntentBits;

let server: TestServer;
/** Administrator; does. */
let bot: Client<true>;
/** A plain member; watches. */
let watcher: Client<true>;
let hall: VoiceChannel;

async function online(token: string): Promise<Client<true>> {
  const { api, cdn } = server.info;
  const client = new Client({
    intents: [Guilds, GuildVoiceStates, GuildModeration],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  client.on(Events.Error, (error) => expect.fail(error.message));
  const [[ready]] = await Promise.all([heard(client, Events.ClientReady), client.login(token)]);
  return ready;
}

function patient<T>(what: string, listen: (resolve: (value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what} did not come.`)), TIMEOUT_MS);
    listen((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

const heard = <E extends keyof ClientEvents>(client: Client, event: E): Promise<ClientEvents[E]> =>
  patient(event, (resolve) => client.once(event as string, (...args) => resolve(args as ClientEvents[E])));

/** The next dispatch of a name that the library has no event for. */
const raw = (client: Client, name: string): Promise<Record<string, unknown>> =>
  patient(name, (resolve) => {
    const listen = ({ t, d }: { t: string; d: Record<string, unknown> }) => {
      if (t !== name) return;
      client.off('raw' as never, listen as never);
      resolve(d);
    };
    client.on('raw' as never, listen as never);
  });

const op4 = (channelId: string | null) =>
  bot.ws.shards.first()?.send({
    op: 4,
    d: { guild_id: hall.guild.id, channel_id: channelId, self_mute: false, self_deaf: false },
  });

beforeAll(async () => {
  server = await startServer();
  const plain = await server.newBot('Wick');
  bot = await online(server.info.bot.token);
  watcher = await online(plain.token);
  hall = bot.channels.cache.get(server.info.guild.voice_channel_id) as VoiceChannel;
});
afterAll(async () => {
  await bot?.destroy();
  await watcher?.destroy();
  await server.finish();
});

describe('a stage', () => {
  test('is opened, changed and closed, with a dispatch for each', async () => {
    const stage = (await hall.guild.channels.create({
      name: 'round',
      type: ChannelType.GuildStageVoice,
    })) as StageChannel;
    const [[opened]] = await Promise.all([
      heard(watcher, Events.StageInstanceCreate),
      stage.createStageInstance({ topic: 'Tales' }),
    ]);
    expect(opened).toMatchObject({ topic: 'Tales', channelId: stage.id, privacyLevel: 2 });
    const instance = await hall.guild.stageInstances.fetch(stage.id, { force: true });
    const [[before, after]] = await Promise.all([
      heard(watcher, Events.StageInstanceUpdate),
      instance.edit({ topic: 'Songs' }),
    ]);
    expect([before?.topic, after.topic]).toEqual(['Tales', 'Songs']);
    const [[closed]] = await Promise.all([heard(watcher, Events.StageInstanceDelete), instance.delete()]);
    expect(closed.id).toBe(instance.id);
    await stage.delete();
  });

  test('is shown to a client that connects later', async () => {
    const stage = (await hall.guild.channels.create({
      name: 'late',
      type: ChannelType.GuildStageVoice,
    })) as StageChannel;
    await stage.createStageInstance({ topic: 'Already on' });
    const late = await online(server.info.bot.token);
    expect(late.guilds.cache.first()?.stageInstances.cache.map(({ topic }) => topic)).toEqual(['Already on']);
    await late.destroy();
    await stage.delete();
  });
});

describe('a voice channel', () => {
  test('starts, has a status and sounds, and ends', async () => {
    const started = raw(watcher, 'VOICE_CHANNEL_START_TIME_UPDATE');
    op4(hall.id);
    expect(await started).toEqual({
      id: hall.id,
      guild_id: hall.guild.id,
      voice_start_time: expect.any(Number),
    });

    const [status] = await Promise.all([
      raw(watcher, 'VOICE_CHANNEL_STATUS_UPDATE'),
      bot.rest.put(`/channels/${hall.id}/voice-status`, { body: { status: 'Raiding' } }),
    ]);
    expect(status).toEqual({ id: hall.id, guild_id: hall.guild.id, status: 'Raiding' });

    const [sound] = (await bot.rest.get('/soundboard-default-sounds')) as { sound_id: string }[];
    const [[effect]] = await Promise.all([
      heard(watcher, Events.VoiceChannelEffectSend),
      hall.sendSoundboardSound({ soundId: sound?.sound_id as string }),
    ]);
    expect(effect).toMatchObject({ channelId: hall.id, userId: bot.user.id, soundVolume: 1 });
    expect(effect.soundId).toBe(sound?.sound_id);

    const ended = [
      raw(watcher, 'VOICE_CHANNEL_START_TIME_UPDATE'),
      raw(watcher, 'VOICE_CHANNEL_STATUS_UPDATE'),
    ];
    op4(null);
    expect(await Promise.all(ended)).toMatchObject([{ voice_start_time: null }, { status: null }]);
  });
});

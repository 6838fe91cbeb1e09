// Goal: an unmodified discord.js bot manages a guild's emoji, stickers and sounds, and receives their changes as
// members do.
import { Client, Events, GatewayIntentBits, type Guild, type TextChannel } from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { animation, dataUri, gifPixel, mp3Of, oggOf, pngOf } from '../support/media.ts';
import { startServer, type TestServer } from '../support/server.ts';

const TIMEOUT_MS = 10_000;

let server: TestServer;
let bot: Client<true>;
let plain: Client<true>;
let guild: Guild;

async function online(token: string): Promise<Client<true>> {
  const { api, cdn } = server.info;
  const { Guilds, GuildExpressions, GuildModeration } = GatewayIntentBits;
  const client = new Client({
    intents: [Guilds, GuildExpressions, GuildModeration],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  client.on(Events.Error, (error) => expect.fail(error.message));
  const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(token);
  return ready;
}

/** Waits until a client knows of something. */
async function known<T>(look: () => T | undefined | null | false): Promise<T> {
  const untilMs = Date.now() + TIMEOUT_MS;
  for (;;) {
    const found = look();
    if (found) return found;
    if (Date.now() > untilMs) throw new Error('It did not become known.');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const guildOf = (client: Client<true>): Guild => client.guilds.cache.get(server.info.guild.id)!;

beforeAll(async () => {
  server = await startServer();
  bot = await online(server.info.bot.token);
  plain = await online((await server.newBot('Wick')).token);
  guild = guildOf(bot);
});
afterAll(async () => {
  await bot?.destroy();
  await plain?.destroy();
  await server.finish();
});

describe('an emoji of a guild', () => {
  test('is created, dispatched, served, listed, renamed, bound to a role, audited and deleted', async () => {
    const png = pngOf(128, 128);
    const emoji = await guild.emojis.create({ attachment: png, name: 'lantern', reason: 'light' });
    expect(emoji).toMatchObject({ name: 'lantern', animated: false, available: true, managed: false });
    await known(() => guildOf(plain).emojis.cache.get(emoji.id));
    const served = await fetch(emoji.imageURL({ extension: 'png' }));
    expect([served.status, served.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(Buffer.from(await served.arrayBuffer())).toEqual(png);

    expect((await guild.emojis.fetch()).get(emoji.id)?.author?.id).toBe(bot.user.id);
    expect((await guildOf(plain).emojis.fetch(emoji.id, { force: true })).name).toBe('lantern');
    const role = await guild.roles.create({ name: 'Lamplighters' });
    await emoji.edit({ name: 'lamp', roles: [role.id] });
    const seen = await known(() => guildOf(plain).emojis.cache.find(({ name }) => name === 'lamp'));
    expect([...seen.roles.cache.keys()]).toEqual([role.id]);
    await role.delete();
    expect((await guild.emojis.fetch(emoji.id, { force: true })).roles.cache.size).toBe(0);

    await emoji.delete('dark');
    await known(() => !guildOf(plain).emojis.cache.has(emoji.id));
    expect((await fetch(emoji.imageURL({ extension: 'png' }))).status).toBe(404);
    await expect(guild.emojis.fetch(emoji.id, { force: true })).rejects.toMatchObject({ code: 10014 });
    const { entries } = await guild.fetchAuditLogs({ limit: 10 });
    const mine = [...entries.values()].filter(({ targetId }) => targetId === emoji.id);
    expect(mine.map(({ action, reason }) => [action, reason])).toEqual([
      [62, 'dark'],
      [61, null],
      [60, 'light'],
    ]);
  });

  test('is animated when its bytes are a gif, whatever the request declares', async () => {
    const emoji = await guild.emojis.create({ attachment: dataUri(gifPixel()), name: 'spark' });
    expect(emoji.animated).toBe(true);
    expect((await fetch(emoji.imageURL({ extension: 'gif' }))).headers.get('content-type')).toBe('image/gif');
    const late = await online((await server.newBot('Late')).token);
    expect(guildOf(late).emojis.cache.get(emoji.id)).toMatchObject({ name: 'spark', animated: true });
    await late.destroy();
  });

  test('is rejected without the permission, as text, above 256 KiB and with a non-ASCII name', async () => {
    const refused = (who: Guild, attachment: Buffer, name = 'moth') =>
      expect(who.emojis.create({ attachment, name })).rejects;
    await refused(guildOf(plain), pngOf(1, 1)).toMatchObject({ code: 50013 });
    await refused(guild, Buffer.from('no image')).toMatchObject({ code: 50035 });
    await refused(guild, Buffer.concat([pngOf(1, 1), Buffer.alloc(262_144)])).toMatchObject({ code: 50035 });
    await refused(guild, pngOf(1, 1), 'mötte').toMatchObject({ code: 50035 });
  });
});

describe('an emoji of an application', () => {
  test('is created under a unique name, served, listed, renamed and deleted by its application alone', async () => {
    const { emojis } = bot.application;
    const png = pngOf(64, 64);
    const emoji = await emojis.create({ attachment: png, name: 'crest' });
    expect(emoji).toMatchObject({ name: 'crest', animated: false });
    const served = await fetch(emoji.imageURL({ extension: 'png' }));
    expect(Buffer.from(await served.arrayBuffer())).toEqual(png);
    expect([...(await emojis.fetch()).keys()]).toEqual([emoji.id]);
    expect((await emojis.fetch(emoji.id, { force: true })).author?.id).toBe(bot.user.id);
    await expect(emojis.create({ attachment: png, name: 'crest' })).rejects.toMatchObject({ code: 50035 });
    expect((await emojis.edit(emoji.id, { name: 'shield' })).name).toBe('shield');
    const path = `/applications/${bot.application.id}/emojis` as const;
    await expect(plain.rest.get(path)).rejects.toMatchObject({ code: 20012 });
    const place = guild.channels.cache.find((channel) => channel.isTextBased())!;
    const ask = (id: string) => {
      const poll = { question: { text: 'Which?' }, answers: [{ text: 'This', emoji: id }] };
      return place.send({ poll: { ...poll, duration: 1, allowMultiselect: false } });
    };
    expect((await ask(emoji.id)).poll?.answers.first()?.emoji).toMatchObject({
      ...{ id: emoji.id, name: 'shield' },
    });
    await expect(ask('100000000000000001')).rejects.toMatchObject({ code: 520_004 });
    await emojis.delete(emoji.id);
    await expect(emojis.fetch(emoji.id, { force: true })).rejects.toMatchObject({ code: 10014 });
    expect((await fetch(emoji.imageURL({ extension: 'png' }))).status).toBe(404);
  });
});

describe('a sticker', () => {
  const named = { name: 'banner', tags: 'flag', description: 'It waves.' };

  test('is created by a guild, dispatched, served, listed, changed, audited and deleted', async () => {
    const file = pngOf(320, 320);
    const sticker = await guild.stickers.create({ ...named, file, reason: 'wind' });
    expect(sticker).toMatchObject({ ...named, format: 1, type: 2, available: true });
    await known(() => guildOf(plain).stickers.cache.get(sticker.id));
    const served = await fetch(sticker.url);
    expect([served.status, served.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect((await guild.stickers.fetch()).get(sticker.id)?.user?.id).toBe(bot.user.id);
    expect((await plain.fetchSticker(sticker.id)).name).toBe('banner');
    await guildOf(plain).stickers.fetch(sticker.id, { force: true });
    await sticker.edit({ name: 'pennant', description: null });
    await known(() => guildOf(plain).stickers.cache.find(({ name }) => name === 'pennant'));
    await expect(guildOf(plain).stickers.delete(sticker.id)).rejects.toMatchObject({ code: 50013 });
    await sticker.delete();
    await known(() => !guildOf(plain).stickers.cache.has(sticker.id));
    await expect(bot.fetchSticker(sticker.id)).rejects.toMatchObject({ code: 10060 });
    const { entries } = await guild.fetchAuditLogs({ limit: 10 });
    const mine = [...entries.values()].filter(({ targetId }) => targetId === sticker.id);
    expect(mine.map(({ action }) => action)).toEqual([92, 91, 90]);
  });

  test('has the format of its bytes, and is rejected when too large, too long or not an image', async () => {
    const make = (file: Buffer) => guild.stickers.create({ ...named, file });
    const apng = await make(pngOf(100, 100, animation(5, 900)));
    const gif = await make(gifPixel());
    expect([apng.format, gif.format]).toEqual([2, 4]);
    await expect(make(pngOf(100, 100, animation(6, 900)))).rejects.toMatchObject({ code: 170007 });
    await expect(make(pngOf(321, 320))).rejects.toMatchObject({ code: 50035 });
    await expect(make(Buffer.concat([gifPixel(), Buffer.alloc(524_288)]))).rejects.toMatchObject({
      code: 50035,
    });
    await expect(make(Buffer.from('plain text'))).rejects.toMatchObject({ code: 50046 });
    await apng.delete();
    await gif.delete();
  });

  test('is available to everyone and has an image when it comes from a pack', async () => {
    const packs = await bot.fetchStickerPacks();
    const pack = packs.first()!;
    expect((await bot.fetchStickerPacks({ packId: pack.id })).name).toBe(pack.name);
    const sticker = await bot.fetchSticker(pack.stickers.firstKey()!);
    expect((await fetch(sticker.url)).status).toBe(200);
  });
});

describe('a sound of a guild', () => {
  test('is created, dispatched, served, listed, changed and deleted', async () => {
    const file = mp3Of(150);
    const sounds = guild.soundboardSounds;
    const sound = await sounds.create({ file, name: 'gong', contentType: 'audio/mpeg', emojiName: '🔔' });
    expect(sound).toMatchObject({ name: 'gong', volume: 1, available: true });
    await known(() => guildOf(plain).soundboardSounds.cache.get(sound.soundId));
    const served = await fetch(sound.url);
    expect([served.status, served.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
    expect(Buffer.from(await served.arrayBuffer())).toEqual(file);
    expect([...(await sounds.fetch()).keys()]).toEqual([sound.soundId]);
    await guildOf(plain).soundboardSounds.fetch({ soundboardSound: sound.soundId, force: true });
    const asked = await plain.guilds.fetchSoundboardSounds({ guildIds: [guild.id] });
    expect(asked.get(guild.id)?.get(sound.soundId)?.name).toBe('gong');
    await sound.edit({ name: 'bell', volume: 0.5, emojiName: null });
    const heard = await known(() =>
      guildOf(plain).soundboardSounds.cache.find(({ name }) => name === 'bell'),
    );
    expect([heard.volume, heard.emoji?.name ?? null]).toEqual([0.5, null]);
    await sound.delete();
    await known(() => !guildOf(plain).soundboardSounds.cache.has(sound.soundId));
    await expect(sounds.fetch({ soundboardSound: sound.soundId, force: true })).rejects.toMatchObject({
      code: 10097,
    });
  });

  test('is rejected above 5.2 seconds, above 512 KiB and when it is not audio', async () => {
    const make = (file: Buffer) =>
      guild.soundboardSounds.create({ file, name: 'drone', contentType: 'audio/ogg' });
    await (await make(oggOf(260))).delete();
    await expect(make(oggOf(265))).rejects.toMatchObject({ code: 50124 });
    await expect(make(mp3Of(201))).rejects.toMatchObject({ code: 50124 });
    await expect(make(Buffer.alloc(600_000))).rejects.toMatchObject({ code: 50035 });
    await expect(make(Buffer.from('no sound'))).rejects.toMatchObject({ code: 50046 });
  });
});

describe('a message', () => {
  test('has stickers and reactions of the guild, and refuses those that do not exist', async () => {
    const channel = (await bot.channels.fetch(server.info.guild.text_channel_id)) as TextChannel;
    const sticker = await guild.stickers.create({ name: 'flag', tags: 'wind', file: pngOf(10, 10) });
    const emoji = await guild.emojis.create({ attachment: gifPixel(), name: 'torch' });
    const message = await channel.send({ stickers: [sticker.id] });
    expect(message.stickers.get(sticker.id)).toMatchObject({ name: 'flag', format: 1 });
    expect((await channel.messages.fetch({ message: message.id, force: true })).stickers.size).toBe(1);
    await expect(channel.send({ stickers: [emoji.id] })).rejects.toMatchObject({ code: 50081 });
    await message.react(emoji);
    const reacted = await channel.messages.fetch({ message: message.id, force: true });
    expect(reacted.reactions.cache.get(emoji.id)).toMatchObject({ count: 1, me: true });
    expect((await reacted.reactions.cache.get(emoji.id)?.users.fetch())?.has(bot.user.id)).toBe(true);
    await expect(message.react(`moth:${sticker.id}`)).rejects.toMatchObject({ code: 10014 });
    await reacted.reactions.cache.get(emoji.id)?.users.remove(bot.user.id);
  });
});

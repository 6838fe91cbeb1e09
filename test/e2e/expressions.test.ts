// Goal: an unmodified discord.js bot keeps a guild's emoji, stickers and sounds, and hears of them as their members do.
import { Client, Events, GatewayIntentBits, type Guild } from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dataUri, gifPixel, pngOf } from '../support/media.ts';
import { startServer, type TestServer } from '../support/server.ts';

const PATIENCE_MS = 10_000;

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
  const untilMs = Date.now() + PATIENCE_MS;
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
  test('is made, told, served, listed, renamed, bound to a role, written down and deleted', async () => {
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

  test('is refused without the permission, as text, above 256 KiB and with a name of other letters', async () => {
    const refused = (who: Guild, attachment: Buffer, name = 'moth') =>
      expect(who.emojis.create({ attachment, name })).rejects;
    await refused(guildOf(plain), pngOf(1, 1)).toMatchObject({ code: 50013 });
    await refused(guild, Buffer.from('no image')).toMatchObject({ code: 50035 });
    await refused(guild, Buffer.concat([pngOf(1, 1), Buffer.alloc(262_144)])).toMatchObject({ code: 50035 });
    await refused(guild, pngOf(1, 1), 'mötte').toMatchObject({ code: 50035 });
  });
});

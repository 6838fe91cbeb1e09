// Goal: an unmodified discord.js calls every method of its managers that a bot may call, and each one works; the table in
// docs/compatibility.md says which they are, and why some are not called.
import * as library from 'discord.js';
import { Client, Events, GatewayIntentBits, Partials, type TextChannel } from 'discord.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NewBot, startServer, type TestServer } from '../support/server.ts';
import * as conversations from '../support/sweep/conversations.ts';
import * as guilds from '../support/sweep/guilds.ts';
import * as things from '../support/sweep/guildthings.ts';
import { LEFT_OUT, WITHOUT_REQUEST, WITHOUT_REQUESTS } from '../support/sweep/leftout.ts';
import { methodsOf, runParts, Sweep, tableInPage, tableOf, writeTable } from '../support/sweep/record.ts';

let server: TestServer;
let client: Client<true>;
let guest: NewBot;
const sweep = new Sweep();
beforeAll(async () => {
  server = await startServer();
  guest = await server.newBot('Guest');
  const { api, cdn } = server.info;
  const bits = Object.values(GatewayIntentBits).filter((bit) => typeof bit === 'number');
  client = new Client({
    ...{ intents: bits, partials: [Partials.Channel] },
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  client.on(Events.Error, (error) => expect.fail(error.message));
  const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(server.info.bot.token);
  await ready;
});
afterAll(async () => {
  await client?.destroy();
  await server?.finish();
});

/** The classes whose methods are counted: every manager, and what asks for more of a guild, the application and the client. */
const CLASSES = Object.entries(library).filter(
  ([name]) =>
    !WITHOUT_REQUESTS.has(name) &&
    (/Manager$/.test(name) || ['Guild', 'GuildTemplate', 'Client', 'ClientApplication'].includes(name)),
);

test('no method that is called fails', async () => {
  const guild = client.guilds.cache.get(server.info.guild.id)!;
  const at: things.Swept = {
    ...{ client, guild, guestId: guest.id, userIds: server.info.users.map(({ id }) => id) },
    text: guild.channels.cache.get(server.info.guild.text_channel_id) as TextChannel,
  };
  const { sweepRoles, sweepEmojis, sweepStickersAndSounds, sweepEvents, sweepInvites } = things;
  const { sweepChannels, sweepMessages, sweepThreads, sweepVoice, sweepPeople, sweepMembers } = conversations;
  const { sweepGuild, sweepGuildSettings, sweepCommunity, sweepApplication } = guilds;
  const parts = [
    ...[sweepRoles, sweepEmojis, sweepStickersAndSounds, sweepEvents, sweepInvites, sweepChannels],
    ...[sweepMessages, sweepThreads, sweepVoice, sweepPeople, sweepGuild, sweepGuildSettings],
    // The last ones remove members and close the guild to new ones.
    ...[sweepCommunity, sweepApplication, sweepMembers],
  ];
  await runParts(parts.map((part) => () => part(at, sweep.did)));
  expect(sweep.failed).toEqual([]);
});

test('every method was called, is left out for a reason, or sends no request', () => {
  const all = CLASSES.flatMap(([name, type]) =>
    methodsOf(type as unknown as { prototype: object }).map((method) => `${name}.${method}`),
  );
  const known = new Set([...sweep.worked, ...Object.keys(LEFT_OUT)]);
  const missing = all.filter((name) => !known.has(name) && !WITHOUT_REQUEST.has(name.split('.')[1]!));
  expect(missing).toEqual([]);
});

test('the table in the docs matches the measured methods', () => {
  const table = tableOf([...sweep.worked].sort(), LEFT_OUT);
  if (process.env.WRITE_COMPATIBILITY !== undefined) writeTable(table, 'discord.js');
  expect(tableInPage('discord.js')).toBe(table);
});

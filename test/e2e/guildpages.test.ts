// Goal: an unmodified discord.js bot uses the smaller pages of a guild, and every answer it gets fits the published file.
import { AuditLogEvent, Client, Events, GatewayIntentBits, type Guild } from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Caller, callerOf } from '../support/callers.ts';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let client: Client;
let guild: Guild;
let bot: Caller;
let path: string;

beforeAll(async () => {
  server = await startServer();
  const { api, cdn } = server.info;
  const { Guilds, GuildMembers, GuildModeration, GuildInvites } = GatewayIntentBits;
  client = new Client({
    intents: [Guilds, GuildMembers, GuildModeration, GuildInvites],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(server.info.bot.token);
  await ready;
  guild = await client.guilds.fetch(server.info.guild.id);
  bot = callerOf(server, `Bot ${server.info.bot.token}`);
  path = `/guilds/${guild.id}`;
});
afterAll(async () => {
  await client?.destroy();
  await server?.finish();
});

describe('a prune', () => {
  test('is counted and done, and takes nobody who came today', async () => {
    const before = guild.memberCount;
    expect(await guild.members.prune({ dry: true, days: 1, roles: [guild.roles.everyone.id] })).toBe(0);
    expect(await guild.members.prune({ days: 30, reason: 'nobody is away' })).toBe(0);
    expect(await guild.members.prune({ days: 7, count: false })).toBeNull();
    expect(await bot(`GET ${path}/prune?days=1&include_roles=${guild.id}`)).toEqual({ pruned: 0 });
    expect(guild.memberCount).toBe(before);
    const log = await guild.fetchAuditLogs({ type: AuditLogEvent.MemberPrune });
    expect(log.entries.size).toBe(0);
  });
});

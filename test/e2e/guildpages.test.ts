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
  test('is counted and run, and removes no recent member', async () => {
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

describe('a welcome screen', () => {
  test('is made, shown and switched', async () => {
    const channel = server.info.guild.text_channel_id;
    const made = await guild.editWelcomeScreen({
      enabled: true,
      description: 'Come in',
      welcomeChannels: [{ channel, description: 'Talk here', emoji: '👋' }],
    });
    expect(made.description).toBe('Come in');
    const shown = await guild.fetchWelcomeScreen();
    expect(shown.enabled).toBe(true);
    expect(shown.welcomeChannels.get(channel)?.emoji.name).toBe('👋');
    await guild.editWelcomeScreen({ enabled: false });
    expect((await guild.fetch()).features).not.toContain('WELCOME_SCREEN_ENABLED');
  });
});

describe('a widget', () => {
  test('is switched on by a bot and shown to anyone', async () => {
    const channel_id = server.info.guild.text_channel_id;
    const refused = await fetch(`${server.info.api}${path}/widget.json`);
    expect([refused.status, await refused.json()]).toMatchObject([403, { code: 50004 }]);
    await guild.setWidgetSettings({ enabled: true, channel: channel_id }, 'for the web');
    const settings = await guild.fetchWidgetSettings();
    expect([settings.enabled, settings.channel?.id]).toEqual([true, channel_id]);
    const widget = await guild.fetchWidget();
    expect(widget.presenceCount).toBeGreaterThan(0);
    expect([...widget.channels.keys()]).toContain(server.info.guild.voice_channel_id);
    expect(widget.members.size).toBeGreaterThan(0);
    expect(widget.instantInvite).toContain('/invite/');
    const code = widget.instantInvite?.split('/').at(-1);
    expect(await callerOf(server, null)(`GET /invites/${code}`)).toMatchObject({ guild: { id: guild.id } });
    for (const style of ['shield', 'banner4']) {
      const picture = await fetch(`${server.info.api}${path}/widget.png?style=${style}`);
      expect(picture.headers.get('content-type')).toBe('image/png');
      expect(new TextDecoder('latin1').decode(await picture.arrayBuffer())).toMatch(/^\x89PNG/);
    }
  });
});

describe('a guild tag', () => {
  test('is shown by a person who chose it, and a bot receives the update', async () => {
    const made = await bot<{ tag: string }>(`PATCH ${path}/profile`, { tag: 'HALL' });
    expect(await bot(`GET ${path}/profile`)).toEqual(made);
    const { user, token } = await server.admin<{ user: { id: string }; token: string }>('/users', {
      ...{ username: `tagged.${Date.now()}`, guild_id: guild.id },
    });
    await guild.members.fetch(user.id);
    const heard = new Promise<unknown>((resolve) =>
      // The library calls it a change of the user, as it reads the user of GUILD_MEMBER_UPDATE.
      client.once(Events.UserUpdate, (_, { primaryGuild }) => resolve(primaryGuild)),
    );
    const choice = { identity_guild_id: guild.id, identity_enabled: true };
    const own = await callerOf(server, token)<{ primary_guild: object }>('PUT /users/@me/clan', choice);
    expect(own.primary_guild).toEqual({ ...choice, tag: 'HALL', badge: null });
    expect(await heard).toMatchObject({ identityGuildId: guild.id, identityEnabled: true, tag: 'HALL' });
    await bot(`PATCH ${path}/profile`, { tag: null });
  });
});

describe('a team', () => {
  test('is joined and left by an invited person', async () => {
    const owner = await server.admin<{ user: { id: string } }>('/users', { username: 'team.owner' });
    const invited = await server.admin<{ user: { id: string }; token: string }>('/users', {
      ...{ username: 'team.invited' },
    });
    const { team } = await server.admin<{ team: { id: string } }>('/teams', {
      ...{ name: 'Crew', owner_id: owner.user.id },
    });
    await server.admin(`/teams/${team.id}/members`, {
      ...{ user_id: invited.user.id, role: 'developer', invited: true },
    });
    const ask = callerOf(server, invited.token);
    expect(await ask('GET /teams')).toMatchObject([{ id: team.id, name: 'Crew' }]);
    expect(await ask(`PUT /teams/${team.id}/members/@me`)).toMatchObject({ id: team.id });
    await ask(`DELETE /teams/${team.id}/members/@me`);
    expect(await ask('GET /teams')).toEqual([]);
  });
});

describe('an incident action', () => {
  test('closes invites for a while', async () => {
    const invitesDisabledUntil = new Date(Date.now() + 60_000);
    const told = new Promise<Guild>((resolve) =>
      client.once(Events.GuildUpdate, (_, after) => resolve(after)),
    );
    await guild.setIncidentActions({ invitesDisabledUntil });
    expect((await told).incidentsData?.invitesDisabledUntil).toEqual(invitesDisabledUntil);
    const { code } = await guild.invites.create(server.info.guild.text_channel_id, { unique: true });
    const { token } = await server.admin<{ token: string }>('/users', { username: 'late' });
    const late = callerOf(server, token);
    await expect(late(`POST /invites/${code}`, {})).rejects.toThrow('10006');
    await guild.setIncidentActions({ invitesDisabledUntil: null, dmsDisabledUntil: null });
    expect(await late(`POST /invites/${code}`, {})).toMatchObject({ new_member: true });
  });
});

describe('a template', () => {
  test('is made, shown, synced, changed, used by a person and deleted', async () => {
    const role = await guild.roles.create({ name: 'Crew', colors: { primaryColor: 0x112233 } });
    const made = await guild.createTemplate('Hall', 'A hall like this');
    await expect(guild.createTemplate('Another')).rejects.toMatchObject({ code: 30031 });
    await role.setName('Staff');
    const found = await client.fetchGuildTemplate(made.code);
    expect(found.unSynced).toBe(true);
    expect(found.serializedGuild.roles?.map(({ name }) => name)).toContain('Crew');
    expect((await found.sync()).unSynced).toBe(false);
    expect((await found.edit({ name: 'Great hall' })).name).toBe('Great hall');
    expect((await guild.fetchTemplates()).map(({ name }) => name)).toEqual(['Great hall']);

    const { token } = await server.admin<{ token: string }>('/users', { username: 'founder' });
    const founder = callerOf(server, token);
    const own = await founder<{ id: string; roles: { name: string; id: string }[] }>(
      `POST /guilds/templates/${made.code}`,
      { name: 'My hall' },
    );
    expect(own.roles.map(({ name }) => name)).toEqual(expect.arrayContaining(['@everyone', 'Staff']));
    const channels = await founder<{ name: string; parent_id: string | null }[]>(
      `GET /guilds/${own.id}/channels`,
    );
    expect(channels.map(({ name }) => name).sort()).toEqual(
      guild.channels.cache.map(({ name }) => name).sort(),
    );
    expect((await guild.fetchTemplates()).first()?.usageCount).toBe(1);

    await found.delete();
    await expect(client.fetchGuildTemplate(made.code)).rejects.toMatchObject({ code: 10057 });
    await role.delete();
  });
});

describe('an onboarding', () => {
  test('is made, enabled once there are channels enough, and logged', async () => {
    const role = await guild.roles.create({ name: 'Reader' });
    expect((await guild.fetchOnboarding()).prompts.size).toBe(0);
    const made = await guild.editOnboarding({
      prompts: [
        {
          title: 'What brings you here?',
          singleSelect: true,
          options: [{ title: 'Books', roles: [role], channels: [], emoji: '📖' }],
        },
      ],
      defaultChannels: [server.info.guild.text_channel_id],
    });
    expect(made.prompts.first()?.options.first()?.roles.has(role.id)).toBe(true);
    await expect(guild.editOnboarding({ enabled: true })).rejects.toMatchObject({ code: 350000 });
    const rooms = [];
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) rooms.push(await guild.channels.create({ name }));
    const defaultChannels = [server.info.guild.text_channel_id, ...rooms];
    expect((await guild.editOnboarding({ enabled: true, defaultChannels })).enabled).toBe(true);
    const log = await guild.fetchAuditLogs({ type: AuditLogEvent.OnboardingCreate });
    expect(log.entries.size).toBe(1);
    expect(await bot(`GET ${path}/new-member-welcome`)).toBeFalsy();
    const channel_id = server.info.guild.text_channel_id;
    const guide = {
      enabled: true,
      welcome_message: { author_ids: [server.info.bot.id], message: 'Welcome aboard' },
      new_member_actions: [{ channel_id, action_type: 1, title: 'Say hello', emoji: { name: '👋' } }],
      resource_channels: [{ channel_id, title: 'Rules', description: 'Read them' }],
    };
    const written = await bot(`PUT ${path}/new-member-welcome`, guide);
    expect(written).toMatchObject({
      guild_id: server.info.guild.id,
      resource_channels: guide.resource_channels,
    });
    expect(await bot(`GET ${path}/new-member-welcome`)).toEqual(written);
    const option = made.prompts.first()?.options.first()?.id ?? '';
    const invite = await guild.invites.create(channel_id, { unique: true });
    const { user, token } = await server.admin<{ user: { id: string }; token: string }>('/users', {
      username: 'newcomer',
    });
    const newcomer = callerOf(server, token);
    await newcomer(`POST /invites/${invite.code}`, {});
    const changed = new Promise((resolve) =>
      client.once(Events.GuildMemberUpdate, (_, member) =>
        resolve([member.id, member.roles.cache.has(role.id), member.flags.toArray()]),
      ),
    );
    const answers = { onboarding_responses: [option], onboarding_responses_seen: { [option]: 1 } };
    expect(await newcomer(`POST ${path}/onboarding-responses`, answers)).toEqual({
      ...{ guild_id: guild.id, user_id: user.id, ...answers, onboarding_prompts_seen: {} },
    });
    expect(await changed).toEqual([user.id, true, ['CompletedOnboarding', 'StartedOnboarding']]);
    expect(await newcomer(`GET ${path}/onboarding`)).toMatchObject({ responses: [option] });
    await newcomer(`PUT ${path}/onboarding-responses`, { onboarding_responses: [] });
    expect(await newcomer(`GET ${path}/members/${user.id}`)).toMatchObject({ roles: [], flags: 10 });
    await guild.editOnboarding({ enabled: false });
    for (const room of rooms) await room.delete();
  });
});

describe('an invite for listed users', () => {
  test('admits only the listed users, and returns its list', async () => {
    const [wanted, stranger] = [
      await server.admin<{ user: { id: string }; token: string }>('/users', { username: 'wanted' }),
      await server.admin<{ user: { id: string }; token: string }>('/users', { username: 'stranger' }),
    ];
    const text = server.info.guild.text_channel_id;
    const list = (...ids: string[]) => Buffer.from(['user_id', ...ids].join('\n'));
    const made = await guild.invites.create(text, { targetUsersFile: list(stranger.user.id), unique: true });
    await guild.invites.updateTargetUsers(made.code, list(wanted.user.id, wanted.user.id));
    expect((await guild.invites.fetchTargetUsers(made.code)).toString()).toBe(`user_id\n${wanted.user.id}\n`);
    const job = await guild.invites.fetchTargetUsersJobStatus(made.code);
    expect([job.status, job.totalUsers, job.processedUsers]).toEqual([2, 1, 1]);
    await expect(guild.invites.updateTargetUsers(made.code, list('1'))).rejects.toMatchObject({
      code: 50035,
    });
    const accept = `POST /invites/${made.code}`;
    await expect(callerOf(server, stranger.token)(accept, {})).rejects.toThrow('10006');
    expect(await callerOf(server, wanted.token)(accept, {})).toMatchObject({ new_member: true });
    const plain = await guild.invites.create(text, { unique: true });
    await expect(guild.invites.fetchTargetUsers(plain.code)).rejects.toMatchObject({ code: 10129 });
    await expect(guild.invites.fetchTargetUsersJobStatus(plain.code)).rejects.toMatchObject({ code: 10124 });
  });
});

test('a vanity URL is set, used, kept from other guilds and given up', async () => {
  expect(await guild.fetchVanityData()).toEqual({ code: null, uses: 0 });
  const set = (code: string | null) => bot(`PATCH ${path}/vanity-url`, { code });
  expect(await set('Our-Hall')).toEqual({ code: 'our-hall', uses: 0 });
  const { token } = await server.admin<{ token: string }>('/users', { username: 'visitor' });
  const visitor = callerOf(server, token);
  expect(await visitor('POST /invites/our-hall', {})).toMatchObject({ new_member: true });
  expect(await guild.fetchVanityData()).toEqual({ code: 'our-hall', uses: 1 });
  const own = await visitor<{ id: string }>('POST /guilds', { name: 'Another' });
  const theirs = `PATCH /guilds/${own.id}/vanity-url`;
  await expect(visitor(theirs, { code: 'OUR-HALL' })).rejects.toThrow('50020');
  await expect(set('no way')).rejects.toThrow('50020');
  await expect(visitor(`PATCH ${path}/vanity-url`, { code: 'mine' })).rejects.toThrow('50013');
  expect((await guild.invites.fetch()).has('our-hall')).toBe(false);
  expect(await set(null)).toEqual({ code: null, uses: 0 });
  await expect(visitor('GET /invites/our-hall')).rejects.toThrow('10006');
  expect(await visitor(theirs, { code: 'our-hall' })).toMatchObject({ code: 'our-hall' });
});

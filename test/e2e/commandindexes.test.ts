// Goal: people's clients find the commands they can use, and stock bots hear of integrations and of who may use a command.
import { Client, Events, GatewayIntentBits } from 'discord.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { heard } from '../support/interactionbot.ts';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

interface Index {
  readonly applications: readonly { readonly id: string; readonly flags: string }[];
  readonly application_commands: readonly {
    readonly id: string;
    readonly name: string;
    readonly name_default: string;
    readonly version: string;
  }[];
  readonly version: string;
}

interface Packet {
  readonly t: string | null;
  readonly d: { readonly id?: string; readonly name?: string; readonly application_id?: string };
}

let server: TestServer;
let bot: Client<true>;
let ann: Person;

const packet = (t: string) =>
  heard<Packet>((resolve) => {
    bot.ws.on(t as never, ((d: Packet['d']) => resolve({ t, d })) as never);
  });

const indexOf = async (place: string, { user = 0, locale = 'en-US' } = {}) => {
  const response = await fetch(`${server.info.api}/v10/${place}/application-command-index`, {
    headers: { authorization: `Bearer ${server.info.users[user]!.token}`, 'accept-language': locale },
  });
  return (await response.json()) as Index & { readonly code?: number };
};

const applicationId = () => server.info.application.id;

beforeAll(async () => {
  server = await startServer({ bots: 2 });
  const { api, cdn } = server.info;
  const { Guilds, GuildIntegrations } = GatewayIntentBits;
  bot = new Client({
    intents: [Guilds, GuildIntegrations],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  const ready = heard<Client<true>>((resolve) => bot.once(Events.ClientReady, resolve));
  await bot.login(server.info.bot.token);
  await ready;
  await bot.application.commands.set([
    { name: 'ping', description: 'Answers.', nameLocalizations: { de: 'klingel' } },
    { name: 'mine', description: 'For users.', integrationTypes: [1] },
  ]);
  await bot.application.commands.create({ name: 'here', description: 'Of the guild.' }, server.info.guild.id);
  ann = await Person.of(server);
});

afterAll(async () => {
  ann?.close();
  await bot?.destroy();
  await server?.finish();
});

test('the index of a guild has the commands of its applications, in the language of the reader', async () => {
  const place = `guilds/${server.info.guild.id}`;
  const index = await indexOf(place);
  expect(index.applications.map(({ id }) => id)).toContain(applicationId());
  expect(index.application_commands.map(({ name }) => name).sort()).toEqual(['here', 'ping']);
  expect(index.application_commands.map(({ version }) => version)).toContain(index.version);
  const german = await indexOf(place, { locale: 'de' });
  const ping = german.application_commands.find(({ name_default }) => name_default === 'ping');
  expect(ping?.name).toBe('klingel');
});

test('the index of a private channel has the commands of its bot, and only its recipients read it', async () => {
  const { body: channel } = await server
    .user()
    .ask<{ id: string }>('create_dm', { body: { recipient_id: server.info.bot.id } });
  const { application_commands: commands } = await indexOf(`channels/${channel.id}`);
  expect(commands.map(({ name }) => name).sort()).toEqual(['mine', 'ping']);
  expect((await indexOf(`channels/${channel.id}`, { user: 1 })).code).toBe(10_003);
  expect(await indexOf('users/@me')).toEqual({ applications: [], application_commands: [], version: '0' });
  expect((await indexOf(`applications/${applicationId()}`)).code).toBe(10_002);
});

test('a person’s session receives an event when the commands of a guild change', async () => {
  const { id: guildId } = server.info.guild;
  const changed = ann.gateway.dispatch(
    'GUILD_APPLICATION_COMMAND_INDEX_UPDATE',
    (d) => d.guild_id === guildId,
  );
  await bot.application.commands.create({ name: 'more', description: 'Came later.' });
  await changed;
});

test('integrations are listed, and bots receive their creation and deletion', async () => {
  const guild = await bot.guilds.fetch(server.info.guild.id);
  const before = await server
    .bot()
    .ask<{ id: string }[]>('list_guild_integrations', { params: { guild_id: guild.id } });
  expect(before.body.map(({ id }) => id)).toContain(applicationId());
  const other = server.info.bots[1]!;
  const told = packet('INTEGRATION_DELETE');
  const removed = await server.bot().ask('delete_guild_integration', {
    params: { guild_id: guild.id, integration_id: other.application_id },
  });
  expect(removed.status).toBe(204);
  expect((await told).d).toMatchObject({ id: other.application_id, application_id: other.application_id });
  const again = await server.bot().ask('delete_guild_integration', {
    params: { guild_id: guild.id, integration_id: other.application_id },
  });
  expect(again.body.code).toBe(10_005);
  const created = packet('INTEGRATION_CREATE');
  await server.newBot('Newcomer');
  expect((await created).d.name).toBe('Newcomer');
});

test('bots receive a new name or description of an application of their guild, and nothing else', async () => {
  const updates: { id: string; guild_id: string; application: { description: string } }[] = [];
  bot.on('raw', ({ t, d }: { t: string; d: (typeof updates)[0] }) => {
    if (t === 'INTEGRATION_UPDATE') updates.push(d);
  });
  const params = { application_id: applicationId() };
  const change = (body: object) => server.bot().ask('update_application', { params, body });
  await change({ tags: ['games'] });
  const told = packet('INTEGRATION_UPDATE');
  await change({ description: 'Shown in guilds.' });
  await told;
  expect(updates).toMatchObject([
    {
      ...{ id: applicationId(), guild_id: server.info.guild.id },
      application: { description: 'Shown in guilds.' },
    },
  ]);
});

test('an application is changed under its id by itself or its owner, and takes attachments', async () => {
  const params = { application_id: applicationId() };
  const changed = await server
    .bot()
    .ask<{ description: string }>('update_application', { params, body: { description: 'Under its id.' } });
  expect([changed.status, changed.body.description]).toEqual([200, 'Under its id.']);
  const other = await server.bot(1).ask('update_application', { params, body: { description: 'x' } });
  expect(other.status).toBe(403);
  const form = new FormData();
  form.set('file', new Blob(['picture']), 'a.txt');
  const sent = await fetch(`${server.info.api}/v10/applications/${applicationId()}/attachment`, {
    method: 'POST',
    headers: { authorization: `Bot ${server.info.bot.token}` },
    body: form,
  });
  const { attachment } = (await sent.json()) as { attachment: { url: string; filename: string } };
  expect([sent.status, attachment.filename]).toEqual([200, 'a.txt']);
  expect(await (await fetch(attachment.url)).text()).toBe('picture');
});

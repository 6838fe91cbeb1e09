// Goal: the relay compares successful replies about applications, their commands and webhooks that no other end-to-end test asks for.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Caller, callerOf } from '../support/callers.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { OAuthClient } from '../support/oauth.ts';
import { startServer, type TestServer } from '../support/server.ts';

const CALLBACK = 'http://127.0.0.1/callback';

interface WithId {
  readonly id: string;
}

let server: TestServer;
let bot: Caller;
let owner: Caller;
let application: string;
let guild: string;
beforeAll(async () => {
  server = await startServer();
  bot = callerOf(server, `Bot ${server.info.bot.token}`);
  owner = callerOf(server, `Bearer ${server.info.users[0]!.token}`);
  application = `/applications/${server.info.application.id}`;
  guild = `/guilds/${server.info.guild.id}`;
});
afterAll(() => server?.finish());

const slash = (name: string) => ({ name, description: 'What it does' });

test('an application is shown to its bot in every place', async () => {
  const { id } = server.info.application;
  expect(await bot(`GET ${application}`)).toMatchObject({ id });
  expect(await bot('GET /oauth2/applications/@me')).toMatchObject({ id });
});

test('linked accounts are listed', async () => {
  expect(await owner('GET /users/@me/connections')).toEqual([]);
});

describe('application commands', () => {
  test.each(['global', 'guild'])(
    'are created, read, changed, replaced and deleted in the %s scope',
    async (kind) => {
      const commands = `${application}${kind === 'guild' ? guild : ''}/commands`;
      const { id } = await bot<WithId>(`POST ${commands}`, slash('tide'));
      expect(await bot(`GET ${commands}/${id}`)).toMatchObject({ id, name: 'tide' });
      expect(await bot(`PATCH ${commands}/${id}`, { name: 'ebb' })).toMatchObject({ id, name: 'ebb' });
      expect(await bot(`GET ${commands}`)).toMatchObject([{ id, name: 'ebb' }]);
      const [replaced] = await bot<WithId[]>(`PUT ${commands}`, [slash('flood')]);
      expect(replaced).toMatchObject({ name: 'flood' });
      await bot(`DELETE ${commands}/${replaced!.id}`);
      expect(await bot(`GET ${commands}`)).toEqual([]);
    },
  );

  test('are in the index of an application that the person has installed', async () => {
    await bot('PATCH /applications/@me', { integration_types_config: { 0: {}, 1: {} } });
    const { id } = await bot<WithId>(`POST ${application}/commands`, {
      ...slash('wave'),
      integration_types: [1],
    });
    const { id: clientId, client_secret: secret } = server.info.application;
    const client = new OAuthClient(server, { id: clientId, secret });
    await server.admin(`${application}/oauth2`, { redirect_uris: [CALLBACK] });
    const query = { response_type: 'code', redirect_uri: CALLBACK, scope: 'applications.commands' };
    const { status, body } = await client.decide(server.info.users[0]!.token, query, { integration_type: 1 });
    expect(status, JSON.stringify(body)).toBe(200);
    const code = new URL(body.location ?? '').searchParams.get('code') ?? '';
    await client.tokens({ grant_type: 'authorization_code', redirect_uri: CALLBACK, code });
    expect(await owner(`GET ${application}/application-command-index`)).toMatchObject({
      applications: [{ id: clientId }],
      application_commands: [{ id, name: 'wave' }],
    });
    await bot(`DELETE ${application}/commands/${id}`);
  });

  test('have permissions in a guild, set by a person', async () => {
    const { id: clientId, client_secret: secret } = server.info.application;
    const client = new OAuthClient(server, { id: clientId, secret });
    const scope = 'applications.commands.permissions.update';
    const { access_token } = await client.tokens({ grant_type: 'client_credentials', scope });
    const person = callerOf(server, `Bearer ${access_token}`);
    const { id } = await bot<WithId>(`POST ${application}/commands`, slash('moon'));
    const all = `${application}${guild}/commands/permissions`;
    const own = `${application}${guild}/commands/${id}/permissions`;
    const permissions = [{ id: server.info.users[1]!.id, type: 2, permission: false }];
    const { gateway, bot: account } = server.info;
    const session = await GatewayClient.ready(gateway, { token: account.token, intents: 0 });
    expect(await person(`PUT ${own}`, { permissions })).toMatchObject({ id, permissions });
    expect(await session.dispatch('APPLICATION_COMMAND_PERMISSIONS_UPDATE')).toMatchObject({
      id,
      permissions,
    });
    session.close();
    expect(await bot(`GET ${own}`)).toMatchObject({ id, permissions });
    expect(await bot(`GET ${all}`)).toMatchObject([{ id, permissions }]);
  });
});

describe('webhooks', () => {
  test('are listed, read, changed and deleted by a bot', async () => {
    const channel = `/channels/${server.info.guild.text_channel_id}`;
    const { id, token } = await bot<WithId & { token: string }>(`POST ${channel}/webhooks`, {
      name: 'Herald',
    });
    expect(await bot(`GET ${channel}/webhooks`)).toMatchObject([{ id }]);
    expect(await bot(`GET ${guild}/webhooks`)).toMatchObject([{ id }]);
    expect(await bot(`GET /webhooks/${id}`)).toMatchObject({ id, name: 'Herald' });
    const anybody = callerOf(server, null);
    expect(await anybody(`GET /webhooks/${id}/${token}`)).toMatchObject({ id, name: 'Herald' });
    expect(await bot(`PATCH /webhooks/${id}`, { name: 'Crier' })).toMatchObject({ id, name: 'Crier' });
    await bot(`DELETE /webhooks/${id}`);
    expect(await bot(`GET ${channel}/webhooks`)).toEqual([]);
  });

  test('take what was made for Slack and GitHub', async () => {
    const channel = `/channels/${server.info.guild.text_channel_id}`;
    const { id, token } = await bot<WithId & { token: string }>(`POST ${channel}/webhooks`, {
      name: 'Builds',
    });
    const anybody = callerOf(server, null);
    await anybody(`POST /webhooks/${id}/${token}/slack?wait=true`, { text: 'from Slack' });
    const sent = await bot<{ content: string }[]>(`GET ${channel}/messages?limit=1`);
    expect(sent).toMatchObject([{ content: 'from Slack' }]);
    const headers = { 'content-type': 'application/json', 'x-github-event': 'issues' };
    const body = JSON.stringify({
      action: 'opened',
      issue: {
        number: 1,
        title: 'A bug',
        html_url: 'https://github.com/a/b/issues/1',
        user: { login: 'ann' },
      },
      repository: { full_name: 'a/b', html_url: 'https://github.com/a/b' },
      sender: { login: 'ann', html_url: 'https://github.com/ann', avatar_url: 'https://github.com/ann.png' },
    });
    const url = `${server.info.api}/v10/webhooks/${id}/${token}/github`;
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(204);
    const [shown] = await bot<{ embeds: { title: string }[] }[]>(`GET ${channel}/messages?limit=1`);
    expect(shown?.embeds[0]?.title).toContain('A bug');
  });
});

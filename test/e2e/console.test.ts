// Goal: the console shows a running server to the bearer of an admin token or a one-time link, asks before each change, and writes
// the change to the trail; `guildhall top` shows it in the terminal.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyKey } from 'discord-interactions';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AXE, audit } from '../support/audit.ts';
import { CHROMIUM, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { callerOf } from '../support/callers.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { ROOT } from '../support/root.ts';
import { startServer, type TestServer } from '../support/server.ts';

const A4_HZ = 440;
let folder: string;
let server: TestServer;
let client: GatewayClient;
let browser: TestBrowser;
let page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-console-'));
  const chaos = join(folder, 'none.yaml');
  await writeFile(chaos, 'rules: []\n');
  server = await startServer({ relayed: false, chaos });
  const { token } = server.info.users[0]!;
  client = await GatewayClient.ready(server.info.gateway, { token, intents: 1 });
  if (CHROMIUM === null) return;
  browser = await launchBrowser(A4_HZ);
  page = await (await browser.browser.newContext({ bypassCSP: true })).newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(server.info.console!);
  await page.getByRole('heading', { name: 'The last hour' }).waitFor();
});

afterAll(async () => {
  await browser?.close();
  client?.close();
  await server?.finish();
  await rm(folder, { recursive: true, force: true });
});

/** An application's URL that checks signatures, and answers the first event with 500. */
async function openEventEndpoint(publicKey: string) {
  let failures = 1;
  const endpoint = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const header = (name: string) => String(request.headers[name] ?? '');
    const isSigned = await verifyKey(
      ...([body, header('x-signature-ed25519'), header('x-signature-timestamp'), publicKey] as const),
    );
    const { type } = JSON.parse(body.toString()) as { type: number };
    failures -= isSigned && type === 1 ? 1 : 0;
    const isFailure = type === 1 && failures >= 0;
    response.writeHead(isSigned ? (isFailure ? 500 : 204) : 401).end();
  });
  endpoint.listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  return {
    origin: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`,
    close() {
      endpoint.closeAllConnections();
      endpoint.close();
    },
  };
}

const open = (name: string) =>
  page.getByRole('navigation', { name: 'Console' }).getByRole('button', { name, exact: true }).click();
const get = (path: string, token = server.info.admin.token) =>
  fetch(server.info.admin.url + path, { headers: { authorization: `Bearer ${token}` } });

describe('the console on the admin port', () => {
  test('serves its files to everyone, and its data only with a token', async () => {
    const html = await fetch(server.info.admin.url, { headers: { accept: 'text/html' } });
    expect(html.status).toBe(200);
    expect(html.headers.get('content-security-policy')).toContain("script-src 'self'");
    for (const path of ['/settings', '/history', '/log', '/trail', '/openapi.json', '/'])
      expect((await fetch(server.info.admin.url + path)).status).toBe(401);
  });

  test('masks secrets in the settings', async () => {
    const { settings } = (await (await get('/settings')).json()) as { settings: Record<string, unknown> };
    expect(settings).toMatchObject({ admin_token: '[secret]', playground: true });
    expect(JSON.stringify(settings)).not.toContain(server.info.admin.token);
  });

  test('calls operations as a user, and answers refusals', async () => {
    const as = server.info.users[0]!.id;
    const called = await server.admin<{ ok: boolean; reply: { id: string } }>('/operations', {
      ...{ operation: 'get_my_user', as },
    });
    expect(called).toMatchObject({ ok: true, reply: { id: as } });
    const refused = await server.admin('/operations', {
      ...{ operation: 'get_channel', as, params: { channel_id: '1' } },
    });
    expect(refused).toMatchObject({ ok: false, status: 404, reply: { code: 10003 } });
    const { lines } = (await (await get('/trail')).json()) as { lines: readonly { text: string }[] };
    const noted = lines.map(({ text }) => JSON.parse(text) as object);
    expect(noted).toContainEqual(
      expect.objectContaining({ what: 'POST /operations get_channel', user_id: as }),
    );
  });

  test('is shown by top in the terminal', () => {
    const { url, token } = server.info.admin;
    const args = ['top', '--times', '1', '--every', '1', '--admin-url', url, '--admin-token', token];
    const { stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'dist/cli.js'), ...args], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(stdout).toMatch(/sessions \d+ {3}events\/s/);
    expect(stdout).toContain('slowest operations');
  });
});

describe.runIf(CHROMIUM !== null)('the console in a browser', () => {
  test('asks before a change, says what it does, and shows it in the trail', async () => {
    await open('Guilds');
    await page.getByRole('button', { name: 'Make a guild' }).click();
    const dialog = page.getByRole('dialog', { name: 'Make a guild' });
    await dialog
      .getByText('Makes a guild that the owner can use at once. It is written to the trail.')
      .waitFor();
    await dialog.getByLabel('Name').fill('Made here');
    await dialog.getByLabel('Id of the owner').fill(server.info.users[0]!.id);
    await dialog.getByRole('button', { name: 'Make a guild' }).click();
    await dialog.getByRole('textbox', { name: 'Answer' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('cell', { name: 'Made here' }).waitFor();
    await open('Trail');
    await page
      .getByRole('row')
      .filter({ hasText: 'POST /guilds' })
      .filter({ hasText: 'console_link' })
      .waitFor();
  });

  test('finds a person by name', async () => {
    const [, { id, name }] = server.info.users as readonly [unknown, { id: string; name: string }];
    await open('People');
    const table = page.getByRole('table', { name: 'People and bots' });
    await table.getByRole('row').nth(2).waitFor();
    await page.getByLabel('Username of a person').fill(name.toUpperCase());
    await page.getByRole('button', { name: 'Find' }).click();
    await expect.poll(() => table.getByRole('row').count()).toBe(2);
    await table.getByRole('cell', { name: id }).waitFor();
  });

  test('shows what a session was sent, and ends its tokens', async () => {
    const person = server.info.users[0]!;
    await open('Sessions');
    const row = page.getByRole('row').filter({ hasText: person.id });
    await row.getByText(/\b1 READY$/).waitFor();
    await row.getByRole('button', { name: 'End tokens' }).click();
    const dialog = page.getByRole('dialog', { name: 'End tokens' });
    await dialog.getByRole('button', { name: 'End tokens' }).click();
    await dialog.getByText('Done.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('Nothing here.').waitFor();
  });

  test('shows the audit log of a guild, and the lobbies of an application', async () => {
    const { guild, application, bot } = server.info;
    const params = { guild_id: guild.id };
    const operation = 'update_guild';
    const shown = (await (await get(`/guilds/${guild.id}`)).json()) as { guild: { owner_id: string } };
    const rename = { operation, as: shown.guild.owner_id, params, body: { name: 'Harbour' } };
    expect(await server.admin('/operations', rename)).toMatchObject({ ok: true });
    await open('Moderation');
    await page.getByLabel('Id of a guild').fill(guild.id);
    await page.getByRole('button', { name: 'Show guild' }).click();
    await page.getByRole('table', { name: 'Audit log' }).getByText('Harbour').waitFor();
    await page.getByRole('table', { name: 'Join requests' }).waitFor();
    const made = { operation: 'create_open_lobby', as: bot.id, body: { game: 'race' } };
    expect(await server.admin('/operations', made)).toMatchObject({ ok: true });
    await open('Lobbies');
    await page.getByLabel('Id of an application').fill(application.id);
    await page.getByRole('button', { name: 'Show lobbies' }).click();
    const row = page.getByRole('row').filter({ hasText: 'race' });
    await row.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete' });
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('Done.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('Nothing here.').waitFor();
  });

  test('approves and rejects requests to join', async () => {
    const { guild, bot } = server.info;
    const callAsBot = callerOf(server, `Bot ${bot.token}`);
    const path = `/guilds/${guild.id}`;
    const { version } = await callAsBot<{ version: string }>(`PATCH ${path}/member-verification`, {
      ...{ enabled: true, description: 'A quiet place' },
      form_fields: [{ field_type: 'PARAGRAPH', label: 'Why do you come?', required: true }],
    });
    const { code } = await callAsBot<{ code: string }>(`POST /channels/${guild.text_channel_id}/invites`, {});
    const apply = async (username: string): Promise<string> => {
      const made = await server.admin<{ user: { id: string }; token: string }>('/users', { username });
      const call = callerOf(server, made.token);
      await call(`POST /invites/${code}`, {});
      await call(`PUT ${path}/requests/@me`, { version, form_fields: [{ response: 'To read' }] });
      return made.user.id;
    };
    const [ann, bob] = [await apply('ann.asks'), await apply('bob.asks')];
    await open('Moderation');
    await page.getByLabel('Id of a guild').fill(guild.id);
    await page.getByRole('button', { name: 'Show guild' }).click();
    const requests = page.getByRole('table', { name: 'Join requests' });
    for (const [username, action] of [
      ['ann.asks', 'Approve'],
      ['bob.asks', 'Reject'],
    ] as const) {
      const row = requests.getByRole('row').filter({ hasText: username });
      await row.getByRole('button', { name: action }).click();
      const dialog = page.getByRole('dialog', { name: action });
      await dialog.getByRole('button', { name: action }).click();
      await dialog.getByRole('textbox', { name: 'Answer' }).waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await row.waitFor({ state: 'detached' });
    }
    expect(await callAsBot(`GET ${path}/members/${ann}`)).toMatchObject({ pending: false });
    await expect(callAsBot(`GET ${path}/members/${bob}`)).rejects.toThrow('404');
    await callAsBot(`PATCH ${path}/member-verification`, { enabled: false });
  });

  test('shows each attempt to send a webhook event with its answer, and not the path of the URL', async () => {
    const endpoint = await openEventEndpoint(server.info.application.public_key);
    const body = {
      ...{ event_webhooks_url: `${endpoint.origin}/secret-path`, event_webhooks_status: 2 },
      event_webhooks_types: ['LOBBY_MESSAGE_CREATE'],
    };
    expect((await server.bot().ask('update_my_application', { body })).status).toBe(200);
    const of = { body: { external_user_id: 'ann' } };
    const { access_token: token } = await server
      .bot()
      .call<{ access_token: string }>('bot_partner_sdk_token', of);
    const player = server.restOf(`Bearer ${token}`);
    const joined = { body: { secret: 'table' } };
    const { id } = await player.call<{ id: string }>('create_or_join_lobby', joined);
    const message = { params: { lobby_id: id }, body: { content: 'one' } };
    await player.call('create_lobby_message', message);
    await open('Webhook deliveries');
    const rows = page.getByRole('table', { name: 'Attempts' }).getByRole('row');
    await rows.filter({ hasText: '500, not 204' }).filter({ hasText: endpoint.origin }).waitFor();
    await rows.filter({ hasText: '204, acknowledged' }).waitFor();
    expect(await page.getByText('secret-path').count()).toBe(0);
    endpoint.close();
  });

  test('injects a failure by a button and takes it back', async () => {
    const bot = server.bot();
    const channel = { params: { channel_id: server.info.guild.text_channel_id } };
    await open('Failures');
    await page.getByRole('button', { name: '503', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: '503' });
    await dialog.getByLabel(/^Operation/).fill('get_channel');
    await dialog.getByRole('button', { name: '503' }).click();
    await dialog.getByRole('textbox', { name: 'Answer' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect((await bot.ask('get_channel', channel)).status).toBe(503);
    const row = page.getByRole('row').filter({ hasText: 'get_channel' });
    await row.getByRole('cell', { name: '1', exact: true }).last().waitFor();
    await row.getByRole('button', { name: 'Remove' }).click();
    const removal = page.getByRole('dialog', { name: 'Remove' });
    await removal.getByRole('button', { name: 'Remove' }).click();
    await removal.getByText('Done.').waitFor();
    await removal.getByRole('button', { name: 'Close' }).click();
    await row.waitFor({ state: 'detached' });
    expect((await bot.ask('get_channel', channel)).status).toBe(200);
    await open('Trail');
    await page.getByRole('row').filter({ hasText: 'POST /chaos/remove' }).first().waitFor();
  });

  test('has no accessibility faults on any page, light and dark, wide and narrow', async () => {
    await page.addScriptTag({ path: AXE });
    const names = [
      'Overview',
      'Guilds',
      'People',
      'Applications',
      'Sessions',
      'Lobbies',
      'Matchmaking',
      'Calls',
      'Webhook deliveries',
      'Moderation',
      'Shards',
      'API explorer',
      'Failures',
      'Log',
      'Trail',
      'Settings',
    ];
    for (const name of names) {
      await open(name);
      await page.waitForTimeout(100);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width: colorScheme === 'light' ? 1280 : 390, height: 800 });
        expect(await page.evaluate(audit), `${name} ${colorScheme}`).toEqual([]);
      }
    }
    expect(complaints).toEqual([]);
  });
});

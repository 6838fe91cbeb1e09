// Goal: the console shows a running server to the bearer of an admin token or a one-time link, asks before each change, and writes
// the change to the trail; `guildhall top` shows it in the terminal.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AXE, audit } from '../support/audit.ts';
import { CHROMIUM, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { ROOT } from '../support/root.ts';
import { startServer, type TestServer } from '../support/server.ts';

const A4_HZ = 440;
let server: TestServer;
let browser: TestBrowser;
let page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  server = await startServer({ relayed: false });
  if (CHROMIUM === null) return;
  browser = await launchBrowser(A4_HZ);
  page = await (await browser.browser.newContext({ bypassCSP: true })).newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(server.info.console!);
  await page.getByRole('heading', { name: 'The last hour' }).waitFor();
});

afterAll(async () => {
  await browser?.close();
  await server?.finish();
});

const open = (name: string) =>
  page.getByRole('navigation', { name: 'Console' }).getByRole('button', { name, exact: true }).click();
const get = (path: string, token = server.info.admin.token) =>
  fetch(server.info.admin.url + path, { headers: { authorization: `Bearer ${token}` } });

describe('the console on the admin port', () => {
  test('serves its files to everyone and what they show to nobody without a token', async () => {
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

  test('has no accessibility faults on any page, light and dark, wide and narrow', async () => {
    await page.addScriptTag({ path: AXE });
    const names = [
      'Overview',
      'Guilds',
      'People',
      'Applications',
      'Calls',
      'Shards',
      'API explorer',
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

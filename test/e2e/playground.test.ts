// Goal: the page at `/` is a chat client that signs in once by a link, shows what the server shows, runs no script of a message,
// and is usable by keyboard, screen reader, phone and in both browsers.
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AXE, audit } from '../support/audit.ts';
import { CHROMIUM, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { FIREFOX, launchFirefox } from '../support/firefox.ts';
import { pngOf } from '../support/media.ts';
import { startServer, type TestServer } from '../support/server.ts';

const A4_HZ = 440;
const FIRST_LOAD_BYTES_MAX = 250_000;
const TABS_MAX = 120;

let server: TestServer;
let browser: TestBrowser;
let page: Page;
const complaints: string[] = [];
const requested: string[] = [];

beforeAll(async () => {
  server = await startServer({ relayed: false, guide: true });
  if (CHROMIUM === null) return;
  browser = await launchBrowser(A4_HZ);
  page = await (await browser.browser.newContext({ bypassCSP: true })).newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => {
    if (line.type() === 'error') complaints.push(line.text());
  });
  page.on('request', (request) => requested.push(`${request.url()} ${request.headers().referer ?? ''}`));
  await page.goto(server.info.playground.link!);
  await messages().waitFor();
});

afterAll(async () => {
  await browser?.close();
  await server?.finish();
});

const messages = () => page.getByRole('list', { name: 'Messages' });
const send = async (text: string) => {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
};

/** The sum of the layout shifts since the page was loaded that no input caused; an expression for the page. */
const LAYOUT_SHIFT = `new Promise((resolve) => {
  let sum = 0;
  const add = (list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value;
  };
  new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve(sum), 300);
})`;

const asBrowser = { headers: { accept: 'text/html' } };

describe('the path /', () => {
  test('is a page for browsers and 404 as JSON for other clients', async () => {
    const url = server.info.playground.url;
    const html = await fetch(url, asBrowser);
    expect(html.headers.get('content-type')).toBe('text/html;charset=utf-8');
    const policy = html.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'");
    expect(policy).not.toContain('unsafe-inline');
    expect(await html.text()).not.toMatch(/<script(?![^>]*\ssrc=)/);
    const json = await fetch(url);
    expect([json.status, await json.json()]).toEqual([404, { message: '404: Not Found', code: 0 }]);
  });

  test('loads less than 250 KB compressed at first', async () => {
    const html = await (await fetch(server.info.playground.url, asBrowser)).text();
    const found = new Set<string>(['']);
    const visit = async (path: string): Promise<number> => {
      if (found.has(path)) return 0;
      found.add(path);
      const response = await fetch(new URL(path, server.info.cdn));
      const text = await response.text();
      const imports = path.endsWith('.js')
        ? [...text.matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g)]
        : [];
      const inner = await Promise.all(imports.map(([, name]) => visit(`/voice-room/assets/${name}`)));
      return gzipSync(text).length + inner.reduce((sum, bytes) => sum + bytes, 0);
    };
    const links = [...html.matchAll(/(?:src|href)="(\/voice-room\/[^"]+)"/g)].map(([, path]) => path ?? '');
    const sizes = await Promise.all(links.map(visit));
    const total = sizes.reduce((sum, bytes) => sum + bytes, gzipSync(html).length);
    expect(links.length).toBeGreaterThan(2);
    expect(total).toBeGreaterThan(20_000);
    expect(total).toBeLessThan(FIRST_LOAD_BYTES_MAX);
  });

  test('exchanges a code for pages of this server only', async () => {
    const headers = { authorization: `Code ${'a'.repeat(32)}`, origin: 'https://other.test' };
    const foreign = await fetch(`${server.info.cdn}/playground/code`, { method: 'POST', headers });
    expect(foreign.status).toBe(403);
    const own = { ...headers, origin: server.info.cdn };
    const wrong = await fetch(`${server.info.cdn}/playground/code`, { method: 'POST', headers: own });
    expect(wrong.status).toBe(401);
    const nobody = await fetch(`${server.info.cdn}/playground/session`, { method: 'POST', headers: own });
    expect(nobody.status).toBe(401);
  });
});

/** Pages of the server besides the playground, and the button that signs in with a token where a page has one. */
const PAGES: readonly (readonly [path: string, signIn?: string])[] = [
  ['/docs/'],
  ['/docs/playground.html'],
  ['/docs/start/bot.html'],
  ['/voice-room/'],
  ['/voice-room/', 'Sign in'],
  ['/voice-room/players/'],
  ['/voice-room/players/', 'Begin'],
  ['/login'],
  ['/register'],
  ['/reset'],
];

describe.runIf(CHROMIUM !== null)('a page', () => {
  test.each(PAGES)(
    'has no accessibility faults at %s, light and dark, wide and narrow, and keeps its layout',
    async (path, signIn) => {
      const tab = await (await browser.browser.newContext({ bypassCSP: true })).newPage();
      await tab.goto(server.info.cdn + path);
      if (signIn !== undefined) {
        await tab.locator('#token').fill(server.info.users[0]!.token);
        await tab.getByRole('button', { name: signIn, exact: true }).click();
        await tab.locator('#token').waitFor({ state: 'detached' });
      }
      await tab.addScriptTag({ path: AXE });
      for (const colorScheme of ['light', 'dark'] as const) {
        await tab.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await tab.setViewportSize({ width: colorScheme === 'light' ? 1280 : 390, height: 800 });
        expect(await tab.evaluate(audit), colorScheme).toEqual([]);
      }
      const overflow = await tab.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect(overflow, 'overflow').toBeLessThanOrEqual(0);
      expect(await tab.evaluate<number>(LAYOUT_SHIFT), 'layout shift').toBeLessThan(0.1);
      await tab.close();
    },
  );
});

describe.runIf(CHROMIUM !== null)('the playground', () => {
  test('signs in once by its link, and keeps the code out of every address', async () => {
    const code = new URL(server.info.playground.link!).hash.slice('#code='.length);
    expect(code).toHaveLength(32);
    expect(page.url()).toBe(server.info.playground.url);
    expect(requested.filter((line) => line.includes(code))).toEqual([]);
    const again = await (await browser.browser.newContext()).newPage();
    await again.goto(server.info.playground.link!);
    await again.getByRole('alert').getByText('This link was used before').waitFor();
    await again.close();
    expect(server.logged(code)).toEqual([]);
  });

  test('greets with a bot that answers /hello with a button, a form and a select', async () => {
    await messages().getByText('Welcome to the Guildhall').waitFor();
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('/he');
    await page.getByRole('list', { name: 'Completions' }).getByText('/hello').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Press me' }).click();
    await page.getByRole('button', { name: 'Pressed 1 ×' }).waitFor();
    await page.getByRole('button', { name: 'Write something' }).click();
    await page.getByLabel('Your words').fill('fine words');
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await messages().getByText('You wrote: fine words').waitFor();
    await page.getByLabel('Choose a colour').selectOption('teal');
    await messages().getByText('You chose teal.').waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
  });

  test('makes a poll, votes and writes in private by keyboard alone, without animation where motion is reduced', async () => {
    await page.emulateMedia({ reducedMotion: 'reduce' });
    const tabTo = async (name: string | RegExp, role: 'button' | 'textbox') => {
      const wanted = page.getByRole(role, { name, exact: typeof name === 'string' }).first();
      await wanted.waitFor();
      for (let step = 0; step < TABS_MAX; step += 1) {
        if ((await wanted.and(page.locator(':focus')).count()) > 0) return;
        await page.keyboard.press('Tab');
      }
      throw new Error(`No key reaches ${name}.`);
    };
    await tabTo('Poll', 'button');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Make a poll' }).waitFor();
    await page.keyboard.type('Which way?');
    for (const answer of ['North way', 'South way']) {
      await page.keyboard.press('Tab');
      await page.keyboard.type(answer);
    }
    expect(await page.evaluate('document.getAnimations().length')).toBe(0);
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: 'Poll: Which way?' }).waitFor();
    await tabTo(/^North way/, 'button');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^North way.*1 vote/ }).waitFor();
    await tabTo('Write to Rowan', 'button');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '@ Rowan' }).waitFor();
    await tabTo('Message', 'textbox');
    await page.keyboard.type('Between us.');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('Two lines.');
    await page.keyboard.press('Enter');
    await messages().getByText('Between us.').waitFor();
    expect(await messages().getByText('Between us.').last().textContent()).toMatch(
      /^Between us\.\n?Two lines\.$/,
    );
    await page.addScriptTag({ path: AXE });
    expect(await page.evaluate(audit)).toEqual([]);
    const list = page.getByRole('navigation', { name: 'Channels' });
    await list.getByRole('button', { name: 'general', exact: true }).click();
    await page.emulateMedia({ reducedMotion: 'no-preference' });
  });

  test('lists a group, follows who is added to it, and leaves it', async () => {
    const { users, guild } = server.info;
    const made = { username: 'sparrow', global_name: 'Sparrow', guild_id: guild.id };
    const { user } = await server.admin<{ user: { id: string } }>('/users', made);
    const callAs = async (as: string, call: object) =>
      expect(await server.admin('/operations', { as, ...call })).toMatchObject({ ok: true });
    const befriend = (as: string, friendId: string) =>
      callAs(as, { operation: 'set_relationship', params: { user_id: friendId }, body: { type: 1 } });
    const recipients = users.slice(0, 2).map(({ id }) => id);
    for (const id of recipients) {
      await befriend(user.id, id);
      await befriend(id, user.id);
    }
    await callAs(user.id, { operation: 'create_dm', body: { recipients } });
    const list = page.getByRole('navigation', { name: 'Channels' });
    await list.getByRole('button', { name: /Sparrow/ }).click();
    await page.getByRole('heading', { name: /^@ .*Sparrow/ }).waitFor();
    await send('To everybody.');
    await messages().getByText('To everybody.').waitFor();
    await page.getByRole('button', { name: 'Leave' }).click();
    await list.getByRole('button', { name: /Sparrow/ }).waitFor({ state: 'detached' });
    await messages().waitFor();
  });

  test('shows Markdown, embeds, reactions, replies, polls and typing', async () => {
    const bot = server.bot();
    const params = { channel_id: server.info.guild.text_channel_id };
    const embeds = [
      { title: 'An embed', description: '**bold** words', fields: [{ name: 'F', value: 'v' }] },
    ];
    const body = { content: '**strong** and `code`', embeds };
    const sent = await bot.call<{ id: string }>('create_message', { params, body });
    await messages().locator('strong', { hasText: 'strong' }).waitFor();
    const row = page.locator(`[data-message="${sent.id}"]`);
    await row.getByText('An embed').waitFor();
    await row.hover();
    await row.getByRole('button', { name: 'React' }).click();
    await row.getByRole('button', { name: '🎉' }).click();
    await row.getByRole('button', { name: '🎉 1' }).waitFor();
    await row.hover();
    await row.getByRole('button', { name: 'Reply' }).click();
    await send('an answer');
    await messages()
      .getByText(/^↱ In answer to/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: /^A bot/ }).click();
    await page.getByRole('button', { name: /^A bot.*1 vote/ }).waitFor();
    await bot.call('trigger_typing_indicator', { params });
    await page.getByRole('status').getByText('is typing').waitFor();
  });

  test('shows attached pictures, stickers, and components of the second kind', async () => {
    const { guild, api, bot: account } = server.info;
    const bot = server.bot();
    const params = { channel_id: guild.text_channel_id };
    const picture = pngOf(320, 320);
    const form = new FormData();
    for (const [key, text] of Object.entries({ name: 'Beacon', description: 'A light', tags: 'lamp' }))
      form.set(key, text);
    form.set('file', new Blob([new Uint8Array(picture)], { type: 'image/png' }), 'beacon.png');
    const made = await fetch(`${api}/v10/guilds/${guild.id}/stickers`, {
      ...{ method: 'POST', headers: { authorization: `Bot ${account.token}` }, body: form },
    });
    const { id } = (await made.json()) as { id: string };
    await bot.call('create_message', {
      ...{ params, body: { sticker_ids: [id] } },
      files: [{ name: 'view.png', bytes: picture, type: 'image/png' }],
    });
    for (const name of ['view.png', 'Beacon']) {
      await messages().getByRole('img', { name }).first().scrollIntoViewIfNeeded();
      const width = `document.querySelector('img[alt*="${name}"]').naturalWidth`;
      await expect.poll(() => page.evaluate<number>(width)).toBeGreaterThan(0);
    }
    const text = { type: 10, content: '## Second kind' };
    const button = { type: 2, style: 5, label: 'A link', url: 'https://example.org/' };
    const container = { type: 17, components: [text, { type: 1, components: [button] }] };
    await bot.call('create_message', { params, body: { flags: 1 << 15, components: [container] } });
    await messages().getByText('Second kind').waitFor();
    const link = messages().getByRole('link', { name: 'A link' });
    expect(await link.getAttribute('rel')).toContain('noreferrer');
  });

  test('runs nothing that a message brings', async () => {
    const body = {
      content:
        '<img src=x onerror=alert(1)><script>alert(1)</script> [a](javascript:alert(1)) <javascript:alert(1)>',
      embeds: [{ title: '<b>no</b>', description: '<img src=x onerror=alert(1)>' }],
    };
    const dialogs: string[] = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await server
      .bot()
      .call('create_message', { params: { channel_id: server.info.guild.text_channel_id }, body });
    await messages().getByText('<script>alert(1)</script>').waitFor();
    expect(await messages().locator('img[src="x"], script, a[href^="javascript"]').count()).toBe(0);
    expect(dialogs).toEqual([]);
  });

  test('opens threads, forums and lobbies', async () => {
    const params = { guild_id: server.info.guild.id };
    await server.bot().call('create_guild_channel', { params, body: { name: 'ideas', type: 15 } });
    await page.getByRole('navigation', { name: 'Channels' }).getByRole('button', { name: 'ideas' }).click();
    await page.getByLabel('Title').fill('A first post');
    await page.getByLabel('Text').fill('with words');
    await page.getByRole('button', { name: 'Post' }).click();
    await page.getByRole('heading', { name: 'A first post' }).waitFor();
    await messages().getByText('with words').waitFor();
    await page.getByRole('button', { name: 'Lobbies' }).click();
    await page.getByRole('button', { name: 'Agree and open the lobbies' }).click();
    await page.getByLabel('Secret of a lobby').fill('a secret');
    await page.getByRole('button', { name: 'Join', exact: true }).click();
    await page.getByRole('region', { name: 'Lobby' }).waitFor();
    await page
      .getByRole('navigation', { name: 'Channels' })
      .getByRole('button', { name: 'general' })
      .first()
      .click();
    await messages().waitFor();
  });

  test('talks in a voice room and in a lobby with one sign-in, and keeps the call in sight', async () => {
    const channels = page.getByRole('navigation', { name: 'Channels' });
    await channels.getByRole('button', { name: 'General', exact: true }).click();
    await page.getByRole('button', { name: 'Join the call' }).click();
    const room = page.getByRole('region', { name: 'General', exact: true });
    await room.locator('[data-phase="connected"]').waitFor();
    await channels.getByRole('button', { name: 'ideas' }).click();
    await page.getByLabel('Title').waitFor();
    await room.getByRole('button', { name: 'Leave' }).click();
    await room.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Lobbies' }).click();
    await page.getByRole('button', { name: 'Agree and open the lobbies' }).click();
    await page.getByLabel('Secret of a lobby').fill('a call');
    await page.getByRole('button', { name: 'Join', exact: true }).click();
    const lobby = page.getByRole('region', { name: 'Lobby' });
    await lobby.getByRole('button', { name: 'Talk' }).click();
    await lobby.locator('[data-phase="connected"]').waitFor();
    await lobby.getByRole('button', { name: 'Hang up' }).click();
    await channels.getByRole('button', { name: 'general' }).first().click();
    await messages().waitFor();
  });

  test('shows frames without tokens, filtered', async () => {
    const frames = page.getByRole('region', { name: 'Gateway frames' });
    await frames.getByLabel('Filter frames').fill('identify');
    await frames.getByRole('button', { name: /Identify/ }).click();
    const text = await frames.getByLabel(/^Frame \d/).inputValue();
    expect(text).toContain('"token": "[secret]"');
    await frames.getByLabel('Filter frames').fill('');
  });

  test('shows the program of the demo bot with its token', async () => {
    const program = await page.getByRole('textbox', { name: '2. Paste in bot.mjs' }).inputValue();
    expect(program).toContain(server.info.bot.token);
  });

  test('has no accessibility faults, light and dark, wide and narrow', async () => {
    await page.addScriptTag({ path: AXE });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await page.evaluate(audit), `${colorScheme} ${width}`).toEqual([]);
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        expect(overflow, `overflow at ${width}`).toBeLessThanOrEqual(0);
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('keeps its layout while it loads', async () => {
    await page.reload();
    await messages().getByText('Welcome to the Guildhall').waitFor();
    await page.getByRole('region', { name: 'Members' }).getByText('Guide').waitFor();
    const shift = await page.evaluate<number>(LAYOUT_SHIFT);
    expect(shift).toBeLessThan(0.1);
    expect(complaints).toEqual([]);
  });

  test('signs out, which ends its token', async () => {
    const token = await page.evaluate<string>("JSON.parse(sessionStorage.getItem('playground')).token");
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in with your account' }).waitFor();
    await expect
      .poll(async () => (await server.restOf(`Bearer ${token}`).ask('get_my_user')).status)
      .toBe(401);
    expect(await page.evaluate("sessionStorage.getItem('playground')")).toBeNull();
  });
});

describe.runIf(FIREFOX !== null)('the playground in Firefox', () => {
  test('signs in with a token, sends a message and has no accessibility faults', async () => {
    const firefox = await launchFirefox({ 'security.csp.enable': false });
    try {
      const tab = await firefox.newPage();
      await tab.goto(server.info.playground.url);
      await tab.locator('#token').fill(server.info.users[1]!.token);
      await tab.locator('form button').click();
      await tab.locator('.composer-text').fill('from Firefox');
      await tab.locator('.composer button.primary').click();
      await tab.locator('::-p-text(from Firefox)').wait();
      await tab.evaluate(await readFile(AXE, 'utf8'));
      expect(await tab.evaluate(audit)).toEqual([]);
      await tab.setViewport({ width: 390, height: 800 });
      expect(await tab.evaluate(audit), 'narrow').toEqual([]);
    } finally {
      await firefox.close();
    }
  });

  test('finds no accessibility faults on any other page, wide and narrow', async () => {
    const firefox = await launchFirefox({ 'security.csp.enable': false });
    try {
      const tab = await firefox.newPage();
      const axe = await readFile(AXE, 'utf8');
      const console = server.info.console!;
      for (const url of [
        ...PAGES.filter(([, signIn]) => !signIn).map(([path]) => server.info.cdn + path),
        console,
      ]) {
        await tab.setViewport({ width: 1280, height: 800 });
        await tab.goto(url);
        if (url === console) await tab.locator('::-p-text(The last hour)').wait();
        await tab.evaluate(axe);
        expect(await tab.evaluate(audit), url).toEqual([]);
        await tab.setViewport({ width: 390, height: 800 });
        expect(await tab.evaluate(audit), `${url}, narrow`).toEqual([]);
      }
    } finally {
      await firefox.close();
    }
  });
});

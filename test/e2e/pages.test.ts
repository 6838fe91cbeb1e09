// Goal: in a real browser without a script people sign up, confirm their address, sign in with two steps, let applications
// act for them and take it back; other sites can neither frame the pages nor send their forms.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOTP } from 'otpauth';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import type { Engine, NewApplication } from '../../embedding.ts';
import type { UserId } from '../../protocol/ids.ts';
import { CHROMIUM, launchBrowser, type TestBrowser } from '../support/browser.ts';

const PASSWORD = 'correct horse battery';

let engine: Engine;
let folder: string;
let origin: string;
let browser: TestBrowser;
let game: { readonly server: Server; readonly origin: string; readonly asked: string[]; page: string };
let application: NewApplication;

/** A game's own web server: it notes what it is asked, and serves one page. */
async function startGame() {
  const asked: string[] = [];
  const made = { asked, page: '<h1>The game</h1>', server: null as unknown as Server, origin: '' };
  made.server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('content-type', 'text/html').end(made.page);
  });
  await new Promise<void>((resolve) => made.server.listen(0, '127.0.0.1', resolve));
  made.origin = `http://127.0.0.1:${(made.server.address() as { port: number }).port}`;
  return made;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guildhall-pages-'));
  engine = await createEngine({
    config: { listen_port: 0, voice: false, data_dir: folder, log_level: 'silent' },
  });
  origin = (await engine.listen()).cdn;
  game = await startGame();
  application = await engine.admin.createApplication({ name: 'Tavern <i>of</i> Dice' });
  await engine.admin.configureClient({
    applicationId: application.application.id,
    redirectUris: [`${game.origin}/callback`],
  });
  if (CHROMIUM !== null) browser = await launchBrowser(440);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  game?.server.close();
  await engine?.close();
  rmSync(folder, { recursive: true, force: true });
});

const contexts: BrowserContext[] = [];
const complaints: string[] = [];
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close();
  expect(complaints.splice(0)).toEqual([]);
});

/** A browser of somebody's own, without scripts, which minds everything that a page does against its own policy. */
async function newVisitor(): Promise<Page> {
  const context = await browser.browser.newContext({ javaScriptEnabled: false });
  contexts.push(context);
  const page = await context.newPage();
  page.on('console', (line) => {
    if (line.type() === 'error' && !/status of 4\d\d/.test(line.text())) complaints.push(line.text());
  });
  return page;
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const heading = (page: Page) => page.getByRole('heading', { level: 1 }).textContent();

async function signUp(page: Page, username: string, email = ''): Promise<void> {
  await page.goto(`${origin}/register`);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await press(page, 'Make an account');
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
}

async function signIn(page: Page, login: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('Username or e-mail address').fill(login);
  await page.getByLabel('Password').fill(password);
  await press(page, 'Sign in');
}

/** The link in the newest letter to an address with a subject. */
async function linkTo(email: string, subject: string): Promise<string> {
  let found = '';
  await expect
    .poll(() => {
      const letters = readdirSync(join(folder, 'outbox'))
        .filter((name) => name.endsWith('.eml'))
        .sort()
        .map((name) => readFileSync(join(folder, 'outbox', name), 'utf8'))
        .filter((text) => text.includes(`To: ${email}\n`) && text.includes(`Subject: ${subject}\n`));
      // Long lines are folded with `=` at their end, and `=` itself is `=3D`.
      const text = (letters.at(-1) ?? '').replaceAll('=\n', '').replaceAll('=3D', '=');
      found = /http\S+token=\S+/.exec(text)?.[0] ?? '';
      return found;
    })
    .not.toBe('');
  return found;
}

/** Fields and buttons without a name, or with an id that another has too. It runs in the page. */
const NAMELESS = `[...document.querySelectorAll('input:not([type=hidden]), select, button')]
  .filter(({ labels, id, textContent, ariaLabel }) =>
    !(labels?.length || textContent.trim() || ariaLabel) ||
    (id !== '' && document.querySelectorAll('[id="' + id + '"]').length > 1))
  .map(({ outerHTML }) => outerHTML)`;

describe.runIf(CHROMIUM !== null)('people', () => {
  test('sign up, confirm their address, and sign in by it; a mistake is said where it was made', async () => {
    const page = await newVisitor();
    await page.goto(`${origin}/register`);
    await page.getByLabel('Username').fill('no spaces');
    await page.getByLabel('Password').fill('password1');
    await press(page, 'Make an account');
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('Use letters a to z');
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('errors');
    const username = page.getByLabel('Username');
    expect(await username.getAttribute('aria-invalid')).toBe('true');
    const described = (await username.getAttribute('aria-describedby'))!.split(' ');
    expect(await page.locator(`#${described.at(-1)}`).textContent()).toContain('Use letters a to z');

    await signUp(page, 'anna', 'anna@example.org');
    await page.goto(await linkTo('anna@example.org', 'Confirm your e-mail address'));
    await press(page, 'Yes, it is mine');
    expect(await heading(page)).toBe('Confirmed');
    await press(page, 'Sign out anna');
    await page.getByLabel('Password').waitFor();
    await signIn(page, 'ANNA@example.org');
    await page.getByText('Confirmed: anna@example.org').waitFor();
    expect(await page.getByText('(this one)').count()).toBe(1);
  });

  test('every field and button of every page has a name, and every page one heading and one main part', async () => {
    const page = await newVisitor();
    await signUp(page, 'names');
    const stranger = await newVisitor();
    const seen = [
      [stranger, ['/login', '/register', '/reset', '/reset?token=x', '/verify-email?token=x']],
      [page, ['/settings', '/settings/two-step', '/activate', '/logout']],
    ] as const;
    for (const [who, paths] of seen) {
      for (const path of paths) {
        await who.goto(origin + path);
        const nameless = await who.evaluate<string[]>(NAMELESS);
        expect(nameless, path).toEqual([]);
        expect(await who.locator('h1').count(), path).toBe(1);
        expect(await who.locator('main').count(), path).toBe(1);
        expect(await who.locator('html[lang=en]').count(), path).toBe(1);
        const tooWide = await who.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        expect(tooWide, path).toBeLessThanOrEqual(0);
      }
    }
  });

  test('switch two-step sign-in on, and get in with a code, or once with a recovery code', async () => {
    const page = await newVisitor();
    await signUp(page, 'twostep');
    await page.getByRole('link', { name: 'Switch it on' }).click();
    await page.getByRole('img', { name: 'The key as a QR code' }).waitFor();
    const secret = (await page.locator('code').textContent())!.replaceAll(' ', '');
    const code = (offsetMs = 0) => new TOTP({ secret }).generate({ timestamp: Date.now() + offsetMs });
    await page.getByLabel('Code that the app shows').fill(code());
    await page.getByLabel('Current password').fill(PASSWORD);
    await press(page, 'Switch two-step sign-in on');
    const [recovery = ''] = await page.locator('.codes li').allTextContents();
    await page.getByRole('link', { name: 'I have kept them' }).click();
    await press(page, 'Sign out twostep');

    // A code counts once: the next one, a little early.
    for (const answer of [code(30_000), recovery.toUpperCase()]) {
      await signIn(page, 'twostep');
      expect(await heading(page)).toBe('One more step');
      await page.getByLabel('Code').fill(answer);
      await press(page, 'Sign in');
      await page.getByRole('heading', { name: 'Settings' }).waitFor();
      await press(page, 'Sign out twostep');
    }
    await signIn(page, 'twostep');
    await page.getByLabel('Code').fill(recovery);
    await press(page, 'Sign in');
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('Invalid two-factor code');
  });

  test('reset their password by e-mail, and every other browser is signed out', async () => {
    const [page, other] = [await newVisitor(), await newVisitor()];
    await signUp(page, 'forgets', 'forgets@example.org');
    await page.goto(await linkTo('forgets@example.org', 'Confirm your e-mail address'));
    await press(page, 'Yes, it is mine');
    await other.goto(`${origin}/reset`);
    await other.getByLabel('Username or e-mail address').fill('forgets');
    await press(other, 'Send the link');
    await other.goto(await linkTo('forgets@example.org', 'Choose a new password'));
    await other.getByLabel('New password').fill('another good one');
    await press(other, 'Save the password');
    expect(await heading(other)).toBe('Saved');
    await page.goto(`${origin}/settings`);
    expect(page.url()).toContain('/login');
    await signIn(page, 'forgets', 'another good one');
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
  });
});

const authorizeUrl = (more: Record<string, string> = {}) => {
  const query = new URLSearchParams({
    client_id: application.application.id,
    response_type: 'code',
    scope: 'identify guilds',
    redirect_uri: `${game.origin}/callback`,
    state: 'a state & more',
    ...more,
  });
  return `${origin}/oauth2/authorize?${query}`;
};

/** The game exchanges what came to its callback. */
async function exchange(): Promise<{ access_token: string; scope: string }> {
  const { searchParams } = new URL(game.asked.findLast((path) => path.startsWith('/callback'))!, game.origin);
  expect(searchParams.get('state')).toBe('a state & more');
  const response = await fetch(`${origin}/api/v10/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: searchParams.get('code')!,
      redirect_uri: `${game.origin}/callback`,
      client_id: application.application.id,
      client_secret: application.clientSecret,
    }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as { access_token: string; scope: string };
}

const me = (token: string) =>
  fetch(`${origin}/api/v10/users/@me`, { headers: { authorization: `Bearer ${token}` } });

describe.runIf(CHROMIUM !== null)('applications', () => {
  test('send a person to sign in and agree, get them back, and lose the grant when the person revokes it', async () => {
    const page = await newVisitor();
    await signUp(page, 'player');
    await press(page, 'Sign out player');
    await page.goto(authorizeUrl());
    await signIn(page, 'player');
    await page.getByRole('heading', { name: 'Authorize Tavern <i>of</i> Dice' }).waitFor();
    await page.getByText('see which servers you are in').waitFor();
    await page.getByText(`Afterwards you are sent to ${new URL(game.origin).host}`).waitFor();
    await press(page, 'Authorize');
    await page.getByRole('heading', { name: 'The game' }).waitFor();
    const { access_token: token } = await exchange();
    expect(await (await me(token)).json()).toMatchObject({ username: 'player' });

    // Agreed to once, it need not be asked again, also right behind the sign-in.
    await page.goto(`${origin}/settings`);
    await press(page, 'Sign out player');
    await page.goto(authorizeUrl({ prompt: 'none' }));
    await signIn(page, 'player');
    await page.getByRole('heading', { name: 'The game' }).waitFor();
    await exchange();

    await page.goto(`${origin}/settings`);
    await press(page, 'Take it back from Tavern <i>of</i> Dice');
    await page.getByRole('status').waitFor();
    expect((await me(token)).status).toBe(401);
    await page.getByText('You have let no application act for you.').waitFor();
  });

  test('receive access_denied when a person declines; a foreign redirect is shown, never followed', async () => {
    const page = await newVisitor();
    await signUp(page, 'denies');
    await page.goto(authorizeUrl());
    await press(page, 'Cancel');
    await page.getByRole('heading', { name: 'The game' }).waitFor();
    expect(page.url()).toContain('error=access_denied');
    for (const redirect of [
      'https://evil.example/callback',
      `${game.origin}/callback/../evil`,
      '//evil.example',
    ]) {
      const response = await page.goto(authorizeUrl({ redirect_uri: redirect }));
      expect(response?.status()).toBe(400);
      expect(page.url().startsWith(origin)).toBe(true);
    }
  });

  test('add their bot to a person’s server with the granted permissions only', async () => {
    const page = await newVisitor();
    await signUp(page, 'owner');
    const [owner] = (await engine.admin.listUsers(null, 1_000)).filter(
      ({ username }) => username === 'owner',
    );
    const guild = await engine.admin.createGuild({ name: 'Dragon & Co', ownerId: owner!.id as UserId });
    const query = { client_id: application.application.id, scope: 'bot', permissions: '3072' };
    await page.goto(`${origin}/oauth2/authorize?${new URLSearchParams(query)}`);
    await page.getByLabel('Server').selectOption({ label: 'Dragon & Co' });
    await page.getByLabel('send messages', { exact: true }).uncheck();
    await press(page, 'Authorize');
    await page.getByRole('heading', { name: 'Done' }).waitFor();
    const as = { as: application.bot.id };
    const roles = (await engine.api.list_guild_roles!({ params: { guild_id: guild.id } }, as)) as {
      permissions: string;
      managed: boolean;
    }[];
    expect(roles.find(({ managed }) => managed)?.permissions).toBe('1024');
  });

  test('get tokens by the code of a device without a browser', async () => {
    const page = await newVisitor();
    await signUp(page, 'couch');
    const { id } = application.application;
    const client = { client_id: id, client_secret: application.clientSecret };
    const ask = async (path: string, fields: Record<string, string>) => {
      const init = { method: 'POST', body: new URLSearchParams({ ...client, ...fields }) };
      const response = await fetch(`${origin}/api/v10${path}`, init);
      return (await response.json()) as Record<string, string>;
    };
    const device = await ask('/oauth2/device/authorize', { scope: 'identify' });
    await page.goto(device.verification_uri_complete!);
    await press(page, 'Go on');
    await page.getByRole('heading', { name: 'Connect Tavern <i>of</i> Dice' }).waitFor();
    await press(page, 'Authorize');
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    const grant = 'urn:ietf:params:oauth:grant-type:device_code';
    const tokens = await ask('/oauth2/token', { grant_type: grant, device_code: device.device_code! });
    expect(await (await me(tokens.access_token!)).json()).toMatchObject({ username: 'couch' });
  });
});

describe.runIf(CHROMIUM !== null)('other sites', () => {
  test('cannot frame a page, nor submit a form as the signed-in person', async () => {
    const page = await newVisitor();
    await signUp(page, 'victim');
    // `localhost` is another site than `127.0.0.1`.
    const evil = game.origin.replace('127.0.0.1', 'localhost');
    game.page = `<h1>Evil</h1><iframe src="${authorizeUrl()}"></iframe>
<form method="post" action="${origin}/settings/profile"><input name="username" value="pwned"><button>Win</button></form>`;
    await page.goto(evil);
    await expect.poll(() => complaints.splice(0).join(' ')).toContain('frame-ancestors');
    expect(await page.frames()[1]?.locator('button').count()).toBe(0);
    await press(page, 'Win');
    expect(await heading(page)).toBe('Not from here');
    await page.goto(`${origin}/settings`);
    expect(await page.getByLabel('Username').inputValue()).toBe('victim');
    complaints.splice(0);
  });
});

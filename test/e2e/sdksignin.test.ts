// Goal: a game in a page signs a person in through a window of the server's own pages, and is in a lobby with them.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';

const PASSWORD = 'correct horse battery';
const soon = { timeout: 15_000 };

/** The game's page: one button signs in. What came of it stands in the document. */
const gamePage = (api: string, applicationId: string) => `
import { AuthorizationTokenType, Client } from ${JSON.stringify(join(ROOT, 'sdk/index.ts'))};
const client = new Client({ apiBase: ${JSON.stringify(api)}, applicationId: ${JSON.stringify(applicationId)} });
const say = (text) => { document.querySelector('output').textContent = text; };
const verifying = client.createAuthorizationCodeVerifier();
document.querySelector('button').onclick = async () => {
  try {
    const { verifier, challenge } = await verifying;
    const scopes = Client.getDefaultCommunicationScopes();
    const { code, redirectUri } = await client.authorize({ scopes, codeChallenge: challenge });
    const tokens = await client.getToken(client.getApplicationId(), code, verifier, redirectUri);
    await client.updateToken(AuthorizationTokenType.Bearer, tokens.accessToken);
    await client.connect();
    const lobbyId = await client.createOrJoinLobby('of the page');
    await client.sendLobbyMessage(lobbyId, 'hello from a page');
    const [message] = await client.getLobbyMessagesWithLimit(lobbyId, 1);
    say(client.getCurrentUserV2().displayName + ' said ' + message.content);
  } catch (error) {
    say(String(error));
  }
};`;

const callbackPage = `
import { completeAuthorizePage } from ${JSON.stringify(join(ROOT, 'sdk/index.ts'))};
completeAuthorizePage();`;

/** Adds what a bundler for browsers makes of a page's script, by path. */
async function bundle(name: string, code: string, scripts: Map<string, string>): Promise<void> {
  const made = await build({
    configFile: false,
    root: ROOT,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2022',
      rolldownOptions: { input: 'entry', output: { entryFileNames: `${name}.js` } },
    },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? '\0entry' : null),
        load: (id) => (id === '\0entry' ? code : null),
      },
    ],
  });
  const { output } = made as unknown as {
    output: readonly { readonly fileName: string; readonly code?: string }[];
  };
  for (const { fileName, code: script } of output) scripts.set(`/${fileName}`, script ?? '');
}

let server: TestServer;
let browser: TestBrowser;
let site: Server;
let origin: string;
const asked: string[] = [];

/** The game's own web server: another origin than the API's. */
async function openSite(): Promise<void> {
  const scripts = new Map<string, string>();
  site = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://game.test').pathname;
    asked.push(path);
    const script = scripts.get(path);
    if (script !== undefined) response.setHeader('content-type', 'text/javascript').end(script);
    else {
      const name = path === '/callback' ? 'callback' : 'game';
      const body = `<!doctype html><button>Sign in</button><output></output><script type="module" src="/${name}.js"></script>`;
      response.setHeader('content-type', 'text/html').end(body);
    }
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const { id } = server.info.application;
  const redirects = [`${origin}/callback`];
  await server.admin(`/applications/${id}/oauth2`, { redirect_uris: redirects, public_client: true });
  await bundle('game', gamePage(server.info.api, id), scripts);
  await bundle('callback', callbackPage, scripts);
}

beforeAll(async () => {
  if (CHROMIUM === null) return;
  server = await startServer();
  await openSite();
  browser = await launchBrowser(440);
});
afterAll(async () => {
  await browser?.close();
  site?.close();
  await server?.finish();
});

/** A person with an account, at the game. */
async function visitor(username: string): Promise<{ game: Page; complaints: string[] }> {
  const response = await fetch(`${server.info.api}/v10/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: PASSWORD, global_name: 'Ada' }),
  });
  expect(response.status, await response.text()).toBe(201);
  const context = await browser.browser.newContext();
  const game = await context.newPage();
  const complaints: string[] = [];
  game.on('pageerror', (error) => complaints.push(error.message));
  await game.goto(origin);
  return { game, complaints };
}

/** Presses the button, and signs in on the server's page in the window that opens. */
async function begin(game: Page, username: string): Promise<Page> {
  const [popup] = await Promise.all([
    game.waitForEvent('popup'),
    game.getByRole('button', { name: 'Sign in' }).click(),
  ]);
  await popup.getByLabel('Username or e-mail address').fill(username);
  await popup.getByLabel('Password').fill(PASSWORD);
  await popup.getByRole('button', { name: 'Sign in', exact: true }).click();
  await popup.getByRole('heading', { level: 1, name: /Authorize/ }).waitFor();
  return popup;
}

const said = (game: Page) => game.locator('output').textContent();

describe.runIf(CHROMIUM !== null)('a page', () => {
  test('opens a window, and continues as the person who agreed there', async () => {
    const { game, complaints } = await visitor('ada');
    const popup = await begin(game, 'ada');
    expect(new URL(popup.url()).origin).toBe(new URL(server.info.api).origin);
    await popup.getByRole('button', { name: 'Authorize', exact: true }).click();
    await expect.poll(() => said(game), soon).toBe('Ada said hello from a page');
    await expect.poll(() => popup.isClosed(), soon).toBe(true);
    expect(complaints).toEqual([]);
    expect(asked).toContain('/callback');
  });

  test('gets an error when the person declines or closes the window', async () => {
    const { game } = await visitor('bo');
    const popup = await begin(game, 'bo');
    await popup.getByRole('button', { name: 'Cancel', exact: true }).click();
    await expect.poll(() => said(game), soon).toContain('AuthorizationFailed');
    const [again] = await Promise.all([
      game.waitForEvent('popup'),
      game.getByRole('button', { name: 'Sign in' }).click(),
    ]);
    await again.getByRole('heading', { level: 1, name: /Authorize/ }).waitFor();
    await again.close();
    await expect.poll(() => said(game), soon).toContain('The window was closed.');
  });
});

// Goal: the unmodified SDK of activities runs in our page: two people share an activity that a mapping serves, and a hostile one gets nothing.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Server as GameServer, Room } from '@colyseus/core';
import { WebSocketTransport } from '@colyseus/ws-transport';
import type { Frame, Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { CHROMIUM, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';

const A4_HZ = 440;
const soon = { timeout: 15_000, interval: 100 };
const SCOPES = ['identify', 'guilds', 'guilds.members.read', 'rpc.voice.read', 'rpc.activities.write'];
const CAN_LINK_LOBBY = 1;
/** VIEW_CHANNEL, SEND_MESSAGES, MANAGE_CHANNELS, USE_EMBEDDED_ACTIVITIES. */
const LINKING = String((1n << 10n) | (1n << 11n) | (1n << 4n) | (1n << 39n));
const [INVALID_PERMISSIONS, PURCHASE_ERROR] = [4006, 5009];

type Answer = { readonly ok?: unknown; readonly error?: unknown };
/** Properties of `globalThis` in the sample. */
interface Sample {
  readonly heard: readonly (readonly [string, Readonly<Record<string, unknown>>])[];
  begin(clientId: string): Promise<Readonly<Record<string, string>>>;
  signIn(clientId: string, scope: readonly string[]): Promise<object>;
  askConsent(clientId: string, scope: readonly string[]): Promise<object>;
  run(name: string, args?: object): Promise<Answer>;
  hear(event: string, args?: object): Promise<number | null>;
  say(text: string): Promise<string>;
}

/** Scripts for the frame; the tests know no DOM types. */
const ECHO = `new Promise((resolve, reject) => {
  const socket = new WebSocket('ws://' + location.host + '/.proxy/api/live');
  socket.onopen = () => socket.send('hello');
  socket.onmessage = ({ data }) => resolve(String(data));
  socket.onerror = () => reject(new Error('The socket failed.'));
})`;
/** Malformed, cyclic, deep and giant messages, and then a flood. */
const ATTACK = `{
  const cyclic = {};
  cyclic.self = cyclic;
  const deep = Array.from({ length: 100 }).reduce((inner) => [inner], 1);
  const nonce = 'n';
  for (const message of [
    null, 1, 'text', [], [1], [9, {}], [1, null], [1, { cmd: 'AUTHENTICATE' }], [0, cyclic], [1, cyclic], [1, deep],
    [1, { cmd: '__proto__', nonce }], [1, { cmd: 'toString', nonce, args: cyclic }],
    [1, { cmd: 'CAPTURE_LOG', nonce, args: { message: 'x'.repeat(5_000_000) } }],
    [1, { cmd: 'CAPTURE_LOG', nonce, args: { bytes: new Uint8Array(5_000_000) } }],
  ]) parent.postMessage(message, '*');
  for (let n = 0; n < 10_000; n++) parent.postMessage([1, { cmd: 'CAPTURE_LOG', nonce: String(n), args: {} }], '*');
}`;

/** Sends what one says to everybody at the table. */
class Table extends Room {
  override onCreate(): void {
    this.onMessage('say', (_, text: string) => this.broadcast('said', text));
  }
}

async function openTables(): Promise<{ readonly host: string; close(): Promise<void> }> {
  const transport = new WebSocketTransport();
  const tables = new GameServer({ transport, greet: false, gracefullyShutdown: false });
  tables.define('table', Table);
  await tables.listen(0, '127.0.0.1');
  const { port } = transport.server!.address() as AddressInfo;
  return { host: `127.0.0.1:${port}`, close: () => tables.gracefullyShutdown(false) };
}

let tables: Awaited<ReturnType<typeof openTables>>;
let target: Server;
let sockets: WebSocketServer;
let server: TestServer;
let browser: TestBrowser;
let applicationId: string;
let script = '';
const seen: IncomingMessage['headers'][] = [];

async function bundle(): Promise<string> {
  const result = await build({
    ...{ configFile: false, root: ROOT, logLevel: 'warn' },
    build: {
      ...{ write: false, target: 'es2022', modulePreload: false },
      rollupOptions: { input: join(ROOT, 'test/support/activity.page.js') },
    },
  });
  const { output } = result as Extract<typeof result, { readonly output: unknown }>;
  return output.map((file) => (file.type === 'chunk' ? file.code : '')).join('');
}

/** The activity's own server: its page, and the exchange of codes with the client secret. */
async function serveActivity(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  seen.push(asked.headers);
  if (asked.url?.startsWith('/site/app.js')) {
    answer.setHeader('content-type', 'text/javascript').end(script);
  } else if (asked.url?.startsWith('/site/')) {
    answer.setHeader('content-type', 'text/html');
    answer.setHeader('set-cookie', 'sid=secret; HttpOnly; Path=/');
    answer.end('<!doctype html><title>Sample</title><script type="module" src="/app.js"></script>');
  } else if (asked.url === '/api/token') {
    const { code } = (await new Response(asked as never).json()) as { code: string };
    const { id, client_secret: secret } = server.info.application;
    const body = new URLSearchParams({
      client_id: id,
      client_secret: secret,
      grant_type: 'authorization_code',
      code,
    });
    const exchanged = await fetch(`${server.info.api}/oauth2/token`, { method: 'POST', body });
    answer.setHeader('content-type', 'application/json').end(await exchanged.text());
  } else answer.end(JSON.stringify(asked.headers));
}

beforeAll(async () => {
  if (CHROMIUM === null) return;
  script = await bundle();
  target = createServer((asked, answer) => void serveActivity(asked, answer));
  sockets = new WebSocketServer({ server: target });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(`echo ${data}`)));
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
  tables = await openTables();
  server = await startServer({ relayed: false, set: { activities_url: 'http://localhost' } });
  applicationId = server.info.application.id;
  const host = `127.0.0.1:${(target.address() as AddressInfo).port}`;
  await server.admin(`/applications/${applicationId}/activity`, {
    url_mappings: [
      { prefix: '/', target: `${host}/site` },
      { prefix: '/api', target: `${host}/api` },
      { prefix: '/colyseus', target: tables.host },
    ],
  });
  await server.admin(`/applications/${applicationId}/oauth2`, {
    redirect_uris: ['http://127.0.0.1/callback'],
    approved_scopes: ['rpc.voice.read', 'rpc.activities.write'],
  });
  browser = await launchBrowser(A4_HZ);
});
afterAll(async () => {
  await browser?.close();
  await tables?.close();
  sockets?.close();
  target?.closeAllConnections();
  target?.close();
  await server?.finish();
});

/** A person at the voice-room page. */
async function openRoom(index: number, path = '/voice-room/'): Promise<Page> {
  const page = await (await browser.browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${server.port}${path}`);
  await page.getByLabel('Token').fill(server.info.users[index]!.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  return page;
}

/** The frame of the activity, within that of the relay. */
async function frameOf(page: Page): Promise<Frame> {
  const isSample = (frame: Frame) =>
    frame.url().includes(`//${applicationId}.localhost`) && !frame.url().includes('/.guildhall/');
  await expect.poll(() => page.frames().filter(isSample).length, soon).toBe(1);
  const frame = page.frames().find(isSample)!;
  await frame.waitForFunction(() => 'activity' in globalThis);
  return frame;
}

const sampleIn = (frame: Frame) => ({
  call: <K extends Exclude<keyof Sample, 'heard'>>(name: K, ...args: Parameters<Sample[K]>) =>
    frame.evaluate(
      ([method, given]) =>
        (globalThis as unknown as { activity: Record<string, (...all: unknown[]) => unknown> }).activity[
          method
        ]!(...(given as unknown[])),
      [name, args] as const,
    ) as ReturnType<Sample[K]>,
  heard: () =>
    frame.evaluate(() => (globalThis as unknown as { activity: Sample }).activity.heard as never) as Promise<
      Sample['heard']
    >,
});

/** Signs a new person up in the window that the players page opens, and lets the game act for them. */
async function signUp(page: Page, name: string): Promise<void> {
  const [popup] = await Promise.all([
    page.waitForEvent('popup'),
    page.getByRole('button', { name: 'Sign in with an account' }).click(),
  ]);
  await popup.getByRole('link', { name: 'Make one' }).click();
  await popup.getByLabel('Username').fill(name);
  await popup.getByLabel('Password').fill('correct horse battery');
  await popup.getByRole('button', { name: 'Make an account' }).click();
  await popup.getByRole('button', { name: 'Authorize' }).click();
  await page.locator('.who').getByText(name).waitFor();
}

async function idOf(username: string): Promise<string> {
  const { url, token } = server.info.admin;
  const headers = { authorization: `Bearer ${token}` };
  const found = await fetch(`${url}/users?username=${username}`, { headers });
  return ((await found.json()) as { users: { id: string }[] }).users[0]!.id;
}

describe.runIf(CHROMIUM !== null)('the SDK of activities', () => {
  let ada: Page;
  let sample: ReturnType<typeof sampleIn>;
  let frame: Frame;
  let instanceId: string;

  test('is ready in the page where its command has launched it', async () => {
    ada = await openRoom(0);
    await ada.getByLabel('Message', { exact: true }).fill('/launch');
    await ada.getByRole('button', { name: 'Send' }).click();
    frame = await frameOf(ada);
    sample = sampleIn(frame);
    const begun = await sample.call('begin', applicationId);
    expect(begun).toMatchObject({ guildId: server.info.guild.id, platform: 'desktop' });
    instanceId = begun.instanceId!;
    expect(instanceId).toMatch(/^i-\d+-gc-/);
  });

  test('is rejected from commands that need consent until the person has consented', async () => {
    expect(await sample.call('run', 'userSettingsGetLocale')).toEqual({ error: INVALID_PERMISSIONS });
    expect(await sample.call('run', 'getInstanceConnectedParticipants')).toEqual({
      error: INVALID_PERMISSIONS,
    });
    const channelId = server.info.guild.text_channel_id;
    expect(await sample.call('run', 'getChannel', { channel_id: channelId })).toEqual({
      error: INVALID_PERMISSIONS,
    });
    expect(await sample.call('hear', 'SPEAKING_START', { channel_id: channelId })).toBe(INVALID_PERMISSIONS);
    await expect(sample.call('signIn', applicationId, SCOPES)).rejects.toThrow();
  });

  test('is not authorized by an Enter key pressed while the dialog opens', async () => {
    const outcome = sample.call('askConsent', applicationId, SCOPES).then(
      () => 'agreed',
      () => 'refused',
    );
    await ada.getByRole('dialog').waitFor();
    await ada.keyboard.press('Enter');
    expect(await outcome).toBe('refused');
  });

  test('is authorized in a dialog of the page, and authenticates', async () => {
    const signedIn = sample.call('askConsent', applicationId, SCOPES);
    const dialog = ada.getByRole('dialog');
    await dialog.getByRole('heading', { name: /wants to act for you/ }).waitFor();
    expect(await dialog.getByRole('listitem').allTextContents()).toEqual(SCOPES);
    await dialog.getByRole('button', { name: 'Authorize' }).click();
    expect(await signedIn).toMatchObject({
      user: { id: server.info.users[0]!.id, username: expect.any(String) },
      application: { id: applicationId },
      scopes: expect.arrayContaining(['identify']),
    });
    // The second time the person is not asked.
    expect(await sample.call('signIn', applicationId, SCOPES)).toMatchObject({
      application: { id: applicationId },
    });
  });

  test('runs its commands', async () => {
    const channelId = (await sample.call('begin', applicationId)).channelId!;
    await sample.call('signIn', applicationId, SCOPES);
    const run = async (name: string, args?: object) => (await sample.call('run', name, args)).ok;
    expect(await run('userSettingsGetLocale')).toEqual({ locale: expect.any(String) });
    expect(await run('getChannel', { channel_id: channelId })).toMatchObject({ id: channelId });
    expect(await run('getChannelPermissions')).toMatchObject({ permissions: expect.anything() });
    expect(await run('getInstanceConnectedParticipants')).toMatchObject({
      participants: [{ id: server.info.users[0]!.id }],
    });
    expect(await run('encourageHardwareAcceleration')).toEqual({ enabled: true });
    expect(await run('getPlatformBehaviors')).toEqual({ iosKeyboardResizesView: false });
    expect(await run('setConfig', { use_interactive_pip: true })).toEqual({ use_interactive_pip: true });
    expect(await run('getUser', { id: server.info.users[1]!.id })).toMatchObject({
      id: server.info.users[1]!.id,
    });
    expect(await run('setActivity', { activity: { type: 0, details: 'Plays' } })).toMatchObject({
      details: 'Plays',
    });
    const shared = run('shareLink', { message: 'Come and play' });
    await ada.getByRole('dialog').getByRole('button', { name: 'Yes' }).click();
    expect(await shared).toMatchObject({ success: true, didSendMessage: true });
    expect(await sample.call('run', 'getRelationships')).toEqual({ error: INVALID_PERMISSIONS });
  });

  test('shares the instance with another person, and receives participant updates', async () => {
    expect(await sample.call('hear', 'ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE')).toBeNull();
    const bo = await openRoom(1);
    await bo.getByRole('region', { name: 'Activities' }).getByRole('button').first().click();
    const other = sampleIn(await frameOf(bo));
    expect(await other.call('begin', applicationId)).toMatchObject({ instanceId });
    const ids = async () =>
      (await sample.heard()).map(([, { participants }]) =>
        (participants as { id: string }[]).map(({ id }) => id),
      );
    const both = server.info.users.slice(0, 2).map(({ id }) => id);
    await expect.poll(ids, soon).toContainEqual(both);
    await bo.getByRole('button', { name: 'Leave the activity' }).click();
    await expect.poll(ids, soon).toEqual([both, [both[0]]]);
    await bo.context().close();
  });

  test('opens the store for a SKU, and receives ENTITLEMENT_CREATE when the SKU is granted', async () => {
    const path = `/applications/${applicationId}/skus`;
    const { skus } = await server.admin<{ skus: { id: string }[] }>(path, {
      name: 'Lantern',
      type: 'durable',
    });
    const skuId = skus[0]!.id;
    const run = async (name: string, args?: object) => (await sample.call('run', name, args)).ok;
    expect(await run('getSkus')).toMatchObject({ skus: [{ id: skuId, name: 'Lantern' }] });
    expect(await sample.call('run', 'startPurchase', { sku_id: '1' })).toEqual({ error: PURCHASE_ERROR });
    expect(await sample.call('hear', 'ENTITLEMENT_CREATE')).toBeNull();
    const [store, bought] = [ada.context().waitForEvent('page'), run('startPurchase', { sku_id: skuId })];
    await ada.getByRole('dialog').getByRole('button', { name: 'Yes' }).click();
    const page = await store;
    await page.waitForURL((url) => decodeURIComponent(url.href).includes(`/store/${applicationId}`));
    expect(await bought).toEqual([]);
    await page.close();
    const userId = server.info.users[0]!.id;
    await server.admin(`/applications/${applicationId}/grants`, { sku_id: skuId, user_id: userId });
    const given = async () => (await sample.heard()).filter(([event]) => event === 'ENTITLEMENT_CREATE');
    await expect
      .poll(given, soon)
      .toMatchObject([['ENTITLEMENT_CREATE', { entitlement: { sku_id: skuId, user_id: userId } }]]);
    expect(await run('getEntitlements')).toMatchObject({ entitlements: [{ sku_id: skuId }] });
  });

  test('is opened by a link, and reads the custom id and the referrer of the link', async () => {
    const query = `custom_id=level-7&referrer_id=${server.info.users[1]!.id}`;
    const page = await openRoom(1, `/activities/${applicationId}?${query}`);
    await page.getByRole('button', { name: 'Open the activity' }).click();
    expect(await sampleIn(await frameOf(page)).call('begin', applicationId)).toMatchObject({
      ...{ customId: 'level-7', referrerId: server.info.users[1]!.id, platform: 'desktop' },
    });
    await page.context().close();
  });

  test('receives voice states, speaking events and its layout mode', async () => {
    const { users, guild } = server.info;
    const channel = { channel_id: guild.voice_channel_id };
    const page = await openRoom(1, `/activities/${applicationId}`);
    // The activity that runs in the channel has a button of the channel's name too.
    await page.getByRole('button', { name: 'General Nobody yet' }).click();
    await page.locator('[data-phase=connected]').waitFor();
    // Noise suppression takes a steady tone for noise.
    await page.getByLabel('Take out noise and echo').uncheck();
    await page.getByLabel('Open the activity in').selectOption(guild.voice_channel_id);
    await page.getByRole('button', { name: 'Open the activity' }).click();
    const own = sampleIn(await frameOf(page));
    expect(await own.call('begin', applicationId)).toMatchObject({ channelId: guild.voice_channel_id });
    const signedIn = own.call('askConsent', applicationId, SCOPES);
    await page.getByRole('dialog').getByRole('button', { name: 'Authorize' }).click();
    await signedIn;
    for (const event of ['VOICE_STATE_UPDATE', 'SPEAKING_START', 'SPEAKING_STOP'])
      expect(await own.call('hear', event, channel)).toBeNull();
    expect(await own.call('hear', 'ACTIVITY_LAYOUT_MODE_UPDATE')).toBeNull();
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    const speech = { ...channel, user_id: users[1]!.id };
    await press('Mute');
    await expect
      .poll(own.heard, soon)
      .toContainEqual([
        'VOICE_STATE_UPDATE',
        expect.objectContaining({ voice_state: expect.objectContaining({ self_mute: true }) }),
      ]);
    await press('Unmute');
    await expect.poll(own.heard, soon).toContainEqual(['SPEAKING_START', speech]);
    await press('Mute');
    await expect.poll(own.heard, soon).toContainEqual(['SPEAKING_STOP', speech]);
    await press('Make it small');
    await press('Make it large');
    const sizes = async () =>
      (await own.heard()).flatMap(([event, data]) =>
        event === 'ACTIVITY_LAYOUT_MODE_UPDATE' ? [data.layout_mode] : [],
      );
    await expect.poll(sizes, soon).toEqual([1, 0]);
    await page.context().close();
  });

  test('runs in the players page, in the channel of the lobby, for the account of the browser', async () => {
    const { guild } = server.info;
    // The SDK names no redirect, so the application has one.
    const redirect_uris = ['http://127.0.0.1/voice-room/players/callback.html'];
    await server.admin(`/applications/${applicationId}/oauth2`, { redirect_uris });
    const page = await (await browser.browser.newContext()).newPage();
    await page.goto(`${server.info.cdn}/voice-room/players/?application=${applicationId}`);
    const name = `carol_${Date.now()}`;
    await signUp(page, name);
    const carolId = await idOf(name);
    await server.admin(`/guilds/${guild.id}/members`, { user_id: carolId, permissions: LINKING });
    const members = [{ id: carolId, flags: CAN_LINK_LOBBY }];
    await server.bot().call('create_lobby', { body: { members, metadata: { name: 'Clan' } } });
    await page.getByRole('button', { name: 'Clan' }).click();
    await page.getByRole('button', { name: 'Link the channel' }).click();
    await page.getByText('linked to #general').waitFor();
    await page.getByRole('button', { name: 'Show activities' }).click();
    const choice = page.getByLabel('Open the activity in');
    await choice.waitFor();
    expect(await choice.getByRole('option').allTextContents()).toEqual(['general']);
    await page.getByRole('button', { name: 'Open the activity' }).click();
    const own = sampleIn(await frameOf(page));
    // It is the instance that runs in the channel, whatever page shows it.
    expect(await own.call('begin', applicationId)).toMatchObject({
      ...{ instanceId, channelId: guild.text_channel_id, guildId: guild.id },
    });
    const signedIn = own.call('askConsent', applicationId, SCOPES);
    await page.getByRole('dialog').getByRole('button', { name: 'Authorize' }).click();
    expect(await signedIn).toMatchObject({ user: { id: carolId, username: name } });
    expect((await own.call('run', 'getInstanceConnectedParticipants')).ok).toMatchObject({
      participants: [{ id: server.info.users[0]!.id }, { id: carolId }],
    });
    const lobbyId = await page.locator('[data-lobby]').getAttribute('data-lobby');
    await server.bot().call('delete_lobby', { params: { lobby_id: String(lobbyId) } });
    await page.context().close();
  });

  test('plays in a room of Colyseus behind another mapping', async () => {
    expect(await sample.call('say', 'checkmate')).toBe('checkmate');
  });

  test('reaches only its URL mappings, with its own cookies and none of the server’s', async () => {
    const headers = await frame.evaluate(async () => (await fetch('/.proxy/api/headers')).json());
    expect(headers).toMatchObject({ cookie: 'sid=secret' });
    expect(headers).not.toHaveProperty('authorization');
    const reached = (url: string) =>
      frame.evaluate(
        (to) =>
          fetch(to).then(
            () => true,
            () => false,
          ),
        url,
      );
    expect(await reached(`http://127.0.0.1:${(target.address() as AddressInfo).port}/api/x`)).toBe(false);
    const echoed = await frame.evaluate(ECHO);
    expect(echoed).toBe('echo hello');
    expect(seen.every(({ cookie = '' }) => cookie === '' || cookie === 'sid=secret')).toBe(true);
  });
});

describe.runIf(CHROMIUM !== null)('a hostile activity', () => {
  test('is cut off after a flood, and the page goes on', async () => {
    const page = await openRoom(0);
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.getByLabel('Message', { exact: true }).fill('/launch');
    await page.getByRole('button', { name: 'Send' }).click();
    const frame = await frameOf(page);
    await expect(frame.evaluate('top.document.title')).rejects.toThrow();
    await expect(frame.evaluate("top.location.assign('http://127.0.0.1:1/')")).rejects.toThrow();
    await frame.evaluate(ATTACK);
    await page.getByText('The application sends too much.').waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

// Goal: a game in a page and a game in Node, each made with the library's own entry, talk in one lobby; and what a page
// can set is heard.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Call, Client } from '../../sdk/index.ts';
import { CHROMIUM, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';
import { shareAt } from '../support/tone.ts';
import { loudness, Player, tokenOf } from '../support/voice-player.ts';

const PAGE_HZ = 440;
const SECRET = 'page and program';
const WASM = 'node_modules/@snazzah/davey-wasm32-wasi/davey.wasm32-wasi.wasm';
const soon = { timeout: 20_000, interval: 250 };

/** Properties of `globalThis` in the page. */
interface Game {
  join(token: string, secret: string): Promise<{ id: string; lobbyId: string }>;
  listenTo(userId: string): Promise<number[]>;
  readonly client: Client;
  readonly call: Call;
}

let server: TestServer;
let browser: TestBrowser;
let page: Page;
let rowan: Player;
let pageId: string;
let lobbyId: string;
const complaints: string[] = [];

/** The files of the page, by name, as a bundler for browsers makes them. */
async function bundled(): Promise<Map<string, string | Uint8Array>> {
  const input = join(ROOT, 'test/support/game.page.js');
  const result = await build({
    configFile: false,
    root: ROOT,
    base: '/game/',
    logLevel: 'warn',
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rollupOptions: { input, output: { entryFileNames: 'game.js' }, preserveEntrySignatures: 'strict' },
    },
    worker: { format: 'es' },
  });
  const { output } = result as Extract<typeof result, { readonly output: unknown }>;
  return new Map(output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source]));
}

/** Serves the game beside the API: its origin is the server's. */
async function serve(files: ReadonlyMap<string, string | Uint8Array>): Promise<void> {
  const wasm = await readFile(join(ROOT, WASM));
  const headers = {
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
  };
  await page.context().route('**/game/**', (route) => {
    const name = new URL(route.request().url()).pathname.slice('/game/'.length);
    if (name === '') {
      const body = '<!doctype html><script type="module" src="game.js"></script>';
      return route.fulfill({ headers, contentType: 'text/html', body });
    }
    if (name === 'davey.wasm') return route.fulfill({ headers, contentType: 'application/wasm', body: wasm });
    const file = files.get(name);
    if (file === undefined) return route.fulfill({ status: 404 });
    return route.fulfill({ headers, contentType: 'text/javascript', body: Buffer.from(file) });
  });
}

beforeAll(async () => {
  if (CHROMIUM === null) return;
  server = await startServer();
  const [files, opened] = await Promise.all([bundled(), launchBrowser(PAGE_HZ)]);
  browser = opened;
  const context = await browser.browser.newContext();
  // The page is fulfilled here, so browsers take it for one of the internet; those without this permission ask for none.
  await context.grantPermissions(['local-network-access']).catch(() => {});
  await context.addInitScript({ path: join(ROOT, 'test/support/room.page.js') });
  page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
  await serve(files);
  await page.goto(`${server.info.cdn}/game/`);
  rowan = await Player.open(server, 'rowan', 700, true);
});

afterAll(async () => {
  await rowan?.close();
  await browser?.close();
  await server?.finish();
});

/** Audio of Rowan that the page plays. */
async function pageHears(): Promise<Float64Array> {
  const samples = await page.evaluate((id) => (globalThis as unknown as Game).listenTo(id), rowan.id);
  return Float64Array.from(samples);
}

const shareInPage = async (): Promise<number> => shareAt(await pageHears(), rowan.microphone.hz);
const shareAtRowan = async (): Promise<number> => shareAt(await rowan.speaker.listen(), PAGE_HZ);

async function bothHear(): Promise<void> {
  await expect.poll(shareAtRowan, soon).toBeGreaterThan(0.5);
  await expect.poll(shareInPage, soon).toBeGreaterThan(0.5);
}

describe.runIf(CHROMIUM !== null)('a page and a program', () => {
  test('join one lobby by its secret, and hear each other, encrypted end to end', async () => {
    const token = await tokenOf(server, 'juniper');
    const joined = await page.evaluate(
      ([given, secret]) => (globalThis as unknown as Game).join(given!, secret!),
      [token, SECRET],
    );
    ({ id: pageId, lobbyId } = joined);
    expect(await rowan.client.createOrJoinLobby(SECRET)).toBe(lobbyId);
    await rowan.start(lobbyId).connected();
    await bothHear();
    const code = await page.evaluate(() => (globalThis as unknown as Game).call.getEncryption()?.privacyCode);
    expect(code).toMatch(/^\d{30}$/);
    expect(rowan.call(lobbyId).getEncryption()?.privacyCode).toBe(code);
    const inCall = await page.evaluate(() => (globalThis as unknown as Game).call.getParticipants());
    expect(inCall.sort()).toEqual([pageId, rowan.id].sort());
  });

  test('the program hears nothing while the player in the page is muted', async () => {
    await page.evaluate(() => (globalThis as unknown as Game).call.setSelfMute(true));
    await expect.poll(shareAtRowan, soon).toBeLessThan(0.05);
    expect(rowan.call(lobbyId).getVoiceStateHandle(pageId)?.selfMute).toBe(true);
    await page.evaluate(() => (globalThis as unknown as Game).call.setSelfMute(false));
    await bothHear();
  });

  test('the page plays a member at the chosen volume, also amplified', async () => {
    const normal = loudness(await pageHears());
    const setVolume = (volume: number) =>
      page.evaluate(
        ([id, to]) => (globalThis as unknown as Game).call.setParticipantVolume(String(id), Number(to)),
        [rowan.id, volume],
      );
    await setVolume(200);
    await expect.poll(async () => loudness(await pageHears()) / normal, soon).toBeGreaterThan(1.7);
    await setVolume(100);
    await expect.poll(async () => loudness(await pageHears()) / normal, soon).toBeLessThan(1.2);
    await page.evaluate((id) => (globalThis as unknown as Game).call.setLocalMute(id, true), rowan.id);
    expect(await pageHears()).toHaveLength(0);
    await page.evaluate((id) => (globalThis as unknown as Game).call.setLocalMute(id, false), rowan.id);
    await bothHear();
  });

  test('devices are named, and the microphone is as loud as was set', async () => {
    const inputs = await page.evaluate(() => (globalThis as unknown as Game).client.getInputDevices());
    expect(inputs[0]).toEqual({ id: 'default', name: 'System default', isDefault: true });
    expect(inputs.length).toBeGreaterThan(1);
    const normal = loudness(await rowan.speaker.listen());
    await page.evaluate(() => (globalThis as unknown as Game).client.setInputVolume(50));
    await expect.poll(async () => loudness(await rowan.speaker.listen()) / normal, soon).toBeLessThan(0.7);
    await page.evaluate(() => (globalThis as unknown as Game).client.setInputVolume(100));
  });

  test('the program sees the player in the page leave, and the page logs no error', async () => {
    await page.evaluate((id) => (globalThis as unknown as Game).client.endCall(id), lobbyId);
    await expect.poll(() => rowan.call(lobbyId).getParticipants(), soon).toEqual([rowan.id]);
    expect(await page.locator('audio').count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});

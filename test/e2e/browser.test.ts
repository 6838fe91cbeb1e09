// Goal: the page of voice rooms and an unmodified @discordjs/voice bot are in one end-to-end encrypted call, and hear
// each other.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM, closeSocket, countSockets, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { classicRpc } from '../support/classicrpc.ts';
import { oggOpus } from '../support/ogg.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';
import { decodedSamples, shareAt, toneFrames } from '../support/tone.ts';
import { VoiceBot } from '../support/voicebot.ts';

const [JUNIPER_HZ, ROWAN_HZ, BOT_HZ] = [440, 700, 1000];
const soon = { timeout: 20_000, interval: 250 };

/** Somebody at the page, in a browser of their own: their microphone plays a tone. */
class Visitor {
  readonly id: string;
  readonly page: Page;
  /** Everything the page has asked for. */
  readonly asked: string[] = [];
  readonly complaints: string[] = [];
  readonly #browser: TestBrowser;

  private constructor(id: string, page: Page, browser: TestBrowser) {
    this.id = id;
    this.page = page;
    this.#browser = browser;
  }

  static async open(index: number, hz: number): Promise<Visitor> {
    const browser = await launchBrowser(hz);
    const { page, context } = await newPage(browser);
    const visitor = new Visitor(server.info.users[index]!.id, page, browser);
    page.on('request', (request) => visitor.asked.push(request.url()));
    page.on('pageerror', (error) => visitor.complaints.push(error.message));
    page.on('console', (line) => {
      if (line.type() === 'error') visitor.complaints.push(line.text());
    });
    await context.addInitScript({ path: join(ROOT, 'test/support/room.page.js') });
    await page.goto(pageUrl());
    return visitor;
  }

  async signIn(token: string): Promise<void> {
    await this.page.getByLabel('Token').fill(token);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
  }

  async join(): Promise<void> {
    await this.page.getByRole('button', { name: /^General/ }).click();
    await this.page.locator('[data-phase=connected]').waitFor();
    // Noise suppression takes a steady tone for noise.
    await this.page.getByLabel('Take out noise and echo').uncheck();
  }

  press(name: string): Promise<void> {
    return this.page.getByRole('button', { name, exact: true }).click();
  }

  code(): Promise<string | null> {
    return this.page.locator('[data-code]').getAttribute('data-code');
  }

  /** How much of what the page plays of a user is at a frequency. */
  async hears(userId: string, hz: number): Promise<number> {
    const samples = await this.page.evaluate(
      (id) => (globalThis as unknown as { listenTo(id: string): Promise<number[]> }).listenTo(id),
      userId,
    );
    return shareAt(Float64Array.from(samples), hz);
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}

let server: TestServer;
let folder: string;
let juniper: Visitor;
let rowan: Visitor;
let bot: VoiceBot;
let rpc: ChildProcess | null = null;

const pageUrl = () => `http://127.0.0.1:${server.port}/voice-room/`;
const botId = () => server.info.bots[0]!.id;

/** The answer to a game's request, or an error that names the request when nothing answers. */
async function answer<T>(asked: string, promise: Promise<T>): Promise<T> {
  const late = new AbortController();
  const silence = sleep(soon.timeout, null, { signal: late.signal }).then(() => {
    throw new Error(`Nothing answered ${asked} within ${soon.timeout} ms.`);
  });
  return Promise.race([promise, silence]).finally(() => late.abort());
}

async function newPage({ browser }: TestBrowser) {
  const context = await browser.newContext();
  return { context, page: await context.newPage() };
}

/** Whether the bot hears the tone of somebody now. */
async function botHears(userId: string, hz: number): Promise<boolean> {
  await bot.do('forget', { userId });
  await sleep(800);
  const packets = (await bot.heard(userId)).filter((packet) => packet.length > 3);
  return packets.length > 20 && shareAt(decodedSamples(packets), hz) > 0.5;
}

beforeAll(async () => {
  server = await startServer({ bots: 1 });
  if (CHROMIUM === null) return;
  folder = await mkdtemp(join(tmpdir(), 'guildhall-room-'));
  const second = toneFrames(BOT_HZ, 1);
  await writeFile(join(folder, 'tone.ogg'), oggOpus(Array.from({ length: 60 }, () => second).flat()));
  const { api, ca_file: caFile, bots } = server.info;
  bot = new VoiceBot({ api, token: bots[0]!.token, caFile: caFile! });
  await bot.do('login');
  [juniper, rowan] = await Promise.all([Visitor.open(0, JUNIPER_HZ), Visitor.open(1, ROWAN_HZ)]);
});

afterAll(async () => {
  rpc?.kill('SIGKILL');
  bot?.end();
  await Promise.all([juniper?.close(), rowan?.close()]);
  await server?.finish();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

test('the page is isolated, and its files may be kept', async () => {
  const reply = await fetch(pageUrl());
  expect(reply.headers.get('cross-origin-opener-policy')).toBe('same-origin');
  expect(reply.headers.get('cross-origin-embedder-policy')).toBe('require-corp');
  expect(reply.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(reply.headers.get('cache-control')).toBe('no-cache');
  const script = /src="(\/voice-room\/assets\/[^"]+\.js)"/.exec(await reply.text())![1]!;
  const asset = await fetch(new URL(script, pageUrl()), { method: 'HEAD' });
  expect(asset.headers.get('content-type')).toBe('text/javascript;charset=utf-8');
  expect(asset.headers.get('cache-control')).toContain('immutable');
  const strays = ['nothing.js', '../package.json', '..%2fpackage.json', 'assets/'];
  for (const path of strays) expect((await fetch(`${pageUrl()}${path}`)).status).toBe(404);
  expect((await fetch(pageUrl(), { method: 'POST' })).status).toBe(405);
});

describe.runIf(CHROMIUM !== null)('visitors', () => {
  test('see an error when their token is wrong', async () => {
    await juniper.signIn('no-token');
    await juniper.page.getByText('The server does not know this token.').waitFor();
  });

  test('read the same code and hear each other when they are in one channel', async () => {
    await Promise.all([
      juniper.signIn(server.info.users[0]!.token),
      rowan.signIn(`Bearer ${server.info.users[1]!.token}`),
    ]);
    await juniper.join();
    await rowan.join();
    await expect.poll(() => juniper.hears(rowan.id, ROWAN_HZ), soon).toBeGreaterThan(0.5);
    await expect.poll(() => rowan.hears(juniper.id, JUNIPER_HZ), soon).toBeGreaterThan(0.5);
    expect(await juniper.code()).toMatch(/^\d{30}$/);
    expect(await rowan.code()).toBe(await juniper.code());
    await juniper.page.locator(`[data-member="${rowan.id}"].speaks`).waitFor();
  });

  test('share one encrypted group with a stock bot, and each hears the others', async () => {
    const { guild } = server.info;
    await bot.do('join', { guildId: guild.id, channelId: guild.voice_channel_id });
    const code = await bot.do<string>('secured', { userIds: [juniper.id, rowan.id, botId()] });
    await expect.poll(() => juniper.code(), soon).toBe(code);
    await expect.poll(() => rowan.code(), soon).toBe(code);
    await bot.do('play', { file: join(folder, 'tone.ogg') });
    for (const { id } of [juniper, rowan]) await bot.do('record', { userId: id });
    await expect.poll(() => juniper.hears(botId(), BOT_HZ), soon).toBeGreaterThan(0.5);
    await expect.poll(() => rowan.hears(botId(), BOT_HZ), soon).toBeGreaterThan(0.5);
    await expect.poll(() => botHears(juniper.id, JUNIPER_HZ), soon).toBe(true);
    await expect.poll(() => botHears(rowan.id, ROWAN_HZ), soon).toBe(true);
    await expect.poll(() => juniper.hears(rowan.id, ROWAN_HZ), soon).toBeGreaterThan(0.5);
  });

  test('are not heard while muted, and hear no other member while deafened', async () => {
    await juniper.press('Mute');
    await expect.poll(() => rowan.hears(juniper.id, JUNIPER_HZ), soon).toBeLessThan(0.05);
    expect(await botHears(juniper.id, JUNIPER_HZ)).toBe(false);
    await rowan.page.locator(`[data-member="${juniper.id}"]`).getByText('muted').waitFor();
    await juniper.press('Unmute');
    await expect.poll(() => rowan.hears(juniper.id, JUNIPER_HZ), soon).toBeGreaterThan(0.5);
    await rowan.press('Deafen');
    await expect.poll(() => rowan.hears(juniper.id, JUNIPER_HZ), soon).toBe(0);
    await rowan.press('Undeafen');
    await expect.poll(() => rowan.hears(juniper.id, JUNIPER_HZ), soon).toBeGreaterThan(0.5);
  });

  test('reconnect with their keys when their voice socket breaks', async () => {
    const code = await juniper.code();
    const before = await countSockets(juniper.page, 'voice');
    await closeSocket(juniper.page, 'voice', 4015);
    await expect.poll(() => countSockets(juniper.page, 'voice'), soon).toBe(before + 1);
    await juniper.page.locator('[data-phase=connected]').waitFor();
    expect(await juniper.code()).toBe(code);
    await expect.poll(() => rowan.hears(juniper.id, JUNIPER_HZ), soon).toBeGreaterThan(0.5);
  });

  test('enter a new group with the others when they leave and rejoin', async () => {
    const code = await rowan.code();
    await juniper.press('Leave');
    await expect.poll(() => rowan.code(), soon).not.toBe(code);
    await juniper.join();
    await expect.poll(() => rowan.hears(juniper.id, JUNIPER_HZ), soon).toBeGreaterThan(0.5);
    await expect.poll(() => juniper.hears(botId(), BOT_HZ), soon).toBeGreaterThan(0.5);
    expect(await juniper.code()).toBe(await rowan.code());
  });

  test('see that a moderator disconnected them, and do not rejoin', async () => {
    const params = { guild_id: server.info.guild.id, user_id: juniper.id };
    const body = { channel_id: null };
    const { status } = await server.bot().ask('update_guild_member', { params, body });
    expect(status).toBe(200);
    await juniper.page.getByText('You were disconnected from the channel.').waitFor();
    await juniper.page.getByRole('button', { name: /^General/ }).waitFor();
  });

  test('let games of their machine act on the call of their page once they have opened the link of guildhall rpc', async () => {
    const { application, users, guild } = server.info;
    // Where the page is: past the relay.
    const api = `${new URL(pageUrl()).origin}/api`;
    process.env.XDG_RUNTIME_DIR = folder;
    await server.admin(`/applications/${application.id}/oauth2`, {
      ...{ redirect_uris: ['http://127.0.0.1/callback'], public_client: false, rpc_origins: [] },
      approved_scopes: ['rpc', 'rpc.voice.read', 'rpc.voice.write'],
    });
    rpc?.kill('SIGKILL');
    rpc = spawn(
      process.execPath,
      [join(ROOT, 'dist/cli.js'), 'rpc', '--json', '--url', api, '--approve', application.id],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, GUILDHALL_USER_TOKEN: users[0]!.token },
      },
    );
    const [line] = await answer('the start of rpc', once(createInterface({ input: rpc.stdout! }), 'line'));
    const { room } = JSON.parse(String(line)) as { room: string };
    const { page } = juniper;
    await page.goto('about:blank');
    await page.goto(room);
    await page.locator('[data-helper=linked]').waitFor();
    expect(page.url()).toBe(pageUrl());
    const game = new classicRpc.Client({ transport: 'ipc' });
    game.fetch.endpoint = api;
    const login = game.login({
      ...{ clientId: application.id, clientSecret: application.client_secret },
      ...{ redirectUri: 'http://127.0.0.1/callback', scopes: ['identify', 'rpc'] },
    });
    await answer('the login', login);
    const request = (command: string, args = {}) => answer(command, game.request(command, args));
    const subscribe = (event: string, args: object) => answer(event, game.subscribe(event, args));
    const told: Record<string, unknown>[] = [];
    for (const event of ['SPEAKING_START', 'VOICE_SETTINGS_UPDATE'])
      game.on(event, (data) => void told.push({ event, ...(data as object) }));
    await subscribe('VOICE_SETTINGS_UPDATE', {});
    await subscribe('SPEAKING_START', { channel_id: guild.voice_channel_id });
    await request('SELECT_VOICE_CHANNEL', { channel_id: guild.voice_channel_id });
    await page.locator('[data-phase=connected]').waitFor();
    await expect
      .poll(() => told, soon)
      .toContainEqual({ event: 'SPEAKING_START', channel_id: guild.voice_channel_id, user_id: rowan.id });
    // The event of the change follows at once: discord-rpc gets both, because the helper writes frames apart.
    expect(await request('SET_VOICE_SETTINGS', { mute: true })).toMatchObject({ mute: true });
    await page.getByRole('button', { name: 'Unmute', exact: true }).waitFor();
    await expect.poll(() => rowan.hears(juniper.id, JUNIPER_HZ), soon).toBeLessThan(0.05);
    await juniper.press('Unmute');
    const settings = () => told.filter(({ event }) => event === 'VOICE_SETTINGS_UPDATE').at(-1);
    await expect.poll(settings, soon).toMatchObject({ mute: false });
    expect(await request('GET_SELECTED_VOICE_CHANNEL')).toMatchObject({ id: guild.voice_channel_id });
    await request('SELECT_VOICE_CHANNEL', { channel_id: null });
    await page.getByRole('button', { name: /^General/ }).waitFor();
    await page.getByRole('button', { name: 'End this' }).click();
    await game.destroy();
  });

  test('send requests to this server only, and log no error in the page', () => {
    const { origin } = new URL(pageUrl());
    for (const { asked, complaints } of [juniper, rowan]) {
      const own = [`${origin}/voice-room/`, `${origin}/api/v10/`];
      expect(asked.filter((url) => !own.some((place) => url.startsWith(place)))).toEqual([]);
      expect(complaints).toEqual([]);
    }
  });
});

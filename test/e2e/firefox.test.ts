// Goal: Firefox as distributions ship it and Chromium are in one end-to-end encrypted call and hear each other, though no
// audio context runs; and a browser that cannot reach the server says why, and what to do.
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page as ChromiumPage } from 'playwright-core';
import type { Browser as Firefox, Page as FirefoxPage } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reserveUdpPort } from '../../media/webrtc/reservation.ts';
import { CHROMIUM, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { FIREFOX, launchFirefox, microphone, ON_LOOPBACK } from '../support/firefox.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';
import { shareAt } from '../support/tone.ts';

const [JUNIPER_HZ, ROWAN_HZ] = [440, 700];
const soon = { timeout: 30_000, interval: 250 };
const DEAF = join(ROOT, 'test/support/deaf.page.js');

interface DeafPage {
  recordOf(userId: string): Promise<number[]>;
  codeShown(): string;
  readonly contexts: readonly { readonly state: string }[];
}
type AnyPage = Pick<ChromiumPage, 'evaluate'> | Pick<FirefoxPage, 'evaluate'>;

let server: TestServer;
const opened: { close(): Promise<void> }[] = [];

const pageUrl = () => `http://127.0.0.1:${server.port}/voice-room/`;

beforeAll(async () => {
  server = await startServer();
});

afterAll(async () => {
  for (const browser of opened.splice(0)) await browser.close();
  await server?.finish();
});

async function openFirefox(preferences: object): Promise<Firefox> {
  const browser = await launchFirefox({ ...preferences });
  opened.push(browser);
  return browser;
}

async function openChromium(hz: number): Promise<TestBrowser> {
  const browser = await launchBrowser(hz);
  opened.push(browser);
  return browser;
}

async function joinInFirefox(browser: Firefox, userIndex: number): Promise<FirefoxPage> {
  const page = await browser.newPage();
  await page.evaluateOnNewDocument(await readFile(DEAF, 'utf8'));
  await page.goto(pageUrl());
  await page.locator('input').fill(server.info.users[userIndex]!.token);
  await page.locator('::-p-aria(Sign in)').click();
  await page.locator('::-p-text(General)').click();
  return page;
}

async function joinInChromium(page: ChromiumPage, userIndex: number): Promise<void> {
  await page.addInitScript({ path: DEAF });
  await page.goto(pageUrl());
  await page.getByLabel('Token').fill(server.info.users[userIndex]!.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: /^General/ }).click();
}

/** How much of what a page plays of a user is at a frequency. */
async function heard(page: AnyPage, userIndex: number, hz: number): Promise<number> {
  const { id } = server.info.users[userIndex]!;
  const run = (userId: string) => (globalThis as unknown as DeafPage).recordOf(userId);
  const samples = await (page as ChromiumPage).evaluate(run, id);
  return shareAt(Float64Array.from(samples), hz);
}

const contextsOf = (page: AnyPage): Promise<string[]> =>
  (page as ChromiumPage).evaluate(() =>
    (globalThis as unknown as DeafPage).contexts.map(({ state }) => state),
  );

describe.runIf(FIREFOX !== null && CHROMIUM !== null)('Firefox and Chromium', () => {
  test('hear each other in one encrypted call while no audio context runs', async () => {
    const [firefox, chromium] = await Promise.all([
      openFirefox({ ...microphone(JUNIPER_HZ), ...ON_LOOPBACK }),
      openChromium(ROWAN_HZ),
    ]);
    const juniper = await joinInFirefox(firefox, 0);
    const rowan = await chromium.browser.newPage();
    await joinInChromium(rowan, 1);
    for (const page of [juniper, rowan])
      await (page as FirefoxPage).waitForSelector('[data-phase=connected]');
    await (rowan as ChromiumPage).getByLabel('Take out noise and echo').uncheck();
    await juniper.locator('::-p-aria(Take out noise and echo)').click();
    await expect.poll(() => heard(rowan, 0, JUNIPER_HZ), soon).toBeGreaterThan(0.5);
    await expect.poll(() => heard(juniper, 1, ROWAN_HZ), soon).toBeGreaterThan(0.5);
    const code = (page: AnyPage): Promise<string> =>
      (page as ChromiumPage).evaluate(() => (globalThis as unknown as DeafPage).codeShown());
    expect(await code(juniper)).toMatch(/^\d{30}$/);
    expect(await code(rowan)).toBe(await code(juniper));
    for (const page of [juniper, rowan]) expect(await contextsOf(page)).toEqual(['suspended']);
  });
});

describe.runIf(FIREFOX !== null)('Firefox as it comes', () => {
  test('shows in the page that it sends no calls to 127.0.0.1, and how to start the server', async () => {
    // Names in place of addresses would be announced to the network.
    const silent = { 'media.peerconnection.ice.obfuscate_host_addresses': false };
    const firefox = await openFirefox({ ...microphone(JUNIPER_HZ), ...silent });
    const page = await joinInFirefox(firefox, 0);
    const alert = await page.waitForSelector('main [role=alert]', { timeout: 40_000 });
    const sentence = await alert!.evaluate((element) => element.textContent);
    expect(sentence).toContain('Firefox sends no calls to 127.0.0.1');
    expect(sentence).toContain('--voice-address auto');
  });

  test('joins a call when the server is started with --voice-address auto', (context) => {
    const lone = spawnSync('unshare', ['-n', 'sh', '-c', 'ip link add v0 type veth peer name v1'], {
      encoding: 'utf8',
    });
    if (lone.status !== 0) {
      const reason = `no network of its own can be made here: ${lone.stderr?.trim() || String(lone.error)}`;
      console.warn(`Firefox with --voice-address auto is not tested: ${reason}`);
      context.skip(reason);
    }
    const script = [
      'ip link set lo up && ip link add v0 type veth peer name v1 && ip addr add 10.77.0.2/24 dev v0',
      'ip link set v0 up && ip link set v1 up && ip route add default via 10.77.0.1 && exec "$@"',
    ].join(' && ');
    const run = [join(ROOT, 'test/support/lonefirefox.mjs'), join(ROOT, 'dist/cli.js'), FIREFOX!];
    const { stdout, stderr } = spawnSync(
      'unshare',
      ['-n', 'sh', '-c', script, 'sh', process.execPath, ...run, '--voice-address', 'auto'],
      { encoding: 'utf8', timeout: 100_000 },
    );
    expect({ stdout, stderr }).toMatchObject({ stdout: '{"phase":"connected","complaint":null}\n' });
  });
});

describe.runIf(CHROMIUM !== null)('Chromium', () => {
  test('shows the address of its unanswered packets, and the port to open', async () => {
    const chromium = await openChromium(ROWAN_HZ);
    const page = await chromium.browser.newPage();
    const { port, release } = await reserveUdpPort('127.0.0.1');
    release();
    await page.routeWebSocket(/\/voice\//, (socket) => {
      const upstream = socket.connectToServer();
      upstream.onMessage((message) =>
        socket.send(
          typeof message === 'string'
            ? message.replace(/127\.0\.0\.1 \d+ typ/g, `127.0.0.1 ${port} typ`)
            : message,
        ),
      );
    });
    await joinInChromium(page, 1);
    const sentence = page.locator('main [role=alert]');
    await sentence.waitFor({ timeout: 40_000 });
    expect(await sentence.textContent()).toContain(`Nothing came back from 127.0.0.1, UDP port ${port}`);
    expect(await sentence.textContent()).toContain(`Let UDP port ${port} through`);
  });
});

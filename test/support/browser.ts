import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

const CANDIDATES = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'];

/** Where Chromium is; null: nowhere, and tests with a browser are left out. */
export const CHROMIUM: string | null =
  CANDIDATES.find((path) => path !== undefined && path !== '' && existsSync(path)) ?? null;

if (CHROMIUM === null) console.warn('No Chromium here: tests with a browser are left out.');

export interface TestBrowser {
  readonly browser: Browser;
  close(): Promise<void>;
}

/** A headless Chromium whose microphone plays a sine of `hz` without end. It reaches nothing but this machine. */
export async function launchBrowser(hz: number): Promise<TestBrowser> {
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-browser-'));
  const tone = join(folder, 'tone.wav');
  writeFileSync(tone, waveFile(hz, 10));
  const browser = await chromium.launch({
    executablePath: CHROMIUM ?? '',
    args: [
      '--no-sandbox',
      '--headless=new',
      '--disable-gpu',
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      `--use-file-for-fake-audio-capture=${tone}`,
      '--autoplay-policy=no-user-gesture-required',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--disable-features=WebRtcHideLocalIpsWithMdns',
    ],
  });
  return {
    browser,
    async close() {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Functions that `room.page.js` adds to a page. */
interface PageSockets {
  countSockets(segment: string): number;
  closeSocket(given: readonly [segment: string, code: number]): void;
}

/** First segment of the path that a page connects to. */
type Gateway = '' | 'voice';

/** How many connections the page has made there since it was loaded. */
export const countSockets = (page: Page, gateway: Gateway): Promise<number> =>
  page.evaluate((segment) => (globalThis as unknown as PageSockets).countSockets(segment), gateway);

/** Closes the newest of those connections. */
export const closeSocket = (page: Page, gateway: Gateway, code: number): Promise<void> =>
  page.evaluate((given) => (globalThis as unknown as PageSockets).closeSocket(given), [
    gateway,
    code,
  ] as const);

const RATE_HZ = 48_000;

/** A mono WAVE file, 16 bits at 48 kHz; whole seconds of a whole number of hertz loop without a click. */
function waveFile(hz: number, seconds: number): Buffer {
  const samples = RATE_HZ * seconds;
  const file = Buffer.alloc(44 + samples * 2);
  file.write('RIFF', 0);
  file.writeUInt32LE(36 + samples * 2, 4);
  file.write('WAVEfmt ', 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(RATE_HZ, 24);
  file.writeUInt32LE(RATE_HZ * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36);
  file.writeUInt32LE(samples * 2, 40);
  for (let i = 0; i < samples; i++) {
    file.writeInt16LE(Math.round(12_000 * Math.sin((2 * Math.PI * hz * i) / RATE_HZ)), 44 + i * 2);
  }
  return file;
}

import { existsSync } from 'node:fs';
import { type Browser, launch } from 'puppeteer-core';

const CANDIDATES = [process.env.FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'];

/** Where Firefox is; null: nowhere, and tests with it are left out. */
export const FIREFOX: string | null =
  CANDIDATES.find((path) => path !== undefined && path !== '' && existsSync(path)) ?? null;

if (FIREFOX === null) console.warn('No Firefox here: tests with it are left out.');

/** A microphone that plays a sine of this many hertz, given without a question. */
export const microphone = (hz: number): Readonly<Record<string, unknown>> => ({
  'media.navigator.permission.disabled': true,
  'media.navigator.streams.fake': true,
  'media.navigator.audio.fake_frequency': hz,
});

/**
 * Firefox sends no calls to loopback. These preferences let it, where the page has a lasting permission for the microphone;
 * nothing is announced to the network. What it does without them is tested in a network of its own (`lonefirefox.mjs`).
 */
export const ON_LOOPBACK: Readonly<Record<string, unknown>> = {
  'media.peerconnection.ice.loopback': true,
  'permissions.default.microphone': 1,
  'media.peerconnection.ice.obfuscate_host_addresses': false,
};

/** A headless Firefox as distributions ship it, over WebDriver BiDi. */
export const launchFirefox = (preferences: Readonly<Record<string, unknown>>): Promise<Browser> =>
  launch({
    browser: 'firefox',
    executablePath: FIREFOX ?? '',
    headless: true,
    extraPrefsFirefox: { ...preferences },
  });

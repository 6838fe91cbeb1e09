// Runs in a network of its own (see firefox.test.ts): a server that is started with the flags given, and Firefox as it
// comes, which joins the demo's voice channel. Prints one line of JSON: what the page shows in the end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { launch } from 'puppeteer-core';

const [cli, firefox, ...flags] = process.argv.slice(2);
const server = spawn(process.execPath, [cli, 'dev', '--json', '--port', '4100', ...flags], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
let browser = null;
try {
  const [line] = await once(createInterface({ input: server.stdout }), 'line');
  const { users } = JSON.parse(line);
  browser = await launch({
    browser: 'firefox',
    executablePath: firefox,
    headless: true,
    extraPrefsFirefox: { 'media.navigator.permission.disabled': true, 'media.navigator.streams.fake': true },
  });
  const page = await browser.newPage();
  await page.goto('http://127.0.0.1:4100/voice-room/');
  await page.locator('input').fill(users[0].token);
  await page.locator('::-p-aria(Sign in)').click();
  await page.locator('::-p-text(General)').click();
  await page.waitForSelector('[data-phase=connected], main [role=alert]', { timeout: 40_000 });
  const shown = await page.evaluate(() => ({
    phase: document.querySelector('[data-phase]')?.dataset.phase ?? null,
    complaint: document.querySelector('main [role=alert]')?.textContent ?? null,
  }));
  console.log(JSON.stringify(shown));
} finally {
  await browser?.close();
  server.kill();
}

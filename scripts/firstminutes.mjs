// `node scripts/firstminutes.mjs <folder>`, after a build: the first ten minutes of a stranger, with a browser. Starts a server, follows
// the link of its banner, talks to the built-in bot, runs the program that the page shows, and looks at the console and the documentation.
// Writes a screenshot of each step and a page with the seconds since the start to the folder; CI keeps it. Needs Chromium.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';
import { ROOT, say } from './prepare.mjs';

const CHROMIUM = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path && existsSync(path),
);
const STEP_MS = 60_000;
const WIDE = { width: 1280, height: 860 };
const PHONE = { width: 390, height: 844 };

const [target] = process.argv.slice(2);
if (target === undefined || CHROMIUM === undefined || !existsSync(join(ROOT, 'dist/cli.js'))) {
  say('Usage: node scripts/firstminutes.mjs <folder>, after `npm run build`, where Chromium is installed.');
  process.exit(2);
}
const folder = resolve(target);
mkdirSync(folder, { recursive: true });
const desk = mkdtempSync(join(tmpdir(), 'guildhall-stranger-'));
const startedMs = performance.now();
const steps = [];
const children = [];
let page;

/** Runs a step, and keeps its time and what the browser shows afterwards. */
async function step(title, run) {
  const seen = await run();
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const picture = page === undefined ? null : `${String(steps.length + 1).padStart(2, '0')}.png`;
  if (picture !== null) await page.screenshot({ path: join(folder, picture) });
  steps.push({
    title,
    seconds: Number(seconds),
    picture,
    ...(typeof seen === 'string' && { printed: seen }),
  });
  say(`${seconds.padStart(6)} s  ${title}`);
}

/** Runs a program until it prints a text. @returns all that it has printed then. */
function printed(args, cwd, text) {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const lines = [];
  return new Promise((done, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (line.includes(text)) done(lines.join('\n'));
    });
    child.once('exit', (code) => reject(new Error(`It ended with ${code} after: ${lines.join('\n')}`)));
  });
}

const messages = () => page.getByRole('list', { name: 'Messages' });
const line = () => page.getByRole('textbox', { name: 'Message', exact: true });

async function walk(browser) {
  const cli = join(ROOT, 'dist/cli.js');
  const ports = ['--port', '0', '--admin-port', '0', '--set', 'voice_port=0'];
  const udp = ['--set', 'voice_udp_port=0', '--set', 'voice_webrtc_port=0'];
  let banner = '';
  await step('start the server and read its banner', async () => {
    banner = await printed([cli, 'dev', ...ports, ...udp], desk, '  Docs ');
    return banner.replaceAll(/#code=\S+/g, '#code=…');
  });
  const found = (name) => new RegExp(`^ {2}${name} +(\\S+)`, 'm').exec(banner)?.[1] ?? '';
  page = await browser.newPage({ viewport: WIDE });
  page.setDefaultTimeout(STEP_MS);
  await step('open the link of the banner: a chat with a greeting', async () => {
    await page.goto(found('Open'));
    await messages().getByText('Welcome to the Guildhall').waitFor();
  });
  await step('type /hello: a bot answers with a button', async () => {
    await line().fill('/he');
    await page.getByRole('list', { name: 'Completions' }).getByText('/hello').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Press me' }).click();
    await page.getByRole('button', { name: 'Pressed 1 ×' }).waitFor();
  });
  await step('run the bot that the page shows: it answers !ping in the chat', async () => {
    const program = await page.getByRole('textbox', { name: '2. Paste in bot.mjs' }).inputValue();
    // The packages that the page says to install are installed here already.
    symlinkSync(join(ROOT, 'node_modules'), join(desk, 'node_modules'));
    writeFileSync(join(desk, 'bot.mjs'), program);
    await printed(['bot.mjs'], desk, 'is online');
    await line().fill('!ping');
    await page.getByRole('button', { name: 'Send' }).click();
    await messages().getByText('pong', { exact: true }).waitFor();
  });
  await step('read the gateway frames behind it', async () => {
    const frames = page.getByRole('region', { name: 'Gateway frames' });
    await frames.getByLabel('Filter frames').fill('MESSAGE_CREATE');
    await frames
      .getByRole('button', { name: /MESSAGE_CREATE/ })
      .first()
      .click();
  });
  await step('the same chat on a phone', async () => {
    await page.setViewportSize(PHONE);
    await messages().waitFor();
  });
  await page.setViewportSize(WIDE);
  await step('open the link of the console: the last hour as graphs', async () => {
    await page.goto(found('Console'));
    await page.getByRole('heading', { name: 'The last hour' }).waitFor();
  });
  await step('see in the console who is connected', async () => {
    await page.getByRole('navigation', { name: 'Console' }).getByRole('button', { name: 'Sessions' }).click();
    // The kind of a session, because a heartbeat removes the dispatches that the row lists.
    await page.getByRole('cell', { name: 'bot', exact: true }).first().waitFor();
  });
  await step('open the documentation', async () => {
    await page.goto(found('Docs'));
    await page.getByRole('heading', { level: 1 }).waitFor();
  });
  await step('first click: ten questions', async () => {
    await page.getByRole('main').getByRole('link', { name: 'ten questions' }).first().click();
    await page.getByRole('heading', { name: 'Ten questions' }).waitFor();
  });
  await step('second click: how to run it behind nginx', async () => {
    await page.getByRole('main').getByRole('link', { name: 'nginx' }).first().click();
    await page.getByRole('heading', { level: 1, name: /nginx/ }).waitFor();
  });
  page = undefined;
  await step('make a game to start from: guildhall init game', async () => {
    const child = spawn(process.execPath, [cli, 'init', 'game', 'my-game'], { cwd: desk });
    let text = '';
    child.stdout.on('data', (data) => (text += data));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(text);
    return text;
  });
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const shown = ({ title, seconds, picture, printed: text }) =>
  `<h2>${seconds} s: ${escaped(title)}</h2>\n${text ? `<pre>${escaped(text)}</pre>\n` : ''}${picture ? `<img src="${picture}" alt="${escaped(title)}">\n` : ''}`;

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
});
let fault = null;
try {
  await walk(browser);
} catch (error) {
  fault = error;
  await page?.screenshot({ path: join(folder, 'failed.png') }).catch(() => undefined);
}
await browser.close();
for (const child of children) child.kill('SIGKILL');
rmSync(desk, { recursive: true, force: true });
writeFileSync(join(folder, 'steps.json'), `${JSON.stringify(steps, null, 2)}\n`);
writeFileSync(
  join(folder, 'index.html'),
  `<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>The first minutes</title>\n<h1>The first minutes</h1>\n${steps.map(shown).join('')}</html>\n`,
);
if (fault !== null) {
  say(`It stopped at: ${fault.message}`);
  process.exitCode = 1;
}

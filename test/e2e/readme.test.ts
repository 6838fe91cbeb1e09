// Goal: the lines that the README, docs/start.md, the banner and `guildhall connect` show run as they are.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';

const CLI = join(ROOT, 'dist/cli.js');

let server: TestServer;
/** A folder of its own, where the packages are installed, as a new user would have it. */
let folder: string;
const bots: ChildProcess[] = [];

beforeAll(async () => {
  server = await startServer({ bots: 2 });
  folder = await mkdtemp(join(tmpdir(), 'guildhall-bot-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(async () => {
  for (const bot of bots) bot.kill('SIGKILL');
  await rm(folder, { recursive: true });
  await server.finish();
});

interface Running {
  readonly child: ChildProcess;
  /** The first line that matches, already printed or yet to come. */
  line(wanted: RegExp): Promise<string>;
}

/** Runs a file of lines that were printed; answers what it prints. */
async function running(file: string, lines: string, env: Record<string, string> = {}): Promise<Running> {
  await writeFile(join(folder, file), lines);
  return started([file], { cwd: folder, env });
}

function started(args: readonly string[], given: { cwd: string; env?: Record<string, string> }): Running {
  const child = spawn(process.execPath, args, {
    ...{ cwd: given.cwd, stdio: ['ignore', 'pipe', 'inherit'] },
    env: { ...process.env, ...given.env },
  });
  bots.push(child);
  const printed: string[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout! }).on('line', (line) => {
    printed.push(line);
    for (const check of waiting) check();
  });
  const line = (wanted: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = () => {
        const found = printed.find((each) => wanted.test(each));
        if (found !== undefined) resolve(found);
      };
      waiting.add(check);
      check();
      child.once('close', (code) => reject(new Error(`It ended with ${code} after: ${printed.join('\n')}`)));
    });
  return { child, line };
}

/** Saves the lines as `bot.mjs`, runs it, and resolves when it says that it is online. */
async function online(lines: string): Promise<Running> {
  const bot = await running('bot.mjs', lines);
  await bot.line(/ is online$/);
  return bot;
}

/** Writes `!ping` as a person and waits for the answer. */
async function pinged(): Promise<void> {
  const call = { params: { channel_id: server.info.guild.text_channel_id } };
  const { id } = await server
    .user()
    .call<{ id: string }>('create_message', { ...call, body: { content: '!ping' } });
  await expect
    .poll(async () => {
      const after = await server.user().call<{ content: string; author: { id: string } }[]>('list_messages', {
        ...call,
        query: { after: id },
      });
      return after.map(({ content, author }) => [content, author.id]);
    })
    .toEqual([['pong', server.info.bot.id]]);
}

const fenced = (markdown: string, language: string): string[] =>
  [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );

describe('a bot', () => {
  test('runs from the lines that `guildhall connect discord.js` prints, and answers', async () => {
    const { stdout } = spawnSync(process.execPath, [
      ...[CLI, 'connect', 'discord.js', '--url', server.info.cdn, '--token', server.info.bot.token],
    ]);
    const bot = await online(String(stdout));
    await pinged();
    expect(await bot.line(/^pong to /)).toBe('pong to juniper');
    bot.child.kill();
  });

  test('answers from the lines of the README, with the address and the token of this server', async () => {
    const [lines] = fenced(await readFile(join(ROOT, 'README.md'), 'utf8'), 'js');
    expect(lines).toContain('<bot token>');
    const ours = lines!
      .replaceAll('http://127.0.0.1:3000', server.info.cdn)
      .replace('<bot token>', server.info.bot.token);
    const bot = await online(ours);
    await pinged();
    expect(await bot.line(/^pong to /)).toBe('pong to juniper');
    bot.child.kill();
  });
});

const startPage = () => readFile(join(ROOT, 'docs/start.md'), 'utf8');
/** Lines of a page with the address and the tokens of this server. */
const filled = (lines: string): string =>
  lines
    .replaceAll('http://127.0.0.1:3000', server.info.cdn)
    .replaceAll('<bot token>', server.info.bot.token)
    .replaceAll('<player token>', server.info.player.token);

test('the echo bot of docs/start.md prints which user it echoes: the bot of `guildhall connect @discordjs/voice`', async () => {
  const [echo] = fenced(await startPage(), 'js');
  const env = { NODE_EXTRA_CA_CERTS: server.info.ca_file! };
  const listener = await running('echo.mjs', filled(echo!), env);
  expect(await listener.line(/^listening in /)).toBe('listening in General');
  const { stdout } = spawnSync(process.execPath, [
    ...[CLI, 'connect', '@discordjs/voice', '--url', server.info.cdn, '--token', server.info.bots[1]!.token],
  ]);
  const player = await running('player.mjs', String(stdout), env);
  await player.line(/ is online$/);
  const call = { params: { channel_id: server.info.guild.text_channel_id } };
  await server.user().call('create_message', { ...call, body: { content: '!join' } });
  expect(await player.line(/^playing in /)).toBe('playing in General');
  const ended = player.line(/^never printed$/);
  expect(await Promise.race([listener.line(/^echoing /), ended])).toBe('echoing Bellows');
  ended.catch(() => undefined);
  for (const { child } of [listener, player]) child.kill();
});

test('the lines of the client library run as printed, with the player token of the banner', async () => {
  const [, lines] = fenced(await startPage(), 'js');
  expect(lines).toContain('<player token>');
  // A file of this folder finds the package by its own name.
  const file = join(ROOT, 'dist', 'readme-match.mjs');
  await writeFile(file, filled(lines!));
  try {
    const match = started([file], { cwd: ROOT });
    expect(await match.line(/^lobby /)).toMatch(/^lobby \d+: Player says ready$/);
    const [code] = match.child.exitCode === null ? await once(match.child, 'exit') : [match.child.exitCode];
    expect(code).toBe(0);
  } finally {
    await rm(file);
  }
});

test('the program that the README embeds an engine with listens', async () => {
  const [lines] = fenced(await readFile(join(ROOT, 'README.md'), 'utf8'), 'ts');
  const program = lines!.replace("'guildhall'", JSON.stringify(join(ROOT, 'dist/main.js')));
  await writeFile(join(folder, 'embed.mjs'), program);
  const child = spawn(process.execPath, ['embed.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  bots.push(child);
  const printed = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout!.on('data', (data) => {
      text += data;
      if (text.includes('}')) resolve(text);
    });
    child.once('exit', (code) => reject(new Error(`It ended with ${code}.`)));
  });
  const api = /api: '(\S+)'/.exec(printed)![1]!;
  expect((await fetch(`${api}/v10/gateway`)).status).toBe(200);
});

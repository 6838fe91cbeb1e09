// Goal: the lines that the README, the banner and `guildhall connect` show run as they are.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
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
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), 'guildhall-bot-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(async () => {
  for (const bot of bots) bot.kill('SIGKILL');
  await rm(folder, { recursive: true });
  await server.finish();
});

/** Saves the lines as `bot.mjs`, runs it, and resolves when it says that it is online. */
async function online(lines: string): Promise<ChildProcess> {
  await writeFile(join(folder, 'bot.mjs'), lines);
  const bot = spawn(process.execPath, ['bot.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  bots.push(bot);
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: bot.stdout! }).on('line', (line) => {
      if (/ is online$/.test(line)) resolve();
    });
    bot.once('exit', (code) => reject(new Error(`The bot ended with ${code}.`)));
  });
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

describe('a bot answers', () => {
  test('from the lines that `guildhall connect discord.js` prints', async () => {
    const { stdout } = spawnSync(process.execPath, [
      ...[CLI, 'connect', 'discord.js', '--url', server.info.cdn, '--token', server.info.bot.token],
    ]);
    const bot = await online(String(stdout));
    await pinged();
    bot.kill();
  });

  test('from the lines of the README, with the address and the token of this server', async () => {
    const [lines] = fenced(await readFile(join(ROOT, 'README.md'), 'utf8'), 'js');
    expect(lines).toContain('<bot token>');
    const ours = lines!
      .replaceAll('http://127.0.0.1:3000', server.info.cdn)
      .replace('<bot token>', server.info.bot.token);
    const bot = await online(ours);
    await pinged();
    bot.kill();
  });
});

test('the program that the README embeds an engine with listens', async () => {
  const [lines] = fenced(await readFile(join(ROOT, 'README.md'), 'utf8'), 'ts');
  const program = lines!.replace("'guildhall'", JSON.stringify(join(ROOT, 'dist/main.js')));
  // Types are all that sets this apart from what Node runs.
  await writeFile(join(folder, 'embed.mjs'), program.replaceAll(' as object', ''));
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

// Goal: the built commands do in a real process what the README promises, with the stock libraries it names.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { RECIPES } from '../../cli/connect.ts';
import { freePort } from '../support/freeport.ts';
import { ROOT } from '../support/source.ts';

const CLI = join(ROOT, 'dist/cli.js');
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

/** A process of ours, the lines it prints, and how it ended. */
function start(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...env } });
  children.push(child);
  const lines: string[] = [];
  let complaint = '';
  child.stderr.on('data', (data) => {
    complaint += data;
  });
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    for (const check of waiting) check();
  });
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  /** The first line that matches, already printed or yet to come. */
  const line = (wanted: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = () => {
        const found = lines.find((candidate) => wanted.test(candidate));
        if (found === undefined) return;
        waiting.delete(check);
        resolve(found);
      };
      waiting.add(check);
      check();
      exit.then((code) => reject(new Error(`It ended with ${code}: ${complaint}`)));
    });
  return { child, lines, line, exit };
}

async function dev(...flags: string[]) {
  const server = start([CLI, 'dev', '--json', '--port', '0', ...flags]);
  return { ...server, report: JSON.parse(await server.line(/^\{/)) };
}

/** Type of the message that greets a new member. */
const JOINED = 7;

interface Message {
  readonly type: number;
  readonly content: string;
  readonly author: { readonly id: string };
}

/** Messages of people and bots in the text channel, newest first, as the first user sees them. */
function chatOf(report: { api: string; guild: { text_channel_id: string }; users: { token: string }[] }) {
  const url = `${report.api}/v10/channels/${report.guild.text_channel_id}/messages`;
  const headers = { authorization: `Bearer ${report.users[0]!.token}`, 'content-type': 'application/json' };
  return {
    async read(): Promise<Message[]> {
      const response = await fetch(url, { headers });
      expect(response.status).toBe(200);
      return ((await response.json()) as Message[]).filter(({ type }) => type !== JOINED);
    },
    async say(content: string): Promise<void> {
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ content }) });
      expect(response.status).toBe(200);
    },
  };
}

describe('a bot started with the printed lines', () => {
  const chatting = Object.keys(RECIPES).filter((library) => RECIPES[library]?.trigger === undefined);
  test.each(chatting)('comes online and answers with %s', async (library) => {
    const { report } = await dev();
    const args = ['--url', report.cdn, '--token', report.bot.token, '--json'];
    const printed = start([CLI, 'connect', library, ...args]);
    const { source } = JSON.parse(await printed.line(/^\{/));
    const bot = start(['--input-type=module', '-e', source]);
    expect(await bot.line(/is online$/)).toContain('Lantern');
    const chat = chatOf(report);
    await chat.say('!ping');
    await expect.poll(async () => (await chat.read()).length, { timeout: 10_000, interval: 500 }).toBe(2);
    const [answer] = await chat.read();
    expect(await bot.line(/^pong to /)).toBe('pong to juniper');
    expect(answer).toMatchObject({ content: 'pong', author: { id: report.bot.id } });
  });

  test('joins the call with @discordjs/voice when it is asked to', async () => {
    const { report } = await dev();
    const args = ['--url', report.cdn, '--token', report.bot.token, '--json'];
    const printed = start([CLI, 'connect', '@discordjs/voice', ...args]);
    const { source } = JSON.parse(await printed.line(/^\{/));
    const bot = start(['--input-type=module', '-e', source], { NODE_EXTRA_CA_CERTS: report.ca_file });
    await bot.line(/is online$/);
    await chatOf(report).say(RECIPES['@discordjs/voice']!.trigger!);
    const headers = { authorization: `Bearer ${report.admin.token}` };
    const packetsIn = async (): Promise<number> => {
      const response = await fetch(`${report.admin.url}/metrics`, { headers });
      return Number(/^guildhall_media_packets_in (\d+)/m.exec(await response.text())?.[1]);
    };
    await expect.poll(packetsIn, { timeout: 20_000, interval: 500 }).toBeGreaterThan(20);
    expect(await bot.line(/^playing in /)).toBe('playing in General');
  });
});

describe('guildhall dev', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('drains on %s and exits 0 within ten seconds', async (signal) => {
    const { child, exit, report } = await dev();
    const bot = start([
      '--input-type=module',
      '-e',
      RECIPES['discord.js']!.lines({
        api: report.api,
        cdn: report.cdn,
        token: report.bot.token,
      }).join('\n'),
    ]);
    await bot.line(/is online$/);
    const startedMs = performance.now();
    child.kill(signal);
    expect(await exit).toBe(0);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  test('comes back from its folder with demo, tokens and messages', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'guildhall-e2e-'));
    try {
      const first = await dev('--data', folder);
      await chatOf(first.report).say('Are you still there?');
      first.child.kill('SIGTERM');
      expect(await first.exit).toBe(0);
      const second = await dev('--data', folder);
      // Its ports and one-time links are others, and the player's token, which ends within a week, is another.
      const links = { console: null, playground: null };
      const others = { api: '', gateway: '', cdn: '', admin: null, voice: null, player: null, ...links };
      expect({ ...second.report, ...others }).toEqual({ ...first.report, ...others });
      const [kept] = await chatOf(second.report).read();
      expect(kept?.content).toBe('Are you still there?');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('takes new users, bots and tokens while it runs; a revoked token is 401', async () => {
    const { report } = await dev();
    const env = { GUILDHALL_ADMIN_URL: report.admin.url, GUILDHALL_ADMIN_TOKEN: report.admin.token };
    const ask = async (...argv: string[]) =>
      JSON.parse(await start([CLI, ...argv, '--json'], env).line(/^\{/));
    const me = (token: string, scheme = 'Bearer') =>
      fetch(`${report.api}/v10/users/@me`, { headers: { authorization: `${scheme} ${token}` } });

    const made = await ask('user', 'create', 'ash', '--guild', report.guild.id);
    expect((await me(made.token)).status).toBe(200);
    const rotated = await ask('token', 'rotate', made.user.id);
    expect((await me(made.token)).status).toBe(401);
    expect((await me(rotated.token)).status).toBe(200);
    const bot = await ask('bot', 'create', 'Beacon', '--guild', report.guild.id);
    expect((await me(bot.bot.token, 'Bot')).status).toBe(200);
    await ask('token', 'revoke', bot.bot.id);
    expect((await me(bot.bot.token, 'Bot')).status).toBe(401);
  });
});

test('two servers cannot share a port: the second says what to do', async () => {
  const { report } = await dev();
  const second = spawn(process.execPath, [
    CLI,
    'dev',
    '--port',
    new URL(report.cdn).port,
    '--admin-port',
    '0',
  ]);
  children.push(second);
  let complaint = '';
  second.stderr.on('data', (data) => {
    complaint += data;
  });
  const [code] = await once(second, 'exit');
  expect(code).toBe(1);
  expect(complaint).toContain('--port 0');
});

test('the example of embedding runs as documented', async () => {
  const example = start([join(ROOT, 'dist/examples/embed.js')]);
  expect(await example.exit).toBe(0);
  expect(example.lines).toEqual([
    'Beacon: Light ahead, a little to right.',
    'refused: We do not speak of that here. (0)',
  ]);
});

describe('the example of a chat', () => {
  const CHAT = join(ROOT, 'dist/examples/lobby-chat.js');

  /** The message of a failed start: one line, no stack. */
  async function complaint(env: Record<string, string>): Promise<string> {
    const { child, exit, lines } = start([CHAT, 'secret', 'Ada'], env);
    const told = text(child.stderr!);
    expect([await exit, lines]).toEqual([1, []]);
    expect(await told).toMatch(/^[A-Z].+\.\n$/);
    return told;
  }

  test('says what to do when no server listens', async () => {
    const api = `http://127.0.0.1:${await freePort()}/api`;
    expect(await complaint({ API: api, BOT_TOKEN: 'token' })).toMatch(
      new RegExp(`^No server answers at ${api}\\. Start one with .npm start., or .+ API`),
    );
    expect(await complaint({ API: 'nonsense', BOT_TOKEN: 'token' })).toMatch(
      /^API is "nonsense"; it must be/,
    );
  });

  test('says what to do when the server does not know the bot', async () => {
    const { report } = await dev();
    expect(await complaint({ API: report.api, BOT_TOKEN: 'token' })).toContain(
      'the bot token that it prints',
    );
    const page = report.api.replace(/api$/, 'voice-room');
    expect(await complaint({ API: page, BOT_TOKEN: 'token' })).toContain(page);
  });
});

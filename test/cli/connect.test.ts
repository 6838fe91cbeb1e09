// Goal: the lines that `connect` prints bring each stock library to this server, with its own token, unchanged.
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RECIPES } from '../../cli/connect.ts';
import { chimeFile } from '../support/chimefile.ts';
import { ROOT } from '../support/source.ts';
import { run } from './arrange.ts';

const TOKEN = 'MTEwMDAwMDAwMDAwMDAwMDAwMQ.aaaaaa.0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';

/** The first gateway request of a bot started with these lines. */
async function firstAsked(library: string): Promise<{ url: string; authorization: string | undefined }> {
  let asked = (_: { url: string; authorization: string | undefined }) => {};
  const heard = new Promise<{ url: string; authorization: string | undefined }>((resolve) => {
    asked = resolve;
  });
  const server = createServer((request, response) => {
    const { url = '', headers } = request;
    if (url.includes('/gateway')) asked({ url, authorization: headers.authorization });
    response.writeHead(500, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { out } = await run(['connect', library, '--url', url, '--token', TOKEN, '--json']);
  const { source } = JSON.parse(out[0]!);
  const bot = spawn(process.execPath, ['--input-type=module', '-e', source], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaint = '';
  bot.stderr.on('data', (data) => {
    complaint += data;
  });
  const ended = new Promise<never>((_, reject) =>
    bot.once('exit', () => reject(new Error(`It ended: ${complaint}`))),
  );
  try {
    return await Promise.race([heard, ended]);
  } finally {
    ended.catch(() => {});
    bot.kill();
    server.close();
    server.closeAllConnections();
  }
}

test.each(Object.keys(RECIPES))(
  '%s requests the gateway URL from this server',
  async (library) => {
    const { url, authorization } = await firstAsked(library);
    expect(url).toMatch(/^\/api\/v10\/gateway(\/bot)?$/);
    expect(authorization).toBe(`Bot ${TOKEN}`);
  },
  20_000,
);

test('prints the URL of a sound to play, whose file equals the output of its script', async () => {
  const { out } = await run(['connect', '@discordjs/voice', '--url', 'http://127.0.0.1:4000']);
  expect(out.join('\n')).toContain("fetch('http://127.0.0.1:4000/voice-room/chime.ogg')");
  const served = await readFile(join(ROOT, 'web/public/chime.ogg'));
  expect(served.equals(chimeFile())).toBe(true);
});

test('prints the other requirements of voice', async () => {
  const { out } = await run(['connect', '@discordjs/voice']);
  expect(out[0]).toBe('// 1. npm install discord.js @discordjs/voice@0.19.2');
  expect(out[1]).toContain('NODE_EXTRA_CA_CERTS=<ca_file of guildhall dev> node bot.mjs; 4. write !join');
});

test.each([
  'http://127.0.0.1:3000',
  'http://127.0.0.1:3000/',
  'http://127.0.0.1:3000/api',
  'http://127.0.0.1:3000/api/v10',
])('accepts the URL as %s', async (url) => {
  const { out } = await run(['connect', 'discord.js', '--url', url]);
  expect(out.join('\n')).toContain("api: 'http://127.0.0.1:3000/api', cdn: 'http://127.0.0.1:3000'");
});

test('escapes values in the printed code', async () => {
  for (const flags of [
    ['--token', "');process.exit();('"],
    ['--url', "http://a'b"],
    ['--url', 'javascript:1'],
  ]) {
    const { exitCode, out } = await run(['connect', 'eris', ...flags]);
    expect(exitCode).toBe(1);
    expect(out).toEqual([]);
  }
});

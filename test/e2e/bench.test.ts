// Goal: the README's bench line and the bench of lobbies end well against the server of `npm start` with its defaults, and
// fail with advice when that server refuses what is sent.
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';

const CLI = join(ROOT, 'dist/cli.js');

let server: TestServer;
let words: string[];

beforeAll(async () => {
  server = await startServer({ rateLimits: true, relayed: false });
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const line = /^npx guildhall (bench gateway .*)$/m.exec(readme)?.[1] ?? '';
  words = line
    .replace('ws://127.0.0.1:3000', server.info.gateway)
    .replace('<bot token>', server.info.bot.token)
    .split(' ');
});
afterAll(() => server.finish());

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const bench = (...more: string[]): Promise<Ended> => run([...words, ...more]);

function run(line: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [CLI, ...line], { stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    text.out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    text.err += String(chunk);
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...text })));
}

describe('the bench line of the README', () => {
  test('names this server and its token', () => {
    expect(words).toContain(server.info.gateway);
    expect(words).toContain(server.info.bot.token);
  });

  test('exits 0 at a server’s defaults with every session and send accepted, and names the settings for more', async () => {
    const { code, out, err } = await bench('--duration', '3', '--json');
    const report = JSON.parse(out);
    expect({ code, failures: report.failures }).toEqual({ code: 0, failures: [] });
    expect(report).toMatchObject({ connections: 100, connectionsAsked: 100, dropped: 0, lost: 0 });
    expect(report.identifiesRefused).toBe(0);
    expect(report.sends.sent).toBeGreaterThan(0);
    expect(report.sends.answered).toBe(report.sends.sent);
    expect(report.deliveries).toBe(100 * report.sends.sent);
    expect(err).toContain('npm start -- --no-rate-limits');
  });

  test('exits 1 with reason and advice when it sends faster than the server allows', async () => {
    const { code, out, err } = await bench('-n', '2', '--rate', '20', '--duration', '2');
    expect(code).toBe(1);
    expect(out).toMatch(/FAILED: \d+ of 40 sends were refused \(\d+ × 429\)/);
    expect(out).not.toContain('none lost');
    expect(err).toMatch(/^guildhall: The run failed: \d+ of 40 sends were refused/m);
    expect(err).toContain('npm start -- --no-rate-limits');
  });
});

describe('the bench of lobbies', () => {
  const lobbies = (...more: string[]): Promise<Ended> => {
    const place = ['--url', server.info.gateway, '--token', server.info.bot.token];
    return run(['bench', 'lobbies', ...place, '--duration', '2', ...more]);
  };

  test('exits 0 at a server’s defaults, at the pace of its limits, and names the settings for more', async () => {
    const { code, out, err } = await lobbies('--json');
    const report = JSON.parse(out);
    // The bench's own message of a failure is part of the assertion.
    const said = code === 0 ? '' : `${out}\n${err}`;
    expect({ code, failures: report.failures, said }).toEqual({ code: 0, failures: [], said: '' });
    expect(report).toMatchObject({ dropped: 0, joins: { asked: 200, failed: 0 } });
    for (const part of [report.messages, report.updates, report.members]) {
      expect(part.sent).toBeGreaterThan(0);
      expect(part).toMatchObject({ answered: part.sent, deliveries: 10 * part.sent, lost: 0 });
    }
    expect(report.messages.perSecond).toBe(50);
    expect(report.updates.perSecond).toBeLessThan(50);
    expect(err).toMatch(/Signing 200 players in takes about \d+ s/);
    expect(err).toContain('npm start -- --no-rate-limits');
  });

  test('exits 1 with advice when it sends faster than the server allows', async () => {
    const { code, out, err } = await lobbies('--lobbies', '2', '-m', '2', '--updates', '100');
    expect(code).toBe(1);
    expect(out).toMatch(/FAILED: \d+ of 200 updates of lobbies' metadata were refused \(\d+ × 429\)/);
    expect(err).toContain('npm start -- --no-rate-limits');
  });
});

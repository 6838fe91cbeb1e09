// Goal: in Node a redirect returns to the loopback interface only, users without a browser see where to sign in, and
// logs are files of their owner.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { LoggingSeverity } from '../../../sdk/enums.ts';
import { nodeHost } from '../../../sdk/node/host.ts';
import { registerLaunchCommand } from '../../../sdk/node/launch.ts';
import { openLog } from '../../../sdk/node/logfile.ts';
import { awaitRedirect } from '../../../sdk/node/redirect.ts';
import { Client } from '../../../sdk/node.ts';

describe('a redirect', () => {
  /** Status of a request with headers that browsers do not let pages set. */
  const get = (port: string, path: string, host: string, method = 'GET') =>
    new Promise<number>((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port, path, method, headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      asked.on('error', reject);
      asked.end();
    });

  test('resolves with the expected state, and ignores other requests', async () => {
    const seen: string[] = [];
    const place = await awaitRedirect((url) => {
      seen.push(url);
      return url.includes('state=right');
    });
    const { hostname, port, pathname } = new URL(place.redirectUri);
    expect([hostname, pathname]).toEqual(['127.0.0.1', '/callback']);
    const own = `127.0.0.1:${port}`;
    expect(await get(port, '/callback?state=wrong', own)).toBe(400);
    expect(await get(port, '/callback?state=right', 'rebound.test')).toBe(400);
    expect(await get(port, '/elsewhere?state=right', own)).toBe(400);
    expect(await get(port, '/callback?state=right', own, 'POST')).toBe(400);
    expect(await get(port, `/callback?state=right&x=${'x'.repeat(9000)}`, own)).toBe(400);
    expect(seen).toEqual([`${place.redirectUri}?state=wrong`]);
    const answer = await fetch(`${place.redirectUri}?state=right&code=c`);
    expect([answer.status, answer.headers.get('referrer-policy')]).toEqual([200, 'no-referrer']);
    expect(await answer.text()).toContain('You can close this window');
    place.close();
    await expect(fetch(place.redirectUri)).rejects.toThrow();
  });
});

describe.runIf(process.platform === 'linux')('a page to sign in', () => {
  test.each([
    ['nothing opens pages', null],
    ['what opens pages finds no browser', 3],
  ])('is named where %s', async (_, exitCode) => {
    const folder = mkdtempSync(join(tmpdir(), 'guildhall-sdk-'));
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    vi.stubEnv('PATH', folder);
    try {
      if (exitCode !== null)
        writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\nexit ${exitCode}\n`, { mode: 0o755 });
      nodeHost().openUrl('http://127.0.0.1/login');
      const sentence = 'Open this page to sign in: http://127.0.0.1/login\n';
      await vi.waitFor(() => expect(written).toHaveBeenCalledWith(sentence));
    } finally {
      vi.unstubAllEnvs();
      written.mockRestore();
      rmSync(folder, { recursive: true });
    }
  });

  test('is a page of the web', () => {
    expect(() => nodeHost().openUrl('file:///etc/passwd')).toThrow('Only http and https URLs can be opened.');
  });
});

describe('a log', () => {
  test('is a file readable only by its owner, and is rotated when it is too large', () => {
    const folder = mkdtempSync(join(tmpdir(), 'guildhall-sdk-'));
    try {
      const log = openLog(join(folder, 'logs'), 'guildhall');
      const path = join(folder, 'logs', 'guildhall.log');
      log('one', LoggingSeverity.Warning);
      expect(readFileSync(path, 'utf8')).toMatch(/^\d{4}-\S+Z Warning one\n$/);
      if (process.platform !== 'win32') expect(statSync(path).mode & 0o077).toBe(0);
      log.close();
      log('after the end', LoggingSeverity.Error);
      writeFileSync(path, 'x'.repeat(10 * 1_048_576 + 1));
      const again = openLog(join(folder, 'logs'), 'guildhall');
      again('two', LoggingSeverity.Error);
      again.close();
      expect(readFileSync(path, 'utf8')).toMatch(/Error {3}two\n$/);
      expect(statSync(`${path}.1`).size).toBe(10 * 1_048_576 + 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('has a separate file for calls while that is enabled', () => {
    const folder = mkdtempSync(join(tmpdir(), 'guildhall-sdk-'));
    try {
      const client = new Client({ debug: true });
      expect(client.setVoiceLogDir(folder, LoggingSeverity.Warning)).toBe(true);
      expect(readdirSync(folder)).toEqual(['guildhall_voice.log']);
      expect(readFileSync(join(folder, 'guildhall_voice.log'), 'utf8')).toContain('debug build');
      expect(client.setVoiceLogDir('', LoggingSeverity.None)).toBe(true);
      client.destroy();
      expect(readdirSync(folder)).toEqual(['guildhall_voice.log']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('is refused when it cannot be written', () => {
    const client = new Client();
    expect(client.setLogDir('/dev/null/nowhere', LoggingSeverity.Warning)).toBe(false);
    expect(client.setLogDir('', LoggingSeverity.None)).toBe(true);
  });
});

describe('a launch command', () => {
  const entry = (folder: string) => readFileSync(join(folder, 'applications/discord-5001.desktop'), 'utf8');
  const place = (folder: string) => ({ env: { XDG_DATA_HOME: folder }, platform: 'linux' });

  test('is registered for the link of its application, with field codes escaped', () => {
    const folder = mkdtempSync(join(tmpdir(), 'launch-'));
    expect(registerLaunchCommand('5001', '/opt/game --at 5%', place(folder))).toBe(true);
    expect(entry(folder)).toContain('Exec=/opt/game --at 5%% %u\n');
    expect(entry(folder)).toContain('MimeType=x-scheme-handler/discord-5001;\n');
    expect(registerLaunchCommand('5001', 'steam://run/7', place(folder))).toBe(true);
    expect(entry(folder)).toContain('Exec=xdg-open "steam://run/7"\n');
    rmSync(folder, { recursive: true });
  });

  test.each([
    ['', '5001', 'linux'],
    ['game\nExec=evil', '5001', 'linux'],
    ['game', '../5001', 'linux'],
    ['game', '5001', 'win32'],
  ])('is refused for %j of %s on %s', (command, id, platform) => {
    expect(registerLaunchCommand(id, command, { env: { XDG_DATA_HOME: '/nowhere' }, platform })).toBe(false);
  });
});

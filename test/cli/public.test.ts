// Goal: a server is public when clients reach it from other machines, wherever it listens; everything that asks gets that answer.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { voiceLines } from '../../cli/banner.ts';
import { publicProblems, publicWarnings } from '../../cli/opening.ts';
import { type Config, DEFAULTS, isLoopback, isPublic, publicSettings } from '../../config/config.ts';
import { openInstance } from '../support/instance.ts';
import { run, VOICE } from './arrange.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-public-'));
});
afterEach(() => rm(folder, { recursive: true }));

const SECRET = '0123456789abcdef0123456789abcdef';
const URL_OUTSIDE = 'https://chat.example.org';
const config = (given: Partial<Config>): Config => ({ ...DEFAULTS, ...given });
const START = ['start', '--port', '0', '--admin-port', '0', '--log-level', 'silent'];

describe('a server is public', () => {
  test.each<[Partial<Config>, readonly string[]]>([
    [{}, []],
    [{ public_url: 'http://localhost:3000' }, []],
    [{ public_url: 'http://chat.localhost' }, []],
    [{ public_url: 'http://127.1.2.3' }, []],
    [{ public_url: 'http://[::1]:3000' }, []],
    [{ public_url: URL_OUTSIDE }, ['public_url']],
    [{ public_url: 'http://127.0.0.1.example.org' }, ['public_url']],
    [{ listen_host: '0.0.0.0' }, ['listen_host']],
    [
      { listen_host: '::', public_url: URL_OUTSIDE, admin_host: '10.0.0.1' },
      ['listen_host', 'public_url', 'admin_host'],
    ],
    [{ voice_host: '0.0.0.0' }, ['voice_host']],
    [{ voice_host: '0.0.0.0', voice: false }, []],
  ])('is decided by the settings %j: %j', (given, expected) => {
    expect(publicSettings(config(given))).toEqual(expected);
    expect(isPublic(config(given))).toBe(expected.length > 0);
  });

  test.each([
    ['127.0.0.1', true],
    ['LOCALHOST', true],
    ['[::1]', true],
    ['127.0.0.1.example.org', false],
    ['localhost.example.org', false],
    ['0.0.0.0', false],
    ['::', false],
  ])('%s is loopback: %s', (host, expected) => expect(isLoopback(host)).toBe(expected));
});

describe('the banner of calls', () => {
  const at = (secure: boolean, cdn: string) =>
    voiceLines({ api: `${cdn}/api`, gateway: cdn, cdn, voice: { ...VOICE, secure } })[0];

  test.each([
    [true, 'http://127.0.0.1:3000', 'wss://'],
    [false, 'http://127.0.0.1:3000', 'ws://'],
    [false, 'https://chat.example.org', 'wss://'],
  ])('names the scheme for TLS of its own %s at %s: %s', (secure, cdn, scheme) => {
    expect(at(secure, cdn)).toContain(`Voice    ${scheme}${VOICE.endpoint}`);
  });
});

describe('a public_url that is not loopback', () => {
  test('closes registration by default, as a listen_host does', async () => {
    const openWith = async (given: Partial<Config>): Promise<boolean> => {
      const instance = await openInstance({ registration: 'auto', ...given });
      try {
        return instance.features.accounts.registrationOpen;
      } finally {
        await instance.close();
      }
    };
    expect(await openWith({})).toBe(true);
    expect(await openWith({ public_url: 'http://localhost:3000' })).toBe(true);
    expect(await openWith({ public_url: URL_OUTSIDE })).toBe(false);
    expect(await openWith({ listen_host: '0.0.0.0' })).toBe(false);
    expect(await openWith({ public_url: URL_OUTSIDE, registration: 'open' })).toBe(true);
  }, 60_000);

  test('makes `start` require the secret, the admin token and the voice address, with the lines to add', async () => {
    const { exitCode, err, engines } = await run([...START, '--public-url', URL_OUTSIDE, '--data', folder]);
    expect([exitCode, engines]).toEqual([1, []]);
    const told = err.join('\n');
    expect(told).toContain(`Not opening ${URL_OUTSIDE} (public_url) to others yet.`);
    for (const line of ['set token_secret', 'set admin_token', 'loopback (127.0.0.1, media 127.0.0.1)'])
      expect(told).toContain(line);
    expect(told).toContain(
      [
        '  voice_host: 0.0.0.0',
        '  external_address: <the IP address at which clients reach this machine>',
        '  voice_endpoint: chat.example.org/voice',
        '  voice_tls: off',
      ].join('\n'),
    );
  });

  test('is accepted with the required lines, or without calls', () => {
    const given = {
      ...{ public_url: URL_OUTSIDE, data_dir: folder, token_secret: SECRET, admin_token: SECRET },
    };
    const lines: Partial<Config> = {
      ...{ voice_host: '0.0.0.0', external_address: '203.0.113.7', voice_tls: 'off' },
      voice_endpoint: 'chat.example.org/voice',
    };
    expect(publicProblems(config(given))).toHaveLength(1);
    expect(publicProblems(config({ ...given, ...lines }))).toEqual([]);
    expect(publicProblems(config({ ...given, voice: false }))).toEqual([]);
    for (const key of ['external_address', 'voice_endpoint'] as const) {
      const [problem] = publicProblems(config({ ...given, ...lines, voice_host: '127.0.0.1', [key]: null }));
      expect(problem).toContain(`\n  ${key}: `);
    }
    expect(publicWarnings(config({ ...given, ...lines }))).toEqual([]);
    expect(publicWarnings(config({ ...given, ...lines, voice_host: '127.0.0.1' })).join()).toContain(
      'voice_host',
    );
  });

  test('is refused by `dev`, which prints its secrets', async () => {
    const { exitCode, err, engines } = await run(['dev', '--port', '0', '--public-url', URL_OUTSIDE]);
    expect([exitCode, engines]).toEqual([1, []]);
    expect(err.join()).toContain(`not on ${URL_OUTSIDE} (public_url)`);
    expect((await run(['dev', '--port', '0', '--public-url', 'http://localhost:1'])).exitCode).toBe(0);
  });
});

// Goal: `dev` and `start` bring a server up as they promise, and refuse what would be unsafe with words that help.
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Config } from '../../config/config.ts';
import type { Addresses } from '../../embedding.ts';
import { ROOM_PATH } from '../../transports/http/web.ts';
import { fakeEngine, run } from './arrange.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-cli-'));
});
afterEach(() => rm(folder, { recursive: true }));

const FREE = ['--port', '0'];
/** An engine that listens like that. */
const listening = (listen: (usual: Addresses) => Promise<Addresses>) => (config: object) => {
  const made = fakeEngine(config);
  return { ...made, engine: { ...made.engine, listen: async () => listen(await made.engine.listen()) } };
};
const noVoice = listening(async (usual) => ({ ...usual, voice: null }));

describe('guildhall dev', () => {
  test('--json prints one line with every field of the contract', async () => {
    const { out, exitCode, engines } = await run(['dev', '--json', '--bots', '2', ...FREE]);
    expect(exitCode).toBe(0);
    expect(out).toHaveLength(1);
    const line = JSON.parse(out[0]!);
    expect(line).toEqual({
      api: 'http://127.0.0.1:4321/api',
      gateway: 'ws://127.0.0.1:4321',
      console: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]{32}$/),
      playground: { url: 'http://127.0.0.1:4321/', link: 'http://127.0.0.1:4321/#code=once' },
      cdn: 'http://127.0.0.1:4321',
      admin: {
        url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
        token: expect.stringMatching(/^.{32}$/),
      },
      application: {
        id: expect.any(String),
        public_key: 'ab'.repeat(32),
        client_secret: 'secret-of-Lantern',
      },
      bot: { id: line.bots[0].id, token: 'token-of-Lantern' },
      bots: [
        { id: expect.any(String), token: 'token-of-Lantern', application_id: line.application.id },
        { id: expect.any(String), token: 'token-of-Bellows', application_id: expect.any(String) },
      ],
      users: [
        { id: expect.any(String), name: 'juniper', token: 'token-of-juniper' },
        { id: expect.any(String), name: 'rowan', token: 'token-of-rowan' },
      ],
      player: { token: 'token-of-a-player' },
      guild: { id: expect.any(String), text_channel_id: '502', voice_channel_id: '504' },
      ca_file: '/somewhere/tls/ca.pem',
      voice: { endpoint: '127.0.0.1:4323', udp_port: 4324 },
    });
    const rights = engines[0]!.members.map(({ permissions }) => permissions);
    expect(rights).toEqual([undefined, undefined, 8n, 8n]);
    expect(engines[0]!.calls).toEqual(['listen', 'drain', 'close']);
  });

  test('shows a banner with the lines to paste', async () => {
    const { out } = await run(['dev', ...FREE]);
    const banner = out.join('\n');
    expect(banner).toContain("await client.login('token-of-Lantern');");
    expect(banner).toContain("api: 'http://127.0.0.1:4321/api'");
    expect(banner).toContain('Bearer token-of-juniper');
    expect(banner).toContain('Player token  token-of-a-player');
    expect(banner).toContain('in memory');
    expect(banner).toContain('wss://127.0.0.1:4323   UDP 4324, browsers 127.0.0.1:4325');
    expect(banner).toContain('--voice-address auto');
    expect(banner).toContain(`In a browser: http://127.0.0.1:4321${ROOM_PATH}, `);
    expect(banner).toContain('NODE_EXTRA_CA_CERTS=/somewhere/tls/ca.pem node bot.mjs');
    expect(banner).toContain('Open     http://127.0.0.1:4321/#code=once');
    expect(out.length).toBeLessThan(45);
  });

  test('stores nothing, limits requests and listens on loopback by default', async () => {
    const [plain] = (await run(['dev', ...FREE])).configs;
    expect(plain).toMatchObject({
      data_dir: null,
      rate_limits: true,
      listen_host: '127.0.0.1',
      listen_port: 0,
    });
    const flags = ['dev', ...FREE, '--no-rate-limits', '--data', 'kept', '--set', 'max_concurrency=99'];
    const [told] = (await run(flags, { cwd: folder })).configs;
    expect(told).toMatchObject({ data_dir: join(folder, 'kept'), rate_limits: false, max_concurrency: 99 });
  });

  test('serves attachments without a signature by default', async () => {
    const [plain] = (await run(['dev', ...FREE])).configs;
    expect(plain).toMatchObject({ attachment_signatures_required: false });
    const told = await run(['dev', ...FREE, '--set', 'attachment_signatures_required=true']);
    expect(told.configs[0]).toMatchObject({ attachment_signatures_required: true });
  });

  test('uses ports next to the first, or below it at the end of the range', async () => {
    const ports = async (...argv: string[]) => {
      const { configs } = await run(['dev', ...argv, '--set', 'admin_port=0']);
      const { voice_port, voice_udp_port, voice_webrtc_port } = configs[0] as Config;
      return [voice_port, voice_udp_port, voice_webrtc_port];
    };
    expect(await ports('--port', '0')).toEqual([0, 0, 0]);
    expect(await ports('--port', '4000')).toEqual([4002, 4002, 4022]);
    expect(await ports('--port', '65530')).toEqual([65_532, 65_532, 65_508]);
    expect(await ports('--port', '4000', '--set', 'voice_port=1')).toEqual([1, 4002, 4022]);
    expect(await ports()).toEqual([3002, 3002, 3022]);
  });

  test.each(['listen_host', 'voice_host'])('prints its secrets and refuses another %s', async (key) => {
    const { exitCode, err, engines } = await run(['dev', '--set', `${key}=0.0.0.0`]);
    expect(exitCode).toBe(1);
    expect(err.join('\n')).toContain('listens on loopback only, not on 0.0.0.0');
    expect(engines).toEqual([]);
  });

  test('limits calls of browsers to loopback unless --voice-address is set, and rejects an invalid address', async () => {
    const told = async (...argv: string[]) => (await run(['dev', ...FREE, ...argv])).configs[0];
    expect(await told()).toMatchObject({ voice_webrtc_address: null });
    expect(await told('--voice-address', 'auto')).toMatchObject({
      voice_webrtc_address: 'auto',
      voice_host: '127.0.0.1',
    });
    const { exitCode, err } = await run(['dev', ...FREE, '--voice-address', 'my laptop']);
    expect([exitCode, err.join('\n')]).toEqual([1, expect.stringContaining('--voice-address')]);
  });

  test('prints nothing about voice when the engine has no voice', async () => {
    const { out } = await run(['dev', '--json', ...FREE], { engine: noVoice });
    expect(JSON.parse(out[0]!)).toMatchObject({ ca_file: null, voice: null });
    const banner = (await run(['dev', ...FREE], { engine: noVoice })).out.join('\n');
    expect(banner).not.toMatch(/Voice|NODE_EXTRA/);
  });

  test.each([
    ['Cannot listen on 127.0.0.1:3000: taken', 'The server cannot listen on 127.0.0.1:3000', '--port 0'],
    [
      'Cannot listen on 127.0.0.1:3002: taken',
      'The voice gateway cannot listen on 127.0.0.1:3002',
      '--set voice_port=0',
    ],
    ['bind EADDRINUSE 127.0.0.1:3003', 'The UDP side of calls cannot', '--set voice_udp_port=0'],
    ['bind EADDRINUSE 127.0.0.1:3022', 'The WebRTC side cannot', '--set voice_webrtc_port=0'],
    ['tls_key_file: it is not', 'tls_key_file: it is not', 'Set tls_cert_file and tls_key_file'],
  ])('explains %j', async (message, expected, advice) => {
    const { exitCode, err } = await run(['dev', '--admin-port', '0'], {
      engine: listening(() => Promise.reject(new Error(message))),
    });
    expect(exitCode).toBe(1);
    expect(err.join('\n')).toContain(expected);
    expect(err.join('\n')).toContain(advice);
  });

  test('reuses its demo in a data folder, with the same tokens and the requested bots', async () => {
    const shared = fakeEngine({});
    const again = (bots: string) =>
      run(['dev', '--json', '--data', folder, '--bots', bots, ...FREE], { engine: () => shared });
    const lines = [];
    for (const bots of ['1', '3', '2']) lines.push(JSON.parse((await again(bots)).out[0]!));
    expect(lines.map((line) => line.guild.id)).toEqual(Array(3).fill(lines[0].guild.id));
    expect(lines.map((line) => line.bots.length)).toEqual([1, 3, 2]);
    expect(lines[2].bots).toEqual(lines[1].bots.slice(0, 2));
    expect(shared.guilds).toHaveLength(1);
    const kept = JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8'));
    expect(kept.bots).toHaveLength(3);
    expect((await stat(join(folder, 'demo.json'))).mode & 0o077).toBe(0);
  });

  test.each(['0', '-1', 'many', '1001'])('refuses --bots %s', async (bots) => {
    const { exitCode, err } = await run(['dev', '--bots', bots]);
    expect(exitCode).toBe(2);
    expect(err.join()).toContain('whole number from 1 to 1000');
  });

  test('serves the admin API with the token it prints', async () => {
    const { out } = await run(['dev', '--json', ...FREE], {
      whileRunning: async ([line]) => {
        const { admin } = JSON.parse(line!);
        const headers = { authorization: `Bearer ${admin.token}` };
        expect((await fetch(`${admin.url}/users`, { headers })).status).toBe(200);
        expect((await fetch(`${admin.url}/users`)).status).toBe(401);
      },
    });
    expect(out).toHaveLength(1);
  });
});

describe('a server that is stopped while it opens', () => {
  const ARGV = ['start', ...FREE, '--admin-port', '0', '--log-level', 'silent', '--set', 'voice=false'];
  const never = new Promise<never>(() => {});

  test('opens nothing if nothing is open yet', async () => {
    for (const argv of [ARGV, ['dev', ...FREE]]) {
      const ran = await run(argv, { cwd: folder, stop: Promise.resolve() });
      expect([ran.exitCode, ran.out, ran.err, ran.engines]).toEqual([0, [], [], []]);
    }
  });

  test('closes the engine under construction, and does not listen', async () => {
    let tell = () => {};
    const stop = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const made = fakeEngine({});
    const createEngine = async () => {
      tell();
      return made.engine;
    };
    const { exitCode, out, err } = await run(ARGV, { cwd: folder, stop, createEngine });
    expect([exitCode, out, err, made.calls]).toEqual([0, [], [], ['close']]);
  });

  test('closes an engine that waits for its cluster, without draining it', async () => {
    let tell = () => {};
    const stop = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const made = fakeEngine({});
    const listen = () => {
      tell();
      return never;
    };
    const createEngine = async () => ({ ...made.engine, listen });
    const { exitCode, out, err } = await run(ARGV, { cwd: folder, stop, createEngine });
    expect([exitCode, out, err, made.calls]).toEqual([0, [], [], ['close']]);
  });

  test('reports why it could not be opened', async () => {
    let tell = () => {};
    const stop = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const createEngine = async () => {
      tell();
      throw new Error('The database does not answer');
    };
    const { exitCode, err } = await run(ARGV, { cwd: folder, stop, createEngine });
    expect([exitCode, err.join()]).toEqual([1, expect.stringContaining('The database does not answer')]);
  });

  test('starts no shards', async () => {
    const shards: unknown[] = [];
    const onShard = (shard: unknown) => void shards.push(shard);
    const argv = [...ARGV, '--shards', '1'];
    const { exitCode, out, err } = await run(argv, { cwd: folder, stop: Promise.resolve(), onShard });
    expect([exitCode, out, err, shards]).toEqual([0, [], [], []]);
  });
});

describe('guildhall start', () => {
  const PUBLIC = ['start', '--host', '0.0.0.0', ...FREE, '--admin-port', '0', '--log-level', 'silent'];
  const SECRET = '0123456789abcdef0123456789abcdef';

  const ENV = {
    DATABASE_URL: 'postgres://me:it@127.0.0.1/guildhall',
    GUILDHALL_TOKEN_SECRET: SECRET,
    GUILDHALL_ADMIN_TOKEN: SECRET,
  };
  /** Settings for the test of a foreign address, so that it opens none of the usual ports. */
  const FREE_VOICE = ['voice_port=0', 'voice_udp_port=0', 'voice_webrtc_port=0'];

  test('does not open a public address without a database, a secret and an admin token', async () => {
    const { exitCode, err, engines } = await run(PUBLIC, { cwd: folder });
    expect(exitCode).toBe(1);
    expect(err.join()).toContain('set database_url to a PostgreSQL database, or data_dir');
    expect(err.join()).toContain('set token_secret, for instance to what `openssl rand -hex 32` prints');
    expect(err.join()).toContain('set admin_token, for instance to what `openssl rand -hex 32` prints');
    expect(engines).toEqual([]);
  });

  test('opens it with both', async () => {
    const { exitCode, out, configs } = await run([...PUBLIC, '--set', 'voice=false'], {
      cwd: folder,
      env: ENV,
    });
    expect(exitCode).toBe(0);
    expect(configs[0]).toMatchObject({ listen_host: '0.0.0.0', database_url: ENV.DATABASE_URL });
    expect(out.join()).not.toContain(SECRET);
  });

  test('does not serve voice to other machines without a certificate, or without a voice address', async () => {
    const voice = (...set: string[]) => {
      const argv = ['start', '--admin-port', '0', '--log-level', 'silent'];
      return run([...argv, ...FREE, ...set.flatMap((pair) => ['--set', pair])], { cwd: folder, env: ENV });
    };
    const { exitCode, err, engines } = await voice('voice_host=0.0.0.0');
    expect(exitCode).toBe(1);
    expect(engines).toEqual([]);
    expect(err.join()).toContain('Not opening 0.0.0.0 (voice_host) to others yet.');
    expect(err.join()).toContain('set tls_cert_file and tls_key_file, or voice_tls to off');
    expect(err.join()).toContain('set external_address');
    expect((await voice('voice_host=0.0.0.0', 'voice=false')).exitCode).toBe(0);
    const behindProxy = ['voice_host=0.0.0.0', 'voice_tls=off', 'external_address=203.0.113.5'];
    expect((await voice(...behindProxy)).exitCode).toBe(0);
    const { configs, out } = await voice(
      ...FREE_VOICE,
      'voice_host=203.0.113.5',
      'tls_cert_file=a.pem',
      'tls_key_file=b.pem',
    );
    const [certFile, keyFile] = [join(folder, 'a.pem'), join(folder, 'b.pem')];
    expect(configs[0]).toMatchObject({ tls_cert_file: certFile, tls_key_file: keyFile });
    expect(out.join('\n')).toContain('wss://127.0.0.1:4323');
  });

  test('stores its data in ./data on a loopback address, and creates no demo', async () => {
    const { configs, engines, out } = await run(
      ['start', ...FREE, '--admin-port', '0', '--log-level', 'silent'],
      {
        cwd: folder,
      },
    );
    expect(configs[0]).toMatchObject({ data_dir: join(folder, 'data'), admin_token: expect.any(String) });
    expect(engines[0]!.guilds).toEqual([]);
    expect(out.join()).toContain('http://127.0.0.1:4321/api');
  });

  test('requires signatures on links to attachments', async () => {
    const argv = ['start', ...FREE, '--admin-port', '0', '--log-level', 'silent'];
    const { configs } = await run(argv, { cwd: folder });
    expect(configs[0]).toMatchObject({ attachment_signatures_required: true });
  });

  test('reads file, environment and flags, later ones winning', async () => {
    await writeFile(
      join(folder, 'guildhall.yaml'),
      'listen_port: 1111\nadmin_port: 0\nlog_level: warn\nmetrics: false\n',
    );
    const env = { GUILDHALL_LISTEN_PORT: '2222', GUILDHALL_LOG_LEVEL: 'error' };
    const { configs } = await run(['start', '--port', '3333'], { cwd: folder, env });
    expect(configs[0]).toMatchObject({ listen_port: 3333, log_level: 'error', metrics: false });
  });

  test.each([
    ['listen_prot: 1', 'Did you mean listen_port?'],
    ['listen_port: [1', 'is not valid YAML'],
    ['- listen_port', 'is not a list of settings'],
    ['listen_port: "3"', 'must be a whole number from 0 to 65535'],
  ])('explains the file %j: %s', async (text, expected) => {
    await writeFile(join(folder, 'guildhall.yaml'), text);
    const { exitCode, err, engines } = await run(['start'], { cwd: folder });
    expect(exitCode).toBe(1);
    expect(err.join()).toContain(expected);
    expect(engines).toEqual([]);
  });

  const LONG = 'x'.repeat(5000);
  test.each([
    ['DATABASE_URL', { DATABASE_URL: 'notaurl' }],
    ['GUILDHALL_DATABASE_URL', { GUILDHALL_DATABASE_URL: 'notaurl' }],
    ['GUILDHALL_DATABASE_URL', { GUILDHALL_DATABASE_URL: 'notaurl', DATABASE_URL: 'postgres://h/d' }],
    ['GUILDHALL_listen_port', { GUILDHALL_listen_port: 'many' }],
  ])('reports the variable that was set: %s of %o', async (name, env: Record<string, string>) => {
    const { exitCode, err } = await run(['start'], { cwd: folder, env });
    expect([exitCode, err.join()]).toEqual([1, expect.stringContaining(`guildhall: ${name} in the env`)]);
  });

  test.each([
    ...['--host', '--port', '--admin-port', '--data', '--public-url', '--log-level'].map(
      (flag) => ['start', flag] as const,
    ),
    ...['--voice-address', '--port', '--admin-port', '--data', '--public-url', '--log-level'].map(
      (flag) => ['dev', flag] as const,
    ),
  ])('reports the given flag: %s %s', async (command, flag) => {
    const { exitCode, err } = await run([command, flag, LONG], { cwd: folder });
    expect([exitCode, err.join()]).toEqual([
      1,
      expect.stringContaining(`guildhall: ${flag} in the command line`),
    ]);
  });

  test('reports the key of a file and of --set', async () => {
    const set = await run(['start', '--set', 'database_url=notaurl'], { cwd: folder });
    expect(set.err.join()).toContain('guildhall: database_url in --set is');
    await writeFile(join(folder, 'guildhall.yaml'), 'database_url: notaurl\n');
    const file = await run(['start'], { cwd: folder });
    expect(file.err.join()).toContain('guildhall: database_url in guildhall.yaml is');
    const env = { GUILDHALL_CONFIG: 'other.yaml' };
    expect((await run(['start'], { cwd: folder, env })).err.join()).toContain('with GUILDHALL_CONFIG.');
    expect((await run(['start', '--config', 'b.yaml'], { cwd: folder, env })).err.join()).toContain(
      'with --config.',
    );
  });

  test('reports the variable or the flag of an invalid admin URL', async () => {
    const env = { GUILDHALL_ADMIN_URL: 'nowhere', GUILDHALL_ADMIN_TOKEN: 'x'.repeat(16) };
    const byVariable = await run(['user', 'list'], { cwd: folder, env });
    expect(byVariable.err.join()).toContain('GUILDHALL_ADMIN_URL is "nowhere"; it must be a URL');
    const byFlag = await run(['user', 'list', '--admin-url', 'here'], { cwd: folder, env });
    expect(byFlag.err.join()).toContain('--admin-url is "here"; it must be a URL');
  });

  test('explains a missing file, as JSON on request', async () => {
    const { exitCode, out } = await run(['start', '--config', 'none.yaml', '--json'], { cwd: folder });
    expect(exitCode).toBe(1);
    expect(JSON.parse(out[0]!).error.message).toContain('none.yaml cannot be read');
  });

  test('exits with 1 when draining exceeds its time limit', async () => {
    const stuck = (config: object) => {
      const made = fakeEngine(config);
      return { ...made, engine: { ...made.engine, drain: () => new Promise<void>(() => {}) } };
    };
    const argv = [
      'start',
      ...FREE,
      '--admin-port',
      '0',
      '--set',
      'drain_timeout_ms=100',
      '--log-level',
      'silent',
    ];
    const { exitCode } = await run(argv, { cwd: folder, engine: stuck });
    expect(exitCode).toBe(1);
  });
});

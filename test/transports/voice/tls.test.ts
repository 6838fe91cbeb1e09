// Goal: standard clients that know the development authority trust the server, its key stays private, and a configured
// certificate is used or rejected with a helpful message.
import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startServer } from '../../../transports/http/server.ts';
import { type VoiceTlsSettings, voiceTls } from '../../../transports/voice/tls.ts';
import { ROOT } from '../../support/source.ts';

const DAY_MS = 86_400_000;
let folder: string;
const closers: (() => void)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-tls-test-'));
});
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await rm(folder, { recursive: true });
});

const settings = (change: Partial<VoiceTlsSettings> = {}): VoiceTlsSettings => ({
  voice_tls: 'auto',
  tls_cert_file: null,
  tls_key_file: null,
  data_dir: folder,
  ...change,
});

async function serve(names: readonly string[]) {
  const { tls, caFile } = await voiceTls(settings(), names);
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    tls: tls!,
    installers: [(app) => void app.ws('/*', { open: (ws) => void ws.send('hello') })],
  });
  closers.push(() => server.close());
  return { port: server.port, caFile: caFile! };
}

const certOf = async (path: string) =>
  new X509Certificate(/-----BEGIN CERT[\s\S]+/.exec(await readFile(path, 'utf8'))![0]);

describe('the development certificate', () => {
  it('is trusted by a client that knows the authority, under each of its names', async () => {
    const { port, caFile } = await serve([
      '127.0.0.1',
      'Voice.Example.org',
      '0.0.0.0',
      '10.0.0.7',
      '2001:DB8::7:0:1',
    ]);
    const ca = await readFile(caFile, 'utf8');
    for (const servername of ['localhost', 'voice.example.org']) {
      const socket = connect({ host: '127.0.0.1', port, ca, servername });
      await once(socket, 'secureConnect');
      expect(socket.authorized).toBe(true);
      expect(socket.getPeerCertificate().subjectaltname!.split(', ').sort()).toEqual([
        'DNS:localhost',
        'DNS:voice.example.org',
        'IP Address:0:0:0:0:0:0:0:1',
        'IP Address:10.0.0.7',
        'IP Address:127.0.0.1',
        'IP Address:2001:DB8:0:0:0:7:0:1',
      ]);
      socket.destroy();
    }
  });

  it('is shared by servers that start shortly after each other', async () => {
    const start = async (_: unknown, index: number) => {
      await delay(2 * index);
      const { tls, caFile } = await voiceTls(settings(), []);
      return { leaf: await certOf(tls!.certFile), authority: await certOf(caFile!) };
    };
    const [first, ...others] = await Promise.all(Array.from({ length: 12 }, start));
    for (const { leaf, authority } of others) {
      expect(authority.fingerprint256).toBe(first!.authority.fingerprint256);
      expect(leaf.fingerprint256).toBe(first!.leaf.fingerprint256);
    }
  });

  it('is rejected by a client without the authority, and for another name', async () => {
    const { port, caFile } = await serve([]);
    const ca = await readFile(caFile, 'utf8');
    const failure = (options: object) =>
      new Promise<unknown>((resolve) => {
        const socket = connect({ host: '127.0.0.1', port, ...options });
        socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
        socket.on('secureConnect', () => {
          socket.destroy();
          resolve('trusted');
        });
      });
    expect(await failure({ servername: 'localhost' })).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
    const elsewhere = await failure({ servername: 'elsewhere.example.org', ca });
    expect(elsewhere).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('is trusted by address in a process that is started with NODE_EXTRA_CA_CERTS', async () => {
    const { port, caFile } = await serve([]);
    const script = `
      const { WebSocket } = require('ws');
      const ws = new WebSocket('wss://127.0.0.1:${port}?v=8');
      ws.on('message', (data) => { console.log(String(data)); ws.terminate(); });
      ws.on('error', (error) => { console.log(error.code); process.exit(1); });`;
    const say = async (env: NodeJS.ProcessEnv) => {
      const child = spawn(process.execPath, ['-e', script], { cwd: ROOT, env: { ...process.env, ...env } });
      let out = '';
      child.stdout.on('data', (data) => {
        out += data;
      });
      await once(child, 'close');
      return out.trim();
    };
    expect(await say({ NODE_EXTRA_CA_CERTS: caFile })).toBe('hello');
    expect(await say({ NODE_EXTRA_CA_CERTS: '' })).toMatch(/VERIFY|SELF_SIGNED/);
  });

  it('is kept between starts, with keys that only its user can read', async () => {
    const first = await voiceTls(settings(), ['a.example.org']);
    const before = await readFile(first.tls!.certFile, 'utf8');
    expect(await voiceTls(settings(), ['a.example.org', 'localhost'])).toEqual(first);
    expect(await readFile(first.tls!.certFile, 'utf8')).toBe(before);
    const tlsFolder = join(folder, 'tls');
    expect((await stat(tlsFolder)).mode & 0o077).toBe(0);
    for (const name of await readdir(tlsFolder)) {
      const path = join(tlsFolder, name);
      const hasKey = (await readFile(path, 'utf8')).includes('PRIVATE KEY');
      expect([name, (await stat(path)).mode & 0o077]).toEqual([name, hasKey ? 0 : expect.any(Number)]);
      expect(hasKey).toBe(name !== 'ca.pem');
    }
  });

  it('is issued separately for other names, by the same authority', async () => {
    const [a, b] = [
      await voiceTls(settings(), ['a.example.org']),
      await voiceTls(settings(), ['b.example.org']),
    ];
    expect(a.tls!.certFile).not.toBe(b.tls!.certFile);
    const ca = await certOf(a.caFile!);
    for (const { tls } of [a, b]) expect((await certOf(tls!.certFile)).verify(ca.publicKey)).toBe(true);
  });

  it('is renewed before it expires, and by a new authority when the old one is damaged', async () => {
    const nowMs = Date.now();
    const first = await voiceTls(settings(), [], nowMs);
    const leaf = await certOf(first.tls!.certFile);
    const authority = await readFile(first.caFile!, 'utf8');
    expect(Date.parse(leaf.validTo) - nowMs).toBeGreaterThan(300 * DAY_MS);

    await voiceTls(settings(), [], nowMs + 340 * DAY_MS);
    const renewed = await certOf(first.tls!.certFile);
    expect(renewed.serialNumber).not.toBe(leaf.serialNumber);
    expect(await readFile(first.caFile!, 'utf8')).toBe(authority);

    await writeFile(join(folder, 'tls', 'authority.key.pem'), 'spoilt');
    await voiceTls(settings(), [], nowMs);
    const next = await certOf(first.caFile!);
    expect(await readFile(first.caFile!, 'utf8')).not.toBe(authority);
    expect((await certOf(first.tls!.certFile)).verify(next.publicKey)).toBe(true);
  });

  it('is created once by servers that start at the same time', async () => {
    const starts = await Promise.all(Array.from({ length: 8 }, () => voiceTls(settings(), [])));
    const ca = await certOf(starts[0]!.caFile!);
    expect((await certOf(starts[0]!.tls!.certFile)).verify(ca.publicKey)).toBe(true);
    expect((await readdir(join(folder, 'tls'))).sort()).toEqual([
      'authority.key.pem',
      'ca.pem',
      expect.stringMatching(/^server-/),
    ]);
  });

  async function withCache(cache: string): Promise<string | null> {
    const { XDG_CACHE_HOME } = process.env;
    process.env.XDG_CACHE_HOME = cache;
    try {
      return (await voiceTls(settings({ data_dir: null }), [])).caFile;
    } finally {
      if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
      else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
    }
  }

  it('is stored in the cache of the user when no data folder is set', async () => {
    expect(await withCache(folder)).toBe(join(folder, 'guildhall', 'tls', 'ca.pem'));
  });

  it.skipIf(process.platform !== 'linux')(
    'is stored in a temporary folder when the cache cannot be created',
    async () => {
      const caFile = await withCache('/proc/nope');
      expect(caFile).toContain(join(tmpdir(), 'guildhall-tls-'));
      await rm(dirname(caFile!), { recursive: true });
    },
  );
});

describe('the settings', () => {
  it('replace the development certificate, and turn TLS off', async () => {
    const { tls } = await voiceTls(settings(), []);
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const pair = await readFile(tls!.certFile, 'utf8');
    await writeFile(certFile, pair);
    await writeFile(keyFile, pair);
    const given = settings({ tls_cert_file: certFile, tls_key_file: keyFile });
    expect(await voiceTls(given, [])).toEqual({ tls: { certFile, keyFile }, caFile: null });
    const off = settings({ voice_tls: 'off', tls_cert_file: certFile });
    expect(await voiceTls(off, [])).toEqual({ tls: null, caFile: null });
  });

  it('are rejected without a matching certificate and key, and errors never quote a key', async () => {
    const { tls } = await voiceTls(settings(), []);
    const other = await voiceTls(settings({ data_dir: join(folder, 'other') }), []);
    const [mine, foreign] = [tls!.certFile, other.tls!.keyFile];
    const words = join(folder, 'words.pem');
    await writeFile(words, 'secret words');
    const refused = async (tls_cert_file: string | null, tls_key_file: string | null) =>
      voiceTls(settings({ tls_cert_file, tls_key_file }), []).then(
        () => 'accepted',
        (error: Error) => error.message,
      );
    expect(await refused(mine, null)).toContain('only one of them is set');
    expect(await refused(join(folder, 'none'), mine)).toMatch(/tls_cert_file: .*cannot be read/);
    expect(await refused(words, mine)).toContain('contains no PEM certificate');
    expect(await refused(mine, words)).toContain('is not the private key');
    const mismatch = await refused(mine, foreign);
    expect(mismatch).toContain('is not the private key');
    expect(mismatch).not.toContain('BEGIN');
  });
});

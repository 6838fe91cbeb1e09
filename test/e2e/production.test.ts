// Goal: what docs/deploy.md says for production runs as printed: its settings over PostgreSQL, and its nginx in front with TLS.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, expect, test } from 'vitest';
import WebSocket from 'ws';
import { freePort } from '../support/freeport.ts';
import { openDatabase, type TestDatabase } from '../support/postgres.ts';
import { ROOT } from '../support/source.ts';

const CLI = join(ROOT, 'dist/cli.js');
const NAME = 'chat.example.org';
const OP_HELLO = 10;
const OP_VOICE_HELLO = 8;
/** Where distributions put it, which is not on everybody's PATH. */
const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;
const NGINX = spawnSync('nginx', ['-v'], { env: { PATH } }).status === 0;

let database: TestDatabase | null = null;
let folder: string;
let port: number;
let started: {
  readonly api: string;
  readonly voice: { readonly endpoint: string };
  readonly admin: { readonly url: string };
};
const children: ChildProcess[] = [];

const block = async (language: string): Promise<string> => {
  const page = await readFile(join(ROOT, 'docs/deploy.md'), 'utf8');
  const chapter = page.slice(page.indexOf('## Settings for production'));
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(chapter)![1]!;
};

beforeAll(async () => {
  database = await openDatabase('readme_production');
  if (database === null) return;
  folder = await mkdtemp(join(tmpdir(), 'guildhall-production-'));
  port = await freePort();
  const settings = (await block('yaml'))
    .replace('postgres://guildhall:password@127.0.0.1/guildhall', database.url)
    .replace('/var/lib/guildhall', join(folder, 'data'))
    .replace(/^(token_secret|admin_token): #.*$/gm, (_, key) => `${key}: ${randomBytes(32).toString('hex')}`)
    // The one address that a test does not open.
    .replace('voice_host: 0.0.0.0', 'voice_host: 127.0.0.1');
  await writeFile(join(folder, 'guildhall.yaml'), settings);
  const free = ['admin_port', 'voice_port', 'voice_udp_port', 'voice_webrtc_port'];
  const set = [`listen_port=${port}`, ...free.map((key) => `${key}=0`)].flatMap((pair) => ['--set', pair]);
  const server = spawn(process.execPath, [CLI, 'start', '--json', ...set], {
    ...{ cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  children.push(server);
  const complaints: string[] = [];
  server.stderr!.on('data', (data) => complaints.push(String(data)));
  const [line] = await Promise.race([
    once(createInterface({ input: server.stdout! }), 'line'),
    once(server, 'exit').then(([code]) => Promise.reject(new Error(`${code}: ${complaints.join('')}`))),
  ]);
  started = JSON.parse(String(line));
  if ('error' in started) throw new Error(`The server did not start: ${line}`);
}, 120_000);
afterAll(async () => {
  for (const child of children.reverse()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  await database?.stop();
  if (folder) await rm(folder, { recursive: true });
});

test('the settings start a server that announces its public names, calls included', async (context) => {
  if (database === null) context.skip('there is no PostgreSQL here');
  expect(started.api).toBe(`https://${NAME}/api`);
  expect(started.voice.endpoint).toBe(`${NAME}/voice`);
  const gateway = await (await fetch(`http://127.0.0.1:${port}/api/v10/gateway`)).json();
  expect(gateway).toEqual({ url: `wss://${NAME}` });
});

test('the commands of docs/start.md find the admin token in the settings', async (context) => {
  if (database === null) context.skip('there is no PostgreSQL here');
  const argv = [CLI, 'user', 'create', 'ash', '--display', 'Ash', '--json', '--admin-url', started.admin.url];
  const made = spawnSync(process.execPath, argv, { cwd: folder, encoding: 'utf8' });
  expect([made.status, made.stderr]).toEqual([0, '']);
  expect(JSON.parse(made.stdout).user.username).toBe('ash');
});

test('nginx with the block of docs/deploy.md serves the API, the gateway and the voice gateway over TLS', async (context) => {
  if (database === null) context.skip('there is no PostgreSQL here');
  if (!NGINX) context.skip('nginx is not installed');
  const tlsPort = await freePort();
  const made = await generate([{ name: 'commonName', value: NAME }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: NAME }] }],
  });
  const files = { 'fullchain.pem': made.cert, 'privkey.pem': made.private };
  for (const [name, text] of Object.entries(files))
    await writeFile(join(folder, name), text, { mode: 0o600 });
  const site = (await block('nginx'))
    .replace('listen 443 ssl', `listen 127.0.0.1:${tlsPort} ssl`)
    .replaceAll(`/etc/letsencrypt/live/${NAME}/`, `${folder}/`)
    .replace('127.0.0.1:3000', `127.0.0.1:${port}`);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path ${folder}/${each};`,
  );
  const main = `daemon off;\npid ${folder}/nginx.pid;\nerror_log stderr;\nevents {}\n`;
  await writeFile(
    join(folder, 'nginx.conf'),
    `${main}http {\naccess_log off;\n${paths.join('\n')}\n${site}}\n`,
  );
  await chmod(folder, 0o755);
  const nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    ...{ stdio: ['ignore', 'ignore', 'inherit'], env: { PATH } },
  });
  children.push(nginx);

  const tls = { ca: made.cert, servername: NAME, headers: { host: NAME } };
  const status = () =>
    new Promise<number | undefined>((resolve) => {
      const request = get(
        { ...tls, host: '127.0.0.1', port: tlsPort, path: '/api/v10/gateway' },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      request.on('error', () => resolve(undefined));
    });
  await expect.poll(status, { timeout: 20_000 }).toBe(200);
  const greeting = async (path: string): Promise<number> => {
    const socket = new WebSocket(`wss://127.0.0.1:${tlsPort}${path}`, tls);
    const [text] = await once(socket, 'message');
    socket.terminate();
    return JSON.parse(String(text)).op;
  };
  expect(await greeting('/?v=10&encoding=json')).toBe(OP_HELLO);
  expect(await greeting('/voice?v=8')).toBe(OP_VOICE_HELLO);
}, 60_000);

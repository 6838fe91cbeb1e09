// `node scripts/walk.mjs [--dist <folder>] [--functions]`: lists the files and functions of the server that run for one
// message, from the REST request to its MESSAGE_CREATE, and for one join of a lobby, to its LOBBY_MEMBER_ADD.
// Each walk is repeated; what does not run every time, or also runs while nothing is asked, is not of the walk.
// Without --dist the modules of the sources are built one by one: the bundle of a build cannot tell them apart.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { binOf, ensureBuilt, ROOT } from './prepare.mjs';

const WARM_UPS = 30;
const ROUNDS = 10;
const IDLE_MS = 20;
const DISPATCH_TIMEOUT_MS = 60_000;

const { values } = parseArgs({
  options: {
    dist: { type: 'string' },
    functions: { type: 'boolean', default: false },
    set: { type: 'string', multiple: true, default: [] },
  },
});

// Coverage names modules by their real paths, so links of the file system are resolved.
const dist = realpathSync(values.dist === undefined ? buildModules() : resolve(values.dist));
const server = spawn(
  process.execPath,
  [
    ...[
      '--import',
      join(ROOT, 'scripts/walk.probe.mjs'),
      join(ROOT, 'scripts/walk.server.mjs'),
      'dev',
      '--json',
    ],
    ...['--port', '0', '--admin-port', '0', '--no-rate-limits', '--set', 'voice_port=0'],
    ...['--set', 'voice_udp_port=0', '--set', 'voice_webrtc_port=0'],
    ...values.set.flatMap((pair) => ['--set', pair]),
  ],
  { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], env: { ...process.env, WALK_DIST: dist } },
);

try {
  const [line] = await once(createInterface({ input: server.stdout }), 'line');
  const info = JSON.parse(line);
  show('create_message', await walkOfMessage(info));
  show('lobby join', await walkOfJoin(info));
} finally {
  server.disconnect();
  server.kill('SIGTERM');
}

/** The folder of a build whose entries are single modules. It lies in node_modules/, where packages are found. */
function buildModules() {
  ensureBuilt();
  const folder = join(ROOT, 'node_modules/.cache/walk');
  cpSync(join(ROOT, 'dist'), folder, { recursive: true });
  const args = [binOf('typescript', 'tsc'), '-p', 'tsconfig.build.json', '--outDir', folder];
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new Error('The modules could not be built; the lines above say why.');
  return folder;
}

async function walkOfMessage(info) {
  const bot = `Bot ${info.bot.token}`;
  const session = await connect(info, info.bot.token, 1 | 512 | 32_768);
  const path = `/channels/${info.guild.text_channel_id}/messages`;
  const send = async () => {
    const shown = session.next('MESSAGE_CREATE');
    await Promise.all([ask(info, 'POST', path, bot, { content: 'A message.' }), shown]);
  };
  const functions = await walk(send);
  session.close();
  return functions;
}

async function walkOfJoin(info) {
  const bot = `Bot ${info.bot.token}`;
  let players = 0;
  const player = async () => {
    const body = { external_user_id: `walk-${++players}` };
    return (await ask(info, 'POST', '/partner-sdk/token/bot', bot, body)).access_token;
  };
  const secret = `walk-${Date.now()}`;
  const put = (token) => ask(info, 'PUT', '/lobbies', `Bearer ${token}`, { secret });
  const host = await player();
  const session = await connect(info, host, 1 << 27);
  await put(host);
  const tokens = [];
  for (let made = 0; made < WARM_UPS + ROUNDS; made += 1) {
    tokens.push(await player());
    // A game's client reads its user first, so its token is known by then.
    await ask(info, 'GET', '/users/@me', `Bearer ${tokens.at(-1)}`);
  }
  const functions = await walk(async () => {
    const shown = session.next('LOBBY_MEMBER_ADD');
    await Promise.all([put(tokens.pop()), shown]);
  });
  session.close();
  return functions;
}

/** Functions that run every time `step` does, less those that run without it. */
async function walk(step) {
  for (let done = 0; done < WARM_UPS; done += 1) await step();
  const keyOf = ({ file, name, startOffset }) => `${file}\0${name}\0${startOffset}`;
  const counts = new Map();
  const idle = new Set();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const found of await between(() => pause(IDLE_MS))) idle.add(keyOf(found));
    for (const found of await between(step)) {
      const key = keyOf(found);
      counts.set(key, { ...found, rounds: (counts.get(key)?.rounds ?? 0) + 1 });
    }
  }
  return [...counts]
    .filter(([key, { rounds }]) => rounds === ROUNDS && !idle.has(key))
    .map(([, found]) => found);
}

async function between(step) {
  await command('begin');
  await step();
  return command('end');
}

async function command(name) {
  server.send(name);
  return (await once(server, 'message'))[0];
}

function show(name, functions) {
  const files = Map.groupBy?.(functions, ({ file }) => file) ?? groupBy(functions);
  if (files.size === 0)
    throw new Error(`No module of ${dist} ran for one ${name}: it is not the build of this server.`);
  process.stdout.write(`\n${name}: ${files.size} files, ${functions.length} functions\n`);
  for (const [file, found] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const names = found.map((each) => each.name || '(anonymous)').join(', ');
    process.stdout.write(values.functions ? `  ${file}: ${names}\n` : `  ${file}\n`);
  }
}

function groupBy(functions) {
  const files = new Map();
  for (const found of functions) files.set(found.file, [...(files.get(found.file) ?? []), found]);
  return files;
}

async function ask(info, method, path, authorization, body) {
  const response = await fetch(`${info.api}/v10${path}`, {
    method,
    headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

async function connect(info, token, intents) {
  const socket = new WebSocket(`${info.gateway}/?v=10&encoding=json`);
  const waiting = [];
  let seq = null;
  socket.on('message', (data) => {
    const { op, t, s } = JSON.parse(String(data));
    seq = s ?? seq;
    if (op === 10) {
      const properties = { os: 'linux', browser: 'walk', device: 'walk' };
      socket.send(JSON.stringify({ op: 2, d: { token, intents, properties } }));
    }
    const at = waiting.findIndex((each) => each.t === t);
    if (at >= 0) waiting.splice(at, 1)[0].resolve();
  });
  const next = (t) =>
    new Promise((resolve, reject) => {
      waiting.push({ t, resolve });
      setTimeout(() => reject(new Error(`No ${t} arrived.`)), DISPATCH_TIMEOUT_MS).unref();
    });
  await next('READY');
  await pause(500);
  return { next, close: () => socket.close() };
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

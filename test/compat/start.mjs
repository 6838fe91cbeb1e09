// Tries published clients, each against a server of its own, and writes the table of docs/compatibility.md.
//
//   npm run build && npm run compat                       all of them
//   npm run compat -- --only 'eris 0.18,seyfert 5.1'      some; the table is printed and the page left alone
//   npm run compat -- --packages <folder>                 keeps what was installed for the next run
//   npm run compat -- --at-once 2                         so many at a time; each has 60 seconds all the same
//
// Packages come from the npm registry and into a temporary folder; apart from that nothing leaves this machine.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CLIENTS } from './clients.mjs';
import { startServer } from './server.mjs';
import { pageWith, rowOf } from './table.mjs';
import { tryClient } from './try.mjs';

const PAGE = join(import.meta.dirname, '../../docs/compatibility.md');
const INSTALL_MS = 240_000;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    packages: { type: 'string' },
    'at-once': { type: 'string', default: '1' },
  },
});
const names = values.only?.split(',').map((name) => name.trim()) ?? null;
const chosen = CLIENTS.filter(({ name }) => names === null || names.includes(name));

/** @returns why a client cannot be tried; null: it is installed. */
async function install({ name, packages }, folder) {
  if (packages.length === 0) {
    const { status } = spawnSync('/usr/bin/python3', ['-c', 'import discord']);
    await mkdir(folder, { recursive: true });
    return status === 0 ? null : 'not tried: there is no python3-discord';
  }
  if (existsSync(join(folder, 'node_modules'))) return null;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  // Scripts of packages are not run: what they build is not needed.
  const flags = ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages];
  const { status, stderr } = spawnSync('npm', flags, { cwd: folder, encoding: 'utf8', timeout: INSTALL_MS });
  if (status === 0) return null;
  await rm(join(folder, 'node_modules'), { recursive: true, force: true });
  return `not tried: ${name} could not be installed (${stderr.split('\n')[0]})`;
}

const base = values.packages ? resolve(values.packages) : await mkdtemp(join(tmpdir(), 'guildhall-compat-'));
const rows = new Map();
const waiting = [...chosen];

/** One server for those that it tries, one after the other, each with a bot of its own. */
async function tryAll() {
  const server = await startServer(chosen.length);
  try {
    for (let client = waiting.shift(); client !== undefined; client = waiting.shift()) {
      const folder = join(base, client.name.replace(/[^a-z0-9.]+/gi, '-'));
      const missing = await install(client, folder);
      const none = {
        ready: false,
        guild: false,
        answer: false,
        again: false,
        voice: null,
        log: [],
        errors: [],
      };
      const account = server.info.bots[chosen.indexOf(client)];
      const tried = missing ?? (await tryClient(client, folder, server, account));
      const found = typeof tried === 'string' ? { ...none, notes: [tried] } : tried;
      const row = rowOf(client, found);
      rows.set(client, row);
      console.log(row.join(' | '));
      if (names !== null) for (const line of [...found.log, ...found.errors]) console.log(`    ${line}`);
    }
  } finally {
    await server.stop();
  }
}

try {
  await Promise.all(Array.from({ length: Number(values['at-once']) }, tryAll));
} finally {
  if (!values.packages) await rm(base, { recursive: true, force: true });
}
if (names === null)
  await writeFile(
    PAGE,
    pageWith(
      await readFile(PAGE, 'utf8'),
      chosen.map((client) => rows.get(client)),
    ),
  );

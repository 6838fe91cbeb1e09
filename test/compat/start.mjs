// Tries published clients against a fresh server, and writes the table of docs/compatibility.md.
//
//   npm run build && npm run compat                       all of them
//   npm run compat -- --only 'eris 0.18,seyfert 5.1'      some; the table is printed and the page left alone
//   npm run compat -- --packages <folder>                 keeps what was installed for the next run
//   npm run compat -- --at-once 2                         so many at a time, each with a server of its own
//
// Guarantee: no client reaches anything but the server, whatever address it believes in. First npm installs all
// packages, without running their scripts; only this step leaves the machine. Then inside.mjs, the server and
// every bot run in a network namespace of their own (`unshare --net`): its only interface is loopback and it has no route,
// so a connection to any other address fails in the kernel. inside.mjs reads the kernel's tables first and starts nothing
// unless that is so; there is no option to run without. Names are asked of a resolver inside that knows none and notes
// them: a client that asks for another host is told so in its row. Needs Linux, and iproute2, util-linux and openssl;
// without root it also needs user namespaces.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { CLIENTS } from './clients.mjs';
import { isolatedCommand } from './isolated.mjs';
import { pageWith } from './table.mjs';

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
const lists = await mkdtemp(join(tmpdir(), 'guildhall-compat-lists-'));
const rows = new Map();

/** Tries some clients in a namespace, and takes their rows. */
async function tryAll(clients, index) {
  const listFile = join(lists, `${index}.json`);
  const resolvFile = join(lists, 'resolv.conf');
  await writeFile(listFile, JSON.stringify({ shows: names !== null, clients }));
  await writeFile(resolvFile, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n');
  const inside = [process.execPath, join(import.meta.dirname, 'inside.mjs'), listFile];
  const [program, ...args] = isolatedCommand(resolvFile, inside);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { name, row } = JSON.parse(line);
    rows.set(name, row);
    console.log(row.join(' | '));
  });
  const [status] = await exit;
  if (status !== 0) throw new Error(`The trial in a namespace ended with status ${status}.`);
}

try {
  const clients = [];
  for (const client of chosen) {
    const folder = join(base, client.name.replace(/[^a-z0-9.]+/gi, '-'));
    clients.push({ name: client.name, folder, missing: await install(client, folder) });
  }
  const shares = Array.from({ length: Number(values['at-once']) }, (_, index) =>
    clients.filter((_client, at) => at % Number(values['at-once']) === index),
  );
  await Promise.all(shares.filter((share) => share.length > 0).map(tryAll));
  if (names === null) {
    const page = await readFile(PAGE, 'utf8');
    await writeFile(
      PAGE,
      pageWith(
        page,
        chosen.map(({ name }) => rows.get(name)),
      ),
    );
  }
} finally {
  await rm(lists, { recursive: true, force: true });
  if (!values.packages) await rm(base, { recursive: true, force: true });
}

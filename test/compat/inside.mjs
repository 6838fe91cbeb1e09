// Tries the clients of a list in a network of its own: started by start.mjs, never by hand. `node inside.mjs <list>`; the list
// is JSON, `{ base, shows, clients: [{ name, folder, missing }] }`. A line of JSON is printed for each client.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLIENTS } from './clients.mjs';
import { openNames, refuseUnlessIsolated } from './isolated.mjs';
import { startServer } from './server.mjs';
import { rowOf } from './table.mjs';
import { tryClient } from './try.mjs';

await refuseUnlessIsolated();
const list = JSON.parse(await readFile(process.argv[2], 'utf8'));
const names = await openNames();
const scratch = await mkdtemp(join(tmpdir(), 'guildhall-compat-run-'));
const clients = list.clients.map((one) => ({
  ...one,
  client: CLIENTS.find(({ name }) => name === one.name),
}));
const NONE = { ready: false, guild: false, answer: false, again: false, offline: null };
Object.assign(NONE, { command: null, button: null, voice: null });

async function tryOne({ client, folder, missing }, server, account) {
  const before = names.asked.length;
  const tried = missing ? { ...NONE, notes: [missing], log: [], errors: [], said: [] } : null;
  const found = tried ?? (await tryClient(client, folder, server, account));
  const asked = new Set(names.asked.slice(before));
  if (asked.size > 0) found.notes.push(`asked for ${[...asked].join(', ')}, in vain`);
  console.log(JSON.stringify({ name: client.name, row: rowOf(client, found) }));
  for (const line of list.shows ? [...found.log, ...found.errors, ...found.said] : [])
    console.error(`    ${line}`);
}

/** One server for those that need it in the same way, one client after the other, each with a bot of its own. */
async function tryAll(some, isTls) {
  if (some.length === 0) return;
  const server = await startServer(some.length, scratch, isTls);
  try {
    for (const [index, one] of some.entries()) await tryOne(one, server, server.info.bots[index]);
  } finally {
    await server.stop();
  }
}

try {
  await tryAll(
    clients.filter(({ client }) => !client.tls),
    false,
  );
  await tryAll(
    clients.filter(({ client }) => client.tls),
    true,
  );
} finally {
  names.close();
  await rm(scratch, { recursive: true, force: true });
}

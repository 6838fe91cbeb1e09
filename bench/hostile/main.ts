import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type SpawnedServer, spawnServer } from '../gateway/spawn.ts';
import { usageOf } from '../wire/process.ts';
import { LOADS, type Load } from './loads.ts';

/** Calls that the server answers meanwhile: a bot's calls at fixed times, and uploads. */
const CALLS_PER_SECOND = 50;
const UPLOAD_BYTES = 1 << 20;
const PROBE_WAIT_MS = 20_000;

interface Delays {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

interface LoadResult extends Delays {
  readonly load: string;
  /** Number of requests or connections of the load. */
  readonly count: number;
  readonly uploads: number;
  readonly uploadsFailed: number;
  readonly rssMiB: number;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '8' },
      cli: { type: 'string' },
      json: { type: 'boolean' },
    },
  });
  const cli = values.cli ?? fileURLToPath(new URL('../../cli.js', import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-hostile-'));
  const probeFile = join(folder, 'delays.json');
  process.env.BENCH_PROBE_FILE = probeFile;
  const probe = new URL('./probe.js', import.meta.url).href;
  const server = await spawnServer(process.execPath, [
    ...['--import', probe, cli, 'dev', '--json', '--port', '0', '--no-rate-limits', '--bots', '3'],
  ]);
  const rows: LoadResult[] = [];
  try {
    for (const [name, load] of Object.entries(LOADS)) {
      await delaysOf(server, probeFile);
      rows.push(await measured(name, load, server, probeFile, Number(values.seconds) * 1000));
      process.stderr.write(`${name}: done\n`);
      await delay(1000);
    }
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
  process.stdout.write(`${values.json ? JSON.stringify(rows) : tableOf(rows)}\n`);
}

async function measured(
  name: string,
  load: Load,
  server: SpawnedServer,
  probeFile: string,
  forMs: number,
): Promise<LoadResult> {
  const until = performance.now() + forMs;
  const [count, , uploads, rssMiB] = await Promise.all([
    load(server, until),
    bystander(server, until),
    uploader(server, until),
    peakOf(server, until),
  ]);
  const delays = await delaysOf(server, probeFile);
  return { load: name, count, ...delays, ...uploads, rssMiB };
}

/** Calls at a fixed rate, whether or not earlier calls were answered. */
async function bystander(server: SpawnedServer, until: number): Promise<void> {
  const headers = { authorization: `Bot ${server.tokens[0]}` };
  const call = async () => {
    await (await fetch(`${server.api}/v10/users/@me`, { headers })).arrayBuffer();
  };
  for (let dueMs = performance.now(); dueMs < until; dueMs += 1000 / CALLS_PER_SECOND) {
    await delay(Math.max(0, dueMs - performance.now()));
    call().catch(() => {});
  }
}

async function uploader(server: SpawnedServer, until: number) {
  let uploads = 0;
  let uploadsFailed = 0;
  while (performance.now() < until) {
    const form = new FormData();
    form.set('files[0]', new Blob([new Uint8Array(UPLOAD_BYTES)]), 'a.bin');
    const url = `${server.api}/v10/channels/${server.channelId}/messages`;
    const headers = { authorization: `Bot ${server.tokens[2]}` };
    const response = await fetch(url, { method: 'POST', headers, body: form }).catch(() => null);
    await response?.arrayBuffer().catch(() => null);
    uploads += 1;
    if (response?.status !== 200) uploadsFailed += 1;
    await delay(1000);
  }
  return { uploads, uploadsFailed };
}

async function peakOf(server: SpawnedServer, until: number): Promise<number> {
  let peak = 0;
  while (performance.now() < until) {
    peak = Math.max(peak, usageOf(server.pid)?.rssBytes ?? 0);
    await delay(200);
  }
  return peak / (1 << 20);
}

/** Reads the server's probe, and resets it. */
async function delaysOf(server: SpawnedServer, probeFile: string): Promise<Delays> {
  rmSync(probeFile, { force: true });
  process.kill(server.pid, 'SIGUSR2');
  for (let waitedMs = 0; waitedMs < PROBE_WAIT_MS; waitedMs += 50) {
    await delay(50);
    try {
      return JSON.parse(readFileSync(probeFile, 'utf8')) as Delays;
    } catch {
      // The file is missing or incomplete: try again.
    }
  }
  throw new Error('The probe in the server does not answer.');
}

function tableOf(rows: readonly LoadResult[]): string {
  const head = '| load | requests | delay p50 ms | p99 ms | max ms | uploads failed | RSS MiB |';
  const lines = rows.map(
    ({ load, count, p50, p99, max, uploads, uploadsFailed, rssMiB }) =>
      `| ${load} | ${count} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${max.toFixed(1)} ` +
      `| ${uploadsFailed} of ${uploads} | ${rssMiB.toFixed(0)} |`,
  );
  return [head, '| --- | --- | --- | --- | --- | --- | --- |', ...lines].join('\n');
}

await main();

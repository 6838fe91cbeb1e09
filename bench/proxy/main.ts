// The proxy of activities beside a bare proxy of uWebSockets.js and undici, and nginx: CPU of the proxy's own process for each request.
// `npm run bench:proxy -- --seconds 10 --connections 64 --bytes 1024`; nginx is left out where it is not installed.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, promisify } from 'node:util';
import { securityHeaders } from '../../transports/activities/headers.ts';
import { APPLICATION, serve } from './roles.ts';

const { values } = parseArgs({
  options: {
    role: { type: 'string' },
    target: { type: 'string', default: '0' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    bytes: { type: 'string', default: '1024' },
  },
});
const [SECONDS, ROUNDS, CONNECTIONS, BYTES] = [
  Number(values.seconds),
  Number(values.rounds),
  Number(values.connections),
  Number(values.bytes),
];
const WARM_SECONDS = 5;
const run = promisify(execFile);

interface Contender {
  readonly name: string;
  readonly port: number;
  /** Processes whose CPU counts. */
  readonly pids: readonly number[];
}

const children: ChildProcess[] = [];

/** Starts this file in another role. @returns its port */
async function start(role: string, target = 0): Promise<{ readonly port: number; readonly pid: number }> {
  const args = ['--role', role, '--target', String(target), '--bytes', String(BYTES)];
  const child = spawn(process.execPath, [import.meta.filename, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { port: Number(line), pid: child.pid ?? 0 };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** The headers that the proxy of activities adds to each answer, for nginx to add too. */
const nginxHeaders = (): string =>
  Object.entries(
    securityHeaders({ self: new URL('http://localhost'), server: 'http://127.0.0.1:1', embedders: [] }),
  )
    .map(([name, value]) => `add_header ${name} "${value}";`)
    .join(' ');

/** One worker, with connections to the target that are kept. */
async function startNginx(folder: string, target: number): Promise<Contender | null> {
  const port = await freePort();
  const path = join(folder, 'nginx.conf');
  const text = `daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 1000000;
  client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
  uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  upstream target { server 127.0.0.1:${target}; keepalive 256; keepalive_requests 1000000; }
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://target; proxy_http_version 1.1; proxy_set_header Connection "";
    ${nginxHeaders()} } } }`;
  await writeFile(path, text);
  const child = spawn('nginx', ['-c', path, '-p', folder], { stdio: ['ignore', 'ignore', 'inherit'] });
  const isAbsent = await Promise.race([
    once(child, 'spawn').then(() => false),
    once(child, 'error').then(() => true),
  ]);
  if (isAbsent) return null;
  children.push(child);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const { stdout } = await run('pgrep', ['-P', String(child.pid)]);
  return { name: 'nginx', port, pids: stdout.trim().split('\n').map(Number) };
}

/** CPU time of processes with all their threads, in microseconds. */
async function cpuUs(pids: readonly number[]): Promise<number> {
  const times = await Promise.all(
    pids.map(async (pid) => {
      const threads = await readdir(`/proc/${pid}/task`);
      const texts = await Promise.all(
        threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')),
      );
      return texts.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0);
    }),
  );
  return times.reduce((sum, each) => sum + each, 0) / 1_000;
}

/** Connections that send their next request when the last one is answered. @returns how many were answered */
async function load(port: number, seconds: number): Promise<number> {
  const request = `GET /asset.js HTTP/1.1\r\nHost: ${APPLICATION}.localhost:${port}\r\n\r\n`;
  let [answered, isOver] = [0, false];
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(request));
      let [head, left] = ['', -1];
      socket.setNoDelay(true);
      socket.on('error', reject);
      socket.on('data', (bytes: Buffer) => {
        if (left < 0) {
          head += bytes.toString('latin1');
          const end = head.indexOf('\r\n\r\n');
          if (end < 0) return;
          if (!head.startsWith('HTTP/1.1 200')) return reject(new Error(head.slice(0, 200)));
          left = BYTES - (head.length - end - 4);
          head = '';
        } else left -= bytes.length;
        if (left > 0) return;
        left = -1;
        answered += 1;
        if (!isOver) socket.write(request);
        else socket.end(() => resolve());
      });
    });
  const all = Promise.all(Array.from({ length: CONNECTIONS }, one));
  setTimeout(() => {
    isOver = true;
  }, seconds * 1_000);
  await all;
  return answered;
}

const medianOf = (all: readonly number[]): number =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;

/** The median with the least and the most. */
const spread = (all: readonly number[], digits: number): string =>
  [medianOf(all), Math.min(...all), Math.max(...all)]
    .map((each) => each.toFixed(digits))
    .join(' · ')
    .replace(/ · (.*) · (.*)/, ' ($1–$2)');

async function compare(folder: string): Promise<void> {
  const target = await start('target');
  const [guildhall, bare] = [await start('guildhall', target.port), await start('uws', target.port)];
  const contenders: (Contender | null)[] = [
    { name: 'guildhall', port: guildhall.port, pids: [guildhall.pid] },
    { name: 'uWebSockets.js and undici, bare', port: bare.port, pids: [bare.pid] },
    await startNginx(folder, target.port),
  ];
  console.log(`${BYTES} bytes, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s, median:`);
  console.log(
    '| proxy | requests/s | CPU of the proxy, µs a request | beside nginx |\n| --- | --- | --- | --- |',
  );
  const measured: Measured[] = contenders.flatMap((each) =>
    each ? [{ ...each, rates: [], costs: [] }] : [],
  );
  for (const { port } of measured) await load(port, WARM_SECONDS);
  // In turns: other work of the machine then concerns all of them.
  for (let round = 0; round < ROUNDS; round += 1)
    for (const { port, pids, rates, costs } of measured) {
      const before = await cpuUs(pids);
      const answered = await load(port, SECONDS);
      rates.push(answered / SECONDS);
      costs.push(((await cpuUs(pids)) - before) / answered);
    }
  const nginx = measured.find(({ name }) => name === 'nginx');
  for (const { name, rates, costs } of measured) {
    const ratios = costs.map((cost, round) => cost / (nginx?.costs[round] ?? Number.NaN));
    console.log(`| ${name} | ${medianOf(rates).toFixed(0)} | ${spread(costs, 1)} | ${spread(ratios, 2)} |`);
  }
  console.log(
    `Load of the machine: ${loadavg()
      .map((each) => each.toFixed(1))
      .join(' ')}`,
  );
}

interface Measured extends Contender {
  readonly rates: number[];
  readonly costs: number[];
}

if (values.role !== undefined) {
  console.log(await serve(values.role, Number(values.target), BYTES));
} else {
  const folder = await mkdtemp(join(tmpdir(), 'bench-proxy-'));
  try {
    await compare(folder);
  } finally {
    for (const child of children) child.kill('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  }
}

import { X509Certificate } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { access, constants, readFile, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { isRecord } from '../protocol/json.ts';
import { codeOf, messageOf } from '../protocol/thrown.ts';
import { openFilesMax } from '../transports/http/openfiles.ts';
import { collect } from './flags.ts';
import { publicProblems, publicWarnings } from './opening.ts';
import { CONFIG_FILE, DATA_DIR, readSettings } from './settings.ts';
import type { World } from './world.ts';

/** One examined condition: what was found and, unless it is `ok`, what to do. */
interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly found: string;
  readonly advice: string | null;
}

interface DoctorFlags {
  readonly config?: string;
  readonly data?: string;
  readonly set: readonly string[];
  readonly json?: true;
}

const ok = (check: string, found: string): Finding => ({ check, state: 'ok', found, advice: null });
const bad =
  (state: 'warning' | 'problem') =>
  (check: string, found: string, advice: string): Finding => ({ check, state, found, advice });
const warning = bad('warning');
const problem = bad('problem');

/** Adds `doctor`. `done` gets the exit code: 1 when something keeps the server from working. */
export function addDoctorCommand(program: Command, world: World, done: (code: number) => void): void {
  program
    .command('doctor')
    .description('examine this machine and the settings: what is wrong, and what to do')
    .option('--config <file>', `settings file (default: ${CONFIG_FILE} when there is one)`)
    .option('--data <dir>', `data directory of the server (default: ${DATA_DIR})`)
    .option('--set <key=value>', 'any setting; may be given many times', collect, [])
    .option('--json', 'as one JSON line')
    .action(async (flags: DoctorFlags) => {
      const findings = await examine(world, flags);
      const problems = findings.filter(({ state }) => state === 'problem').length;
      if (flags.json) world.out(JSON.stringify({ problems, findings }));
      else for (const line of report(findings, problems)) world.out(line);
      done(problems === 0 ? 0 : 1);
    });
}

const SIGN = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' } as const;

const report = (findings: readonly Finding[], problems: number): string[] => [
  ...findings.flatMap(({ check, state, found, advice }) => [
    `${SIGN[state]}  ${check.padEnd(12)}  ${found}`,
    ...(advice === null ? [] : [`${' '.repeat(23)}${advice}`]),
  ]),
  problems === 0 ? 'Nothing keeps the server from working. Next: guildhall start' : `${problems} to solve.`,
];

async function examine(world: World, flags: DoctorFlags): Promise<readonly Finding[]> {
  const read = await readSettings(world, {
    file: flags.config ?? null,
    flags: [{ key: 'data_dir', flag: '--data', value: flags.data }],
    set: flags.set,
  });
  const config = { ...read, data_dir: resolve(world.cwd, read.data_dir ?? DATA_DIR) };
  const groups = await Promise.all([
    [nodeVersion(process.versions.node), glibcVersion(glibcOf()), openFiles()],
    opening(config),
    [await dataDirectory(config.data_dir), await diskSpace(config.data_dir)],
    database(config),
    tls(world, config),
    [...(await ports(world, config)), await udp(config)],
    proxy(config),
  ]);
  return groups.flat();
}

/** The Node versions for which the native WebSocket server has a build. */
export function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    return problem('node', version, 'Install Node 20.19 or newer; 22 and 24 are recommended.');
  if (major % 2 === 1) return warning('node', version, 'Use an even version, which is maintained for years.');
  return ok('node', version);
}

function glibcOf(): string | null {
  const report: unknown = process.report.getReport();
  const header = isRecord(report) ? report.header : null;
  const version = isRecord(header) ? header.glibcVersionRuntime : null;
  return typeof version === 'string' ? version : null;
}

/** The native WebSocket server of Node 22 and 24 needs glibc 2.38, that of Node 20 glibc 2.27. */
export function glibcVersion(version: string | null, node = process.versions.node): Finding {
  if (version === null)
    return warning('glibc', 'none', 'Musl is not supported: use an image based on Debian.');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const wanted = Number(node.split('.')[0]) >= 22 ? 38 : 27;
  if (major > 2 || minor >= wanted) return ok('glibc', version);
  return problem('glibc', version, `This Node needs glibc 2.${wanted}: use a newer system, or Node 20.`);
}

const OPEN_FILES_MIN = 4096;

/** Each connection needs an open file. */
function openFiles(): Finding {
  const most = openFilesMax();
  if (!Number.isFinite(most)) return ok('open files', 'no limit, or none that this system shows');
  const soft = String(most);
  if (most >= OPEN_FILES_MIN) return ok('open files', soft);
  const advice = `Fewer than ${soft} connections: raise it with LimitNOFILE= of systemd, or ulimit -n.`;
  return warning('open files', soft, advice);
}

function opening(config: Config): Finding[] {
  const problems = publicProblems(config).map((text) => {
    const [found = '', ...more] = text.split('\n');
    return problem('settings', found, more.join(' ').trim() || 'Set it in guildhall.yaml.');
  });
  const warnings = publicWarnings(config).map((text) =>
    warning('settings', text, 'See docs/configuration.md.'),
  );
  const found = [...problems, ...warnings];
  return found.length > 0 ? found : [ok('settings', 'complete')];
}

/** The directory, or the nearest existing parent, must be writable. */
async function dataDirectory(directory: string): Promise<Finding> {
  for (let path = directory; ; path = dirname(path)) {
    const refused = await access(path, constants.R_OK | constants.W_OK | constants.X_OK).catch(
      (error: unknown) => error,
    );
    if (refused === undefined)
      return ok('data', path === directory ? directory : `${directory} will be created`);
    if (codeOf(refused) === 'ENOENT' && path !== dirname(path)) continue;
    const advice =
      'Let the user of the server write there, or name another directory with data_dir or --data.';
    return problem('data', `${path}: ${messageOf(refused)}`, advice);
  }
}

const FREE_BYTES_MIN = 1 << 30;

async function diskSpace(directory: string): Promise<Finding> {
  for (let path = directory; ; path = dirname(path)) {
    const found = await statfs(path).catch(() => null);
    if (found === null && path !== dirname(path)) continue;
    if (found === null) return ok('disk', 'not known on this system');
    const free = found.bavail * found.bsize;
    const text = `${(free / 2 ** 30).toFixed(1)} GiB free`;
    if (free >= FREE_BYTES_MIN) return ok('disk', text);
    return warning('disk', text, 'Free disk space, or move data_dir: a full disk stops every write.');
  }
}

/** Clocks of server and database may differ by this much before ids and times look wrong. */
const CLOCK_MS = 2000;

async function database({ database_url: databaseUrl }: Config): Promise<Finding[]> {
  if (databaseUrl === null) return [ok('database', 'embedded, in the data directory')];
  const { examineDatabase } = await import('../maintenance.ts');
  try {
    const { major, schema, newest, aheadMs } = await examineDatabase(databaseUrl);
    const behind = Math.round(aheadMs);
    return [
      major >= 15
        ? ok('database', `PostgreSQL ${major}, schema ${schema ?? 'empty'}`)
        : problem('database', `PostgreSQL ${major}`, 'Upgrade to PostgreSQL 15 or newer.'),
      ...((schema ?? 0) > newest
        ? [problem('schema', `${schema}, this program knows ${newest}`, 'Start a newer program.')]
        : []),
      Math.abs(aheadMs) <= CLOCK_MS
        ? ok('clock', `${Math.abs(behind)} ms from that of the database`)
        : warning('clock', `${behind} ms behind that of the database`, 'Synchronize both with NTP.'),
    ];
  } catch (error) {
    return [problem('database', messageOf(error), 'Check that PostgreSQL runs and what database_url names.')];
  }
}

const DAY_MS = 86_400_000;
const EXPIRES_SOON_DAYS = 14;

async function tls(world: World, config: Config): Promise<Finding[]> {
  const { tls_cert_file: certificate, tls_key_file: key } = config;
  if (certificate === null || key === null) return [];
  const advice = 'Set tls_cert_file and tls_key_file to PEM files that this user can read.';
  try {
    const parsed = new X509Certificate(await readFile(resolve(world.cwd, certificate)));
    await access(resolve(world.cwd, key), constants.R_OK);
    const days = Math.floor((Date.parse(parsed.validTo) - Date.now()) / DAY_MS);
    const found = `${parsed.subject.replaceAll('\n', ' ')}, ${days} days left`;
    if (days < 0) return [problem('certificate', found, 'It has expired: renew it and restart the server.')];
    if (days < EXPIRES_SOON_DAYS) return [warning('certificate', found, 'Renew it soon.')];
    return [ok('certificate', found)];
  } catch (error) {
    return [problem('certificate', messageOf(error), advice)];
  }
}

/** A range or list of ports as Linux shows it, such as `32768 60999` or `3000,3020-3030`. */
const portRange = (text: string): ((port: number) => boolean) => {
  const ranges = text
    .trim()
    .split(',')
    .map((range) => range.split(/[\s-]+/).map(Number));
  return (port) => ranges.some(([first = 0, last = first]) => port >= first && port <= last);
};

/**
 * The ports that the system may give to an outgoing connection, for instance to the database: a server that starts then cannot open them.
 *
 * @param range    `net.ipv4.ip_local_port_range`; null where the system does not show it.
 * @param reserved `net.ipv4.ip_local_reserved_ports`: the exceptions.
 */
export function portsOfConnections(
  wanted: readonly number[],
  range: string | null,
  reserved: string | null,
): Finding[] {
  if (range === null) return [];
  const [isGiven, isReserved] = [portRange(range), portRange(reserved ?? '')];
  const taken = wanted.filter((port) => isGiven(port) && !isReserved(port));
  if (taken.length === 0) return [];
  const found = `${taken.join(', ')} may be taken by outgoing connections of this machine`;
  const [first] = range.trim().split(/\s+/);
  const advice = `Use ports below ${first}, or reserve them: sysctl net.ipv4.ip_local_reserved_ports=${taken.join(',')}`;
  return [warning('ports', found, advice)];
}

const PORT_SETTINGS = '/proc/sys/net/ipv4';

async function ports(world: World, config: Config): Promise<Finding[]> {
  const wanted = [
    { key: 'listen_port', host: config.listen_host, port: config.listen_port },
    { key: 'admin_port', host: config.admin_host, port: config.admin_port },
    ...(config.voice
      ? [{ key: 'voice_port', host: config.voice_host, port: config.voice_port } as const]
      : []),
  ] as const;
  const numbers = wanted.map(({ port }) => port);
  const shown = (name: string) => readFile(`${PORT_SETTINGS}/${name}`, 'utf8').catch(() => null);
  const [range, reserved] = [await shown('ip_local_port_range'), await shown('ip_local_reserved_ports')];
  const shared = portsOfConnections(numbers, range, reserved);
  const refused = await world.refusedPorts(wanted.filter(({ port }) => port !== 0));
  if (refused.length === 0) return shared.length > 0 ? shared : [ok('ports', numbers.join(', '))];
  const found = refused.map(({ key, port, code }) => `${key} ${port}: ${code}`).join(', ');
  const advice =
    'If this server already runs, that is right; else stop the other program or set another port.';
  return [...shared, warning('ports', found, advice)];
}

const UDP_TIMEOUT_MS = 1000;

/** Sends a packet to a socket of this machine at the voice address: a local firewall shows here, one outside does not. */
async function udp(config: Config): Promise<Finding> {
  if (!config.voice) return ok('udp', 'calls are off');
  const host = config.voice_host === '0.0.0.0' ? '127.0.0.1' : config.voice_host;
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  try {
    socket.bind(0, host);
    await once(socket, 'listening');
    const arrived = once(socket, 'message', { signal: AbortSignal.timeout(UDP_TIMEOUT_MS) });
    socket.send('guildhall', socket.address().port, host);
    await arrived;
    return ok(
      'udp',
      `arrives at ${host}; open UDP ${config.voice_udp_port} and ${config.voice_webrtc_port} in firewalls outside this machine`,
    );
  } catch (error) {
    const advice = `Let UDP in on ${host}, or set voice_host to an address of this machine.`;
    return problem('udp', `does not arrive at ${host}: ${messageOf(error)}`, advice);
  } finally {
    socket.close();
  }
}

const PROXY_TIMEOUT_MS = 5000;

/** Calls the server through its public URL, if it has one. */
async function proxy({ public_url: url, trust_proxy: trusts }: Config): Promise<Finding[]> {
  if (url === null) return [];
  const target = `${url.replace(/\/+$/, '')}/api/v10/gateway`;
  try {
    const response = await fetch(target, {
      signal: AbortSignal.timeout(PROXY_TIMEOUT_MS),
      redirect: 'manual',
    });
    const body: unknown = await response.json();
    if (!response.ok || !isRecord(body) || typeof body.url !== 'string')
      throw new Error(`it answered ${response.status}`);
    if (trusts) return [ok('proxy', `${target} answers with ${body.url}`)];
    const advice = 'Behind a proxy set trust_proxy to true, or all clients count as one address.';
    return [warning('proxy', `${target} answers, trust_proxy is off`, advice)];
  } catch (error) {
    const advice = 'If the server runs: let the proxy pass /api and WebSockets on / to listen_port.';
    return [warning('proxy', `${target} does not answer: ${messageOf(error)}`, advice)];
  }
}

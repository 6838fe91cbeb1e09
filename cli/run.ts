import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { movableClock } from '../actors/runtime/clock.ts';
import { type Config, DEFAULTS, publicSettings } from '../config/config.ts';
import type { Addresses } from '../embedding.ts';
import { CONTRACT_DATES } from '../protocol/dates.ts';
import { present } from '../protocol/present.ts';
import { RECORDING_VERSION } from '../protocol/recording.ts';
import { adminTokenFile, keptAdminToken, newAdminToken } from './admintoken.ts';
import {
  type DevReport,
  devBanner,
  devJson,
  type ShardPid,
  shardLine,
  voiceJson,
  voiceLines,
} from './banner.ts';
import { type Demo, keptDemo, seedDemo } from './demo.ts';
import { collect, wholeFrom } from './flags.ts';
import { runGuide } from './guide.ts';
import { publicProblems, publicWarnings } from './opening.ts';
import { playgroundLink } from './playground.ts';
import { type MovedPort, withFreePorts } from './ports.ts';
import { openRecording } from './recording.ts';
import { type RpcServer, serveRpc } from './rpc.ts';
import { readScenario } from './scenario.ts';
import { type Serving, serve } from './serve.ts';
import { CONFIG_FILE, DATA_DIR, type FlagSetting, namedSettings, readSettings } from './settings.ts';
import { shardConfigs } from './shards.ts';
import { supervise } from './supervise.ts';
import { CommandError, printResult, type World } from './world.ts';

const BOTS_MAX = 1000;
const SHARDS_MAX = 64;
const PORT_MAX = 65_535;
/** Distances of `dev`'s other ports from the first, as in the defaults. */
const PORTS_BESIDE = { admin_port: 1, voice_port: 2, voice_udp_port: 2, voice_webrtc_port: 22 } as const;

interface CommonFlags {
  readonly port?: string;
  readonly adminPort?: string;
  readonly data?: string;
  readonly logLevel?: string;
  readonly publicUrl?: string;
  readonly set: readonly string[];
  readonly json?: true;
  /** Number of shard processes; without it a single process without a supervisor. */
  readonly shards?: number;
}

interface DevFlags extends CommonFlags {
  readonly chaos?: string;
  readonly record?: string;
  readonly date?: string;
  readonly voiceAddress?: string;
  readonly bots: number;
  readonly rpc?: true;
  readonly rateLimits: boolean;
  /** Whether the built-in bot lives in the demo guild; by default for people, and not for tools (`--json`). */
  readonly guide?: boolean;
}

interface StartFlags extends CommonFlags {
  readonly config?: string;
  readonly host?: string;
}

/** Adds `dev` and `start`. `done` gets the exit code. */
export function addRunCommands(program: Command, world: World, done: (code: number) => void): void {
  const dev = program
    .command('dev')
    .description('a server to try things on, with a demo guild, a bot and two users');
  dev.option('--bots <n>', 'applications with a bot each', wholeFrom(1, BOTS_MAX), 1);
  dev.option('--no-rate-limits', 'no limits on requests and identifies');
  dev.option('--guide', 'the built-in bot that answers /hello in the demo guild (default without --json)');
  dev.option('--no-guide', 'no built-in bot');
  dev.option(
    '--voice-address <address>',
    "where browsers send calls to, for Firefox: auto is this machine's network address; opens that UDP port",
  );
  dev.option(
    '--date <date>',
    'the day whose rules of the protocol apply, such as 2026-02-22 (default: today)',
  );
  dev.option('--rpc', 'also what `guildhall rpc` does, for the first demo user');
  dev.option('--chaos <file>', 'inject the failures of a scenario file (YAML) into API, gateway and calls');
  dev.option('--record <file>', 'write every input and its answer, without secrets, for `guildhall replay`');
  dev.option('--port <n>', 'port of API and gateway; 0 picks free ports');
  dev.addHelpText('after', `\nWhat --date changes:\n${datedRules().join('\n')}`);
  commonFlags(dev, 'folder to keep everything in (default: memory)');
  dev.action(async (flags: DevFlags) => done(await runDev(world, flags)));

  const start = program.command('start').description('a server for production');
  start.option('--config <file>', `settings file (default: ${CONFIG_FILE} when there is one)`);
  start.option('--host <address>', 'address to listen on');
  start.option('--port <n>', 'port of API and gateway');
  commonFlags(start, `folder of database and attachments (default: ${DATA_DIR})`);
  start.action(async (flags: StartFlags) => done(await runStart(world, flags)));
}

const datedRules = (): readonly string[] =>
  Object.values(CONTRACT_DATES).map(({ from, since }) => `  ${from}  ${since}`);

function commonFlags(command: Command, data: string): void {
  command.option('--admin-port <n>', 'port of the admin API, metrics and health');
  command.option('--data <dir>', data);
  command.option('--public-url <url>', 'URL of this server as clients see it');
  command.option('--log-level <level>', 'silent, fatal, error, warn, info, debug or trace');
  command.option('--set <key=value>', 'any setting; may be given many times', collect, []);
  command.option('--json', 'print one JSON line when the server runs');
  const shards =
    'processes that share the port and are started again when they end; more than one need PostgreSQL';
  command.option('--shards <n>', shards, wholeFrom(1, SHARDS_MAX));
}

/** The settings that the flags set. */
function settingsOf(
  flags: CommonFlags & {
    readonly date?: string;
    readonly host?: string;
    readonly voiceAddress?: string;
    readonly rateLimits?: boolean;
  },
): readonly FlagSetting[] {
  return [
    { key: 'listen_host', flag: '--host', value: flags.host },
    { key: 'listen_port', flag: '--port', value: flags.port },
    { key: 'voice_webrtc_address', flag: '--voice-address', value: flags.voiceAddress },
    { key: 'contract_date', flag: '--date', value: flags.date },
    { key: 'admin_port', flag: '--admin-port', value: flags.adminPort },
    { key: 'data_dir', flag: '--data', value: flags.data },
    { key: 'public_url', flag: '--public-url', value: flags.publicUrl },
    { key: 'log_level', flag: '--log-level', value: flags.logLevel },
    {
      key: 'rate_limits',
      flag: '--no-rate-limits',
      value: flags.rateLimits === false ? 'false' : undefined,
    },
  ];
}

async function runDev(world: World, flags: DevFlags): Promise<number> {
  const { config, moved } = await devConfig(world, flags);
  const { bots } = flags;
  const kept = config.data_dir;
  const token = config.admin_token!;
  const show = (report: Omit<DevReport, 'admin'>, adminUrl: string, place: string | null) => {
    const fullReport = { ...report, admin: { url: adminUrl, token } };
    if (flags.json) for (const line of movedLines(moved)) world.err(line);
    printResult(world, flags.json === true, devJson(fullReport), [
      ...devBanner(fullReport, world.version, place),
      ...movedLines(moved),
    ]);
  };
  const chaos = flags.chaos === undefined ? {} : { chaos: await readScenario(world, flags.chaos) };
  if (flags.shards === undefined) {
    const wanted = { bots, guide: flags.guide ?? flags.json !== true };
    const recording = flags.record === undefined ? null : await openRecording(world, flags.record);
    recording?.recorder.begin({
      ...{ version: RECORDING_VERSION, server: world.version, began: Date.now(), ...wanted },
      contract_date: config.contract_date,
    });
    const rpc: RpcServer[] = [];
    const ready = async ({ engine, addresses, adminUrl, consoleLink }: Serving) => {
      const demo = kept === null ? await seedDemo(engine, wanted) : await keptDemo(engine, kept, wanted);
      recording?.recorder.demo(demo);
      if (wanted.guide && demo.guide) runGuide(engine, demo.guide);
      if (flags.rpc) rpc.push(await demoRpc(world, addresses.api, demo));
      const playground = playgroundLink(engine, demo, addresses);
      show({ addresses, demo, playground, consoleLink: consoleLink() }, adminUrl, flags.data ?? null);
      for (const { path, username, room } of rpc) {
        world.err(`  Games of this machine show what ${username} does: ${path}`);
        if (room !== null) world.err(`  Games control the call of this page: ${room}`);
      }
    };
    const recorded = recording && { recorder: recording.recorder };
    const code = await serve(world, config, ready, { ...chaos, ...recorded, clock: movableClock() });
    await recording?.close();
    for (const { close } of rpc) await close();
    return code;
  }
  if (flags.rpc)
    throw new CommandError('--rpc is for a server without --shards.', 'Run `guildhall rpc` beside it.');
  if (flags.chaos !== undefined || flags.record !== undefined)
    throw new CommandError('--chaos and --record work with a single process.', 'Leave out --shards.');
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'guildhall-dev-')));
  try {
    const shared = { ...config, data_dir: folder };
    return await supervise(world, shared, flags.shards, async ({ addresses, adminUrl, shards, seed }) => {
      const place = flags.data ?? (config.database_url === null ? null : 'the database');
      const playground = { url: `${addresses.cdn}/`, link: null };
      show({ addresses, shards, demo: await seed(bots, kept), playground }, adminUrl, place);
    });
  } finally {
    if (kept === null) await rm(folder, { recursive: true, force: true });
  }
}

/** The RPC server of the first demo user, whose consent the demo's applications have. */
function demoRpc(world: World, api: string, { users, bots }: Demo): Promise<RpcServer> {
  const { token } = present(users[0]);
  const approve = bots.map(({ application_id: id }) => id);
  return serveRpc(world, { api, token }, { approve, web: true });
}

/**
 * Settings of `dev`: no settings file, loopback only, a generated admin token, the other ports beside the first. Ports in use
 * that the operator did not name are replaced by free ones.
 */
async function devConfig(
  world: World,
  flags: DevFlags,
): Promise<{ readonly config: Config; readonly moved: readonly MovedPort[] }> {
  const port = Number(flags.port);
  const base = {
    admin_token: newAdminToken(world),
    // Links saved in notes and scripts stay valid during development.
    attachment_signatures_required: false,
    playground: true,
    docs: true,
    log_level: 'warn',
    ...(Number.isInteger(port) && portsBeside(port)),
  } as const;
  const sources = { file: false, flags: settingsOf(flags), set: flags.set, base } as const;
  const config = await readSettings(world, sources);
  const [reached] = publicSettings(config);
  if (reached !== undefined) {
    throw new CommandError(
      `guildhall dev shows its secrets and listens on loopback only, not on ${config[reached]} (${reached}).`,
      'Use `guildhall start` for a server that others can reach.',
    );
  }
  const named = await namedSettings(world, sources);
  const shardsOf = (given: Config) =>
    flags.shards === undefined ? [given] : shardConfigs(given, flags.shards, given.listen_port);
  const free = await withFreePorts(world, config, named, shardsOf);
  return { ...free, config: absolute(world, free.config) };
}

function movedLines(moved: readonly MovedPort[]): string[] {
  if (moved.length === 0) return [];
  const ports = moved.map(({ key, from, to }) => `${key} ${to === 0 ? 'a free one' : to} instead of ${from}`);
  return [`  Some ports were in use by another program, so this server has others: ${ports.join(', ')}.`];
}

/** Places the other ports below the first if there is no room above it. */
function portsBeside(port: number): Partial<Config> {
  const beside = (distance: number) =>
    port === 0 ? 0 : port + distance <= PORT_MAX ? port + distance : port - distance;
  return Object.fromEntries(Object.entries(PORTS_BESIDE).map(([key, distance]) => [key, beside(distance)]));
}

async function runStart(world: World, flags: StartFlags): Promise<number> {
  const sources = { file: flags.config ?? null, flags: settingsOf(flags), set: flags.set };
  const given = await readSettings(world, sources);
  const problems = publicProblems(given);
  if (problems.length > 0) {
    throw new CommandError(
      [`Not opening ${openedHost(given)} to others yet.`, ...problems].join('\n'),
      'Set these in guildhall.yaml or the environment; docs/configuration.md describes them.',
    );
  }
  for (const warning of publicWarnings(given)) world.err(`Warning: ${warning}`);
  const config = await withAdminToken(
    world,
    absolute(world, { ...given, data_dir: given.data_dir ?? DATA_DIR }),
  );
  // Null when the operator set a token and therefore knows where it is kept.
  const tokenFile = given.admin_token === null ? adminTokenFile(config.data_dir!) : null;
  const show = (addresses: Addresses, adminUrl: string, shards?: readonly ShardPid[], link?: string) => {
    const report = {
      ...addresses,
      voice: voiceJson(addresses),
      admin: { url: adminUrl, token_file: tokenFile },
      ...(shards && { shards }),
    };
    printResult(world, flags.json === true, report, [
      `Guildhall ${world.version} serves ${addresses.api} and ${addresses.gateway}.`,
      ...voiceLines(addresses),
      ...(shards ? [shardLine(shards)] : []),
      tokenFile === null
        ? `Admin API at ${adminUrl}, with the admin_token of the settings.`
        : `Admin API at ${adminUrl}. Its token is in ${tokenFile}; commands in this folder find it there.`,
      ...(link === undefined ? [] : [`Console: ${link} signs you in once, within 15 minutes.`]),
      `Next: guildhall app create <name>${isDefaultAdmin(adminUrl) ? '' : ` --admin-url ${adminUrl}`}`,
    ]);
  };
  if (flags.shards === undefined)
    return serve(world, config, ({ addresses, adminUrl, consoleLink }) =>
      show(addresses, adminUrl, undefined, consoleLink()),
    );
  return supervise(world, config, flags.shards, ({ addresses, adminUrl, shards }) =>
    show(addresses, adminUrl, shards),
  );
}

/** The settings through which others would reach the server. */
function openedHost(config: Config): string {
  const [key = 'listen_host'] = publicSettings(config);
  return `${config[key]} (${key})`;
}

/** A server on loopback generates its admin token; a public one without a token was refused before. */
const withAdminToken = async (world: World, config: Config): Promise<Config> => ({
  ...config,
  admin_token: config.admin_token ?? (await keptAdminToken(world, config.data_dir!)),
});

const isDefaultAdmin = (url: string): boolean =>
  url === `http://${DEFAULTS.admin_host}:${DEFAULTS.admin_port}`;

/** Resolves paths against the working directory of the command. */
function absolute(world: World, config: Config): Config {
  const { data_dir, tls_cert_file, tls_key_file } = config;
  const from = (path: string | null) => (path === null ? null : resolve(world.cwd, path));
  return {
    ...config,
    data_dir: from(data_dir),
    tls_cert_file: from(tls_cert_file),
    tls_key_file: from(tls_key_file),
  };
}

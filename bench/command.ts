import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type Command, Option } from 'commander';
import { numberFrom, oneOf, wholeFrom } from '../cli/flags.ts';
import { RunWatch } from './about.ts';
import { addCompareCommand } from './compare.ts';
import { type BenchOptions, benchGateway } from './gateway/bench.ts';
import { besideCsvOf, besideOf, type ShardedReport } from './gateway/beside.ts';
import { besidePageOf, pageOf } from './gateway/page.ts';
import { csvOf, type Report, tableOf } from './gateway/report.ts';
import { spawnServer } from './gateway/spawn.ts';
import { GATEWAY_METRICS } from './gateway/threshold.ts';
import { addGuildBench } from './guild/command.ts';
import { addLobbiesBench } from './lobbies/command.ts';
import { addRunOptions, noServer, present, type RunFlags, showNote, tokensOf } from './options.ts';
import { progressBar } from './progress.ts';
import { addVoiceBench } from './voice/command.ts';

interface Flags extends RunFlags {
  readonly shards?: readonly number[];
  readonly connections: number;
  readonly members?: number;
  readonly measured?: number;
  readonly threads: number;
  readonly compress: 'json' | 'zlib-stream';
  readonly intents: number;
  readonly rate?: number;
  readonly duration: number;
  readonly warmUp: number;
  readonly contentBytes: number;
  readonly channel?: string;
  readonly identifyRate?: number;
}

/** GUILDS, GUILD_MESSAGES and MESSAGE_CONTENT. */
const INTENTS_DEFAULT = 1 | 512 | 32_768;
/** Default number of streams that the load generator decodes: each costs it an inflate. */
const MEASURED_STREAMS = 100;
const SETTLE_MS = 1000;
const CONNECTIONS_MAX = 100_000;
const MEMBERS_MAX = 1000;
/** IDENTIFYs per second at a server started by the benchmark, whose limits are off. */
const OWN_IDENTIFIES_PER_SECOND = 500;

const SHARDS_MAX = 64;

/** Parses `1,2,4`: distinct counts, each at most what a supervisor starts. */
function shardCounts(text: string): number[] {
  const one = wholeFrom(1, SHARDS_MAX);
  return [...new Set(text.split(',').map(one))];
}

/** Adds `bench` with its subcommands. */
export function addBenchCommand(program: Command): void {
  const bench = program.command('bench').description('measure a server that speaks this protocol');
  const gateway = bench
    .command('gateway')
    .description('connections, deliveries and their latency at a fixed pace of messages');
  addRunOptions(gateway, GATEWAY_METRICS, 'p99<50ms')
    .addOption(
      new Option(
        '--shards <n,…>',
        'with --spawn: processes of the server; several counts run in turn, and are set side by side',
      )
        .argParser(shardCounts)
        .implies({ spawn: true }),
    )
    .option('--via <interface>', 'how messages are created', oneOf('rest'), 'rest')
    .option('-n, --connections <n>', 'gateway connections', wholeFrom(1, CONNECTIONS_MAX), 100)
    .option('-m, --members <n>', 'bots in the guild, with --spawn', wholeFrom(1, MEMBERS_MAX))
    .option(
      '-r, --rate <n>',
      'messages per second (default: 10, or fewer as the server allows)',
      numberFrom(0.01, 100_000),
    )
    .option('-d, --duration <seconds>', 'how long to send', numberFrom(0.1, 3600), 10)
    .option(
      '--warm-up <n>',
      'messages sent before, which do not count: the server compiles its code meanwhile',
      wholeFrom(0, 100_000),
      0,
    )
    .option('--compress <kind>', 'json or zlib-stream', oneOf('json', 'zlib-stream'), 'json')
    .option('--measured <n>', 'connections that decode everything', wholeFrom(1, CONNECTIONS_MAX))
    .option(
      '--threads <n>',
      'threads for the connections',
      wholeFrom(1, 64),
      Math.max(1, availableParallelism() - 1),
    )
    .option('--content-bytes <n>', 'length of a message', wholeFrom(60, 2000), 200)
    .option('--channel <id>', 'where to send (default: the first text channel)')
    .option('--intents <bits>', 'intents to identify with', wholeFrom(0, 2 ** 31 - 1), INTENTS_DEFAULT)
    .option(
      '--identify-rate <n>',
      'identifies per second (default: as the server allows)',
      numberFrom(0.01, 1e5),
    )
    .action(async (flags: Flags) => {
      if (flags.shards && flags.shards.length > 1) return runBeside(flags, flags.shards);
      const watch = new RunWatch();
      const report = await runFlags(flags, flags.shards?.[0]);
      const { thresholds, failures } = report;
      const forms = {
        table: () => tableOf(report),
        csv: () => csvOf(report),
        page: () => pageOf(report),
      };
      present(flags, { report, ...forms, thresholds, failures }, watch);
    });
  addGuildBench(bench);
  addLobbiesBench(bench);
  addVoiceBench(bench);
  addCompareCommand(bench);
}

/** Repeats the run with each number of shards. */
async function runBeside(flags: Flags, counts: readonly number[]): Promise<void> {
  const watch = new RunWatch();
  const found: ShardedReport[] = [];
  for (const shards of counts) found.push({ shards, report: await runFlags(flags, shards) });
  present(
    flags,
    {
      report: { runs: found },
      table: () => besideOf(found),
      csv: () => besideCsvOf(found),
      page: () => besidePageOf(found),
      thresholds: found.flatMap(({ report }) => report.thresholds),
      failures: found.flatMap(({ report }) => report.failures),
    },
    watch,
  );
}

/** @param shards Number of shards of the started server; undefined for one process without a supervisor. */
async function runFlags(flags: Flags, shards?: number): Promise<Report> {
  if (!flags.spawn) {
    if (!flags.url) throw noServer();
    return measure(flags, { url: flags.url, api: flags.api ?? null, tokens: tokensOf(flags) });
  }
  const server = await spawnServer(process.execPath, [
    fileURLToPath(new URL('../cli.js', import.meta.url)),
    ...['dev', '--json', '--port', '0', '--no-rate-limits'],
    ...['--bots', String(flags.members ?? 1)],
    ...(shards === undefined ? [] : ['--shards', String(shards)]),
    ...flags.set.flatMap((pair) => ['--set', pair]),
  ]);
  try {
    const { pids, gateway, api, tokens, channelId } = server;
    return await measure(
      { identifyRate: OWN_IDENTIFIES_PER_SECOND, ...flags },
      { url: gateway, api, tokens, serverPid: pids, channelId },
    );
  } finally {
    await server.stop();
  }
}

type Server = Pick<BenchOptions, 'url' | 'api' | 'tokens'> & Partial<BenchOptions>;

async function measure(flags: Flags, server: Server): Promise<Report> {
  const compress = flags.compress === 'zlib-stream';
  const bar = progressBar();
  try {
    return await benchGateway({
      connections: flags.connections,
      measured: flags.measured ?? (compress ? MEASURED_STREAMS : flags.connections),
      threads: flags.threads,
      compress,
      intents: flags.intents,
      perSecond: flags.rate ?? null,
      durationSeconds: flags.duration,
      warmUp: flags.warmUp,
      contentBytes: flags.contentBytes,
      identifyPerSecond: flags.identifyRate ?? null,
      settleMs: SETTLE_MS,
      thresholds: flags.threshold,
      isOwnHost: flags.iOwnThisHost === true,
      onProgress: bar.update,
      onNote: showNote,
      serverPid: flags.serverPid ?? null,
      ...server,
      channelId: flags.channel ?? server.channelId ?? null,
    });
  } finally {
    bar.stop();
  }
}

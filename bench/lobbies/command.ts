import { fileURLToPath } from 'node:url';
import { type Command, Option } from 'commander';
import { numberFrom, wholeFrom } from '../../cli/flags.ts';
import { CommandError } from '../../cli/world.ts';
import { RunWatch } from '../about.ts';
import { lobbiesPageOf, stormPageOf } from '../gateway/page.ts';
import { spawnServer } from '../gateway/spawn.ts';
import {
  addRunOptions,
  type FinishedRun,
  noServer,
  present,
  type RunFlags,
  showNote,
  tokensOf,
} from '../options.ts';
import { progressBar } from '../progress.ts';
import { columnsOf, csvTable } from '../table.ts';
import { benchLobbies, type Target } from './bench.ts';
import { LOBBY_METRICS, lobbiesCsvOf, lobbiesFiguresOf } from './report.ts';
import { STORM_METRICS, stormFiguresOf, stormLobbies, stormRowOf } from './storm.ts';

interface Flags extends RunFlags {
  readonly shards?: number;
  readonly kill?: true;
  readonly lobbies?: number;
  readonly members: number;
  readonly rate?: number;
  readonly updates?: number;
  readonly duration: number;
  readonly contentBytes: number;
  readonly identifyRate: number;
  readonly storm?: true;
  readonly joins: number;
  readonly atOnce: number;
}

const LOBBIES = 20;
const STORM_LOBBIES = 1000;
const SETTLE_MS = 1000;
const SESSIONS_MAX = 20_000;

/** Adds `bench lobbies`. */
export function addLobbiesBench(bench: Command): void {
  const lobbies = bench
    .command('lobbies')
    .description(
      'joins by secret, then messages and metadata followed to the last member; or a storm of joins',
    );
  const metrics = { ...LOBBY_METRICS, ...STORM_METRICS };
  addRunOptions(lobbies, metrics, 'messages.p99<50ms or lost<1')
    .addOption(
      new Option('--shards <n>', 'with --spawn: processes of the server, which then needs a database_url')
        .argParser(wholeFrom(1, 64))
        .implies({ spawn: true }),
    )
    .option('--kill', 'kill one of its processes (SIGKILL) when half of a storm has joined')
    .option(
      '--lobbies <n>',
      `lobbies (default: ${LOBBIES}; ${STORM_LOBBIES} with --storm)`,
      wholeFrom(1, 10_000),
    )
    .option('-m, --members <n>', 'members of each', wholeFrom(1, 1000), 10)
    .option(
      '-r, --rate <n>',
      'messages per second (default: 50, or fewer as the server allows)',
      numberFrom(0.01, 100_000),
    )
    .option(
      '-u, --updates <n>',
      'updates of metadata per second (default: 50, or fewer as the server allows)',
      numberFrom(0.01, 100_000),
    )
    .option('-d, --duration <seconds>', 'how long to send each kind', numberFrom(0.1, 3600), 10)
    .option('--content-bytes <n>', 'length of a message, and of metadata', wholeFrom(60, 900), 200)
    .option('--identify-rate <n>', 'identifies per second', numberFrom(0.01, 1e5), 500)
    .option('--storm', 'only joins, as many at once as --at-once says, then every lobby is read back')
    .option('--joins <n>', 'joins of a storm, each by a player of its own', wholeFrom(1, 100_000), 10_000)
    .option('--at-once <n>', 'requests under way while players join', wholeFrom(1, 10_000), 256)
    .action(async (flags: Flags) => {
      const watch = new RunWatch();
      const outcome = await withTarget(flags, (target) => (flags.storm ? storm : run)(flags, target));
      present(flags, outcome, watch);
    });
}

/** A target, with a way to kill one of its processes if possible. */
type Victim = Target & { readonly halfway?: () => void };

async function withTarget<T>(flags: Flags, act: (target: Victim) => Promise<T>): Promise<T> {
  const bar = progressBar();
  const common = { isOwnHost: flags.iOwnThisHost === true, onProgress: bar.update, onNote: showNote };
  if (!flags.spawn) {
    const { url, api = null, serverPid = null } = flags;
    const [token] = tokensOf(flags);
    if (url === undefined || token === undefined) throw noServer();
    return act({ url, api, token, serverPid, ...common }).finally(bar.stop);
  }
  const server = await spawnServer(process.execPath, [
    fileURLToPath(new URL('../../cli.js', import.meta.url)),
    ...['dev', '--json', '--port', '0', '--no-rate-limits', '--bots', '1'],
    ...(flags.shards === undefined ? [] : ['--shards', String(flags.shards)]),
    ...flags.set.flatMap((pair) => ['--set', pair]),
  ]);
  try {
    const { gateway: url, api, pids, tokens, shards } = server;
    const victim = flags.kill && shards.at(-1);
    const halfway = victim ? { halfway: () => process.kill(victim.pid, 'SIGKILL') } : {};
    return await act({ url, api, token: tokens[0] ?? '', serverPid: pids, ...halfway, ...common });
  } finally {
    bar.stop();
    await server.stop();
  }
}

async function storm(flags: Flags, target: Victim): Promise<FinishedRun> {
  const { joins, lobbies = STORM_LOBBIES, atOnce, threshold: thresholds } = flags;
  const report = await stormLobbies({ ...target, joins, lobbies, atOnce, thresholds });
  const figures = stormFiguresOf(report);
  return {
    report,
    table: () => columnsOf(figures, report.headline),
    csv: () => csvTable([stormRowOf(report)]),
    page: () => stormPageOf(report.headline, figures),
    thresholds: report.thresholds,
    failures: report.failures,
  };
}

async function run(flags: Flags, target: Target): Promise<FinishedRun> {
  const { lobbies = LOBBIES, members } = flags;
  if (lobbies * members > SESSIONS_MAX)
    throw new CommandError(
      `${lobbies * members} sessions are more than one thread of load holds.`,
      `Keep lobbies times members to ${SESSIONS_MAX}.`,
    );
  const report = await benchLobbies({
    ...target,
    lobbies,
    membersEach: members,
    messagesPerSecond: flags.rate ?? null,
    updatesPerSecond: flags.updates ?? null,
    durationSeconds: flags.duration,
    contentBytes: flags.contentBytes,
    identifyPerSecond: flags.identifyRate,
    atOnce: flags.atOnce,
    settleMs: SETTLE_MS,
    thresholds: flags.threshold,
  });
  const figures = lobbiesFiguresOf(report);
  return {
    report,
    table: () => columnsOf(figures, report.headline),
    csv: () => lobbiesCsvOf(report),
    page: () => lobbiesPageOf(report.headline, figures, report.messages),
    thresholds: report.thresholds,
    failures: report.failures,
  };
}

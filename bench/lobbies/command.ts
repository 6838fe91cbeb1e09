import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Command, InvalidArgumentError } from 'commander';
import { collect, numberFrom, wholeFrom } from '../../cli/flags.ts';
import { CommandError } from '../../cli/world.ts';
import { lobbiesPageOf } from '../gateway/page.ts';
import { spawnServer } from '../gateway/spawn.ts';
import { progressBar } from '../progress.ts';
import { benchLobbies, type Target } from './bench.ts';
import { columnsOf, lobbiesCsvOf, lobbiesFiguresOf, parseLobbyThreshold } from './report.ts';
import { stormFiguresOf, stormLobbies } from './storm.ts';

interface Flags {
  readonly url?: string;
  readonly api?: string;
  readonly token?: string;
  readonly spawn?: true;
  readonly set: readonly string[];
  readonly shards?: number;
  readonly kill?: true;
  readonly serverPid?: number;
  readonly lobbies?: number;
  readonly members: number;
  readonly rate: number;
  readonly updates: number;
  readonly duration: number;
  readonly contentBytes: number;
  readonly identifyRate: number;
  readonly storm?: true;
  readonly joins: number;
  readonly atOnce: number;
  readonly threshold: readonly string[];
  readonly json?: true;
  readonly csv?: true;
  readonly report?: string;
  readonly iOwnThisHost?: true;
}

const LOBBIES = 20;
const STORM_LOBBIES = 1000;
const SETTLE_MS = 1000;
const SESSIONS_MAX = 20_000;

function threshold(text: string, earlier: readonly string[]): string[] {
  try {
    return [...earlier, parseLobbyThreshold(text).text];
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

/** Adds `bench lobbies`. */
export function addLobbiesBench(bench: Command): void {
  bench
    .command('lobbies')
    .description(
      'joins by secret, then messages and metadata followed to the last member; or a storm of joins',
    )
    .option('--url <ws-url>', 'the gateway')
    .option('--api <url>', 'REST API, ending in /api (default: beside the gateway)')
    .option('--token <token>', "a bot's token, of an application that may sign players in")
    .option('--spawn', 'start a server for the run, and measure its CPU and memory too')
    .option('--set <key=value>', 'a setting of that server; may be given many times', collect, [])
    .option('--shards <n>', 'processes of that server, which then needs a database_url', wholeFrom(1, 64))
    .option('--kill', 'kill one of its processes (SIGKILL) when half of a storm has joined')
    .option('--server-pid <pid>', 'process of the server, when it runs here', wholeFrom(1, 2 ** 31))
    .option(
      '--lobbies <n>',
      `lobbies (default: ${LOBBIES}; ${STORM_LOBBIES} with --storm)`,
      wholeFrom(1, 10_000),
    )
    .option('-m, --members <n>', 'members of each', wholeFrom(1, 1000), 10)
    .option('-r, --rate <n>', 'messages per second', numberFrom(0.01, 100_000), 50)
    .option('-u, --updates <n>', 'updates of metadata per second', numberFrom(0.01, 100_000), 50)
    .option('-d, --duration <seconds>', 'how long to send each kind', numberFrom(0.1, 3600), 10)
    .option('--content-bytes <n>', 'length of a message, and of metadata', wholeFrom(60, 900), 200)
    .option('--identify-rate <n>', 'identifies per second', numberFrom(0.01, 1e5), 500)
    .option('--storm', 'only joins, as many at once as --at-once says, then every lobby is read back')
    .option('--joins <n>', 'joins of a storm, each by a player of its own', wholeFrom(1, 100_000), 10_000)
    .option('--at-once <n>', 'requests under way while players join', wholeFrom(1, 10_000), 256)
    .option(
      '--threshold <bound>',
      'such as messages.p99<50ms or lost<1; may be given many times; a missed one exits 1',
      threshold,
      [],
    )
    .option('--json', 'print the report as JSON')
    .option('--csv', 'print it as CSV')
    .option('--report <file>', 'write it as a page with plots')
    .option('--i-own-this-host', 'allow a host that is not this machine')
    .action(async (flags: Flags) => {
      const kept = await withTarget(flags, (target) => (flags.storm ? storm : run)(flags, target));
      if (!kept) process.exitCode = 1;
    });
}

/** A target, and how a process of it is killed where that can be done. */
type Victim = Target & { readonly halfway?: () => void };

async function withTarget<T>(flags: Flags, act: (target: Victim) => Promise<T>): Promise<T> {
  const bar = progressBar();
  const common = { isOwnHost: flags.iOwnThisHost === true, onProgress: bar.update };
  if (!flags.spawn) {
    const { url, api = null, token, serverPid = null } = flags;
    if (url === undefined || token === undefined)
      throw new CommandError(
        'There is no server to measure.',
        "Name it with --url and a bot's --token, or add --spawn to have one started.",
      );
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
    return await act({ url, api, token: tokens[0] as string, serverPid: pids, ...halfway, ...common });
  } finally {
    bar.stop();
    await server.stop();
  }
}

const print = (text: string): void => void process.stdout.write(`${text.trimEnd()}\n`);

async function storm(
  { joins, lobbies = STORM_LOBBIES, atOnce, json }: Flags,
  target: Victim,
): Promise<boolean> {
  const report = await stormLobbies({ ...target, joins, lobbies, atOnce });
  print(json ? JSON.stringify(report) : columnsOf(stormFiguresOf(report), report.headline));
  return report.kept;
}

async function run(flags: Flags, target: Target): Promise<boolean> {
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
    messagesPerSecond: flags.rate,
    updatesPerSecond: flags.updates,
    durationSeconds: flags.duration,
    contentBytes: flags.contentBytes,
    identifyPerSecond: flags.identifyRate,
    atOnce: flags.atOnce,
    settleMs: SETTLE_MS,
    thresholds: flags.threshold,
  });
  const figures = lobbiesFiguresOf(report);
  print(
    flags.json
      ? JSON.stringify(report)
      : flags.csv
        ? lobbiesCsvOf(report)
        : columnsOf(figures, report.headline),
  );
  if (flags.report) writeFileSync(flags.report, lobbiesPageOf(report.headline, figures, report.messages));
  return report.thresholds.every(({ kept }) => kept);
}

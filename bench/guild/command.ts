import type { Command } from 'commander';
import { collect, numberFrom, wholeFrom } from '../../cli/flags.ts';
import { CommandError } from '../../cli/world.ts';
import { openFilesMax } from '../../transports/http/openfiles.ts';
import { aboutFiguresOf, RunWatch } from '../about.ts';
import { showNote, starvedLine } from '../options.ts';
import { progressBar, progressLines } from '../progress.ts';
import { figureLines } from '../table.ts';
import { benchGuild } from './bench.ts';
import { guildTextOf } from './report.ts';

interface Flags {
  readonly databaseUrl?: string;
  readonly members: number;
  readonly online: number;
  readonly active: number;
  readonly passive: number;
  readonly chunkers: number;
  readonly viewers?: number;
  readonly shards?: number;
  readonly rate: number;
  readonly duration: number;
  readonly identifyRate: number;
  readonly set: readonly string[];
  readonly json?: true;
}

/** Well below the usual limit of open files of a process. */
const SOCKETS_PER_SHARD = 8000;
const FILES_BESIDE = 500;
const UNEVEN = 1.1;
const VIEWERS = 500;

/** Adds `bench guild`. */
export function addGuildBench(bench: Command): void {
  bench
    .command('guild')
    .description('one large guild on a server of its own: messages to everyone, members in chunks, memory')
    .option('--database-url <url>', 'an empty PostgreSQL database (default: DATABASE_URL)')
    .option('-m, --members <n>', 'members', wholeFrom(100, 1_000_000), 100_000)
    .option('-o, --online <n>', 'members with a session', wholeFrom(2, 100_000), 20_000)
    .option('--active <n>', 'of them, who get messages while others are passive', wholeFrom(1, 50_000), 2_000)
    .option('--passive <n>', 'sessions without the intent for messages', wholeFrom(1, 50_000), 10_000)
    .option('--chunkers <n>', 'clients that ask for all members at once', wholeFrom(1, 100), 10)
    .option('--viewers <n>', 'further members who watch the list (default: up to 500)', wholeFrom(0, 9_000))
    .option('--shards <n>', 'processes of the server (default: as the sockets need)', wholeFrom(1, 64))
    .option('-r, --rate <n>', 'messages per second', numberFrom(0.01, 1000), 2)
    .option('-d, --duration <seconds>', 'how long to send, in each part', numberFrom(1, 3600), 10)
    .option('--identify-rate <n>', 'identifies per second', numberFrom(1, 10_000), 800)
    .option('--set <key=value>', 'a setting of the server; may be given many times', collect, [])
    .option('--json', 'print the report as JSON')
    .action(async (flags: Flags) => {
      const { databaseUrl = process.env.DATABASE_URL, rate, duration, identifyRate, set, json } = flags;
      const { members, online, active, passive } = flags;
      const { viewers = Math.min(VIEWERS, Math.max(0, members - online)) } = flags;
      if (databaseUrl === undefined)
        throw new CommandError('There is no database.', 'Name an empty one with --database-url.');
      if (online > members || active >= online || active + passive > online)
        throw new CommandError(
          'Active and passive sessions are of those online, and those online are members.',
          'Lower --active, --passive or --online, or raise --members.',
        );
      if (online + viewers > members)
        throw new CommandError(
          'Those who watch the list are members beside those online.',
          'Lower --online or --viewers, or raise --members.',
        );
      const bar = process.stderr.isTTY ? progressBar() : progressLines();
      const shards = flags.shards ?? Math.ceil((online + viewers) / SOCKETS_PER_SHARD);
      const mostSockets = openFilesMax() - FILES_BESIDE;
      // The kernel distributes connections, though not quite evenly.
      if (((online + viewers) / shards) * UNEVEN > mostSockets)
        throw new CommandError(
          `A process may have ${openFilesMax()} files open here, which is too few for ${online + viewers} sessions.`,
          'Raise --shards, or the limit (ulimit -n).',
        );
      const pace = { perSecond: rate, durationSeconds: duration, identifyPerSecond: identifyRate };
      const options = {
        ...flags,
        ...pace,
        viewers,
        shards,
        databaseUrl,
        settings: set,
        onProgress: bar.update,
      };
      const watch = new RunWatch();
      const report = await benchGuild(options).finally(bar.stop);
      const about = watch.end(process.argv.slice(2));
      const text = [...figureLines(aboutFiguresOf(about)), '', guildTextOf(report)].join('\n');
      process.stdout.write(`${json ? JSON.stringify({ ...report, about }) : text}\n`);
      for (const why of about.starved) showNote(starvedLine(why));
      if (!report.kept) process.exitCode = 1;
    });
}

import { type Command, InvalidArgumentError } from 'commander';
import { CommandError } from '../../cli/world.ts';
import { progressBar } from '../progress.ts';
import { benchGuild } from './bench.ts';
import { guildTextOf } from './report.ts';

interface Flags {
  readonly databaseUrl?: string;
  readonly members: number;
  readonly online: number;
  readonly active: number;
  readonly passive: number;
  readonly chunkers: number;
  readonly shards: number;
  readonly rate: number;
  readonly duration: number;
  readonly identifyRate: number;
  readonly set: readonly string[];
  readonly json?: true;
}

function number(min: number, max: number, whole = true): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= min && value <= max && (!whole || Number.isInteger(value)))
      return value;
    throw new InvalidArgumentError(`It must be a${whole ? ' whole' : ''} number from ${min} to ${max}.`);
  };
}

const collect = (text: string, earlier: readonly string[]): string[] => [...earlier, text];

/** Adds `bench guild`. */
export function addGuildBench(bench: Command): void {
  bench
    .command('guild')
    .description('one large guild on a server of its own: messages to everyone, members in chunks, memory')
    .option('--database-url <url>', 'an empty PostgreSQL database (default: DATABASE_URL)')
    .option('-m, --members <n>', 'members', number(100, 1_000_000), 100_000)
    .option('-o, --online <n>', 'members with a session', number(2, 100_000), 20_000)
    .option('--active <n>', 'of them, who get messages while others are passive', number(1, 50_000), 2_000)
    .option('--passive <n>', 'sessions without the intent for messages', number(1, 50_000), 10_000)
    .option('--chunkers <n>', 'clients that ask for all members at once', number(1, 100), 10)
    .option('--shards <n>', 'processes of the server', number(1, 64), 1)
    .option('-r, --rate <n>', 'messages per second', number(0.01, 1000, false), 2)
    .option('-d, --duration <seconds>', 'how long to send, in each part', number(1, 3600, false), 10)
    .option('--identify-rate <n>', 'identifies per second', number(1, 10_000, false), 800)
    .option('--set <key=value>', 'a setting of the server; may be given many times', collect, [])
    .option('--json', 'print the report as JSON')
    .action(async (flags: Flags) => {
      const { databaseUrl = process.env.DATABASE_URL, rate, duration, identifyRate, set, json } = flags;
      const { members, online, active, passive } = flags;
      if (databaseUrl === undefined)
        throw new CommandError('There is no database.', 'Name an empty one with --database-url.');
      if (online > members || active >= online || active + passive > online)
        throw new CommandError(
          'Active and passive sessions are of those online, and those online are members.',
          'Lower --active, --passive or --online, or raise --members.',
        );
      const bar = progressBar();
      const pace = { perSecond: rate, durationSeconds: duration, identifyPerSecond: identifyRate };
      const options = { ...flags, ...pace, databaseUrl, settings: set, onProgress: bar.update };
      const report = await benchGuild(options).finally(bar.stop);
      process.stdout.write(`${json ? JSON.stringify(report) : guildTextOf(report)}\n`);
      if (!report.kept) process.exitCode = 1;
    });
}

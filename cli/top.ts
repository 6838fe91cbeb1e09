import type { Command } from 'commander';
import { isRecord } from '../protocol/json.ts';
import { terminalJson, terminalText } from '../protocol/names.ts';
import { wholeFrom } from './flags.ts';
import { type RemoteFlags, remoteOf } from './remote.ts';
import { type Reading, ratesOf, readingOf, topLines } from './toprates.ts';
import type { World } from './world.ts';

interface TopFlags extends RemoteFlags {
  readonly every: number;
  readonly times?: number;
  readonly json?: true;
}

const EVERY_SEC_MAX = 3600;
const CLEAR = '\u001b[H\u001b[J';

/** Adds `top`: what a running server does now, again and again. */
export function addTopCommand(program: Command, world: World): void {
  program
    .command('top')
    .description('what a running server does now: sessions, events a second, calls, slow operations')
    .option('--every <seconds>', 'how long each interval lasts', wholeFrom(1, EVERY_SEC_MAX), 2)
    .option('--times <n>', 'end after so many intervals', wholeFrom(1, 1_000_000))
    .option('--admin-url <url>', 'admin API of the server (or GUILDHALL_ADMIN_URL)')
    .option('--admin-token <token>', 'its admin token (or GUILDHALL_ADMIN_TOKEN)')
    .option('--json', 'one JSON line for each interval')
    .action((flags: TopFlags) => watch(world, flags));
}

async function watch(world: World, flags: TopFlags): Promise<void> {
  const ask = remoteOf(world, flags);
  const read = async (): Promise<Reading> => {
    const answer = await ask('GET', '/metrics.json');
    const text = isRecord(answer) && typeof answer.text === 'string' ? answer.text : '';
    return readingOf(text, performance.now());
  };
  let isOver = false;
  const stopped = world.untilToldToStop().then(() => {
    isOver = true;
  });
  let before = await read();
  for (let shown = 0; shown < (flags.times ?? Number.POSITIVE_INFINITY); shown++) {
    await Promise.race([stopped, world.pause(flags.every * 1000)]);
    if (isOver) return;
    const now = await read();
    const rates = ratesOf(before, now);
    before = now;
    if (flags.json === true) world.out(terminalJson(rates));
    else {
      const lines = topLines(rates).map(terminalText).join('\n');
      world.out(world.terminal === null ? lines : CLEAR + lines);
    }
  }
}

import type { Command } from 'commander';
import { type CommandOutput, type Remote, remote } from './remote.ts';
import { CommandError, type World } from './world.ts';

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Adds `clock forward`, which moves the time of day so that something due in a month can be tested today. */
export function addClockCommand(program: Command, world: World): void {
  const clock = program.command('clock').description('the time of a development server');
  remote(clock, 'forward <duration>', world, 'move the time of `guildhall dev` forward, as in 30d', forward);
}

async function forward(ask: Remote, [duration = '']: readonly string[]): Promise<CommandOutput> {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(duration) ?? [];
  if (count === undefined)
    throw new CommandError(`${duration} is no duration.`, 'Write it as in 90m, 12h or 30d.');
  const value = await ask('POST', '/clock', { forward_ms: Number(count) * (UNIT_MS[unit] ?? 0) });
  return {
    value,
    lines: [`It is ${value.now} now.`, 'Next: what was due until then happens within seconds.'],
  };
}

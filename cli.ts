#!/usr/bin/env node
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { VERSION } from './actors/runtime/version.ts';
import { type Mount, runCli } from './cli/program.ts';
import type { World } from './cli/world.ts';

function untilToldToStop(): Promise<void> {
  return new Promise((resolve) => {
    let told = false;
    const stop = (code: number) => () => {
      if (told) process.exit(code);
      told = true;
      resolve();
    };
    process.on('SIGINT', stop(130));
    process.on('SIGTERM', stop(143));
  });
}

const world: World = {
  env: process.env,
  cwd: process.cwd(),
  version: VERSION,
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  terminal: process.stdout.isTTY ? () => process.stdout : null,
  randomBytes,
  pause: (durationMs) => pause(durationMs),
  loadEngine: async () => (await import('./main.ts')).createEngine,
  untilToldToStop,
};

/** The harness is loaded only when it is asked for, or listed; an installation without it has no `bench`. */
const bench: Mount = async (program: Command) => {
  const wanted = process.argv[2];
  if (wanted !== undefined && !['bench', 'help', '--help', '-h'].includes(wanted)) return;
  try {
    const { addBenchCommand } = await import('./bench/command.ts');
    addBenchCommand(program);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
  }
};

const exitCode = await runCli(process.argv.slice(2), world, [bench]);
// A measurement that misses its threshold says so in `process.exitCode`.
process.exit(exitCode === 0 ? (process.exitCode ?? 0) : exitCode);

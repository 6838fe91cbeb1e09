#!/usr/bin/env node
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { VERSION } from './actors/runtime/version.ts';
import { type Mount, runCli } from './cli/program.ts';
import type { ShardProcess, World } from './cli/world.ts';
import { processChannel } from './transports/cluster/channel.ts';

const isShard = process.argv[2] === 'shard';

function untilToldToStop(): Promise<void> {
  return new Promise((resolve) => {
    let told = false;
    const stop = (code: number) => () => {
      if (told) process.exit(code);
      told = true;
      resolve();
    };
    // Ctrl-C reaches the shards of a supervisor too, which itself says when they are to end.
    process.on('SIGINT', isShard ? () => undefined : stop(130));
    process.on('SIGTERM', stop(143));
  });
}

/** No shard outlives its supervisor, however that ends; one that is killed is noticed by its shards. */
const shards = new Set<{ kill(signal: 'SIGKILL'): unknown }>();
process.on('exit', () => {
  for (const shard of shards) shard.kill('SIGKILL');
});

function startShard(): ShardProcess {
  const child = fork(fileURLToPath(import.meta.url), ['shard'], { stdio: ['ignore', 2, 2, 'ipc'] });
  shards.add(child);
  const ended = once(child, 'exit').then(
    ([code]) => code as number | null,
    () => 1,
  );
  const exit = ended.finally(() => shards.delete(child));
  return {
    pid: child.pid ?? 0,
    channel: processChannel(child),
    exit,
    kill: () => void child.kill('SIGKILL'),
  };
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
  startShard,
  supervisor: isShard && process.send ? processChannel(process) : null,
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

import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { VERSION } from '../actors/runtime/version.ts';
import { codeOf } from '../protocol/thrown.ts';
import { processChannel } from '../transports/cluster/channel.ts';
import { refusedPorts } from './ports.ts';
import { type Mount, runCli } from './program.ts';
import { untilToldToStop } from './signals.ts';
import type { ShardProcess, World } from './world.ts';

/** Kills the shards at exit. A supervisor that is killed itself cannot do this; its shards notice its end. */
const shards = new Set<{ kill(signal: 'SIGKILL'): unknown }>();
process.on('exit', () => {
  for (const shard of shards) shard.kill('SIGKILL');
});

function startShard(entry: string): ShardProcess {
  const child = fork(fileURLToPath(entry), ['shard'], { stdio: ['ignore', 2, 2, 'ipc'] });
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

let questions: Promise<unknown> = Promise.resolve();

/** Asks one question at a time. Control characters in text from strangers are removed. */
function confirm(question: string): Promise<boolean> {
  const ask = async (): Promise<boolean> => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      const answer = await lines.question(`${question.replaceAll(/\p{C}/gu, ' ')} [y/N] `);
      return /^y(es)?$/i.test(answer.trim());
    } finally {
      lines.close();
    }
  };
  const answer = questions.then(ask, ask);
  questions = answer.catch(() => undefined);
  return answer;
}

function worldOf(entry: string): World {
  const isShard = process.argv[2] === 'shard';
  return {
    env: process.env,
    cwd: process.cwd(),
    version: VERSION,
    out: (line) => void process.stdout.write(`${line}\n`),
    err: (line) => void process.stderr.write(`${line}\n`),
    terminal: process.stdout.isTTY ? () => process.stdout : null,
    confirm: process.stdin.isTTY ? confirm : null,
    randomBytes,
    pause: (durationMs) => pause(durationMs),
    refusedPorts,
    loadEngine: async () => (await import('../main.ts')).createEngine,
    untilToldToStop: () => untilToldToStop(isShard),
    startShard: () => startShard(entry),
    supervisor: isShard && process.send ? processChannel(process) : null,
  };
}

/** Loads the benchmark harness only when it is used or listed; some installations have no `bench`. */
const bench: Mount = async (program: Command) => {
  const wanted = process.argv[2];
  if (wanted !== undefined && !['bench', 'help', '--help', '-h'].includes(wanted)) return;
  try {
    const { addBenchCommand } = await import('../bench/command.ts');
    addBenchCommand(program);
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
  }
};

/**
 * Runs the command line of this process, and ends the process.
 *
 * @param entry URL of the module with which processes of this program start.
 */
export async function runProcess(entry: string): Promise<never> {
  const exitCode = await runCli(process.argv.slice(2), worldOf(entry), [bench]);
  // A benchmark that misses its threshold sets `process.exitCode`.
  process.exit(exitCode === 0 ? (process.exitCode ?? 0) : exitCode);
}

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { CommandError } from '../../cli/world.ts';
import { present } from '../../protocol/present.ts';

/** A server started by a run, as its first line of JSON describes it. */
export interface SpawnedServer {
  /** Id of the started process; for several shards, of their supervisor. */
  readonly pid: number;
  /** Ids of all processes of the server, the supervisor first. */
  readonly pids: readonly number[];
  readonly shards: readonly { readonly id: string; readonly pid: number }[];
  readonly api: string;
  readonly gateway: string;
  /** Tokens of bots. */
  readonly tokens: readonly string[];
  /** Tokens of people. */
  readonly people: readonly string[];
  readonly channelId: string | null;
  readonly guildId: string | null;
  readonly voiceChannelId: string | null;
  stop(): Promise<void>;
}

interface Banner {
  readonly api: string;
  readonly gateway: string;
  readonly shards?: readonly { readonly id: string; readonly pid: number }[];
  readonly bots?: readonly { readonly token: string }[];
  readonly bot?: { readonly token: string };
  readonly users?: readonly { readonly token: string }[];
  readonly guild?: {
    readonly id?: string;
    readonly text_channel_id?: string;
    readonly voice_channel_id?: string;
  };
}

const START_TIMEOUT_MS = 300_000;
const STOP_TIMEOUT_MS = 12_000;

/** Starts `command`, which must print one line of JSON as `guildhall dev --json` does, and keep running. */
export async function spawnServer(command: string, args: readonly string[]): Promise<SpawnedServer> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const banner = await firstBanner(child);
    const bots = banner.bots ?? (banner.bot ? [banner.bot] : []);
    const pid = present(child.pid);
    const shards = banner.shards ?? [];
    return {
      ...{ pid, shards, pids: [pid, ...shards.map((shard) => shard.pid)] },
      api: banner.api,
      gateway: banner.gateway,
      tokens: bots.map(({ token }) => token),
      people: (banner.users ?? []).map(({ token }) => token),
      channelId: banner.guild?.text_channel_id ?? null,
      guildId: banner.guild?.id ?? null,
      voiceChannelId: banner.guild?.voice_channel_id ?? null,
      stop: () => stop(child),
    };
  } catch (error) {
    await stop(child);
    throw error;
  }
}

function firstBanner(child: ChildProcess): Promise<Banner> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(fault('did not say that it runs')), START_TIMEOUT_MS);
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      act();
    };
    child.once('error', (error) => settle(() => reject(error)));
    child.once('exit', (code) => settle(() => reject(fault(`ended with code ${code}`))));
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const banner = bannerIn(line);
      if (banner) settle(() => resolve(banner));
    });
  });
}

const fault = (what: string): CommandError =>
  new CommandError(`The server ${what}.`, 'Look at what it printed, or start it yourself and give --url.');

function bannerIn(line: string): Banner | null {
  if (!line.startsWith('{')) return null;
  try {
    const value = JSON.parse(line) as Partial<Banner>;
    return typeof value.api === 'string' && typeof value.gateway === 'string' ? (value as Banner) : null;
  } catch {
    return null;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await gone;
  clearTimeout(timer);
}

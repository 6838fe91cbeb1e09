import type { Engine, EngineOptions } from '../embedding.ts';
import { terminalJson, terminalText } from '../protocol/names.ts';
import type { Channel } from '../transports/cluster/channel.ts';

export type PortKey =
  | 'listen_port'
  | 'admin_port'
  | 'voice_port'
  | 'voice_udp_port'
  | 'voice_webrtc_port'
  | 'link_port';

/** A port that a server is about to open. */
export interface WantedPort {
  readonly key: PortKey;
  readonly host: string;
  readonly port: number;
}

/** A port that cannot be opened, with the code of the system's error. */
export interface RefusedPort extends WantedPort {
  readonly code: string;
}

/** A process of this program that runs one shard. */
export interface ShardProcess {
  readonly pid: number;
  readonly channel: Channel;
  /** Its exit code; null when a signal ended it. */
  readonly exit: Promise<number | null>;
  /** Kills it at once. */
  kill(): void;
}

/** The parts of its process that a command uses; tests pass their own. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Base of relative paths. */
  readonly cwd: string;
  readonly version: string;
  /** Writes one line to standard output. */
  out(line: string): void;
  /** Writes one line to standard error. */
  err(line: string): void;
  /** The size of the terminal of standard output, read when called; null when it is not a terminal. */
  readonly terminal: (() => { readonly rows: number }) | null;
  /** Asks a question at the terminal that is answered with yes or no; null without a terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  randomBytes(size: number): Uint8Array;
  /** Resolves after a delay. */
  pause(durationMs: number): Promise<void>;
  /** The ports that cannot be opened now. */
  refusedPorts(wanted: readonly WantedPort[]): Promise<readonly RefusedPort[]>;
  /** Imports the engine on demand, because most commands do not use it. */
  loadEngine(): Promise<(options: EngineOptions) => Promise<Engine>>;
  /** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
  untilToldToStop(): Promise<void>;
  /** Starts another process of this program, which runs `guildhall shard` and ends with this one. */
  startShard(): ShardProcess;
  /** Channel to the supervisor that started this process; null without one. */
  readonly supervisor: Channel | null;
}

/** The failure of a command: the problem, and advice to solve it. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly advice: string;

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options);
    this.advice = advice;
  }
}

/**
 * Prints a command's result: one JSON line for tools, or lines for people. The lines may have names from files and servers,
 * whose characters must not steer the terminal.
 */
export function printResult(world: World, json: boolean, value: unknown, lines: readonly string[]): void {
  if (json) world.out(terminalJson(value));
  else for (const line of lines) world.out(terminalText(line));
}

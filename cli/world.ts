import type { Engine, EngineOptions } from '../embedding.ts';
import type { Channel } from '../transports/cluster/channel.ts';

export type PortKey =
  | 'listen_port'
  | 'admin_port'
  | 'voice_port'
  | 'voice_udp_port'
  | 'voice_webrtc_port'
  | 'link_port';

/** One port that a server is about to open. */
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
  /** Ends it at once, whatever it does. */
  kill(): void;
}

/** What the commands use of the process they run in; a test hands in its own. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where relative paths start. */
  readonly cwd: string;
  readonly version: string;
  /** Writes one line to standard output. */
  out(line: string): void;
  /** Writes one line to standard error. */
  err(line: string): void;
  /** How large the terminal is that standard output goes to, whenever asked; null when it goes elsewhere. */
  readonly terminal: (() => { readonly rows: number }) | null;
  randomBytes(size: number): Uint8Array;
  /** Resolves after so many milliseconds. */
  pause(durationMs: number): Promise<void>;
  /** Which of these ports cannot be opened now. */
  refusedPorts(wanted: readonly WantedPort[]): Promise<readonly RefusedPort[]>;
  /** Loads the engine; late, because most commands need none of it. */
  loadEngine(): Promise<(options: EngineOptions) => Promise<Engine>>;
  /** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
  untilToldToStop(): Promise<void>;
  /** Starts one more process of this program, to run `guildhall shard`; it ends with this one. */
  startShard(): ShardProcess;
  /** The way to the supervisor that has started this process; null where none has. */
  readonly supervisor: Channel | null;
}

/** A command could not do what was asked: what was wrong, and what to do about it. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly advice: string;

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options);
    this.advice = advice;
  }
}

/** Says a command's result: one JSON line for tools, or lines for people. */
export function say(world: World, json: boolean, value: unknown, lines: readonly string[]): void {
  if (json) world.out(JSON.stringify(value));
  else for (const line of lines) world.out(line);
}

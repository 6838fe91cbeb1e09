/**
 * What the operating system of a shard's machine does to it: a network of its own that fails, a disk that is full, a clock that
 * is stepped. All of it ends with the process that runs the chaos, which has namespaces of its own (`start.mjs`).
 */
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readlinkSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { installed } from '../support/installed.ts';

/**
 * `down`: the cable is out. `deaf`: nothing arrives at the shard, which knows nothing of it. `mute`: nothing that it sends
 * arrives. `narrow`: 128 kbit/s each way, and what waits longer than 30 ms is lost.
 */
export type NetworkState = 'whole' | 'down' | 'deaf' | 'mute' | 'narrow';

const BRIDGE = 'guildhall';
const FIRST = '10.77.0';
/** The address of all that is not a shard. */
export const OUTSIDE = `${FIRST}.1`;
const LOST = ['blackhole'];
const NARROW = ['tbf', 'rate', '128kbit', 'burst', '4k', 'latency', '30ms'];
/** Where Debian puts it; the name of its folder is that of the processor. */
const FAKETIME = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (folder) => `/usr/lib/${folder}/faketime/libfaketime.so.1`,
);
/** For how long a process goes by the offset of its clock that it has read, seconds. */
const OFFSET_S = 1;
const CHUNK_BYTES = 1 << 20;

const execute = promisify(execFile);
const ip = async (...args: readonly string[]): Promise<void> => void (await execute('ip', args));

/** What the machine lacks, or null. */
export function lackingForSystem(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return '--system needs Linux and the user root';
  const programs = ['ip', 'tc', 'nsenter', 'unshare', 'mount'].filter((name) => installed(name) === null);
  if (!FAKETIME.some(existsSync)) programs.push('libfaketime');
  return programs.length === 0 ? null : `not installed: ${programs.join(', ')}`;
}

/** Joins the networks of the shards. Called once, in a network namespace that has nothing yet. */
export async function openBridge(): Promise<void> {
  await ip('link', 'set', 'lo', 'up');
  await ip('link', 'add', BRIDGE, 'type', 'bridge');
  await ip('address', 'add', `${OUTSIDE}/24`, 'dev', BRIDGE);
  await ip('link', 'set', BRIDGE, 'up');
}

/** A machine's disk of this size, which can be filled; a file system in memory. */
export class Disk {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async mount(bytes: number): Promise<void> {
    mkdirSync(this.folder);
    await execute('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=1777`, 'chaos', this.folder]);
  }

  fill(): void {
    const file = openSync(this.#ballast, 'w');
    let bytes = CHUNK_BYTES;
    while (bytes > 0) {
      try {
        writeSync(file, Buffer.alloc(bytes));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        bytes = bytes > 1 ? bytes >> 1 : 0;
      }
    }
    closeSync(file);
  }

  free(): void {
    rmSync(this.#ballast, { force: true });
  }

  async unmount(): Promise<void> {
    await execute('umount', ['--lazy', this.folder]);
  }

  get #ballast(): string {
    return join(this.folder, 'ballast');
  }
}

/** The machine of a shard: a process there has its own network and clock. */
export class Machine {
  readonly address: string;
  readonly #number: number;
  readonly #clock: string;
  /** Each process has a network of its own, and what was its predecessor's may take a moment to go. */
  #starts = 0;
  #pid = 0;

  /** @param folder For the file by which its clock is stepped. */
  constructor(number: number, folder: string) {
    this.#number = number;
    this.address = `${FIRST}.${number + 10}`;
    this.#clock = join(folder, `clock-${number}`);
    this.stepClock(0);
  }

  /** Runs a program once the machine has its network, which is whole at first. */
  async spawn(command: string, args: readonly string[], options: SpawnOptions): Promise<ChildProcess> {
    this.#starts += 1;
    const waiting = ['--net', 'sh', '-c', 'read -r _; exec "$0" "$@"', command, ...args];
    const child = spawn('unshare', waiting, {
      ...options,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        ...process.env,
        LD_PRELOAD: FAKETIME.find(existsSync),
        FAKETIME_TIMESTAMP_FILE: this.#clock,
        FAKETIME_CACHE_DURATION: String(OFFSET_S),
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        NO_FAKE_STAT: '1',
      },
    });
    this.#pid = child.pid ?? 0;
    await this.#untilUnshared();
    const peer = `${this.#port}p`;
    await ip('link', 'add', this.#port, 'type', 'veth', 'peer', 'name', peer);
    await ip('link', 'set', peer, 'netns', String(this.#pid));
    await ip('link', 'set', this.#port, 'master', BRIDGE, 'up');
    await this.#inside('ip', 'link', 'set', 'lo', 'up');
    await this.#inside('ip', 'link', 'set', peer, 'name', 'eth0');
    await this.#inside('ip', 'address', 'add', `${this.address}/24`, 'dev', 'eth0');
    await this.#inside('ip', 'link', 'set', 'eth0', 'up');
    child.stdin?.end('\n');
    return child;
  }

  async setNetwork(state: NetworkState): Promise<void> {
    await ip('link', 'set', this.#port, state === 'down' ? 'down' : 'up');
    const narrow = state === 'narrow' ? NARROW : null;
    await this.#queue(false, state === 'deaf' ? LOST : narrow);
    await this.#queue(true, state === 'mute' ? LOST : narrow);
  }

  /** Sets its clock this far from the right time; a process notices within a second. */
  stepClock(offsetMs: number): void {
    const offsetS = offsetMs / 1_000;
    writeFileSync(this.#clock, `${offsetS < 0 ? '' : '+'}${offsetS}\n`);
  }

  get #port(): string {
    return `shard${this.#number}n${this.#starts}`;
  }

  /** What leaves through one end of its cable: the shard's, or the bridge's. */
  async #queue(inside: boolean, discipline: readonly string[] | null): Promise<void> {
    const of = (verb: string): string[] => ['qdisc', verb, 'dev', inside ? 'eth0' : this.#port, 'root'];
    const run = async (args: readonly string[]): Promise<unknown> =>
      inside ? this.#inside('tc', ...args) : execute('tc', args);
    // Fails when there was none.
    await run(of('del')).catch(() => undefined);
    if (discipline !== null) await run([...of('add'), ...discipline]);
  }

  async #inside(command: string, ...args: readonly string[]): Promise<void> {
    await execute('nsenter', [`--net=/proc/${this.#pid}/ns/net`, command, ...args]);
  }

  /** `unshare` has a network of its own a moment after it began. */
  async #untilUnshared(): Promise<void> {
    const networkOf = (process: string): string => readlinkSync(`/proc/${process}/ns/net`);
    for (let tries = 0; tries < 1_000; tries += 1) {
      if (networkOf(String(this.#pid)) !== networkOf('self')) return;
      await delay(5);
    }
    throw new Error('unshare made no network namespace');
  }
}

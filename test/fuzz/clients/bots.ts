import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from '../../support/root.ts';

export const LIBRARIES = ['discord.js', 'eris', 'oceanic.js'] as const;
type Library = (typeof LIBRARIES)[number];

/**
 * Defects of a library that messages of the platform set off as well, and that no answer could avoid. They are
 * counted, and reported at the end of a run.
 */
const KNOWN_DEFECTS: readonly { readonly library: Library; readonly fault: RegExp; readonly what: string }[] =
  [
    {
      library: 'eris',
      // A message made within a message: that of a snapshot.
      fault: /^error: [\s\S]{0,120}Invalid channel ID: undefined[\s\S]*at new Message [\s\S]*at new Message /,
      what: 'eris reads a forward whose original it has not cached as a message with a channel and an author, which snapshots do not have',
    },
  ];
/** How often each known defect was met. */
export const defectsMet = new Map<string, number>();

const PROGRAM = join(ROOT, 'test/fuzz/clients/bot.mjs');
const TIMEOUT_MS = 60_000;

type Received = { readonly ready: true } | { readonly fault: string } | { readonly saw: string };

/** A bot in a process of its own; what its library throws or complains of is kept until it is taken. */
export class Bot {
  readonly library: Library;
  readonly #child: ChildProcess;
  #faults: string[] = [];
  #seen = new Set<string>();
  #isReady = false;
  #wake: () => void = () => {};

  private constructor(library: Library, env: Readonly<Record<string, string>>) {
    this.library = library;
    this.#child = fork(PROGRAM, {
      env: { ...process.env, ...env, KIND: library },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', (told: Received) => {
      if ('fault' in told) this.#complain(told.fault);
      else if ('saw' in told) this.#seen.add(told.saw);
      else this.#isReady = true;
      this.#wake();
    });
    this.#child.on('exit', (code, signal) => {
      if (this.#child.connected || code !== 0) this.#faults.push(`${library}: ended with ${code ?? signal}`);
      this.#wake();
    });
  }

  /** @throws when the bot does not log in. */
  static async start(library: Library, env: Readonly<Record<string, string>>): Promise<Bot> {
    const bot = new Bot(library, env);
    if (!(await bot.#until(() => bot.#isReady))) {
      await bot.stop();
      throw new Error(`${library} does not log in: ${bot.takeFaults().join('\n')}`);
    }
    return bot;
  }

  /** Waits for a sentinel; a bot that does not see it has a fault. */
  async sees(sentinel: string): Promise<void> {
    if (!(await this.#until(() => this.#seen.delete(sentinel))))
      this.#faults.push(`${this.library}: did not see "${sentinel}" within ${TIMEOUT_MS} ms`);
  }

  takeFaults(): string[] {
    const faults = this.#faults;
    this.#faults = [];
    return faults;
  }

  #complain(fault: string): void {
    const known = KNOWN_DEFECTS.find((one) => one.library === this.library && one.fault.test(fault));
    if (known) defectsMet.set(known.what, (defectsMet.get(known.what) ?? 0) + 1);
    else this.#faults.push(`${this.library}: ${fault}`);
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async stop(): Promise<void> {
    if (!this.isAlive) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
    this.#faults = this.#faults.filter((each) => !each.includes('ended with SIGKILL'));
  }

  async #until(holds: () => boolean): Promise<boolean> {
    const deadlineMs = performance.now() + TIMEOUT_MS;
    while (!holds()) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0 || !this.isAlive) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return true;
  }
}

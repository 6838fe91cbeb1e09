import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { isRecord } from '../../protocol/json.ts';

/** What the sessions of one client have seen, as it reports it each second. */
export interface ClientCounts {
  readonly ready: number;
  readonly identified: number;
  readonly resumed: number;
  /** Op 9. */
  readonly invalid: number;
  /** Connections that ended after READY. */
  readonly closed: number;
  /** Heartbeats without an answer until the next one. */
  readonly unanswered: number;
  /** Numbers `s` that were left out, and that came twice. */
  readonly lost: number;
  readonly doubled: number;
  /** Messages of the run. */
  readonly messages: number;
}

const countsOf = (count: (name: keyof ClientCounts) => number): ClientCounts => ({
  ...{ ready: count('ready'), identified: count('identified'), resumed: count('resumed') },
  ...{ invalid: count('invalid'), closed: count('closed'), unanswered: count('unanswered') },
  ...{ lost: count('lost'), doubled: count('doubled'), messages: count('messages') },
});

/** Milliseconds, and how many messages took them. */
export type Delays = readonly (readonly [ms: number, count: number])[];

interface ClientPlan {
  readonly program: string;
  readonly gateway: URL;
  readonly sourceAddress: string;
  readonly tokens: readonly string[];
  /** Where its tokens are kept. */
  readonly tokensFile: string;
  readonly perSecond: number;
  /** What messages of the run begin with. */
  readonly mark: string;
}

/** One process of the load client, with a session for each token. */
export class Client {
  readonly size: number;
  #counts = countsOf(() => 0);
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #exit: Promise<unknown>;
  #lapped: ((delays: Delays) => void) | null = null;

  constructor({ program, gateway, sourceAddress, tokens, tokensFile, perSecond, mark }: ClientPlan) {
    this.size = tokens.length;
    writeFileSync(tokensFile, `${tokens.join('\n')}\n`, { mode: 0o600 });
    const args = [gateway.hostname, gateway.port, sourceAddress, tokensFile, String(perSecond), mark];
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#exit = once(this.#child, 'exit');
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#report(line));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get counts(): ClientCounts {
    return this.#counts;
  }

  /** The delays of messages since the last call. */
  lap(): Promise<Delays> {
    return new Promise((resolve) => {
      this.#lapped = resolve;
      this.#child.stdin.write('lap\n');
    });
  }

  async stop(): Promise<void> {
    this.#child.stdin.end();
    await this.#exit;
  }

  #report(line: string): void {
    const value: unknown = JSON.parse(line);
    if (!isRecord(value)) return;
    if (Array.isArray(value.delays))
      this.#lapped?.(value.delays.map(([ms, count]) => [Number(ms), Number(count)]));
    else this.#counts = countsOf((name) => Number(value[name]));
  }
}

/** The sum over all clients. */
export const sumOf = (all: readonly ClientCounts[]): ClientCounts =>
  countsOf((name) => all.reduce((total, counts) => total + counts[name], 0));

/** The delay that this share of all messages does not exceed, in milliseconds; 0 without messages. */
export function delayAt(share: number, laps: readonly Delays[]): number {
  const sorted = laps.flat().sort(([a], [b]) => a - b);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  let seen = 0;
  for (const [ms, count] of sorted) {
    seen += count;
    if (seen >= total * share) return ms;
  }
  return 0;
}

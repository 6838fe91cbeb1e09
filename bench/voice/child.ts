import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { canPin } from '../fanout/arena.ts';

export const SERVER_CPU = '0';
export const LOAD_CPU = '1';

/** A process of the benchmark, pinned to a processor, that handles one request at a time. */
export class Child<Order extends object, News extends { readonly kind: string }> {
  readonly #child: ChildProcess;
  #hear: ((news: News) => void) | null = null;

  constructor(script: string, cpu: string) {
    const pinned = canPin
      ? { execPath: 'taskset', execArgv: ['-c', cpu, process.execPath, '--expose-gc'] }
      : {};
    const path = fileURLToPath(new URL(`./${script}.js`, import.meta.url));
    this.#child = fork(path, [], { execArgv: ['--expose-gc'], ...pinned, stdio: 'inherit' });
    this.#child.on('message', (news: News) => this.#hear?.(news));
    this.#child.on('exit', (code) => {
      if (code) throw new Error(`${script} ended with code ${code}.`);
    });
  }

  order(order: Order): void {
    this.#child.send(order);
  }

  ask<K extends News['kind']>(order: Order, _: K): Promise<Extract<News, { kind: K }>> {
    return new Promise((resolve) => {
      this.#hear = resolve as (news: News) => void;
      this.order(order);
    });
  }

  end(): void {
    this.#child.disconnect();
  }
}

import { present } from '../../protocol/present.ts';
import { Latencies } from '../wire/histogram.ts';
import { type ArenaAddresses, pause, until, write } from './arena.ts';
import { ResumingClient } from './client.ts';

/** GUILDS, GUILD_MESSAGES and MESSAGE_CONTENT. */
const INTENTS = 1 | 512 | 32_768;
/** Connections opened concurrently. */
const LANES = 200;
export const LONG_MS = 300_000;

export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

/** Sessions in one process, with the arrival time of each message at each session. */
export class Crowd {
  readonly clients: readonly ResumingClient[];
  readonly #received: { readonly index: number; readonly sentMs: number; readonly arrivedMs: number }[] = [];
  ready = 0;
  resumed = 0;

  constructor({ gateway, tokens }: ArenaAddresses, sessions: number) {
    const url = new URL(gateway);
    this.clients = Array.from({ length: sessions }, (_, index) => {
      const message = (content: string, arrivedMs: number): void =>
        void this.#received.push({ index, sentMs: Number.parseFloat(content), arrivedMs });
      const opened = (isNew: boolean): void => {
        if (isNew) this.ready += 1;
        else this.resumed += 1;
      };
      const token = present(tokens[index % tokens.length]);
      return new ResumingClient({ url, token, intents: INTENTS, message, opened });
    });
  }

  /** Connects all sessions, some concurrently. @returns the time until all are connected. */
  async connect(): Promise<number> {
    const startMs = performance.now();
    for (const [index, client] of this.clients.entries()) {
      await until('sessions open', LONG_MS, () => index - this.ready < LANES);
      client.connect();
    }
    await until('sessions open', LONG_MS, () => this.ready === this.clients.length);
    return performance.now() - startMs;
  }

  /** Latencies of messages at these sessions, from sending to arrival, in milliseconds. */
  latencies(isOf: (index: number, sentMs: number) => boolean): Quantiles {
    const latencies = new Latencies();
    for (const { index, sentMs, arrivedMs } of this.#received)
      if (isOf(index, sentMs)) latencies.record((arrivedMs - sentMs) * 1000);
    return { p50: latencies.millisAt(50), p99: latencies.millisAt(99) };
  }

  close(): void {
    for (const client of this.clients) client.close();
  }
}

/** Writes messages at a fixed rate, whatever happens to them, each with its time of sending. @returns a function that stops. */
export function keepWriting(
  addresses: ArenaAddresses,
  perSecond: number,
  contentBytes = 0,
): () => Promise<void> {
  let isOver = false;
  const writing = (async () => {
    for (let no = 0; !isOver; no += 1) {
      const stamp = `${performance.now()} `;
      void write(addresses, stamp.padEnd(contentBytes, '.'), `bench ${no}`);
      await pause(1000 / perSecond);
    }
  })();
  return () => {
    isOver = true;
    return writing;
  };
}

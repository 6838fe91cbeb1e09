import type { Answer } from './api.ts';

/**
 * Requests of one bot per second, below the limit.
 *
 * @source https://docs.discord.com/developers/topics/rate-limits#global-rate-limit; it is 50
 */
export const GLOBAL_PER_SECOND = 45;
const RETRIES_MAX = 10;
/** A longer limit is reported instead of waited for. */
const WAIT_MAX_MS = 30_000;
const RETRY_MS = 1000;
/** Margin for differences between this machine's timers and the server's. */
const CLOCK_SKEW_MS = 10;
const LIMITED = 429;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Serializes requests that share a rate limit by the limits in their answers. The first request is sent alone; if its answer
 * reports no limit, later requests do not wait. After a 429 a request is repeated at the time given, a bounded number of times.
 *
 * @source https://docs.discord.com/developers/topics/rate-limits#header-format and
 * https://docs.discord.com/developers/topics/rate-limits#exceeding-a-rate-limit
 */
export class Turns {
  /** Number of repeated requests after a 429. */
  retried = 0;
  /** Requests per window; null while no answer has reported a limit. */
  #limit: number | null = null;
  #left = 0;
  #windowEndMs = Number.POSITIVE_INFINITY;
  #windowMs = 0;
  #nextMs = 0;
  #isKnown = false;
  #line: Promise<void> = Promise.resolve();
  #release: () => void = () => undefined;

  /** Least time for this many requests; 0 without a limit. */
  secondsFor(requests: number): number {
    if (this.#limit === null) return 0;
    const windows = Math.ceil(requests / this.#limit) - 1;
    return Math.max(requests / GLOBAL_PER_SECOND, (windows * this.#windowMs) / 1000);
  }

  async ask(send: () => Promise<Answer>): Promise<Answer> {
    for (let tries = 0; ; tries += 1) {
      await this.#turn();
      const answer = await send();
      this.#learn(answer);
      const waitMs = answer.retryAfterMs ?? RETRY_MS;
      if (answer.status !== LIMITED || tries === RETRIES_MAX || waitMs > WAIT_MAX_MS) return answer;
      this.retried += 1;
      this.#nextMs = Math.max(this.#nextMs, performance.now() + waitMs);
    }
  }

  async #turn(): Promise<void> {
    const before = this.#line;
    let done = (): void => undefined;
    this.#line = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    if (this.#isKnown) {
      await this.#wait();
      done();
    } else this.#release = done;
  }

  async #wait(): Promise<void> {
    const nowMs = performance.now();
    const isSpent = this.#limit !== null && this.#left <= 0;
    const freeMs = isSpent ? Math.min(this.#windowEndMs, nowMs + RETRY_MS) : 0;
    const atMs = Math.max(nowMs, this.#nextMs, freeMs);
    if (atMs > nowMs) await sleep(atMs - nowMs);
    if (this.#limit === null) return;
    if (atMs >= this.#windowEndMs) {
      this.#left = this.#limit;
      this.#windowEndMs = Number.POSITIVE_INFINITY;
    }
    this.#left -= 1;
    this.#nextMs = Math.max(this.#nextMs, atMs + 1000 / GLOBAL_PER_SECOND);
  }

  #learn({ limit }: Answer): void {
    if (limit) {
      const endMs = performance.now() + limit.resetAfterMs + CLOCK_SKEW_MS;
      // Requests in progress are counted in `left` already, but not yet in an answer.
      this.#left = this.#isKnown ? Math.min(this.#left, limit.remaining) : limit.remaining;
      this.#windowEndMs = Math.min(this.#windowEndMs, endMs);
      this.#limit = limit.limit;
      this.#windowMs = Math.max(this.#windowMs, limit.resetAfterMs);
    }
    this.#isKnown = true;
    this.#release();
  }
}

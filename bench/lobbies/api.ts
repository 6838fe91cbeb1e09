import http from 'node:http';
import https from 'node:https';
import { nowNs } from '../wire/pace.ts';

/** The rate limit that an answer reports. */
interface RateLimit {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
}

/** The answer to a request. Status 0 means no answer. */
export interface Answer {
  readonly status: number;
  /** Body of a successful answer; otherwise null. */
  readonly body: unknown;
  /** Time from the call to the last byte of the answer, including the wait for a connection. */
  readonly micros: number;
  /** Null when the server reports none. */
  readonly limit: RateLimit | null;
  /** When a request answered with 429 may be repeated; null for other answers. */
  readonly retryAfterMs: number | null;
}

const ANSWER_TIMEOUT_MS = 60_000;
/** Servers close idle connections after about 10 s; older connections are not reused. */
const IDLE_MS = 4_000;

export const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** A client of the REST API with persistent connections. */
export class Api {
  readonly #base: string;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;

  /** @param base Base URL ending in `/api`. */
  constructor(base: URL, socketsMax: number) {
    this.#base = `${base.href.replace(/\/$/, '')}/v10`;
    const options = {
      keepAlive: true,
      maxSockets: socketsMax,
      scheduling: 'fifo' as const,
      timeout: IDLE_MS,
    };
    const isSecure = base.protocol === 'https:';
    this.#agent = isSecure ? new https.Agent(options) : new http.Agent(options);
    this.#request = isSecure ? https.request : http.request;
  }

  /** Sends a request. Never rejects: a missing answer is a result. */
  ask(method: string, path: string, authorization: string, body?: unknown): Promise<Answer> {
    const startNs = nowNs();
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      authorization,
      'user-agent': 'guildhall-bench',
      ...(text !== '' && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    };
    return new Promise((resolve) => {
      const settle = (status: number, value: unknown, of: http.IncomingHttpHeaders = {}): void =>
        resolve({ status, body: value, micros: (nowNs() - startNs) / 1000, ...limitsOf(of) });
      const request = this.#request(
        `${this.#base}${path}`,
        { method, agent: this.#agent, timeout: ANSWER_TIMEOUT_MS, headers },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', () => settle(0, null));
          response.on('end', () => {
            const status = response.statusCode ?? 0;
            const hasBody = status === 200 || status === 201;
            settle(status, hasBody ? parsed(Buffer.concat(chunks)) : null, response.headers);
          });
        },
      );
      request.on('timeout', () => request.destroy(new Error('No answer in time.')));
      request.on('error', () => settle(0, null));
      request.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** @source https://docs.discord.com/developers/topics/rate-limits#header-format */
function limitsOf(headers: http.IncomingHttpHeaders): Pick<Answer, 'limit' | 'retryAfterMs'> {
  const of = (name: string): number => Number(headers[name] ?? Number.NaN);
  const [limit, remaining] = [of('x-ratelimit-limit'), of('x-ratelimit-remaining')];
  const [resetAfterMs, retryAfterMs] = [of('x-ratelimit-reset-after') * 1000, of('retry-after') * 1000];
  return {
    limit: limit > 0 && remaining >= 0 && resetAfterMs >= 0 ? { limit, remaining, resetAfterMs } : null,
    retryAfterMs: retryAfterMs >= 0 ? retryAfterMs : null,
  };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}

/** Runs `work` for every index, a bounded number concurrently. */
export async function inParallel(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, atOnce) }, worker));
}

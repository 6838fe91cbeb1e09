import { ErrorType } from './enums.ts';
import type { Log } from './log.ts';
import { aborted, ClientError, networkError, notReady } from './result.ts';
import { isJson, type Json } from './voice/wire.ts';

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the API's base, with a leading slash. Build parts that are ids with `path`. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: object;
  /** Sent beside `body` in a multipart form. */
  readonly files?: readonly { readonly filename: string; readonly bytes: Uint8Array }[];
  /** Form body, for the OAuth2 routes, which take nothing else. */
  readonly form?: Query;
  /** Authentication: the client's own token, another one, or none. */
  readonly as?: 'client' | 'nobody' | { readonly token: string };
  /** Cancels the call; it rejects with `Aborted`. */
  readonly signal?: AbortSignal;
}

interface HttpOptions {
  readonly apiBase: string;
  readonly fetch: typeof fetch;
  readonly log: Log;
  /** `Bearer …`, or null before there is one. */
  readonly authorization: () => string | null;
  /** The server rejected the client's token. */
  readonly unauthorized: () => void;
}

/** Maximum size of a response that is read, bytes. */
const ANSWER_BYTES_MAX = 16 * 1_048_576;
const ROUTES_WAITING_MAX = 256;
const TIMEOUT_DEFAULT_MS = 30_000;
/** Maximum delay of a timer, milliseconds. */
const TIMER_MAX_MS = 2_147_483_647;

/** Builds a path from its parts and escapes them: ids come from outside and must not change the route. */
export const path = (strings: TemplateStringsArray, ...ids: readonly string[]): string =>
  strings.reduce((whole, part, at) => `${whole}${encodeURIComponent(ids[at - 1] ?? '')}${part}`);

/**
 * HTTP API client. Each call ends within the timeout with a response or a `ClientError`. A 429 is retried as far
 * as the timeout allows, and delays other calls of its route.
 */
export class Http {
  readonly #options: HttpOptions;
  /** Retry time by route after a 429, Unix milliseconds. */
  readonly #waits = new Map<string, number>();
  #globalWaitMs = 0;
  #timeoutMs = TIMEOUT_DEFAULT_MS;
  readonly #life = new AbortController();

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /** @throws RangeError unless it is an integer of milliseconds that a timer supports. */
  set timeoutMs(ms: number) {
    if (!Number.isInteger(ms) || ms < 1 || ms > TIMER_MAX_MS)
      throw new RangeError('A timeout must be an integer of at least 1 millisecond.');
    this.#timeoutMs = ms;
  }

  /** Cancels all calls; later calls are rejected. */
  destroy(): void {
    this.#life.abort();
  }

  /** @returns the parsed body; undefined without content. The caller validates it. */
  async call(call: HttpCall): Promise<unknown> {
    if (this.#life.signal.aborted) throw destroyed();
    const headers = this.#headersOf(call);
    const ends = new AbortController();
    const deadlineMs = Date.now() + this.#timeoutMs;
    const timer = setTimeout(() => ends.abort(), this.#timeoutMs);
    const stop = () => ends.abort();
    for (const signal of [call.signal, this.#life.signal]) signal?.addEventListener('abort', stop);
    if (call.signal?.aborted) stop();
    try {
      // Raced, because a custom `fetch` may ignore its signal.
      return await Promise.race([this.#attempts(call, headers, ends.signal, deadlineMs), ended(ends.signal)]);
    } catch (error) {
      throw this.#causeOf(error, call, ends.signal);
    } finally {
      clearTimeout(timer);
      for (const signal of [call.signal, this.#life.signal]) signal?.removeEventListener('abort', stop);
    }
  }

  #causeOf(error: unknown, call: HttpCall, ends: AbortSignal): ClientError {
    if (error instanceof ClientError) return error;
    if (this.#life.signal.aborted) return destroyed();
    if (call.signal?.aborted) return aborted();
    if (ends.aborted) return networkError(`The server did not answer within ${this.#timeoutMs} ms.`);
    this.#options.log.warn(`${call.method} ${call.path} failed: ${String(error)}`);
    return networkError('The server could not be reached.');
  }

  #headersOf({ as = 'client', body, form, files = [] }: HttpCall): Record<string, string> {
    const authorization =
      typeof as === 'object' ? as.token : as === 'nobody' ? null : this.#options.authorization();
    if (authorization === null && as === 'client')
      throw notReady('There is no token yet: set one with updateToken.');
    return {
      ...(authorization !== null && { authorization }),
      // The boundary of a multipart form is known to `fetch` only.
      ...(body !== undefined && files.length === 0 && { 'content-type': 'application/json' }),
      ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
    };
  }

  async #attempts(call: HttpCall, headers: Record<string, string>, signal: AbortSignal, deadlineMs: number) {
    const route = `${call.method} ${call.path}`;
    const { apiBase, log } = this.#options;
    const url = `${apiBase}${call.path}${call.query === undefined ? '' : `?${encoded(call.query)}`}`;
    const body = bodyOf(call);
    for (;;) {
      await this.#turn(route, signal, deadlineMs);
      const startMs = Date.now();
      const response = await this.#options.fetch(url, {
        ...{ method: call.method, headers, signal },
        ...(body !== undefined && { body }),
      });
      const text = await readText(response, signal);
      // A response that arrives with the timeout is too late: a timed-out call never succeeds.
      if (signal.aborted) throw signal.reason;
      log.verbose(() => `${route} was answered ${response.status} in ${Date.now() - startMs} ms`);
      if (response.ok) return parsed(text, response.status);
      const refusal = refusalOf(response, text);
      if (response.status === 429) this.#hold(route, refusal, text, response);
      if (response.status === 429 && Date.now() + refusal.result.retryAfter * 1000 < deadlineMs) continue;
      if (response.status === 401 && (call.as ?? 'client') === 'client') this.#options.unauthorized();
      log.warn(`${route} was refused: ${refusal}`);
      throw refusal;
    }
  }

  /** Waits until the route's retry time, or rejects when that is after the deadline. */
  async #turn(route: string, signal: AbortSignal, deadlineMs: number): Promise<void> {
    for (;;) {
      if (signal.aborted) throw signal.reason;
      const nowMs = Date.now();
      const untilMs = Math.max(this.#globalWaitMs, this.#waits.get(route) ?? 0);
      if (untilMs <= nowMs) return;
      if (untilMs >= deadlineMs) {
        const more = { status: 429, retryable: true, retryAfter: (untilMs - nowMs) / 1000 };
        throw new ClientError(
          ErrorType.HTTPError,
          'Rate limited: the server refuses further calls of this kind for now.',
          more,
        );
      }
      await pause(untilMs - nowMs, signal);
    }
  }

  #hold(route: string, { result }: ClientError, text: string, response: Response): void {
    const nowMs = Date.now();
    const untilMs = nowMs + result.retryAfter * 1000;
    const body = parsedOrNull(text);
    if (response.headers.get('x-ratelimit-global') === 'true' || (isJson(body) && body.global === true))
      this.#globalWaitMs = Math.max(this.#globalWaitMs, untilMs);
    if (this.#waits.size >= ROUTES_WAITING_MAX)
      for (const [key, ms] of this.#waits) if (ms <= nowMs) this.#waits.delete(key);
    if (this.#waits.size < ROUTES_WAITING_MAX) this.#waits.set(route, untilMs);
  }
}

const destroyed = (): ClientError => new ClientError(ErrorType.ClientDestroyed, 'The client was destroyed.');

const ended = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

function bodyOf({ form, body, files = [] }: HttpCall): string | FormData | undefined {
  if (form !== undefined) return encoded(form);
  const json = body && JSON.stringify(body);
  if (files.length === 0) return json;
  const parts = new FormData();
  if (json !== undefined) parts.set('payload_json', json);
  for (const [index, { filename, bytes }] of files.entries())
    parts.set(`files[${index}]`, new Blob([Uint8Array.from(bytes)]), filename);
  return parts;
}

function encoded(fields: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined && value !== null) parameters.set(name, String(value));
  return parameters.toString();
}

async function readText(response: Response, signal: AbortSignal): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return response.text();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  // Some implementations leave a read pending when its request is aborted.
  const stop = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (signal.aborted) throw signal.reason;
      if (done) return text + decoder.decode();
      bytes += value.length;
      if (bytes > ANSWER_BYTES_MAX) {
        stop();
        throw new ClientError(ErrorType.HTTPError, 'The response is too large.', { status: response.status });
      }
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function parsed(text: string, status: number): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    const more = { status, responseBody: text.slice(0, 1000) };
    throw new ClientError(ErrorType.HTTPError, 'The response is not JSON.', more);
  }
}

/** Parses an error of the platform, of an OAuth2 route, or of a proxy. */
export function refusalOf(response: Response, text: string): ClientError {
  const body = parsedOrNull(text);
  const { status } = response;
  const said: Json = isJson(body) ? body : {};
  const sentence =
    typeof said.message === 'string'
      ? said.message
      : [said.error, said.error_description].filter((part) => typeof part === 'string').join(': ');
  const waits = [said.retry_after, response.headers.get('retry-after')].map(Number);
  const retryAfter = waits.find((sec) => Number.isFinite(sec) && sec > 0) ?? 0;
  return new ClientError(ErrorType.HTTPError, sentence || `The server answered ${status}.`, {
    status,
    errorCode: typeof said.code === 'number' ? said.code : 0,
    responseBody: text,
    retryable: status === 408 || status === 423 || status === 429 || status >= 500,
    // A 429 without a retry time still needs a pause.
    retryAfter: status === 429 ? Math.max(retryAfter, 0.05) : retryAfter,
  });
}

/** Waits; rejects when `signal` aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, Math.min(ms, TIMER_MAX_MS));
    function done() {
      signal.removeEventListener('abort', stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(signal.reason);
    }
    signal.addEventListener('abort', stop, { once: true });
  });
}

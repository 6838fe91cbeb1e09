import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { isIP } from 'node:net';
import { plainAddress } from '../../protocol/addresses.ts';
import { MalformedJson, OversizedJson, parseJson } from '../../protocol/json.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Result } from '../rest/result.ts';
import type { SharedMessages } from '../rest/sharedmessages.ts';

/**
 * Allows calls from pages of any origin: the platform's browser SDK runs on the origins of games, and the interface uses no
 * cookies that such a page could misuse. Every call needs a token anyway.
 */
export const CORS: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Reset-After, ' +
    'X-RateLimit-Bucket, X-RateLimit-Global, X-RateLimit-Scope, Via, ETag, Content-Range',
};

/** Without a charset parameter: several client libraries do not recognize the type with one as JSON. */
const JSON_HEADERS: Readonly<Record<string, string>> = { 'Content-Type': 'application/json', ...CORS };

const PREFLIGHT: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, X-Audit-Log-Reason, X-Discord-Locale, X-RateLimit-Precision, Range, If-None-Match',
  'Access-Control-Max-Age': '86400',
};

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  206: 'Partial Content',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  423: 'Locked',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** Headers of an answer; a header that is sent in several lines, such as Set-Cookie, is a list. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

/**
 * The end of a connection after its answer. `stays`: it stays open. `unread`: the client may still be sending a body
 * that is not read; it is asked to close, no more bytes are read, and the native idle timeout closes the connection. Closing
 * at once would reset it, and the client might lose the answer. `cut`: it is closed at once.
 */
export type After = 'stays' | 'unread' | 'cut';

/** The parser reads and drops unwanted bodies up to this size after the answer. */
const UNWANTED_BYTES_MAX = 1 << 20;

/** @source RFC 9112, 9.6 */
const CLOSES = /(?:^|,)\s*close\s*(?:,|$)/i;

/** The state of the server that routes use. */
export interface ServerState {
  /** True once the server no longer accepts connections; answers then close their connection. */
  draining: boolean;
  readonly sharedMessages: SharedMessages;
  /** Makes the server's shutdown wait for a request that is being answered. */
  run<T>(answering: Promise<T>): Promise<T>;
}

/** Whether a request has several headers for its length that differ. */
function hasTwoLengths(req: HttpRequest): boolean {
  const lengths = new Set<string>();
  req.forEach((name, value) => {
    if (name === 'content-length') lengths.add(value);
  });
  return lengths.size > 1;
}

/** One HTTP request and its answer. Every method is safe after the peer has disconnected. */
export class Exchange {
  readonly res: HttpResponse;
  /** In upper case. */
  readonly method: string;
  /** Percent-encoded. */
  readonly path: string;
  /** Without the question mark; percent-encoded. */
  readonly query: string;
  /** Names in lower case; of a repeated header the last value. */
  readonly headers: ReadonlyMap<string, string>;
  readonly #state: ServerState;
  readonly #aborts: (() => void)[] = [];
  /** Whether the request asked to close the connection, which then happens after the answer. */
  readonly #isLast: boolean;
  /** The Content-Length; null for a chunked body, NaN for two different lengths. */
  readonly announcedBytes: number | null;
  #isBodyRead = false;
  #address: string | null = null;
  /** The peer has disconnected or the answer is complete: the response must not be used any more. */
  #over = false;

  constructor(res: HttpResponse, req: HttpRequest, state: ServerState) {
    this.res = res;
    this.#state = state;
    this.method = req.getMethod().toUpperCase();
    this.path = req.getUrl();
    this.query = req.getQuery() ?? '';
    const headers = new Map<string, string>();
    let lines = 0;
    req.forEach((name, value) => {
      lines += 1;
      headers.set(name, value);
    });
    if (lines > headers.size && hasTwoLengths(req)) headers.set('content-length', 'two lengths');
    this.headers = headers;
    this.#isLast = CLOSES.test(headers.get('connection') ?? '');
    this.announcedBytes = headers.has('transfer-encoding')
      ? null
      : Number(headers.get('content-length') ?? 0);
    res.onAborted(() => {
      this.#over = true;
      for (const listener of this.#aborts.splice(0)) listener();
    });
  }

  get over(): boolean {
    return this.#over;
  }

  get draining(): boolean {
    return this.#state.draining;
  }

  get hasBody(): boolean {
    return this.announcedBytes !== 0 && !this.hasTwoLengths;
  }

  /** The end of its body is not known. */
  get hasTwoLengths(): boolean {
    return Number.isNaN(this.announcedBytes);
  }

  /** Declares that the caller reads the body, and then decides what happens to the connection. */
  bodyIsRead(): void {
    this.#isBodyRead = true;
  }

  /** Registers a listener that is called when the peer disconnects before the answer is complete. */
  onAbort(listener: () => void): void {
    this.#aborts.push(listener);
  }

  /** The peer's address; behind a trusted proxy the last entry of `X-Forwarded-For`, which that proxy wrote. */
  address(trustProxy: boolean): string {
    // Asking the system costs several microseconds.
    this.#address ??= addressOf(this.res, trustProxy ? this.headers.get('x-forwarded-for') : undefined);
    return this.#address;
  }

  /** Answers with JSON, or without a body. */
  answer({ status, headers, body }: Result, after: After = 'stays'): void {
    const isText = typeof body === 'string' || body instanceof Uint8Array;
    if (body === undefined) this.send(status, { ...CORS, ...headers }, null, after);
    else if (isText && headers['Content-Type'] !== undefined)
      this.send(status, { ...CORS, ...headers }, body, after);
    else {
      const text = Array.isArray(body) ? this.#state.sharedMessages.encodedList(body) : JSON.stringify(body);
      this.send(status, { ...JSON_HEADERS, ...headers }, text, after);
    }
  }

  preflight(): void {
    this.send(204, { ...CORS, ...PREFLIGHT }, null);
  }

  /** Sends status, headers and a complete body in one write. For HEAD only the body's length is sent. */
  send(
    status: number,
    headers: AnswerHeaders,
    body: string | Uint8Array | null,
    after: After = 'stays',
  ): void {
    if (this.#over) return;
    this.#over = true;
    const { res } = this;
    const isUnread = (after === 'unread' || this.#isUnwanted()) && !this.#isLast;
    const closes = !isUnread && (after === 'cut' || this.#state.draining) && !this.#isLast;
    res.cork(() => {
      this.#head(status, headers);
      if (isUnread) {
        res.writeHeader('Connection', 'close');
        res.pause();
      }
      // 204 and 304 have no body, so no length either (RFC 9110, 8.6).
      if (status === 204 || status === 304) {
        if (closes) res.writeHeader('Connection', 'close');
        res.endWithoutBody();
      } else if (this.method === 'HEAD')
        res.endWithoutBody(body === null ? 0 : Buffer.byteLength(body), closes);
      else res.end(body ?? '', closes);
    });
  }

  /** Answers HEAD like GET, without the `size` bytes of the body. */
  sendHead(status: number, headers: Readonly<Record<string, string>>, size: number): void {
    if (this.#over) return;
    this.#over = true;
    this.res.cork(() => {
      this.#head(status, headers);
      this.res.endWithoutBody(size, this.#state.draining && !this.#isLast);
    });
  }

  /** Writes status and headers of a body that follows in the same cork. */
  begin(status: number, headers: Readonly<Record<string, string>>): void {
    if (!this.#over) this.#head(status, headers);
  }

  /** Drops the connection in the middle of an answer. */
  cut(): void {
    if (!this.#over) this.res.close();
  }

  /** Marks the answer as complete, after `tryEnd` has sent the last byte. */
  complete(): void {
    this.#over = true;
  }

  /** Whether there is an unread body that is too large for the parser to read and drop. */
  #isUnwanted(): boolean {
    return !this.#isBodyRead && (this.announcedBytes === null || this.announcedBytes > UNWANTED_BYTES_MAX);
  }

  #head(status: number, headers: AnswerHeaders): void {
    const { res } = this;
    res.writeStatus(`${status} ${REASONS[status] ?? 'Status'}`);
    for (const name in headers) {
      const given = headers[name] ?? '';
      if (typeof given === 'string') res.writeHeader(name, given);
      else for (const line of given) res.writeHeader(name, line);
    }
    // The native server closes the connection after such a request; without this header the peer might try to reuse it.
    if (this.#isLast) res.writeHeader('Connection', 'close');
  }
}

/** The error for a request whose body did not end in time. The platform has no code for it. */
export const REQUEST_TIMEOUT: Refusal = { status: 408, code: 0, message: '408: Request Timeout' };

/**
 * The error for a request that is larger than the server reads.
 *
 * @source https://docs.discord.com/developers/topics/opcodes-and-status-codes#json-json-error-codes; 40005
 */
export const TOO_LARGE = refusal('PAYLOAD_TOO_LARGE');

/** Some proxies write the port too, and an IPv6 address in brackets. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;

/** The peer's address; behind a trusted proxy the last entry of `forwardedFor`, which that proxy wrote. */
export function addressOf(res: Pick<HttpResponse, 'getRemoteAddressAsText'>, forwardedFor?: string): string {
  const forwarded = forwardedFor?.split(',').at(-1)?.trim() ?? '';
  const [, bracketed, bare] = WITH_PORT.exec(forwarded) ?? [];
  const address = bracketed ?? bare ?? forwarded;
  if (isIP(address) !== 0) return plainAddress(address);
  return plainAddress(Buffer.from(res.getRemoteAddressAsText()).toString('latin1'));
}

/** Most pairs of a query that are read; the bound on headers limits the length of the text. */
const PAIRS_MAX = 512;

/**
 * Parses a query string: a single key is a string, a repeated key a list. Invalid escapes are kept and invalid UTF-8
 * becomes U+FFFD, so it never fails. The record has no prototype.
 */
export function readQuery(text: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  if (text === '') return query;
  let pairs = 0;
  for (const [key, value] of new URLSearchParams(text)) {
    if (++pairs > PAIRS_MAX) break;
    const before = query[key];
    if (before === undefined) query[key] = value;
    else if (Array.isArray(before)) before.push(value);
    else query[key] = [before, value];
  }
  return query;
}

type ReadJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Reads the JSON of a request as `parseJson` does: bounded in depth and number of values, with integers beyond 2^53 as
 * bigints, which `rest/validate.ts` converts to what the operation's schema expects.
 */
export function readJson(bytes: Uint8Array): ReadJson {
  try {
    return { ok: true, value: parseJson(bytes) };
  } catch (error) {
    if (!(error instanceof MalformedJson)) throw error;
    // The platform has a single code for an unreadable body; the message here additionally names the exceeded bound.
    const invalid = refusal('INVALID_JSON');
    return {
      ok: false,
      refusal: error instanceof OversizedJson ? { ...invalid, message: error.message } : invalid,
    };
  }
}

/** Languages of one header that are read. */
const LANGUAGES_MAX = 16;
const NO_LANGUAGES: readonly string[] = [];
const LANGUAGE = /^\s*([a-z0-9-]{1,16})\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/i;

/**
 * The language tags that a client prefers, best first: its `X-Discord-Locale`, or else its `Accept-Language`. Malformed
 * parts are skipped.
 *
 * @source https://docs.discord.com/developers/interactions/application-commands#retrieving-localized-commands; RFC
 * 9110, section 12.5.4
 */
export function languagesOf(headers: { get(name: string): string | undefined }): readonly string[] {
  const header = headers.get('x-discord-locale') ?? headers.get('accept-language') ?? '';
  if (header === '') return NO_LANGUAGES;
  const found = header.split(',', LANGUAGES_MAX).flatMap((part) => {
    const [, tag, quality = '1'] = LANGUAGE.exec(part) ?? [];
    return tag === undefined || Number(quality) === 0 ? [] : [{ tag, quality: Number(quality) }];
  });
  // The sort is stable: languages of equal quality keep their order.
  return found.sort((a, b) => b.quality - a.quality).map(({ tag }) => tag);
}

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { isIP } from 'node:net';
import { plainAddress } from '../../protocol/addresses.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Result } from '../rest/result.ts';

/**
 * Browsers may call from any page: the platform's browser SDK runs on the origins of other people's games, and no
 * cookie means anything to the interface that such a page could misuse. A token is needed either way.
 */
export const CORS: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Reset-After, ' +
    'X-RateLimit-Bucket, X-RateLimit-Global, X-RateLimit-Scope, Via, ETag, Content-Range',
};

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
  503: 'Service Unavailable',
};

/** Headers of an answer; several lines of one name, as cookies need, in a list. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

/**
 * What becomes of a connection behind its answer. `unread`: the client may still be sending a body nobody reads. It is
 * asked to close and no more of its bytes are taken; the native idle timeout closes for it. Closing at once would reset the
 * connection, and the client might lose the answer. `cut`: it is closed at once.
 */
export type After = 'stays' | 'unread' | 'cut';

/** Rests of bodies up to this size are read by the parser behind an answer that did not want them. */
const UNWANTED_BYTES_MAX = 1 << 20;

/** @source RFC 9112, 9.6 */
const CLOSES = /(?:^|,)\s*close\s*(?:,|$)/i;

/** What routes may ask about the server they are on. */
export interface ServerState {
  /** True once it no longer accepts: answers then also close their connection. */
  draining: boolean;
  /** Has the end of the server wait for a request that is being answered. */
  run<T>(answering: Promise<T>): Promise<T>;
}

/** One HTTP request and its answer, safe against a peer that goes away at any moment. */
export class Exchange {
  readonly res: HttpResponse;
  /** As the peer wrote it, which is upper case for every method there is. */
  readonly method: string;
  /** Still percent-encoded. */
  readonly path: string;
  /** Without the question mark; still percent-encoded. */
  readonly query: string;
  /** Names in lower case; of a repeated header the last. */
  readonly headers: ReadonlyMap<string, string>;
  readonly #state: ServerState;
  readonly #aborts: (() => void)[] = [];
  /** The peer has said that it sends nothing more: the connection closes behind the answer, whoever ends it. */
  readonly #isLast: boolean;
  /** Length of the body as announced; null when it comes in chunks. */
  readonly announcedBytes: number | null;
  #isBodyRead = false;
  /** The peer is gone or has its answer: the response must not be touched any more. */
  #over = false;

  constructor(res: HttpResponse, req: HttpRequest, state: ServerState) {
    this.res = res;
    this.#state = state;
    this.method = req.getMethod().toUpperCase();
    this.path = req.getUrl();
    this.query = req.getQuery() ?? '';
    const headers = new Map<string, string>();
    req.forEach((name, value) => {
      headers.set(name, value);
    });
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
    return this.announcedBytes !== 0;
  }

  /** To be called by who reads the body, and then says what becomes of the connection. */
  bodyIsRead(): void {
    this.#isBodyRead = true;
  }

  /** Called at once when the peer goes away before the answer is complete. */
  onAbort(listener: () => void): void {
    this.#aborts.push(listener);
  }

  /**
   * The peer's address; behind a trusted proxy the last entry of `X-Forwarded-For`, which that proxy wrote.
   */
  address(trustProxy: boolean): string {
    return addressOf(this.res, trustProxy ? this.headers.get('x-forwarded-for') : undefined);
  }

  /** Answers with JSON, or with nothing. */
  answer({ status, headers, body }: Result, after: After = 'stays'): void {
    const all = { ...CORS, ...headers };
    if (body === undefined) this.send(status, all, null, after);
    // Exactly this type: with a charset behind it several client libraries do not take it for JSON.
    else this.send(status, { 'Content-Type': 'application/json', ...all }, JSON.stringify(body), after);
  }

  preflight(): void {
    this.send(204, { ...CORS, ...PREFLIGHT }, null);
  }

  /** Status, headers and a whole body, in one write. A HEAD request gets the length of the body instead of it. */
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

  /** The answer to HEAD: what a GET would have been, without its `size` bytes. */
  sendHead(status: number, headers: Readonly<Record<string, string>>, size: number): void {
    if (this.#over) return;
    this.#over = true;
    this.res.cork(() => {
      this.#head(status, headers);
      this.res.endWithoutBody(size, this.#state.draining && !this.#isLast);
    });
  }

  /** Status and headers of a body that follows in the same cork. */
  begin(status: number, headers: Readonly<Record<string, string>>): void {
    if (!this.#over) this.#head(status, headers);
  }

  /** Ends the connection in the middle of an answer. */
  cut(): void {
    if (!this.#over) this.res.close();
  }

  /** Marks the answer as complete: `tryEnd` has sent the last of it. */
  complete(): void {
    this.#over = true;
  }

  /** A body nobody asked for, longer than the parser should read for nothing. */
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
    // The native side closes behind such a request without saying so, and the peer might keep the connection.
    if (this.#isLast) res.writeHeader('Connection', 'close');
  }
}

/** The error of a request whose body never ended. The platform has no code for it. */
export const REQUEST_TIMEOUT: Refusal = { status: 408, code: 0, message: '408: Request Timeout' };

/** The request is larger than the server reads. @source 40005 */
export const TOO_LARGE = refusal('PAYLOAD_TOO_LARGE');

/** The peer's address; behind a trusted proxy the last one it has forwarded for, which is the one it has seen itself. */
export function addressOf(res: Pick<HttpResponse, 'getRemoteAddressAsText'>, forwardedFor?: string): string {
  const forwarded = forwardedFor?.split(',').at(-1)?.trim() ?? '';
  if (isIP(forwarded) !== 0) return plainAddress(forwarded);
  return plainAddress(Buffer.from(res.getRemoteAddressAsText()).toString('latin1'));
}

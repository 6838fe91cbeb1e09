import type { Readable } from 'node:stream';
import type { AnswerStart } from './answerreader.ts';
import {
  answerHeaders,
  mayCarryCookies,
  type OwnHeaders,
  redirectWithin,
  requestHead,
  requestHeaders,
} from './headers.ts';
import type { Inbound } from './inbound.ts';
import type { RequestTarget } from './origins.ts';
import type { Carried, Connection } from './pool.ts';
import type { ProxyTarget } from './sites.ts';

/** One request that is passed on. */
interface Forwarded {
  readonly inbound: Inbound;
  readonly asked: RequestTarget;
  readonly body: Readable | null;
  readonly proxyTarget: ProxyTarget;
  /** The path at the target, without the query. */
  readonly path: string;
  /** The origin of the activity. */
  readonly self: URL;
  /** Headers of this server, which replace those of the target. */
  readonly own: OwnHeaders;
  readonly answerBytesMax: number;
}

export const TARGET_REASON =
  'The target of the mapping cannot be reached, leads elsewhere, or answers too much.';

/** @source RFC 9110, section 9.2.2 */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);
/** Methods for which targets expect a length even of an empty body. */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

/** Forwards a request to the target and the answer to the browser, each while it is being read. */
export function forward(forwarded: Forwarded): void {
  const { inbound, asked, body, proxyTarget: site, path } = forwarded;
  // The browser left while the mapping was looked up: a body would never end, and hold its connection to the target.
  if (inbound.isOver) return;
  const { method, headers } = inbound;
  const sent = requestHeaders(headers, mayCarryCookies(headers));
  const length = lengthOf(inbound, body !== null);
  const head = requestHead({
    method,
    target: path + asked.search,
    host: site.url.host,
    headers: sent,
    length,
  });
  if (head === null) {
    inbound.refuse(400, forwarded.own, refusalOf('The request is malformed.'));
    return;
  }
  const exchange = new Exchange(forwarded, head);
  inbound.onOver(() => exchange.leave());
  if (!site.pool.dispatch(exchange)) exchange.onBroken();
}

/** The size of the body, `chunked` for an unknown one; null when nothing is said about a body. */
function lengthOf({ headers, method }: Inbound, hasBody: boolean): number | 'chunked' | null {
  if (hasBody) return headers.has('content-length') ? Number(headers.get('content-length')) : 'chunked';
  return WITH_BODY.has(method) ? 0 : null;
}

/** Joins the connection to the target with the answer to the browser. Either end that breaks off ends the other. */
class Exchange implements Carried {
  readonly isHead: boolean;
  readonly isRepeatable: boolean;
  readonly #forwarded: Forwarded;
  readonly #head: string;
  #connection: Connection | null = null;
  #isSent: boolean;
  #isOver = false;
  #bytes = 0;
  #announced: number | null = null;

  constructor(forwarded: Forwarded, head: string) {
    const { inbound, body } = forwarded;
    this.#forwarded = forwarded;
    this.#head = head;
    this.#isSent = body === null;
    this.isHead = inbound.method === 'HEAD';
    this.isRepeatable = body === null && REPEATABLE.has(inbound.method);
  }

  get isSent(): boolean {
    return this.#isSent;
  }

  /** The answer to the browser is complete or has broken off. */
  leave(): void {
    // The answer to the browser ends with the last announced byte, before the reader calls `onComplete`.
    if (!this.#isOver && this.#bytes !== this.#announced) this.#abort();
  }

  send(connection: Connection): void {
    this.#connection = connection;
    connection.write(this.#head);
    const { body } = this.#forwarded;
    if (body) this.#sendBody(body, connection);
  }

  onDrain(): void {
    this.#forwarded.body?.resume();
  }

  onStart({ status, lines, bytes }: AnswerStart): boolean {
    const { inbound, own, answerBytesMax } = this.#forwarded;
    const { headers, location, isEventStream } = answerHeaders(lines);
    const isRedirect = status >= 300 && status < 400 && location !== undefined;
    const to = location === undefined ? null : this.#redirect(location, isRedirect);
    if ((isRedirect && to === null) || (bytes ?? 0) > answerBytesMax) return this.#abort();
    const all = to === null ? headers : `${headers}location: ${to}\r\n`;
    const hasBody = inbound.method !== 'HEAD' && status !== 204 && status !== 304;
    this.#announced = bytes;
    inbound.start({ status, own, headers: all, bytes, hasBody, isEventStream });
    return true;
  }

  onPart(part: Buffer): boolean {
    const { inbound, answerBytesMax } = this.#forwarded;
    this.#bytes += part.length;
    if (this.#bytes > answerBytesMax) return this.#abort();
    if (!inbound.write(part)) this.#awaitBrowser(inbound);
    return !this.#isOver;
  }

  onLull(): void {
    this.#forwarded.inbound.flush();
  }

  onComplete(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!this.#isSent) this.#forwarded.body?.destroy();
    this.#forwarded.inbound.end();
  }

  onBroken(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { inbound, own, body } = this.#forwarded;
    body?.destroy();
    if (inbound.hasStarted) inbound.break();
    else inbound.refuse(502, own, refusalOf(TARGET_REASON));
  }

  /** Reads no more of the answer until the browser has taken what was read. */
  #awaitBrowser(inbound: Inbound): void {
    const connection = this.#connection;
    if (inbound.isOver) return;
    connection?.pause();
    inbound.onDrained(() => {
      if (!this.#isOver) connection?.resume();
    });
  }

  #sendBody(body: Readable, connection: Connection): void {
    const length = lengthOf(this.#forwarded.inbound, true);
    let left = length === 'chunked' ? Number.POSITIVE_INFINITY : (length ?? 0);
    body.on('data', (part: Buffer) => {
      left -= part.length;
      this.#isSent = left === 0;
      if (length === 'chunked') connection.write(`${part.length.toString(16)}\r\n`);
      const takesMore = connection.write(part);
      if (length === 'chunked') connection.write('\r\n');
      if (!takesMore) body.pause();
    });
    body.on('end', () => {
      if (length === 'chunked') connection.write('0\r\n\r\n');
      // The target would read the next request as the rest of this body.
      else if (left !== 0) this.#abort();
      this.#isSent = true;
    });
  }

  /** Ends the exchange at both ends, also while it waits for a connection. @returns false */
  #abort(): false {
    this.#forwarded.proxyTarget.pool.forget(this);
    this.#connection?.destroy();
    this.onBroken();
    return false;
  }

  #redirect(location: string, isRedirect: boolean): string | null {
    const { proxyTarget: site, path, asked, self } = this.#forwarded;
    // Assigns the path, because a parser would take one that begins with two slashes for a host, or for no URL.
    const target = new URL(site.url);
    if (isRedirect) [target.pathname, target.search] = [path, asked.search];
    return redirectWithin(location, { target, self, path: asked.path });
  }
}

export const refusalOf = (message: string): object => ({ message, code: 0 });

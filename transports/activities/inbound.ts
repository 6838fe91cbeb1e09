import type { HttpRequest, HttpResponse, us_socket_context_t } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import { addressOf } from '../http/exchange.ts';
import type { HeaderText, OwnHeaders, RequestHeaders } from './headers.ts';

/** The start of an answer. */
interface AnswerHead {
  readonly status: number;
  readonly own: OwnHeaders | null;
  readonly headers: HeaderText;
  /** The size of the body, which HEAD announces without sending it; null while it is not known. */
  readonly bytes: number | null;
  readonly hasBody: boolean;
  readonly isEventStream?: boolean;
}

const BODY_BUFFER_BYTES = 64 << 10;

/**
 * A request of a browser and the answer to it. The native response must not be touched once the browser has gone or the
 * answer is complete: every method here has no effect then.
 */
export class Inbound {
  /** As the browser wrote it. */
  readonly method: string;
  /** Path and query as the browser wrote them. */
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly #res: HttpResponse;
  readonly #endings: (() => void)[] = [];
  #isOver = false;
  #hasStarted = false;
  /** The start of the answer, until it is written together with the first part of the body. */
  #head: AnswerHead | null = null;
  /** The size of an answer that is announced. */
  #bytes: number | null = null;
  /** The end of a part that the connection has not taken yet. */
  #rest: Buffer | null = null;
  #drained: (() => void) | null = null;
  #isPaused = false;

  constructor(res: HttpResponse, req: HttpRequest) {
    this.#res = res;
    this.method = req.getCaseSensitiveMethod().toUpperCase();
    const query = req.getQuery();
    this.target = query === undefined ? req.getUrl() : `${req.getUrl()}?${query}`;
    const headers = new Map<string, string>();
    req.forEach((name, value) => {
      const before = headers.get(name);
      const text = bytesOf(value);
      headers.set(name, before === undefined ? text : `${before}${name === 'cookie' ? '; ' : ', '}${text}`);
    });
    this.headers = headers;
    res.onAborted(() => this.#over());
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** The client's address. */
  address(trustProxy: boolean): string {
    if (this.#isOver) return '';
    return addressOf(this.#res, trustProxy ? this.headers.get('x-forwarded-for') : undefined);
  }

  /** Calls the listener once, when the answer is complete or the browser has gone. */
  onOver(listener: () => void): void {
    if (this.#isOver) listener();
    else this.#endings.push(listener);
  }

  /** Calls the listener when the connection takes further bytes after `write` returned false. */
  onDrained(listener: () => void): void {
    const isFirst = this.#drained === null;
    this.#drained = listener;
    if (!isFirst || this.#isOver) return;
    this.#res.onWritable(() => {
      const rest = this.#rest;
      this.#rest = null;
      if (rest !== null && this.#bytes !== null && !this.#push(rest, this.#bytes)) return false;
      this.#drained?.();
      return true;
    });
  }

  /**
   * The body as it arrives; null for a request without one. Call it before anything is awaited.
   *
   * @param exceeded Is called when the body has more bytes than the bound; what follows is dropped.
   */
  body(bytesMax: number, exceeded: () => void): Readable | null {
    const length = this.headers.get('content-length');
    if (
      this.#isOver ||
      (length === undefined ? !this.headers.has('transfer-encoding') : Number(length) === 0)
    )
      return null;
    const body = new Readable({ highWaterMark: BODY_BUFFER_BYTES, read: () => this.#resume() });
    let [isComplete, bytes] = [false, 0];
    this.#res.onData((part, isLast) => {
      if (this.#isOver || body.destroyed) return;
      bytes += part.byteLength;
      if (bytes > bytesMax) {
        body.destroy();
        return exceeded();
      }
      // The native server reuses the memory of `part`.
      const isFull = part.byteLength > 0 && !body.push(Buffer.from(Buffer.from(part)));
      isComplete = isLast;
      if (isLast) body.push(null);
      else if (isFull) this.#pause();
    });
    this.onOver(() => {
      if (!isComplete) body.destroy();
    });
    return body;
  }

  /** Answers with JSON and closes the connection: a body that is not read may be on its way. */
  refuse(status: number, own: OwnHeaders | null, body: object): void {
    if (this.#isOver || this.#hasStarted) return;
    this.#hasStarted = true;
    this.#resume();
    this.#res.cork(() => {
      this.#writeHead({ status, own, headers: 'content-type: application/json\r\n' });
      this.#res.end(this.method === 'HEAD' ? '' : JSON.stringify(body), true);
    });
    this.#over();
  }

  /** Begins the answer. Its start leaves with the first part of the body, or with `flush` or `end`. */
  start(head: AnswerHead): void {
    if (this.#isOver) return;
    this.#hasStarted = true;
    this.#head = head;
    this.#bytes = head.bytes;
  }

  /**
   * Writes a part of the body, whose memory may be used again afterwards.
   *
   * @returns false when the caller should wait until the connection takes more.
   */
  write(part: Buffer): boolean {
    if (this.#isOver) return false;
    let isTaken = true;
    this.#res.cork(() => {
      const isFirst = this.#begin();
      if (this.#bytes === null) isTaken = this.#res.write(part);
      else if (isFirst && part.length === this.#bytes) {
        // The response must not be touched after its last byte, and a paused connection would read nothing any more.
        this.#resume();
        this.#res.end(part);
        this.#over();
      } else isTaken = this.#push(part, this.#bytes);
    });
    return isTaken;
  }

  /** Sends the start of an answer whose body is late. The native server has no way to do so before a chunk. */
  flush(): void {
    const head = this.#head;
    if (this.#isOver || !head?.hasBody) return;
    const { bytes } = head;
    if (bytes === null && !head.isEventStream) return;
    this.#res.cork(() => {
      this.#begin();
      // An empty comment, which readers of an event stream skip.
      if (bytes === null) this.#res.write(':\n\n');
      else if (bytes > 0) this.#res.tryEnd('', bytes);
    });
  }

  end(): void {
    // An announced answer ends with its last byte.
    if (this.#isOver || this.#rest !== null) return;
    const head = this.#head;
    this.#resume();
    this.#res.cork(() => {
      this.#begin();
      if (head && !head.hasBody) this.#res.endWithoutBody(head.bytes ?? undefined);
      else this.#res.end();
    });
    this.#over();
  }

  /** Breaks the answer off, so that the browser does not take it for a whole one. */
  break(): void {
    if (!this.#isOver) this.#res.close();
  }

  /**
   * Makes the connection a WebSocket. Not corked: after a corked upgrade that keeps its place in memory, the native server
   * reads the state of a response that has ended, and at times closes the WebSocket. It warns once of the missing cork.
   *
   * @source https://github.com/uNetworking/uWebSockets/pull/1929
   */
  upgrade<Data>(data: Data, protocol: string, context: us_socket_context_t): void {
    if (this.#isOver) return;
    const key = this.headers.get('sec-websocket-key') ?? '';
    this.#isOver = true;
    this.#res.upgrade(data, key, protocol, '', context);
  }

  /** To call when the WebSocket that the connection became is closed. */
  closed(): void {
    for (const listener of this.#endings.splice(0)) listener();
  }

  /** Writes the start of the answer. @returns false when it has been written. */
  #begin(): boolean {
    if (this.#head === null) return false;
    this.#writeHead(this.#head);
    this.#head = null;
    return true;
  }

  /** Writes all headers as one value with line ends, which the native server writes unchanged: each call takes time. */
  #writeHead({ status, own, headers }: Pick<AnswerHead, 'status' | 'own' | 'headers'>): void {
    if (status !== 200) this.#res.writeStatus(`${status} ${STATUS_CODES[status] ?? ''}`);
    if (own) this.#res.writeHeader(own.name, own.rest);
    const colon = headers.indexOf(': ');
    if (colon > 0) this.#res.writeHeader(headers.slice(0, colon), nativeText(headers.slice(colon + 2, -2)));
  }

  #push(part: Buffer, bytes: number): boolean {
    if (this.#rest !== null) {
      this.#rest = Buffer.concat([this.#rest, part]);
      return false;
    }
    const before = this.#res.getWriteOffset();
    if (before + part.length >= bytes) this.#resume();
    const [isTaken, isComplete] = this.#res.tryEnd(part, bytes);
    if (isComplete) this.#over();
    else if (!isTaken) this.#rest = Buffer.from(part.subarray(this.#res.getWriteOffset() - before));
    return isTaken;
  }

  #pause(): void {
    if (this.#isOver || this.#isPaused) return;
    this.#isPaused = true;
    this.#res.pause();
  }

  #resume(): void {
    if (this.#isOver || !this.#isPaused) return;
    this.#isPaused = false;
    this.#res.resume();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#head = null;
    this.closed();
  }
}

const NOT_ASCII = /[^\0-\x7f]/;

/** The bytes of a header as characters: the native server reads them as UTF-8. */
const bytesOf = (value: string): string =>
  NOT_ASCII.test(value) ? Buffer.from(value).toString('latin1') : value;

/** The native server would write these characters as UTF-8. */
const nativeText = (value: string): string | Buffer =>
  NOT_ASCII.test(value) ? Buffer.from(value, 'latin1') : value;

/** The start of an answer. */
export interface AnswerStart {
  readonly status: number;
  /** Names in lower case, each followed by its value. */
  readonly lines: readonly string[];
  /** The announced size of the body, also in an answer to HEAD; null when none is announced. */
  readonly bytes: number | null;
}

/** Receives an answer as it is read. Each method returns false to stop the reader for good. */
export interface AnswerSink {
  onStart(start: AnswerStart): boolean;
  /** The bytes may be overwritten after the call. */
  onPart(part: Buffer): boolean;
  onComplete(): void;
}

/** Largest start of an answer, with its status line. */
const START_BYTES_MAX = 16 << 10;
const HEADERS_MAX = 256;
const INTERIM_MAX = 16;
const CHUNK_LINE_BYTES_MAX = 256;
const TRAILER_BYTES_MAX = 8 << 10;
const LINE_END = Buffer.from('\r\n');
const START_END = Buffer.from('\r\n\r\n');
const SPACE = 0x20;
const TAB = 0x09;

/** @source RFC 9110, sections 5.1 and 5.5; RFC 9112, section 4 */
const START =
  /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r\n(?:[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n$/;
const TRAILER = /^[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*\r\n$/;
/** @source RFC 9112, section 7.1, without white space and escapes in extensions */
const CHUNK =
  /^([\da-f]{1,8})(?:;[\w!#$%&'*+.^`|~-]+(?:=(?:[\w!#$%&'*+.^`|~-]+|"[\t\x20\x21\x23-\x5b\x5d-\x7e]*"))?)*\r\n$/i;
const LENGTH = /^\d{1,15}$/;
/** @source RFC 9112, section 9.6 */
const CLOSES = /(?:^|,)\s*close\s*(?:,|$)/i;
/** @source RFC 2068, section 19.7.1.1 */
const IDLE = /(?:^|[\s,;])timeout=(\d{1,6})(?:$|[\s,;])/i;

/** The part of an answer that the next byte belongs to. */
type ReaderState =
  | 'nothing'
  | 'start'
  | 'sized'
  | 'chunkLine'
  | 'chunk'
  | 'chunkEnd'
  | 'trailers'
  | 'untilEnd';

/** Values of the headers that decide where the body and the connection end. */
interface Framing {
  readonly bytes: number | null;
  readonly isChunked: boolean;
  readonly idleSeconds: number | null;
}

const MALFORMED = -1;

/**
 * Reads answers of HTTP/1.1 from one connection, one after another. It is strict: what another reader could understand
 * differently (two lengths, a length beside chunks, folded lines, bare line ends, other encodings) is malformed, and so is a
 * byte that no request has asked for. It holds at most the start of an answer, never a body.
 */
export class AnswerReader {
  #sink: AnswerSink | null = null;
  #place: ReaderState = 'nothing';
  #isHead = false;
  #left = 0;
  #interim = 0;
  #trailerBytes = 0;
  #idleSeconds: number | null = null;
  /** The part of a start or line that has arrived. */
  #held: Buffer | null = null;
  #heldBytes = 0;

  /** Reads the next answer for this sink. @param isHead Whether the request has the method HEAD. */
  expect(sink: AnswerSink, isHead: boolean): void {
    this.#sink = sink;
    this.#isHead = isHead;
    this.#interim = 0;
    this.#place = 'start';
  }

  /** Whether no answer is expected: the last one is complete. */
  get isIdle(): boolean {
    return this.#place === 'nothing';
  }

  /** How long the target keeps the connection after the last answer, seconds; 0 for not at all, null when it does not say. */
  get idleSeconds(): number | null {
    return this.#idleSeconds;
  }

  /** Reads bytes as they arrive. @returns false when they are malformed or the sink stops; the reader is useless then. */
  read(bytes: Buffer): boolean {
    let at = 0;
    while (at < bytes.length) {
      at = this.#step(bytes, at);
      if (at === MALFORMED) return false;
    }
    return true;
  }

  /** The connection has ended. @returns whether the last answer is complete */
  end(): boolean {
    if (this.#place === 'untilEnd') this.#complete();
    return this.#place === 'nothing';
  }

  /** Reads from a byte on until the place changes. @returns the position of the first byte that is not read */
  #step(bytes: Buffer, at: number): number {
    switch (this.#place) {
      case 'nothing':
        return MALFORMED;
      case 'sized':
      case 'chunk':
      case 'untilEnd':
        return this.#body(bytes, at);
      case 'start':
        return this.#line(bytes, at, START_END, START_BYTES_MAX);
      case 'chunkLine':
        return this.#line(bytes, at, LINE_END, CHUNK_LINE_BYTES_MAX);
      case 'chunkEnd':
        return this.#line(bytes, at, LINE_END, LINE_END.length);
      case 'trailers':
        return this.#line(bytes, at, LINE_END, TRAILER_BYTES_MAX - this.#trailerBytes);
    }
  }

  #body(bytes: Buffer, at: number): number {
    const end = this.#place === 'untilEnd' ? bytes.length : Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    const part = at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end);
    if (!this.#sink?.onPart(part)) return MALFORMED;
    if (this.#left === 0 && this.#place === 'sized') this.#complete();
    else if (this.#left === 0 && this.#place === 'chunk') this.#place = 'chunkEnd';
    return end;
  }

  /** Reads text up to a mark. Incomplete text is held until the rest arrives. */
  #line(bytes: Buffer, at: number, mark: Buffer, bytesMax: number): number {
    const held = this.#held;
    if (held === null) {
      const found = bytes.indexOf(mark, at);
      const end = found < 0 ? bytes.length : found + mark.length;
      if (end - at > bytesMax || (found < 0 && end - at === bytesMax)) return MALFORMED;
      if (found >= 0) return this.#text(bytes.toString('latin1', at, end)) ? end : MALFORMED;
      this.#held = Buffer.allocUnsafe(bytesMax);
      this.#heldBytes = bytes.copy(this.#held, 0, at);
      return bytes.length;
    }
    const before = this.#heldBytes;
    const bytesNow = before + bytes.copy(held, before, at);
    const found = held.subarray(0, bytesNow).indexOf(mark, Math.max(0, before - mark.length + 1));
    if (found < 0) {
      this.#heldBytes = bytesNow;
      return bytesNow === held.length ? MALFORMED : bytes.length;
    }
    const end = found + mark.length;
    this.#held = null;
    return this.#text(held.toString('latin1', 0, end)) ? at + end - before : MALFORMED;
  }

  /** @returns false when the text is malformed in its place */
  #text(text: string): boolean {
    if (this.#place === 'start') return this.#start(text);
    if (this.#place === 'chunkLine') return this.#chunkLine(text);
    if (this.#place === 'chunkEnd') {
      this.#place = 'chunkLine';
      return text === '\r\n';
    }
    this.#trailerBytes += text.length;
    if (text !== '\r\n') return TRAILER.test(text);
    this.#complete();
    return true;
  }

  #chunkLine(text: string): boolean {
    const digits = CHUNK.exec(text)?.[1];
    if (digits === undefined) return false;
    this.#left = Number.parseInt(digits, 16);
    this.#trailerBytes = 0;
    this.#place = this.#left === 0 ? 'trailers' : 'chunk';
    return true;
  }

  #start(text: string): boolean {
    const found = START.exec(text);
    if (found === null) return false;
    const status = Number(found[2]);
    const isOld = found[1] === '0';
    // An answer that switches protocols was not asked for.
    if (status === 101) return false;
    const lines = linesOf(text);
    const framing = lines && framingOf(lines, isOld);
    if (!lines || !framing) return false;
    if (status < 200) {
      this.#interim += 1;
      // It has no body and says nothing of one (RFC 9110, section 8.6; RFC 9112, section 6.1); readers differ in what else it means.
      return this.#interim <= INTERIM_MAX && framing.bytes === null && !framing.isChunked;
    }
    const isBodyless = this.#isHead || status === 204 || status === 304;
    const { bytes, isChunked } = framing;
    const isUntilEnd = !isBodyless && bytes === null && !isChunked;
    this.#idleSeconds = isOld || isUntilEnd ? 0 : framing.idleSeconds;
    this.#left = bytes ?? 0;
    this.#place = isUntilEnd ? 'untilEnd' : isChunked ? 'chunkLine' : 'sized';
    const announced = status === 204 ? null : bytes;
    if (!this.#sink?.onStart({ status, lines, bytes: announced })) return false;
    if (isBodyless || bytes === 0) this.#complete();
    return true;
  }

  #complete(): void {
    this.#place = 'nothing';
    this.#sink?.onComplete();
  }
}

/** Names in lower case, each followed by its value; null for too many headers. The text has the form of `START`. */
function linesOf(text: string): string[] | null {
  const lines: string[] = [];
  let at = text.indexOf('\r\n') + 2;
  while (at < text.length - 2) {
    const colon = text.indexOf(':', at);
    const end = text.indexOf('\r\n', colon);
    let from = colon + 1;
    let to = end;
    while (from < to && isBlank(text.charCodeAt(from))) from += 1;
    while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
    lines.push(text.slice(at, colon).toLowerCase(), text.slice(from, to));
    if (lines.length > 2 * HEADERS_MAX) return null;
    at = end + 2;
  }
  return lines;
}

const isBlank = (code: number): boolean => code === SPACE || code === TAB;

/** How the body ends, and how long the connection stays; null when the headers are ambiguous. */
function framingOf(lines: readonly string[], isOld: boolean): Framing | null {
  let bytes: number | null = null;
  let isChunked = false;
  let idleSeconds: number | null = null;
  for (let at = 0; at < lines.length; at += 2) {
    const value = lines[at + 1] ?? '';
    switch (lines[at]) {
      case 'content-length':
        if (bytes !== null || isChunked || !LENGTH.test(value)) return null;
        bytes = Number(value);
        break;
      case 'transfer-encoding':
        if (bytes !== null || isChunked || isOld || value.toLowerCase() !== 'chunked') return null;
        isChunked = true;
        break;
      case 'connection':
        if (CLOSES.test(value)) idleSeconds = 0;
        break;
      case 'keep-alive':
        idleSeconds ??= secondsOf(value);
        break;
    }
  }
  return { bytes, isChunked, idleSeconds };
}

function secondsOf(keepAlive: string): number | null {
  const seconds = IDLE.exec(keepAlive)?.[1];
  return seconds === undefined ? null : Number(seconds);
}

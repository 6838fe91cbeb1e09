import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import {
  answerHeaders,
  type HeaderLines,
  mayCarryCookies,
  redirectWithin,
  requestHeaders,
} from './headers.ts';
import type { Inbound } from './inbound.ts';
import type { Asked } from './origins.ts';
import type { Site } from './sites.ts';

/** One request that is passed on. */
interface Forwarded {
  readonly inbound: Inbound;
  readonly asked: Asked;
  readonly body: Readable | null;
  readonly site: Site;
  /** The path at the target, without the query. */
  readonly path: string;
  /** The origin of the activity. */
  readonly self: URL;
  /** Headers of this server, which replace those of the target. */
  readonly headers: HeaderLines;
}

interface ForwardBounds {
  readonly answerBytesMax: number;
  readonly exchangeMs: number;
}

export const TARGET_REASON =
  'The target of the mapping cannot be reached, leads elsewhere, or answers too much.';

/** Passes a request on, and its answer back, as both are read. */
export function forward(forwarded: Forwarded, bounds: ForwardBounds): void {
  const { inbound, asked, body, site, path } = forwarded;
  site.pool.dispatch(
    {
      ...{ path: path + asked.search, method: inbound.method as Dispatcher.HttpMethod, body },
      headers: requestHeaders(inbound.headers, mayCarryCookies(inbound.headers)),
    },
    new Exchange(forwarded, bounds),
  );
}

/** Joins the connection to the target with the answer to the browser. Either end that breaks off ends the other. */
class Exchange implements Dispatcher.DispatchHandlers {
  readonly #forwarded: Forwarded;
  readonly #bounds: ForwardBounds;
  readonly #deadline: NodeJS.Timeout;
  #abort: (() => void) | null = null;
  #isComplete = false;
  #isAborted = false;
  #bytes = 0;
  #announced: number | null = null;

  constructor(forwarded: Forwarded, bounds: ForwardBounds) {
    this.#forwarded = forwarded;
    this.#bounds = bounds;
    this.#deadline = setTimeout(() => this.abort(), bounds.exchangeMs);
    forwarded.inbound.onOver(() => {
      clearTimeout(this.#deadline);
      // The last byte that was announced ends the answer before the target's connection says so.
      if (!this.#isComplete && this.#bytes !== this.#announced) this.abort();
    });
  }

  /** Ends the exchange at both ends, also while it waits for a connection. */
  abort(): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#abort?.();
    this.onError();
  }

  onConnect(abort: () => void): void {
    this.#abort = abort;
    if (this.#isAborted) abort();
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void): boolean {
    // An interim answer, such as 103.
    if (status < 200) return true;
    const { inbound, headers: ours } = this.#forwarded;
    const answer = answerHeaders(raw.map((each) => each.toString('latin1')));
    const { bytes } = answer;
    const isRedirect = status >= 300 && status < 400 && answer.location !== undefined;
    const location = this.#redirect(answer.location, isRedirect);
    if ((isRedirect && location === null) || (bytes ?? 0) > this.#bounds.answerBytesMax) {
      this.abort();
      return false;
    }
    if (location !== null) answer.headers.push('location', location);
    answer.headers.push(...ours);
    const hasBody = inbound.method !== 'HEAD' && status !== 204 && status !== 304;
    this.#announced = bytes;
    inbound.onDrained(resume);
    inbound.start({ status, headers: answer.headers, bytes, hasBody });
    return true;
  }

  onData(part: Buffer): boolean {
    this.#bytes += part.length;
    if (this.#bytes <= this.#bounds.answerBytesMax) return this.#forwarded.inbound.write(part);
    this.abort();
    return false;
  }

  onComplete(): void {
    this.#isComplete = true;
    this.#forwarded.inbound.end();
  }

  onError(): void {
    const { inbound, headers } = this.#forwarded;
    this.#isAborted = true;
    if (inbound.hasStarted) inbound.break();
    else inbound.refuse(502, jsonHeaders(headers), refusalBody(TARGET_REASON));
  }

  #redirect(location: string | undefined, isRedirect: boolean): string | null {
    if (location === undefined) return null;
    const { site, path, asked, self } = this.#forwarded;
    // Assigns the path, because a parser would take one that begins with two slashes for a host, or for no URL.
    const target = new URL(site.url);
    if (isRedirect) [target.pathname, target.search] = [path, asked.search];
    return redirectWithin(location, { target, self, path: asked.path });
  }
}

export const refusalBody = (message: string): string => JSON.stringify({ message, code: 0 });
export const jsonHeaders = (headers: HeaderLines): HeaderLines => [
  ...headers,
  'content-type',
  'application/json',
];

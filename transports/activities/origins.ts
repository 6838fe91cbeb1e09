import { type ApplicationId, isApplicationId } from '../../protocol/ids.ts';

const PROXY_PREFIX = '/.proxy';

/** The origins of the activities of all applications: an id stands before the host of one URL. */
export class Origins {
  readonly #base: URL;
  readonly #suffix: string;
  /** The port that this server listens on, which is part of the origins of a development server. */
  port = 0;

  constructor(baseUrl: string) {
    this.#base = new URL(baseUrl);
    this.#suffix = `.${this.#base.hostname}`;
  }

  of(id: string): URL {
    const url = new URL(this.#base.origin);
    url.hostname = `${id}${this.#suffix}`;
    if (this.#base.port === '' && this.#base.protocol === 'http:') url.port = String(this.port);
    return url;
  }

  /** A source expression for all of them. `*` is no host name, so this is put together by hand. */
  all(): string {
    const { protocol, host } = this.of('0');
    return `${protocol}//*${host.slice(1)}`;
  }

  /** The application whose origin has this Host header; null for no application. */
  idOf(host: string): ApplicationId | null {
    const name = host.replace(/:\d+$/, '').toLowerCase();
    const id = name.endsWith(this.#suffix) ? name.slice(0, -this.#suffix.length) : '';
    return isApplicationId(id) ? id : null;
  }
}

/** The path and query of a browser's request, percent-encoded and without steps to other directories. */
export interface RequestTarget {
  readonly path: string;
  /** Empty or with its question mark. */
  readonly search: string;
}

/** Paths that a URL parser would not change. */
const PLAIN = /^(?:\/[\w~!$&()*+,;=:@-][\w.~!$&()*+,;=:@-]*)*\/?$/;

/** Reads the target of a request; null when it is not a path. */
export function askedFor(target: string, self: URL): RequestTarget | null {
  if (PLAIN.test(target)) return { path: target, search: '' };
  if (!target.startsWith('/') || !URL.canParse(`${self.origin}${target}`)) return null;
  const { origin, pathname, search } = new URL(`${self.origin}${target}`);
  return origin === self.origin ? { path: pathname, search } : null;
}

/** The path that mappings are for: the same with and without `/.proxy`. */
export const innerPath = (path: string): string =>
  path === PROXY_PREFIX || path.startsWith(`${PROXY_PREFIX}/`)
    ? path.slice(PROXY_PREFIX.length) || '/'
    : path;

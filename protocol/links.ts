import { hasHiddenCharacters } from './names.ts';

/** A fault of a web address: the code and message of its 50035 leaf. */
interface LinkProblem {
  readonly code: string;
  readonly message: string;
}

type ReadLink =
  | { readonly ok: true; readonly url: string }
  | { readonly ok: false; readonly problem: LinkProblem };

const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
/** Groups: scheme with authority, authority alone, and the rest. */
const WEB = /^(https?:\/\/([^/?#]+))(.*)$/i;
/**
 * Spaces and characters that RFC 3986 excludes from URIs. URL parsers drop, escape or reinterpret them inconsistently.
 */
const NOT_IN_URI = /[\s\p{White_Space}"<>\\^`{|}]/u;
const NOT_ASCII = /[^\x21-\x7e]/;
const PORT = /:\d*$/;
const LABELS = /^[^.]+(?:\.[^.]+)*\.?$/;
/** Characters that browsers leave unescaped when an address is copied. The first number sign begins the fragment. */
const UNESCAPED = /%(?![0-9a-f]{2})|[[\]#]/gi;

const invalid = { code: 'URL_TYPE_INVALID_URL', message: 'Not a well formed URL.' } as const;

/**
 * Parses a URL that clients show as a link, load as an image, or that this server calls. Only http and https are
 * accepted, so that it can neither run a script nor read a local file, and nothing that two URL parsers would read as
 * two addresses. Characters that browsers leave unescaped (letters beyond ASCII, brackets in queries) are escaped, so
 * that the result is a URI. A URI is returned as it was sent. Cost: linear.
 *
 * @param max     Characters, of the URL as sent and as stored.
 * @param schemes Schemes that the error message names.
 * @source RFC 3986, section 2 and appendix A; https://url.spec.whatwg.org/#host-parsing
 */
export function readLink(
  text: string,
  max: number,
  schemes: readonly string[] = ['http', 'https'],
): ReadLink {
  // A code point takes at most two UTF-16 units here, and at least one character of the URI.
  if (text.length > max * 2 || [...text].length > max) return tooLong(max);
  const scheme = SCHEME.exec(text)?.[1];
  if (scheme && !/^https?$/i.test(scheme)) return { ok: false, problem: wrongScheme(scheme, schemes) };
  const url = uriOf(text);
  if (url === null) return { ok: false, problem: invalid };
  return url.length > max ? tooLong(max) : { ok: true, url };
}

/** The URL as a URI; null when parsers would read it differently. */
function uriOf(text: string): string | null {
  if (NOT_IN_URI.test(text) || hasHiddenCharacters(text)) return null;
  const authority = WEB.exec(text)?.[2];
  if (authority === undefined || authority.includes('@')) return null;
  const { hostname, href } = parsed(text) ?? {};
  if (hostname === undefined || href === undefined || !LABELS.test(hostname)) return null;
  const isPlain = !NOT_ASCII.test(text) && authority.replace(PORT, '').toLowerCase() === hostname;
  const [, origin = '', , rest = ''] = WEB.exec(isPlain ? text : href) ?? [];
  const fragmentAt = rest.indexOf('#');
  return origin + rest.replace(UNESCAPED, (one, at) => (at === fragmentAt ? one : encodeURIComponent(one)));
}

/** Not `URL.canParse`: once V8 has optimised it, the one of Node 20 rejects hosts with letters of Latin-1. */
function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

const tooLong = (max: number): ReadLink => ({
  ok: false,
  problem: { code: 'BASE_TYPE_MAX_LENGTH', message: `Must be ${max} or fewer in length.` },
});

/** The 50035 leaf for a URL whose scheme is not allowed. */
export const wrongScheme = (scheme: string, schemes: readonly string[]): LinkProblem => ({
  code: 'URL_TYPE_INVALID_SCHEME',
  message: `Scheme "${scheme.slice(0, 32)}" must be one of (${schemes.map((one) => `'${one}'`).join(', ')}).`,
});

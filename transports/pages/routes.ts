import { timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { networkOf } from '../../protocol/addresses.ts';
import { deviceNames } from '../../protocol/devices.ts';
import type { Accounts, BrowserSession, ClientInfo } from '../../services/accounts/ports.ts';
import type { OAuth } from '../../services/oauth/ports.ts';
import type { Catalog } from '../../services/premium/catalog.ts';
import type { Store } from '../../services/premium/store.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { AddressWatch } from '../http/addresswatch.ts';
import { type BodyEnd, BodyMemory, BodyStream } from '../http/body.ts';
import { type After, type AnswerHeaders, Exchange } from '../http/exchange.ts';
import type { Installer } from '../http/server.ts';
import { type CookieJar, cookieJar, readCookie } from './cookies.ts';
import { type Frame, layout, notice, type PageAnswer, redirect } from './frame.ts';
import { html } from './html.ts';
import { isOwnOrigin } from './origin.ts';
import { STYLE } from './style.ts';

export interface PagesDeps {
  readonly accounts: Accounts;
  readonly oauth: Pick<OAuth, 'consents' | 'devices' | 'grants' | 'deauthorize'>;
  readonly applications: Pick<ApplicationStore, 'get'>;
  readonly store: Store;
  readonly catalog: Catalog;
  /** Base URL of this server for clients, without a trailing slash. */
  publicUrl(): string;
  /** The configured base URL; null when it is derived from the listening address. */
  readonly fixedUrl: string | null;
  readonly requestTimeoutMs: number;
  readonly trustProxy: boolean;
  /** Counts oversized forms, and refuses addresses that sent too many. Null or absent when limits are off. */
  readonly watch?: AddressWatch | null;
  /** Counts one use of `key`. @returns milliseconds to wait, 0 when allowed. */
  take(what: 'form' | 'device code', key: string): number;
  randomBytes(size: number): Uint8Array;
  readonly clock: { monotonic(): number; setTimer(run: () => void, delayMs: number): { cancel(): void } };
  readonly logger: Pick<Logger, 'error'>;
}

/** A request for a page. */
export interface PageCall {
  readonly deps: PagesDeps;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Fields of a POST with valid origin and token; empty for a GET. */
  readonly fields: URLSearchParams;
  readonly place: ClientInfo;
  readonly frame: Frame;
  readonly cookies: CookieJar;
}

/** A request of a signed-in user. */
export interface SignedInCall extends PageCall {
  readonly browserSession: BrowserSession;
}

type Handle<Call> = (call: Call) => Promise<PageAnswer> | PageAnswer;

/** One page. With `signedIn`, other users are sent to the sign-in page first, and back afterwards. */
export type PageRoute =
  | {
      readonly signedIn: false;
      readonly get?: Handle<PageCall & { readonly browserSession: BrowserSession | null }>;
      readonly post?: Handle<PageCall & { readonly browserSession: BrowserSession | null }>;
    }
  | { readonly signedIn: true; readonly get?: Handle<SignedInCall>; readonly post?: Handle<SignedInCall> };

export type PageRoutes = Readonly<Record<string, PageRoute>>;

const BODY_BYTES_MAX = 32 << 10;
/** Bounds of the memory of all forms being read, and of one caller's. */
const BODIES = {
  bytesMax: 8 << 20,
  reservedBytes: 4 << 20,
  addressBytesMax: 1 << 20,
  userBytesMax: 1 << 20,
} as const;
const FIELDS_MAX = 256;
const FORM_TYPE = 'application/x-www-form-urlencoded';
const FORM_COOKIE = /^[\w-]{43}$/;
const FORM_COOKIE_SEC = 24 * 3600;

/** Without an opener policy: games open the consent page in a window and wait for it to return. */
const SECURITY: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'microphone=(), camera=(), geolocation=()',
  // Not `no-referrer`, because browsers would then send `Origin: null` with forms to this server too.
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

const policy = (formTarget: string | null | undefined): string =>
  `default-src 'none'; style-src 'self'; form-action 'self'${formTarget ? ` ${formTarget}` : ''}; ` +
  "base-uri 'none'; frame-ancestors 'none'";

/** Serves the pages: complete documents without scripts, whose forms are accepted only from these pages. */
export function pageRoutes(deps: PagesDeps, routes: PageRoutes): Installer {
  const memory = new BodyMemory(BODIES, () => deps.clock.monotonic());
  return (app, state) => {
    app.get('/pages/style.css', (res, req) => {
      const caching = { 'Cache-Control': 'public, max-age=3600', 'X-Content-Type-Options': 'nosniff' };
      new Exchange(res, req, state).send(
        200,
        { 'Content-Type': 'text/css;charset=utf-8', ...caching },
        STYLE,
      );
    });
    for (const [path, route] of Object.entries(routes)) {
      app.any(path, (res, req) => {
        const exchange = new Exchange(res, req, state);
        const body = exchange.method === 'POST' && exchange.hasBody ? bodyOf(exchange, deps, memory) : null;
        const answering = serve(exchange, route, body, deps)
          .catch((fault: unknown) => {
            deps.logger.error({ err: fault, path }, 'Rendering a page failed.');
            return STRANDED;
          })
          .then(async (sent) => {
            if (sent.status === 413) deps.watch?.count(exchange.address(deps.trustProxy));
            exchange.send(sent.status, sent.headers, sent.body, await afterwards(sent.status, body));
          })
          .finally(() => body?.release())
          .catch((bug: unknown) => deps.logger.error({ err: bug }, 'Sending a page failed.'));
        void state.run(answering);
      });
    }
  };
}

function bodyOf(exchange: Exchange, deps: PagesDeps, memory: BodyMemory): BodyStream {
  const account = memory.open(networkOf(exchange.address(deps.trustProxy)));
  const bounds = { bytesMax: BODY_BYTES_MAX, timeoutMs: deps.requestTimeoutMs };
  return new BodyStream(exchange, bounds, account, deps.clock);
}

async function afterwards(status: number, body: BodyStream | null): Promise<After> {
  if (body === null) return 'stays';
  if (status === 408) return 'cut';
  return (await body.discard()) ? 'stays' : 'unread';
}

interface SentAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string;
}

const NOBODY: Frame = { csrf: '', who: null };
const STRANDED = sent(
  notice('Temporarily unavailable', 'Something failed here. Try again in a moment.', null, 503),
  NOBODY,
);

function sent(answer: PageAnswer, frame: Frame): SentAnswer {
  const cookie: AnswerHeaders = answer.cookie === undefined ? {} : { 'Set-Cookie': answer.cookie };
  if (answer.kind === 'redirect') {
    // A line break would start another header. Locations come from a URL parser, so this is a bug.
    if (/[\r\n]/.test(answer.location)) throw new TypeError('A location with a line break.');
    const headers = { ...SECURITY, ...cookie, Location: answer.location };
    return { status: 303, headers, body: '' };
  }
  const { status, formTarget } = answer;
  const headers = {
    ...SECURITY,
    ...cookie,
    'Content-Security-Policy': policy(formTarget),
    'Content-Type': 'text/html;charset=utf-8',
  };
  return { status, headers, body: layout(answer, frame).toString() };
}

/** The viewer: the browser session that the cookie proves, and the token that binds forms to the viewer. */
interface Visitor {
  readonly browserSession: BrowserSession | null;
  readonly frame: Frame;
  /** A Set-Cookie header, if the browser needs a form cookie. */
  readonly cookie: string | undefined;
}

async function visitorOf(exchange: Exchange, jar: CookieJar, deps: PagesDeps): Promise<Visitor> {
  const { accounts } = deps;
  const header = exchange.headers.get('cookie');
  const session = readCookie(header, jar.session);
  const browserSession = session === null ? null : await accounts.browserSession(session);
  if (browserSession !== null) {
    const [csrf, profile] = await Promise.all([
      accounts.digest(`session ${session}`),
      accounts.profile(browserSession.userId),
    ]);
    return {
      browserSession,
      frame: { csrf, who: profile?.username ?? browserSession.userId },
      cookie: undefined,
    };
  }
  const kept = readCookie(header, jar.form);
  const known = kept !== null && FORM_COOKIE.test(kept) ? kept : null;
  const form = known ?? Buffer.from(deps.randomBytes(32)).toString('base64url');
  const cookie = known === null ? jar.set(jar.form, form, FORM_COOKIE_SEC) : undefined;
  return { browserSession: null, frame: { csrf: await accounts.digest(`form ${form}`), who: null }, cookie };
}

async function serve(
  exchange: Exchange,
  route: PageRoute,
  body: BodyStream | null,
  deps: PagesDeps,
): Promise<SentAnswer> {
  const { path } = exchange;
  const jar = cookieJar(deps.publicUrl().startsWith('https:'));
  const place: ClientInfo = {
    address: exchange.address(deps.trustProxy),
    agent: exchange.headers.get('user-agent') ?? '',
    devices: deviceNames(readCookie(exchange.headers.get('cookie'), jar.device) ?? ''),
  };
  const { browserSession, frame, cookie } = await visitorOf(exchange, jar, deps);
  if (browserSession !== null) body?.signIn(browserSession.userId);
  const done = (answer: PageAnswer) => sent({ ...(cookie !== undefined && { cookie }), ...answer }, frame);
  const read = exchange.method === 'POST' ? await readForm(exchange, body, frame, deps, place) : EMPTY;
  if (!read.ok) return done(read.answer);
  const query = new URLSearchParams(exchange.query);
  const call = { deps, path, query, fields: read.fields, place, frame, cookies: jar };
  const method = exchange.method === 'POST' ? 'post' : 'get';
  if (!['GET', 'HEAD', 'POST'].includes(exchange.method) || route[method] === undefined)
    return done(NO_METHOD);
  if (!route.signedIn) return done(await route[method]({ ...call, browserSession }));
  if (browserSession !== null) return done(await route[method]({ ...call, browserSession }));
  const next = exchange.query === '' ? path : `${path}?${exchange.query}`;
  return done(redirect(`/login?next=${encodeURIComponent(next)}`));
}

const NO_METHOD = notice('Not like this', 'This page is not asked for like that.', null, 405);

type ReadForm =
  | { readonly ok: true; readonly fields: URLSearchParams }
  | { readonly ok: false; readonly answer: PageAnswer };

const EMPTY: ReadForm = { ok: true, fields: new URLSearchParams() };

const FOREIGN = notice(
  'Not from here',
  'This form was not sent from a page of this server. Reload the page and try again.',
  null,
  403,
);
const STALE = notice(
  'Out of date',
  'The sign-in of this browser has changed since the page was loaded, or it keeps no cookies. Go back, reload the page and try again.',
  html`<p><a href="/login">Sign in</a></p>`,
  403,
);

/** Reads a form after checking that a page of this server sent it, for this viewer. */
async function readForm(
  exchange: Exchange,
  body: BodyStream | null,
  frame: Frame,
  deps: PagesDeps,
  place: ClientInfo,
): Promise<ReadForm> {
  const unread = (answer: PageAnswer): ReadForm => ({ ok: false, answer });
  if (!isOwnOrigin(exchange, deps.fixedUrl)) return unread(FOREIGN);
  const address = place.address ?? '';
  if ((deps.watch?.blockedMs(address) ?? 0) > 0 || deps.take('form', networkOf(address)) > 0)
    return unread(
      notice('Slow down', 'There were too many forms from here. Try again in a minute.', null, 429),
    );
  const [type = ''] = (exchange.headers.get('content-type') ?? '').toLowerCase().split(';', 1);
  if (type.trim() !== FORM_TYPE) return unread(notice('Not like this', 'This is no form.', null, 415));
  const chunks: Uint8Array[] = [];
  const end = await body?.consume((chunk) => chunks.push(chunk));
  if (end !== undefined && end !== 'complete') return unread(endNotice(end));
  const fields = new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
  if (fields.size > FIELDS_MAX) return unread(TOO_MUCH);
  if (!same(fields.get('csrf') ?? '', frame.csrf)) return unread(STALE);
  return { ok: true, fields };
}

const TOO_MUCH = notice('Not like this', 'This is too much.', null, 413);
const BUSY = 'Too many forms are being sent. Try again in a moment.';

function endNotice(end: Exclude<BodyEnd, 'complete'>): PageAnswer {
  if (end === 'tooLarge') return TOO_MUCH;
  if (end === 'share') return notice('Slow down', BUSY, null, 429);
  if (end === 'overloaded') return notice('Temporarily unavailable', BUSY, null, 503);
  return notice('Not like this', 'This took too long.', null, 408);
}

function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

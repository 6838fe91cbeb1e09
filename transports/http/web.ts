import { isApplicationId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { resultOf } from '../rest/pipeline.ts';
import { Exchange } from './exchange.ts';
import type { Installer } from './server.ts';
import { RPC_SERVERS, readWebFiles, safeHeaders, type WebFile } from './webfiles.ts';

/** Path of the voice-room page; must equal `base` of its build. */
export const ROOM_PATH = '/voice-room/';

/** The playground among the built pages; it is served at `/`. */
const HOME_PAGE = 'playground/index.html';

interface WebOptions {
  /** The CSP source of frames that the pages may show; null for none. */
  readonly frames: string | null;
  /** Whether the playground is served at `/`. */
  readonly isHome: boolean;
}

/**
 * Serves the voice-room page and the players page below it, and the playground at `/`. The folder is read once, now: a few files of less than two
 * megabytes in total. Without the folder no page is served. GET and HEAD only.
 */
export function webRoutes(folder: string, { frames, isHome }: WebOptions): Installer {
  const safe = safeHeaders(frames, RPC_SERVERS);
  const pages = readWebFiles(folder, safe);
  return (app, state) => {
    if (pages.size === 0) return;
    const homePage = isHome ? pages.get(HOME_PAGE) : undefined;
    if (homePage !== undefined)
      app.any('/', (res, req) => serveHome(new Exchange(res, req, state), homePage));
    app.any(ROOM_PATH.slice(0, -1), (res, req) => {
      new Exchange(res, req, state).send(308, { ...safe, Location: ROOM_PATH }, '');
    });
    app.any('/activities/:application', (res, req) => openActivity(new Exchange(res, req, state), safe));
    app.any(`${ROOM_PATH}*`, (res, req) => serveUnder(ROOM_PATH, new Exchange(res, req, state), pages, safe));
  };
}

/** Parameters that a link may hand to an activity. @source https://docs.discord.com/developers/activities/development-guides */
const LINKED = { custom_id: /^.{1,64}$/s, referrer_id: /^\d{1,20}$/ } as const;

/** A link to an activity leads to the voice-room page, where the viewer chooses a channel for it. */
function openActivity(exchange: Exchange, safe: WebFile['headers']): void {
  const applicationId = exchange.path.split('/')[2];
  const { method } = exchange;
  if (!isApplicationId(applicationId)) exchange.answer(resultOf(refusal('NOT_FOUND')));
  else if (method !== 'GET' && method !== 'HEAD') exchange.answer(resultOf(refusal('METHOD_NOT_ALLOWED')));
  else {
    const given = new URLSearchParams(exchange.query);
    const query = new URLSearchParams({ activity: applicationId });
    for (const [name, pattern] of Object.entries(LINKED)) {
      const value = given.get(name);
      if (value !== null && pattern.test(value)) query.set(name, value);
    }
    exchange.send(302, { ...safe, Location: `${ROOM_PATH}?${query}` }, '');
  }
}

/** Path of the documentation. */
const DOCS_PATH = '/docs/';

/** Serves the documentation that `npm run docs` has built. The folder is read when it is first requested, a few megabytes in total. */
export function docsRoutes(folder: string): Installer {
  const safe = safeHeaders(null);
  let pages: ReadonlyMap<string, WebFile> = new Map();
  return (app, state) => {
    app.any(DOCS_PATH.slice(0, -1), (res, req) => {
      new Exchange(res, req, state).send(308, { ...safe, Location: DOCS_PATH }, '');
    });
    app.any(`${DOCS_PATH}*`, (res, req) => {
      const exchange = new Exchange(res, req, state);
      if (pages.size === 0) pages = readWebFiles(folder, safe);
      const path = exchange.path.slice(DOCS_PATH.length);
      if (pages.size === 0) exchange.send(404, { ...safe, ...PLAIN }, NOT_BUILT);
      else if (pages.has(`${path}.html`))
        exchange.send(308, { ...safe, Location: `${DOCS_PATH}${path}.html` }, '');
      else if (!pages.has(pageOf(path)) && !pages.has(`${path}/index.html`) && isBrowser(exchange))
        exchange.send(404, { ...safe, ...PLAIN }, NO_PAGE);
      else serveUnder(DOCS_PATH, exchange, pages, safe);
    });
  };
}

const PLAIN = { 'Content-Type': 'text/plain;charset=utf-8' };
const NO_PAGE = `There is no such page. The documentation begins at ${DOCS_PATH}\n`;

const NOT_BUILT =
  'The documentation is not built here. Run `npm run docs` in the folder of the repository, then load this page again.\n';

/** Whether a browser asks for a page. */
function isBrowser({ headers, method }: Exchange): boolean {
  return /\btext\/html\b/.test(headers.get('accept') ?? '') && (method === 'GET' || method === 'HEAD');
}

/** The file of a path: of a folder, its index. */
const pageOf = (path: string): string => path.replace(/(^|\/)$/, '$1index.html');

/** Browsers get the page; other clients the answer of a path that does not exist. */
function serveHome(exchange: Exchange, { headers, body }: WebFile): void {
  if (isBrowser(exchange)) exchange.send(200, { ...headers, Vary: 'Accept' }, body);
  else exchange.answer(resultOf(refusal('NOT_FOUND')));
}

function serveUnder(
  base: string,
  exchange: Exchange,
  pages: ReadonlyMap<string, WebFile>,
  safe: WebFile['headers'],
): void {
  const { method } = exchange;
  const path = exchange.path.slice(base.length);
  const page = pages.get(pageOf(path));
  if (pages.has(`${path}/index.html`)) exchange.send(308, { ...safe, Location: `${base}${path}/` }, '');
  else if (page === undefined) exchange.answer(resultOf(refusal('NOT_FOUND')));
  else if (method === 'GET' || method === 'HEAD') exchange.send(200, page.headers, page.body);
  else exchange.answer(resultOf(refusal('METHOD_NOT_ALLOWED')));
}

import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refusal } from '../../protocol/refusal.ts';
import { resultOf } from '../rest/pipeline.ts';
import { Exchange } from './exchange.ts';
import type { Installer } from './server.ts';

/** Path of the voice-room page; must equal `base` of its build. */
export const ROOM_PATH = '/voice-room/';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html;charset=utf-8',
  '.js': 'text/javascript;charset=utf-8',
  '.css': 'text/css;charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ogg': 'audio/ogg',
  '.wasm': 'application/wasm',
};

/**
 * The page may contact only this server and run only scripts that were built into it. Cross-origin isolation is required by
 * browsers before WebAssembly may share memory with workers.
 */
const safeHeaders = (frames: string | null): Readonly<Record<string, string>> => ({
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self'; " +
    `connect-src 'self'; ${frames === null ? '' : `frame-src ${frames}; `}` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'microphone=(self), camera=(), geolocation=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
});

/** Names under `assets/` contain a hash of their content. */
const FOREVER = 'public, max-age=31536000, immutable';
const ASK_AGAIN = 'no-cache';

interface Page {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Folder of the built page: beside the built server, or under `dist` when the server runs from source. */
export function builtWebFolder(): string {
  const fromHere = import.meta.url.endsWith('.ts') ? '../../dist/web/' : '../../web/';
  return fileURLToPath(new URL(fromHere, import.meta.url));
}

/**
 * Serves the voice-room page and the players page below it. The folder is read once, now: a few files of less than two
 * megabytes in total. Without the folder no page is served. GET and HEAD only.
 *
 * @param frames A source expression of what the pages may show in frames; null for nothing.
 */
export function webRoutes(folder: string, frames: string | null = null): Installer {
  const safe = safeHeaders(frames);
  const pages = readPages(folder, safe);
  return (app, state) => {
    if (pages.size === 0) return;
    app.any(ROOM_PATH.slice(0, -1), (res, req) => {
      new Exchange(res, req, state).send(308, { ...safe, Location: ROOM_PATH }, '');
    });
    app.any(`${ROOM_PATH}*`, (res, req) => serve(new Exchange(res, req, state), pages, safe));
  };
}

function serve(exchange: Exchange, pages: ReadonlyMap<string, Page>, safe: Page['headers']): void {
  const { method } = exchange;
  const path = exchange.path.slice(ROOM_PATH.length);
  const page = pages.get(path.replace(/(^|\/)$/, '$1index.html'));
  if (pages.has(`${path}/index.html`)) exchange.send(308, { ...safe, Location: `${ROOM_PATH}${path}/` }, '');
  else if (page === undefined) exchange.answer(resultOf(refusal('NOT_FOUND')));
  else if (method === 'GET' || method === 'HEAD') exchange.send(200, page.headers, page.body);
  else exchange.answer(resultOf(refusal('METHOD_NOT_ALLOWED')));
}

function readPages(folder: string, safe: Page['headers']): ReadonlyMap<string, Page> {
  const pages = new Map<string, Page>();
  for (const path of namesIn(folder)) {
    const type = TYPES[extname(path)];
    if (type === undefined) continue;
    const caching = path.startsWith('assets/') ? FOREVER : ASK_AGAIN;
    const headers = { ...safe, 'Content-Type': type, 'Cache-Control': caching };
    pages.set(path, { body: readFileSync(join(folder, path)), headers });
  }
  return pages;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
      name.replaceAll('\\', '/'),
    );
  } catch {
    return [];
  }
}

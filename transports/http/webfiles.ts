import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RPC_PORTS } from '../../protocol/rpc.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html;charset=utf-8',
  '.js': 'text/javascript;charset=utf-8',
  '.css': 'text/css;charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ogg': 'audio/ogg',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
  '.txt': 'text/plain;charset=utf-8',
};

/** Where `guildhall rpc` of the viewer's own machine is, which the voice-room page links to. */
export const RPC_SERVERS = Array.from(
  { length: RPC_PORTS.last - RPC_PORTS.first + 1 },
  (_, at) => `ws://127.0.0.1:${RPC_PORTS.first + at}`,
).join(' ');

/**
 * The page may contact only this server and the sources in `connects`, and run only scripts that were built into it. Cross-origin isolation is required by
 * browsers before WebAssembly may share memory with workers.
 */
export const safeHeaders = (
  frames: string | null,
  connects: string | null = null,
): Readonly<Record<string, string>> => ({
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; " +
    `connect-src 'self'${connects === null ? '' : ` ${connects}`}; ${frames === null ? '' : `frame-src ${frames}; `}` +
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

export interface WebFile {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Folder of built pages: beside the built server, or under `dist` when the server runs from source. */
function builtFolder(name: string): string {
  const fromHere = import.meta.url.endsWith('.ts') ? `../../dist/${name}/` : `../../${name}/`;
  return fileURLToPath(new URL(fromHere, import.meta.url));
}

export const builtWebFolder = (): string => builtFolder('web');
export const builtDocsFolder = (): string => builtFolder('docs');

/** The files of the folder by path, read now: a few megabytes in total. Empty without the folder. */
export function readWebFiles(folder: string, safe: WebFile['headers']): ReadonlyMap<string, WebFile> {
  const pages = new Map<string, WebFile>();
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

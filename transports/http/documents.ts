import { Exchange } from './exchange.ts';
import type { Installer } from './server.ts';

/** JSON documents that never change while the server runs, by path. */
type Documents = Readonly<Record<string, () => object>>;

/** Serves the documents. Each is made when it is first requested, and kept as bytes. */
export const documentRoutes =
  (documents: Documents): Installer =>
  (app, state) => {
    for (const [path, make] of Object.entries(documents)) {
      let bytes: Buffer | null = null;
      app.any(path, (res, req) => {
        const exchange = new Exchange(res, req, state);
        if (exchange.method === 'OPTIONS') return exchange.preflight();
        bytes ??= Buffer.from(JSON.stringify(make()));
        exchange.answer({ status: 200, headers: HEADERS, body: bytes });
      });
    }
  };

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=300' };

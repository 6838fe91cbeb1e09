import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { portOf } from '../../protocol/addresses.ts';
import type { RedirectPlace } from '../host.ts';

const CALLBACK_PATH = '/callback';
const URL_CHARS_MAX = 8_192;
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  connection: 'close',
};

const pageOf = (title: string, sentence: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${sentence}</p></html>`;

/**
 * Listens on the loopback interface, on a free port, for the expected redirect. Any other request is answered with
 * 400 and changes nothing.
 *
 * @source RFC 8252, section 7.3
 */
export async function awaitRedirect(arrived: (url: string) => boolean): Promise<RedirectPlace> {
  const server = createServer({ maxHeaderSize: 2 * URL_CHARS_MAX, requestTimeout: 10_000 });
  server.maxConnections = 16;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server.address());
  const origin = `http://127.0.0.1:${port}`;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? '';
    const isIt =
      request.method === 'GET' &&
      // Rejects other Host headers: an attacker's DNS name may resolve to this machine.
      request.headers.host === `127.0.0.1:${port}` &&
      url.length <= URL_CHARS_MAX &&
      url.startsWith(`${CALLBACK_PATH}?`) &&
      arrived(`${origin}${url}`);
    const page = isIt
      ? pageOf('Done', 'You can close this window and go back to the game.')
      : pageOf('Not expected', 'This is not the answer that was awaited.');
    response.writeHead(isIt ? 200 : 400, HEADERS).end(page);
  });
  return {
    redirectUri: `${origin}${CALLBACK_PATH}`,
    close() {
      server.close();
      // The response is flushed before the server closes.
      server.closeIdleConnections();
    },
  };
}

import uws from 'uWebSockets.js';
import { Pool } from 'undici';
import { systemClock } from '../../actors/runtime/clock.ts';
import { mappedTargets } from '../../engine/application/mappings.ts';
import { createReadCache } from '../../services/readcache.ts';
import { openActivityProxy } from '../../transports/activities/proxy.ts';

/** The application whose activity is requested. */
export const APPLICATION = '1574520440439701504';
const SOCKETS_MAX = 256;

/** Plays one part of the comparison in this process. @returns the port it listens on. @throws Error for another part */
export async function serve(role: string, target: number, bytes: number): Promise<number> {
  if (role === 'target') return serveTarget(bytes);
  if (role === 'uws') return serveBare(target);
  if (role !== 'guildhall') throw new Error(`There is no part named ${role}.`);
  // As the program composes it: mappings are read again each second.
  const mappings = createReadCache(
    async (_: string) => mappedTargets([{ prefix: '/', target: `127.0.0.1:${target}` }]),
    () => performance.now(),
  );
  const proxy = await openActivityProxy({
    ...{ host: '127.0.0.1', port: 0, baseUrl: 'http://localhost', server: () => 'http://127.0.0.1:1' },
    ...{ embedders: [], privateOrigins: new Set<string>(), allowsLoopback: true, extraCa: null },
    ...{
      trustProxy: false,
      requestBytesMax: 1 << 20,
      clock: systemClock,
      onFault: (error: unknown) => console.error(error),
    },
    targetOf: (id, path) => {
      const known = mappings.peek([id]);
      return known ? known(path) : mappings.read([id]).then((targetOf) => targetOf(path));
    },
  });
  return proxy.port;
}

const listened = (app: ReturnType<typeof uws.App>): Promise<number> =>
  new Promise((resolve) => {
    app.listen('127.0.0.1', 0, (socket) => resolve(socket === false ? 0 : uws.us_socket_local_port(socket)));
  });

function serveTarget(bytes: number): Promise<number> {
  const body = 'x'.repeat(bytes);
  return listened(
    uws.App().any('/*', (res) => void res.writeHeader('content-type', 'text/javascript').end(body)),
  );
}

/** The least that forwards a request with the same libraries: no policy, no bounds, no checks of addresses. */
function serveBare(target: number): Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${target}`, { connections: SOCKETS_MAX });
  return listened(
    uws.App().any('/*', (res, req) => {
      let isGone = false;
      res.onAborted(() => {
        isGone = true;
      });
      const parts: Buffer[] = [];
      const answer = (status: string) => {
        if (!isGone) res.cork(() => void res.writeStatus(status).end(Buffer.concat(parts)));
      };
      pool.dispatch(
        { path: req.getUrl(), method: 'GET' },
        {
          onConnect: () => undefined,
          onHeaders: () => true,
          onData(part) {
            parts.push(part);
            return true;
          },
          onComplete: () => answer('200 OK'),
          onError: () => answer('502 Bad Gateway'),
        },
      );
    }),
  );
}

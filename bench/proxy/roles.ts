import uws from 'uWebSockets.js';
import http from 'node:http';
import { mappedTarget } from '../../engine/application/mappings.ts';
import { openActivityProxy } from '../../transports/activities/proxy.ts';

/** Whose activity is asked for. */
export const APPLICATION = '1574520440439701504';
const SOCKETS_MAX = 256;

/** Plays one part of the comparison in this process. @returns the port it listens on. @throws Error for another part */
export async function serve(role: string, target: number, bytes: number): Promise<number> {
  if (role === 'target') return serveTarget(bytes);
  if (role === 'uws') return serveBare(target);
  if (role !== 'guildhall') throw new Error(`There is no part named ${role}.`);
  const proxy = await openActivityProxy({
    ...{ host: '127.0.0.1', port: 0, baseUrl: 'http://localhost', server: () => 'http://127.0.0.1:1' },
    ...{ embedders: [], privateOrigins: new Set<string>(), allowsLoopback: true, extraCa: null },
    ...{ trustProxy: false, requestBytesMax: 1 << 20, onFault: (error: unknown) => console.error(error) },
    targetOf: async (_, path) => mappedTarget([{ prefix: '/', target: `127.0.0.1:${target}` }], path),
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

/** The least that forwards a request: no policy, no bounds, no checks of addresses. */
function serveBare(target: number): Promise<number> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: SOCKETS_MAX });
  return listened(
    uws.App().any('/*', (res, req) => {
      let isGone = false;
      res.onAborted(() => {
        isGone = true;
      });
      const options = {
        host: '127.0.0.1',
        port: target,
        agent,
        path: req.getUrl(),
        method: req.getMethod().toUpperCase(),
      };
      const sent = http.request(options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => void chunks.push(chunk));
        answer.on('end', () => {
          if (!isGone) res.cork(() => void res.end(Buffer.concat(chunks)));
        });
      });
      sent.on('error', () => {
        if (!isGone) res.cork(() => void res.writeStatus('502').end());
      });
      sent.end();
    }),
  );
}

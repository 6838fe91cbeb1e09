// The answering process of the measurement of links: `node echo.js CONTENDER`. Sends its port, and its CPU time when asked.
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { systemClock } from '../../actors/runtime/clock.ts';
import { createLinks } from '../../transports/cluster/links.ts';
import {
  answersTo,
  CONTENDERS,
  type Contender,
  ECHO_SERVICE,
  linkOptions,
  REQUEST_BYTES,
} from './echoing.ts';

const SERVE: Readonly<Record<Contender, () => Promise<number>>> = {
  http2: serveHttp2,
  'grpc unary': serveGrpc,
  'grpc stream': serveGrpc,
  'link 1': () => serveLink(1),
  'link 2': () => serveLink(2),
};

/** Messages of one size each way: no framing is needed to compare the transport. */
async function serveHttp2(): Promise<number> {
  const server = createServer({ settings: { initialWindowSize: 4 << 20 } });
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.respond();
    let bytes = 0;
    stream.on('data', (part: Buffer) => {
      bytes += part.length;
      const requests = Math.floor(bytes / REQUEST_BYTES);
      bytes -= requests * REQUEST_BYTES;
      if (requests > 0) stream.write(answersTo(requests));
    });
    stream.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return address.port;
}

function serveGrpc(): Promise<number> {
  const server = new Server();
  server.addService(ECHO_SERVICE, {
    Ask: ({ request }: { request: Buffer }, done: (error: null, answer: Buffer) => void) =>
      done(null, answersTo(request.length / REQUEST_BYTES)),
    Exchange: (call: ServerDuplexStream<Buffer, Buffer>) =>
      call.on('data', (bytes: Buffer) => call.write(answersTo(bytes.length / REQUEST_BYTES))),
  });
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

async function serveLink(newest: number): Promise<number> {
  const links = await createLinks(linkOptions('answerer', newest, systemClock));
  links.serve({
    ask: async (_from, _method, [, content]) => ({ ok: true, value: content }),
    notified: () => undefined,
    broken: () => undefined,
  });
  return links.port;
}

const contender = CONTENDERS.find((each) => each === process.argv[2]);
if (contender === undefined) throw new RangeError('Name one of the contenders.');
process.on('message', () => process.send?.({ cpuUs: cpuUs() }));
process.on('disconnect', () => process.exit());
process.send?.({ port: await SERVE[contender]() });

function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { refusal } from '../../protocol/refusal.ts';
import { resultOf } from '../rest/pipeline.ts';
import { SharedMessages } from '../rest/sharedmessages.ts';
import type { ServerState } from './exchange.ts';
import { Exchange } from './exchange.ts';
import { uWS } from './uws.ts';

/** Adds routes to the app. The REST interface, the CDN, the gateway and the admin interface each have one. */
export type Installer = (app: TemplatedApp, state: ServerState) => void;

interface ServerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly installers: readonly Installer[];
  readonly tls?: { readonly keyFile: string; readonly certFile: string };
  /** Whether other processes may listen on the port too; the kernel then distributes connections among them. */
  readonly shared?: boolean;
  /** The lifetime that requests belong to; without it, shutdown does not wait for requests being answered. */
  readonly lifetime?: Pick<ServerState, 'run'>;
}

export interface HttpServer {
  readonly port: number;
  /** Stops accepting connections; open ones stay. */
  stopAccepting(): void;
  /** Closes every connection and the port. */
  close(): void;
}

// The binary sets SO_REUSEPORT by default: another program on the port would then share its connections at random.
const EXCLUSIVE_PORT = 1;
const SHARED_PORT = 0;
/**
 * Listening sockets on a shared port. The native library lets 512 connections wait at each; beyond, the system drops them,
 * and clients try again after one second, then three. All clients of a process that died connect to the others at once.
 */
const SHARED_LISTENERS = 8;
/** The typings omit the options parameter; every build has it. */
type Listen = (host: string, port: number, options: number, done: (socket: us_listen_socket) => void) => void;

/**
 * Opens one port with the given routes; every other path is answered 404 in the platform's format.
 *
 * @throws Error when the address cannot be bound.
 */
export function startServer(options: ServerOptions): Promise<HttpServer> {
  const { host, port, tls, lifetime, shared = false } = options;
  const app = tls ? uWS.SSLApp({ key_file_name: tls.keyFile, cert_file_name: tls.certFile }) : uWS.App();
  const state: ServerState = {
    draining: false,
    sharedMessages: new SharedMessages(),
    run: lifetime?.run.bind(lifetime) ?? ((answering) => answering),
  };
  for (const install of options.installers) install(app, state);
  app.any('/*', (res, req) => notFound(res, req, state));
  // A port that the system picks cannot be shared.
  const listeners = shared && port !== 0 ? SHARED_LISTENERS : 1;
  const listening = Array.from({ length: listeners }, () => listenOn(app, host, port, shared));
  return Promise.all(listening).then((sockets) => control(app, sockets, state));
}

/**
 * @param shared Whether other processes may listen on the port too.
 * @throws Error when the address cannot be bound.
 */
export function listenOn(
  app: TemplatedApp,
  host: string,
  port: number,
  shared = false,
): Promise<us_listen_socket> {
  const listen = app.listen.bind(app) as unknown as Listen;
  return new Promise((resolve, reject) => {
    listen(host, port, shared ? SHARED_PORT : EXCLUSIVE_PORT, (socket) => {
      if (socket) resolve(socket);
      else
        reject(
          new Error(`Cannot listen on ${host}:${port}: the port is in use or the address is not local.`),
        );
    });
  });
}

function control(app: TemplatedApp, sockets: readonly us_listen_socket[], state: ServerState): HttpServer {
  const [port = 0] = sockets.map((socket) => uWS.us_socket_local_port(socket));
  let open = true;
  const stopAccepting = () => {
    state.draining = true;
    if (open) for (const socket of sockets) uWS.us_listen_socket_close(socket);
    open = false;
  };
  return {
    port,
    stopAccepting,
    close() {
      stopAccepting();
      app.close();
    },
  };
}

function notFound(res: HttpResponse, req: HttpRequest, state: ServerState): void {
  new Exchange(res, req, state).answer(resultOf(refusal('NOT_FOUND')));
}

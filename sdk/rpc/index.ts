/** The RPC server of a person, for programs of this machine. Node only. */
export { RpcHost } from './host.ts';
export { serveIpc } from './ipcserver.ts';
export { serveWeb } from './webserver.ts';

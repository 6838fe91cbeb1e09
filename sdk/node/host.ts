import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import WebSocket from 'ws';
import { createNodeAudio } from '../call/node.ts';
import { ErrorType } from '../enums.ts';
import type { Host } from '../host.ts';
import { ClientError } from '../result.ts';
import { openLocalClient } from '../rpc/ipcclient.ts';
import type { OpenSocket } from '../voice/wire.ts';
import { registerLaunchCommand } from './launch.ts';
import { openLog } from './logfile.ts';
import { awaitRedirect } from './redirect.ts';

const FRAME_BYTES_MAX = 16 * 1_048_576;
const HANDSHAKE_MS = 15_000;

const openSocket: OpenSocket = (url, events) => {
  const socket = new WebSocket(url, { maxPayload: FRAME_BYTES_MAX, handshakeTimeout: HANDSHAKE_MS });
  socket.binaryType = 'nodebuffer';
  socket.on('message', (data, isBinary) => events.message(isBinary ? (data as Buffer) : String(data)));
  // A failure is followed by its close.
  socket.on('error', () => {});
  socket.on('close', (code, reason) => events.closed(code, reason.toString()));
  return {
    send(data) {
      if (socket.readyState === WebSocket.OPEN) socket.send(data);
    },
    close(code) {
      if (socket.readyState === WebSocket.CONNECTING) socket.terminate();
      else socket.close(code);
    },
  };
};

/** Opens a URL in the person's browser; prints it if there is no browser. */
function openUrl(url: string): void {
  const { protocol, href } = new URL(url);
  if (protocol !== 'https:' && protocol !== 'http:')
    throw new ClientError(ErrorType.ValidationError, 'Only http and https URLs can be opened.');
  const [command, args] = OPENERS[platform()] ?? ['xdg-open', []];
  const child = spawn(command, [...args, href], { detached: true, stdio: 'ignore' });
  const printUrl = () => process.stderr.write(`Open this page to sign in: ${href}\n`);
  child.on('error', printUrl);
  // An opener without a browser reports it only with its exit code.
  child.on('exit', (code) => code !== 0 && printUrl());
  child.unref();
}

/** Opens the URL without a shell. */
const OPENERS: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  darwin: ['open', []],
  win32: ['rundll32', ['url.dll,FileProtocolHandler']],
};

/** Node: its WebSocket, the person's browser with a listener on the loopback interface, log files. */
export const nodeHost = (): Host => ({
  os: platform(),
  openSocket,
  fetch: (input, init) => fetch(input, init),
  origin: null,
  openUrl,
  awaitRedirect,
  openLocal: (applicationId) => openLocalClient(applicationId),
  registerLaunch: (applicationId, command) => registerLaunchCommand(applicationId, command),
  openLog,
  createAudio: () => createNodeAudio(),
});

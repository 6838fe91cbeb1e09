import { randomUUID } from 'node:crypto';
import { createConnection, type Socket } from 'node:net';
import { RPC_OP, RPC_SOCKETS } from '../../protocol/rpc.ts';
import type { LocalClient, LocalUser } from '../host.ts';
import { encodeFrame, FrameReader } from './frame.ts';
import { type Args, isObject } from './link.ts';
import { type SocketEnvironment, socketPath } from './socketpath.ts';

const ANSWER_MS = 10_000;

interface Pending {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Connects to the first RPC server of this machine that answers. @throws Error when there is none */
async function openSocket(place: SocketEnvironment): Promise<Socket> {
  for (let index = 0; index < RPC_SOCKETS.count; index += 1) {
    const socket = await new Promise<Socket | null>((resolve) => {
      const opened = createConnection(socketPath(place, index));
      opened.once('connect', () => resolve(opened));
      opened.once('error', () => resolve(null));
    });
    if (socket !== null) return socket;
  }
  throw new Error('No RPC server runs on this machine.');
}

/** Settles the command that a frame answers. */
function answered(pending: Map<string, Pending>, { nonce, evt, data }: Args): void {
  const waiting = typeof nonce === 'string' ? pending.get(nonce) : undefined;
  if (!waiting) return;
  pending.delete(String(nonce));
  if (evt === 'ERROR') waiting.reject(new Error(isObject(data) ? String(data.message) : 'Refused.'));
  else waiting.resolve();
}

/** The person of READY. */
function userOf(ready: unknown): LocalUser | null {
  const user = isObject(ready) ? ready.user : null;
  if (!isObject(user) || typeof user.id !== 'string' || typeof user.username !== 'string') return null;
  const globalName = typeof user.global_name === 'string' ? user.global_name : null;
  return { id: user.id, username: user.username, globalName };
}

/** A game's connection to the RPC server of the person: it sets the activity of the application. */
export function openLocalClient(
  applicationId: string,
  place: SocketEnvironment = { env: process.env, platform: process.platform },
): LocalClient {
  const pending = new Map<string, Pending>();
  let socket: Promise<Socket> | null = null;
  let user: LocalUser | null = null;

  const connect = async (): Promise<Socket> => {
    const opened = await openSocket(place);
    opened.unref();
    const reader = new FrameReader();
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        clearTimeout(timer);
        socket = null;
        reject(error);
        for (const one of pending.values()) one.reject(error);
        pending.clear();
        opened.destroy();
      };
      opened.on('error', fail);
      opened.on('close', () => fail(new Error('The RPC server has closed the connection.')));
      const timer = setTimeout(() => fail(new Error('The RPC server does not answer.')), ANSWER_MS);
      opened.on('data', (bytes: Buffer) => {
        for (const { op, data } of reader.push(bytes)) {
          if (!isObject(data)) continue;
          if (op === RPC_OP.CLOSE) fail(new Error(String(data.message)));
          else if (data.evt === 'READY') {
            clearTimeout(timer);
            user = userOf(data.data);
            resolve(opened);
          } else answered(pending, data);
        }
        if (reader.problem !== null)
          fail(new Error(`Malformed answer of the RPC server: ${reader.problem}.`));
      });
      opened.write(encodeFrame(RPC_OP.HANDSHAKE, { v: 1, client_id: applicationId }));
    });
  };

  const open = (): Promise<Socket> => {
    socket ??= connect().catch((error: unknown) => {
      socket = null;
      throw error;
    });
    return socket;
  };
  return {
    async user() {
      await open();
      if (user === null) throw new Error('The RPC server does not say who is signed in.');
      return user;
    },
    async setActivity(activity, pid = process.pid) {
      const opened = await open();
      const nonce = randomUUID();
      const args = { pid, activity };
      await new Promise<void>((resolve, reject) => {
        pending.set(nonce, { resolve, reject });
        opened.write(encodeFrame(RPC_OP.FRAME, { cmd: 'SET_ACTIVITY', args, nonce }));
      });
    },
    close() {
      socket?.then((opened) => opened.destroy()).catch(() => undefined);
      socket = null;
    },
  };
}

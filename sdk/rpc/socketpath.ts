import { RPC_SOCKETS } from '../../protocol/rpc.ts';

/** Where programs look for the socket. */
export interface SocketEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
}

/** @source https://docs.discord.food/topics/rpc#ipc; the order of folders as stock clients look */
export function socketPath({ env, platform }: SocketEnvironment, index: number): string {
  if (platform === 'win32') return `\\\\?\\pipe\\${RPC_SOCKETS.name}${index}`;
  const folder = env.XDG_RUNTIME_DIR || env.TMPDIR || env.TMP || env.TEMP || '/tmp';
  return `${folder.replace(/\/$/, '')}/${RPC_SOCKETS.name}${index}`;
}

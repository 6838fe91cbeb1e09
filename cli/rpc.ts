import type { Command } from 'commander';
import { messageOf } from '../protocol/thrown.ts';
import { readCredentials } from './credentials.ts';
import { collect } from './flags.ts';
import { apiOf, callApi } from './login.ts';
import { CommandError, printResult, type World } from './world.ts';

interface RpcFlags {
  readonly url?: string;
  readonly approve: readonly string[];
  readonly web: boolean;
  readonly json?: true;
}

/** The user that the RPC server acts for. */
interface Person {
  readonly api: string;
  readonly token: string;
}

export interface RpcServer {
  /** The local socket. */
  readonly path: string;
  /** Port for WebSocket and HTTP; null when no port was free or none is wanted. */
  readonly port: number | null;
  readonly username: string;
  /** Links a voice-room page, so that games act on its call; null without a port. */
  readonly room: string | null;
  /** Resolves with the reason when the server ends the person's session. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

/** Adds `rpc`. */
export function addRpcCommand(program: Command, world: World): void {
  program
    .command('rpc')
    .description('show what your games do: serves the local socket that games connect to')
    .option('--url <url>', 'the server, when GUILDHALL_USER_TOKEN names the person')
    .option(
      '--approve <application>',
      'may act for you without a question; may be given many times',
      collect,
      [],
    )
    .option('--no-web', 'only the local socket, no WebSocket and HTTP')
    .option('--json', 'print one JSON line when it serves')
    .action((flags: RpcFlags) => run(world, flags));
}

async function run(world: World, flags: RpcFlags): Promise<void> {
  const person = await personOf(world, flags.url);
  const server = await serveRpc(world, person, flags);
  const { path, port, username, room } = server;
  printResult(world, flags.json === true, { path, port, username, room, pid: process.pid }, [
    `Games of this machine show what ${username} does.`,
    `  socket     ${path}`,
    `  web        ${port === null ? 'none' : `http://127.0.0.1:${port}`}`,
    ...(room === null ? [] : [`  voice room ${room}`]),
    'Press Ctrl-C to end.',
  ]);
  const reason = await Promise.race([world.untilToldToStop().then(() => null), server.ended]);
  await server.close();
  if (reason !== null) throw new CommandError(`The server ended the session: ${reason}`, 'Sign in again.');
}

async function personOf(world: World, url: string | undefined): Promise<Person> {
  const { GUILDHALL_USER_TOKEN: token } = world.env;
  if (token) return { api: apiOf(url ?? 'http://127.0.0.1:3000'), token };
  const credentials = await readCredentials(world);
  if (credentials === null)
    throw new CommandError('No account is signed in on this machine.', 'Sign in with guildhall login.');
  if (url !== undefined && apiOf(url) !== credentials.api)
    throw new CommandError(`You are signed in to ${credentials.api}.`, 'Sign in with guildhall login --url.');
  return credentials;
}

/** Starts the RPC server of a person. */
export async function serveRpc(
  world: World,
  { api, token }: Person,
  { approve, web }: Pick<RpcFlags, 'approve' | 'web'>,
): Promise<RpcServer> {
  // Loaded only here, because most commands do not use it.
  const [{ nodeHost }, { RpcHost, serveIpc, serveWeb }, { decodeEtf }, { encodeEtf }] = await Promise.all([
    import('../sdk/node/host.ts'),
    import('../sdk/rpc/index.ts'),
    import('../transports/gateway/codec/etf.decode.ts'),
    import('../transports/gateway/codec/etf.encode.ts'),
  ]);
  const gateway = await callApi(api, '/gateway', { token });
  const { openSocket, openUrl, os, fetch, createAudio } = nodeHost();
  let end = (_reason: string): void => undefined;
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const host = new RpcHost({
    ...{ api, token, os, fetch, open: openSocket, gatewayUrl: String(gateway.body.url) },
    audio: createAudio(),
    nowMs: () => performance.now(),
    ended: end,
    page: {
      locale: Intl.DateTimeFormat().resolvedOptions().locale,
      consent: async ({ application, scopes }) =>
        approve.includes(application.id) ||
        (await asked(world, `${application.name} wants to act for you: ${scopes.join(', ')}. Allow?`)),
      confirm: (question) => asked(world, question),
      openExternal: (url) => {
        openUrl(url);
        return true;
      },
    },
  });
  try {
    const user = await host.started();
    const socket = await serveIpc({ env: world.env, platform: process.platform }, (transport) =>
      host.connect(transport),
    );
    const place = { origin: new URL(api).origin, room: host.room };
    const etf = { encode: encodeEtf, decode: decodeEtf };
    const pages = web ? await serveWeb((transport) => host.connect(transport), place, etf) : null;
    return {
      ...{ path: socket.path, port: pages?.port ?? null, username: String(user.username), ended },
      room: pages && host.room.linkFor(place.origin, pages.port),
      async close() {
        host.close();
        await Promise.all([socket.close(), pages?.close()]);
      },
    };
  } catch (error) {
    host.close();
    throw new CommandError(messageOf(error), 'Sign in with guildhall login, or end the other server.');
  }
}

/** Without a terminal no person can answer, so consent is refused. */
async function asked(world: World, question: string): Promise<boolean> {
  if (world.confirm !== null) return world.confirm(question);
  world.err(`Refused, because there is no terminal to ask at: ${question.replaceAll(/\p{C}/gu, ' ')}`);
  return false;
}

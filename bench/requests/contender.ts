import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { OP } from '../../protocol/opcodes.ts';
import { SERVER_CPU, type Worker } from '../fanout/arena.ts';
import { type SpawnedServer, spawnServer } from '../gateway/spawn.ts';
import { usageOf } from '../wire/process.ts';
import type { LoadNews, LoadOrder } from './load.ts';

export const CONNECTIONS = 16;
const DURATION_MS = 2_000;
export const WARM_MS = 500;
/** Bounds of the ratio to the reference, with PostgreSQL outside the process. */
export const TARGETS = {
  'POST message': 6,
  'GET messages?limit=50': 12,
  'GET channel': 4,
  'GET users/@me': 4.5,
} as const;
export type Kind = keyof typeof TARGETS;
export const KINDS: readonly Kind[] = [
  'POST message',
  'GET messages?limit=50',
  'GET channel',
  'GET users/@me',
];

export const scriptOf = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url));

export const CONTENT =
  'The ferry leaves at a quarter past, and the last one waits for the train from the north.';

export function requestOf(
  kind: Kind,
  { channelId, tokens }: Pick<SpawnedServer, 'channelId' | 'tokens'>,
  authorization = `Bot ${tokens[0]}`,
): string {
  const body = kind === 'POST message' ? JSON.stringify({ content: CONTENT }) : '';
  const paths: Readonly<Record<Kind, string>> = {
    'POST message': `/channels/${channelId}/messages`,
    'GET messages?limit=50': `/channels/${channelId}/messages?limit=50`,
    'GET channel': `/channels/${channelId}`,
    'GET users/@me': '/users/@me',
  };
  const head = [
    `${kind.split(' ', 1)[0]} /api/v10${paths[kind]} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: ${authorization}`,
    ...(body ? ['Content-Type: application/json', `Content-Length: ${body.length}`] : []),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

export interface Contender {
  readonly pid: number;
  readonly port: number;
  /** Connections that send at once. */
  readonly connections?: number;
  /** Milliseconds from one request of a connection to its next; 0 for as soon as it is answered. */
  readonly everyMs?: number;
}

/** CPU-microseconds of the contender's process per request. */
export async function costOf(
  load: Worker<LoadOrder, LoadNews>,
  { pid, port, connections = CONNECTIONS, everyMs = 0 }: Contender,
  request: string,
  durationMs = DURATION_MS,
): Promise<number> {
  const before = usageOf(pid)?.cpuMicros ?? Number.NaN;
  const loaded = load.next('loaded');
  load.order({ port, request, connections, durationMs, everyMs });
  const { requests, failed } = await loaded;
  if (failed > 0) throw new Error(`${failed} of ${requests} requests failed: ${request.split('\r\n', 1)[0]}`);
  return ((usageOf(pid)?.cpuMicros ?? Number.NaN) - before) / requests;
}

const databaseUrl = process.env.BENCH_DATABASE_URL;
export const DATABASE = databaseUrl === undefined ? 'the embedded database' : 'PostgreSQL';

/** A server on its processor, without rate limits. */
export function startServer(): Promise<SpawnedServer> {
  const pinned = ['-c', SERVER_CPU, process.execPath];
  const flags = ['--max-semi-space-size=64', fileURLToPath(new URL('../../cli.js', import.meta.url))];
  const dev = [
    'dev',
    '--json',
    '--port',
    '0',
    '--admin-port',
    '0',
    '--no-rate-limits',
    '--set',
    'voice=false',
    '--set',
    'identifies_per_sec=1000',
  ];
  const database = databaseUrl === undefined ? [] : ['--set', `database_url=${databaseUrl}`];
  return spawnServer('taskset', [...pinned, ...flags, ...dev, ...database]);
}

const HEARTBEAT_MS = 20_000;
/** Guilds and their messages. */
const INTENTS = 1 | (1 << 9);

/** Opens a session that ignores its dispatches. Resolves with READY. */
export async function openSession({ gateway, tokens }: SpawnedServer): Promise<WebSocket> {
  const socket = new WebSocket(`${gateway}/?v=10&encoding=json`);
  const say = (op: number, d: unknown): void => socket.send(JSON.stringify({ op, d }));
  const properties = { os: 'linux', browser: 'bench', device: 'bench' };
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('close', (code) => reject(new Error(`The session was closed with ${code}.`)));
    socket.once('open', () => say(OP.IDENTIFY, { token: tokens[0], intents: INTENTS, properties }));
    const received = (bytes: Buffer): void => {
      if (!bytes.includes('"t":"READY"')) return;
      socket.off('message', received);
      resolve();
    };
    socket.on('message', received);
  });
  const timer = setInterval(() => say(OP.HEARTBEAT, null), HEARTBEAT_MS);
  socket.once('close', () => clearInterval(timer));
  return socket;
}

import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server as SocketIoServer } from 'socket.io';
import { type WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '../../actors/runtime/clock.ts';
import { TimerWheel } from '../../actors/runtime/wheel.ts';
import { Journal } from '../../actors/session/journal.ts';
import { DEFAULTS } from '../../config/config.ts';
import { portOf } from '../../protocol/addresses.ts';
import { openJournalStore } from '../../storage/journal/journal.ts';
import { uWS } from '../../transports/http/uws.ts';
import { HistoryStream } from './deflate.ts';
import type { Contender, Entrant } from './entrant.ts';
import { buildGuild, fanOut, messageCreate, openHouse, subscribeOutsiders } from './house.ts';

const HOST = '127.0.0.1';
/** Disables a library's own pings, which would be measured too. */
const NEVER_MS = 2 ** 30;

/** Sessions that must not receive the messages, so that intents and permissions have something to refuse. */
const OUTSIDERS = 100;

async function guildhall(journal: Journal | null = null, sharesHistory?: boolean): Promise<Contender> {
  const guild = buildGuild();
  subscribeOutsiders(guild, OUTSIDERS);
  const { server } = await openHouse(guild, journal, sharesHistory);
  return {
    port: server.port,
    broadcast: (messages) => {
      for (const message of messages) fanOut(guild, messageCreate(message), Date.now());
    },
  };
}

/** This server with a journal on disk, as shards have one. */
async function journalled(): Promise<Contender> {
  const directory = mkdtempSync(join(tmpdir(), 'guildhall-bench-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const store = await openJournalStore(directory);
  const { journal_bytes_max: bytesMax, resume_window_ms: ageMs } = DEFAULTS;
  const journal = new Journal(await store.open('shard', 'run', false), {
    settings: { bytesMax, ageMs },
    ...{ clock: systemClock, wheel: new TimerWheel(systemClock) },
    onFault(error) {
      throw error;
    },
  });
  return guildhall(journal);
}

async function publish(): Promise<Contender> {
  const app = uWS.App();
  app.ws('/', {
    compression: 0,
    idleTimeout: 0,
    maxBackpressure: 0,
    open: (socket) => void socket.subscribe('room'),
  });
  const port = await new Promise<number>((resolve) =>
    app.listen(HOST, 0, (socket) => resolve(socket ? uWS.us_socket_local_port(socket) : 0)),
  );
  let seq = 0;
  return {
    port,
    broadcast: (messages) => {
      for (const d of messages) {
        seq += 1;
        app.publish('room', JSON.stringify({ t: 'MESSAGE_CREATE', s: seq, op: 0, d }));
      }
    },
  };
}

async function wsServer(): Promise<{ port: number; clients: Set<WebSocket> }> {
  const server = new WebSocketServer({ host: HOST, port: 0, perMessageDeflate: false });
  await new Promise((resolve) => server.once('listening', resolve));
  return { port: portOf(server.address()), clients: server.clients };
}

async function ws(): Promise<Contender> {
  const { port, clients } = await wsServer();
  let seq = 0;
  return {
    port,
    broadcast: (messages) => {
      for (const d of messages) {
        seq += 1;
        const text = Buffer.from(JSON.stringify({ t: 'MESSAGE_CREATE', s: seq, op: 0, d }));
        for (const client of clients) client.send(text, { binary: false });
      }
    },
  };
}

async function socketio(): Promise<Contender> {
  const server = http.createServer();
  const io = new SocketIoServer(server, {
    transports: ['websocket'],
    perMessageDeflate: false,
    serveClient: false,
    pingInterval: NEVER_MS,
  });
  io.on('connection', (socket) => void socket.join('room'));
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  let seq = 0;
  return {
    port: portOf(server.address()),
    broadcast: (messages) => {
      for (const d of messages) {
        seq += 1;
        io.to('room').emit('MESSAGE_CREATE', { t: 'MESSAGE_CREATE', s: seq, op: 0, d });
      }
    },
  };
}

async function deflate(): Promise<Contender> {
  const { port, clients } = await wsServer();
  const streams = new WeakMap<WebSocket, { readonly stream: HistoryStream; seq: number }>();
  return {
    port,
    broadcast: (messages) => {
      for (const d of messages)
        for (const client of clients) {
          let own = streams.get(client);
          if (!own) {
            own = { stream: new HistoryStream(), seq: 0 };
            streams.set(client, own);
          }
          own.seq += 1;
          const text = Buffer.from(JSON.stringify({ t: 'MESSAGE_CREATE', s: own.seq, op: 0, d }));
          client.send(own.stream.write(text), { binary: true });
        }
    },
  };
}

const GATEWAY = '/?v=10&encoding=json';

/** The contenders. The first is this server with its defaults, the next are it without a shared history, and without compression. */
export const ENTRANTS: readonly Entrant[] = [
  { name: 'guildhall', manner: 'gateway', path: `${GATEWAY}&compress=zlib-stream`, open: () => guildhall() },
  {
    name: 'guildhall-alone',
    manner: 'gateway',
    path: `${GATEWAY}&compress=zlib-stream`,
    open: () => guildhall(null, false),
  },
  { name: 'guildhall-plain', manner: 'gateway', path: GATEWAY, open: () => guildhall() },
  { name: 'uws-publish', manner: 'plain', path: '/', open: publish },
  { name: 'ws-stringify-once', manner: 'plain', path: '/', open: ws },
  {
    name: 'socketio-room',
    manner: 'socketio',
    path: '/socket.io/?EIO=4&transport=websocket',
    open: socketio,
  },
  { name: 'socket-deflate', manner: 'plain', path: '/', open: deflate },
];

/** This server with a journal; it is compared only with this server without one. */
export const JOURNALLED: Entrant = {
  name: 'guildhall-journal',
  manner: 'gateway',
  path: GATEWAY,
  open: journalled,
};

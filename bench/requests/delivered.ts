import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { LOAD_CPU, SERVER_CPU, Worker } from '../fanout/arena.ts';
import type { Finding } from '../fanout/parts.ts';
import { ratiosOf, show, spreadOf, verdictOf } from '../fanout/spread.ts';
import {
  type Contender,
  costOf,
  DATABASE,
  openSession,
  requestOf,
  scriptOf,
  startServer,
} from './contender.ts';
import type { HostOrder } from './host.ts';
import type { LoadNews, LoadOrder } from './load.ts';

const SESSIONS = 1_000;
const DURATION_MS = 4_000;
const WARM_MS = 20_000;

/** How people post, with the bound of the ratio to raw publishing. */
const WAYS = {
  '20 messages a second': { connections: 1, everyMs: 50, target: 1.4 },
  // The sockets of the benchmark can read this many messages.
  '16 posters at once': { connections: 16, everyMs: 500, target: 2.2 },
} as const;
type LoadName = keyof typeof WAYS;
const NAMES: readonly LoadName[] = ['20 messages a second', '16 posters at once'];

/** The first frame of a dispatch that a socket receives. */
async function frameOf(socket: WebSocket, t: string): Promise<string> {
  for (;;) {
    const [data] = await once(socket, 'message');
    if (String(data).includes(`"t":"${t}"`)) return String(data);
  }
}

async function openSocket(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`);
  await once(socket, 'open');
  return socket;
}

/**
 * A message over REST with its commit and its delivery to 1,000 sessions, beside uWebSockets alone that publishes the very
 * frame for each POST (G19).
 */
export async function measureDelivered(rounds: number): Promise<Finding> {
  const server = await startServer();
  const reference = new Worker<HostOrder, { readonly kind: 'opened'; readonly port: number }>(
    scriptOf('host'),
    [],
    SERVER_CPU,
  );
  const load = new Worker<LoadOrder, LoadNews>(scriptOf('load'), [], LOAD_CPU);
  const open: WebSocket[] = [];
  try {
    const { port } = await reference.next('opened');
    for (let left = SESSIONS; left > 0; left -= 1)
      open.push(await openSession(server), await openSocket(port));
    const request = requestOf('POST message', server);
    const ours: Contender = { pid: server.pid, port: Number(new URL(server.api).port) };
    const theirs: Contender = { pid: reference.pid, port };
    const [first] = open;
    const frame = first === undefined ? null : frameOf(first, 'MESSAGE_CREATE');
    await costOf(load, { ...ours, connections: 1 }, request, 1);
    reference.order({ kind: 'publish', frame: (await frame) ?? '' });
    const costs = new Map<LoadName, Record<'ours' | 'reference', number[]>>(
      NAMES.map((name) => [name, { ours: [], reference: [] }]),
    );
    // At 20 messages a second V8 would compile the code during the rounds.
    for (const contender of [ours, theirs])
      await costOf(load, { ...contender, connections: 1 }, request, WARM_MS);
    // The first round does not count.
    for (let round = 0; round <= rounds; round += 1)
      for (const [name, cost] of costs)
        for (const side of round % 2 === 0
          ? (['ours', 'reference'] as const)
          : (['reference', 'ours'] as const)) {
          const contender = { ...(side === 'ours' ? ours : theirs), ...WAYS[name] };
          const micros = (await costOf(load, contender, request, DURATION_MS)) / SESSIONS;
          if (round > 0) cost[side].push(micros);
          await pause(500);
        }
    const lines = [...costs].map(([name, cost]) => {
      const ratio = ratiosOf(cost.ours, cost.reference);
      const { target } = WAYS[name];
      const figures = `${show(spreadOf(cost.ours))} µs CPU a delivery, raw publish ${show(spreadOf(cost.reference))}`;
      return `${name.padEnd(22)} ${figures}, ratio ${show(ratio)}, target ≤ ${target}: ${verdictOf(ratio, target)}`;
    });
    return {
      lines: [`POST message to ${SESSIONS} sessions, with ${DATABASE}`, ...lines],
      figures: { database: DATABASE, rounds, sessions: SESSIONS, cpuMicros: Object.fromEntries(costs) },
    };
  } finally {
    load.end();
    reference.end();
    for (const socket of open) socket.terminate();
    await server.stop();
  }
}

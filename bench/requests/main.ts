// What a request costs the server in CPU, beside a bare uWebSockets handler in the same run (G18).
// `npm run bench:requests`; BENCH_DATABASE_URL names an empty PostgreSQL database, else the embedded database is used.
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { LIMITS } from '../../protocol/limits.ts';
import { OP } from '../../protocol/opcodes.ts';
import { LOAD_CPU, SERVER_CPU, Worker } from '../fanout/arena.ts';
import { type Finding, runParts } from '../fanout/parts.ts';
import { ratiosOf, show, spreadOf, verdictOf } from '../fanout/spread.ts';
import { type SpawnedServer, spawnServer } from '../gateway/spawn.ts';
import { usageOf } from '../wire/process.ts';
import type { LoadNews, LoadOrder } from './load.ts';

const ROUNDS = 5;
const CONNECTIONS = 16;
const DURATION_MS = 2_000;
const WARM_MS = 500;
const STORED_MESSAGES = 120;

/** Bounds of the ratio to the reference, with PostgreSQL outside the process. */
const TARGETS = {
  'POST message': 6,
  'GET messages?limit=50': 12,
  'GET channel': 4,
  'GET users/@me': 4.5,
} as const;
type Kind = keyof typeof TARGETS;
const KINDS: readonly Kind[] = ['POST message', 'GET messages?limit=50', 'GET channel', 'GET users/@me'];

const scriptOf = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url));

const CONTENT = 'The ferry leaves at a quarter past, and the last one waits for the train from the north.';

function requestOf(
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

interface Contender {
  readonly pid: number;
  readonly port: number;
  /** That send at once. */
  readonly connections?: number;
}

/** CPU-microseconds of the contender's process per request. */
async function costOf(
  load: Worker<LoadOrder, LoadNews>,
  { pid, port, connections = CONNECTIONS }: Contender,
  request: string,
  durationMs = DURATION_MS,
): Promise<number> {
  const before = usageOf(pid)?.cpuMicros ?? Number.NaN;
  const loaded = load.next('loaded');
  load.order({ port, request, connections, durationMs });
  const { requests, failed } = await loaded;
  if (failed > 0) throw new Error(`${failed} of ${requests} requests failed: ${request.split('\r\n', 1)[0]}`);
  return ((usageOf(pid)?.cpuMicros ?? Number.NaN) - before) / requests;
}

async function fill({ api, channelId, tokens }: SpawnedServer): Promise<void> {
  for (let at = 0; at < STORED_MESSAGES; at += 1) {
    const answer = await fetch(`${api}/v10/channels/${channelId}/messages`, {
      method: 'POST',
      headers: { authorization: `Bot ${tokens[0]}`, 'content-type': 'application/json' },
      body: JSON.stringify({ content: `${CONTENT} ${at}` }),
    });
    if (!answer.ok) throw new Error(`A message was refused: ${answer.status} ${await answer.text()}`);
  }
}

const databaseUrl = process.env.BENCH_DATABASE_URL;
const DATABASE = databaseUrl === undefined ? 'the embedded database' : 'PostgreSQL';

/** A server on its processor, without rate limits. */
function startServer(): Promise<SpawnedServer> {
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

async function measure(rounds: number): Promise<Finding> {
  const server = await startServer();
  const reference = new Worker<never, { readonly kind: 'opened'; readonly port: number }>(
    scriptOf('host'),
    [],
    SERVER_CPU,
  );
  const load = new Worker<LoadOrder, LoadNews>(scriptOf('load'), [], LOAD_CPU);
  try {
    const { port } = await reference.next('opened');
    await fill(server);
    await pause(2_000);
    const ours: Contender = { pid: server.pid, port: Number(new URL(server.api).port) };
    const theirs: Contender = { pid: reference.pid, port };
    const costs = new Map<Kind, { readonly ours: number[]; readonly reference: number[] }>();
    // The first round warms both up and does not count.
    for (let round = 0; round <= rounds; round += 1)
      for (const kind of KINDS) {
        const request = requestOf(kind, server);
        const pair = [await costOf(load, ours, request), await costOf(load, theirs, request)] as const;
        if (round === 0) costs.set(kind, { ours: [], reference: [] });
        else {
          costs.get(kind)?.ours.push(pair[0]);
          costs.get(kind)?.reference.push(pair[1]);
        }
      }
    const lines = [...costs].map(([kind, cost]) => {
      const ratio = ratiosOf(cost.ours, cost.reference);
      const [own, other] = [spreadOf(cost.ours), spreadOf(cost.reference)];
      const verdict = `target ≤ ${TARGETS[kind]}: ${verdictOf(ratio, TARGETS[kind])}`;
      return `${kind.padEnd(22)} ${show(own, 0)} µs CPU, reference ${show(other, 0)}, ratio ${show(ratio, 1)}, ${verdict}`;
    });
    return {
      lines: [`${CONNECTIONS} connections, saturated, with ${DATABASE}`, ...lines],
      figures: { database: DATABASE, rounds, connections: CONNECTIONS, cpuMicros: Object.fromEntries(costs) },
    };
  } finally {
    load.end();
    reference.end();
    await server.stop();
  }
}

/** Bound of the ratio of a message with rules to one without. */
const RULES_TARGET = 1.03;

/** As many keyword rules as a guild may have, with as many words as each may have. None occurs in the message. */
const RULES = Array.from({ length: LIMITS.automod_keyword_rules_max }, (_, rule) => ({
  ...{ name: `Words ${rule}`, event_type: 1, trigger_type: 1, enabled: false, actions: [{ type: 1 }] },
  trigger_metadata: {
    keyword_filter: Array.from({ length: LIMITS.automod_keywords_max }, (_, word) => `wort${rule}x${word}`),
  },
}));

async function isBlocked({ api, channelId, people }: SpawnedServer): Promise<boolean> {
  const answer = await fetch(`${api}/v10/channels/${channelId}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${people.at(-1)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ content: 'wort0x1' }),
  });
  return answer.status === 400;
}

const HEARTBEAT_MS = 20_000;
/** Guilds and their messages. */
const INTENTS = 1 | (1 << 9);

/** Opens a session that reads nothing of what it is sent. Resolves with READY. */
async function openSession({ gateway, tokens }: SpawnedServer): Promise<WebSocket> {
  const socket = new WebSocket(`${gateway}/?v=10&encoding=json`);
  const say = (op: number, d: unknown): void => socket.send(JSON.stringify({ op, d }));
  const properties = { os: 'linux', browser: 'bench', device: 'bench' };
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('close', (code) => reject(new Error(`The session was closed with ${code}.`)));
    socket.once('open', () => say(OP.IDENTIFY, { token: tokens[0], intents: INTENTS, properties }));
    const heard = (bytes: Buffer): void => {
      if (!bytes.includes('"t":"READY"')) return;
      socket.off('message', heard);
      resolve();
    };
    socket.on('message', heard);
  });
  const timer = setInterval(() => say(OP.HEARTBEAT, null), HEARTBEAT_MS);
  socket.once('close', () => clearInterval(timer));
  return socket;
}

/** The rules are off in two of the states: what lies between these is the error of the measurement. */
const STATES = ['off', 'on', 'control'] as const;
/** Rounds that do not count: the first thousands of messages are sent by code that is not yet compiled. */
const WARM_ROUNDS = 3;

/**
 * What auto moderation with 6,000 keywords adds to a person's message, which so many sessions receive: the same server with
 * its rules off and on, in turns. The search index is kept in both.
 */
async function measureRules(rounds: number, sessions: number, connections = CONNECTIONS): Promise<Finding> {
  const server = await startServer();
  const open: WebSocket[] = [];
  const load = new Worker<LoadOrder, LoadNews>(scriptOf('load'), [], LOAD_CPU);
  const ask = async (method: string, path: string, body: object): Promise<{ readonly id: string }> => {
    const answer = await fetch(`${server.api}/v10/guilds/${server.guildId}/auto-moderation/rules${path}`, {
      method,
      headers: { authorization: `Bot ${server.tokens[0]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`A rule was refused: ${answer.status} ${await answer.text()}`);
    const rule: { readonly id: string } = JSON.parse(await answer.text());
    return rule;
  };
  try {
    for (let left = sessions; left > 0; left -= 1) open.push(await openSession(server));
    const ids: string[] = [];
    for (const rule of RULES) ids.push((await ask('POST', '', rule)).id);
    const ours: Contender = { pid: server.pid, port: Number(new URL(server.api).port), connections };
    const request = requestOf('POST message', server, `Bearer ${server.people.at(-1)}`);
    const costs: Record<(typeof STATES)[number], number[]> = { off: [], on: [], control: [] };
    for (let round = 0; round < WARM_ROUNDS + rounds; round += 1)
      // Each state is the first of every third round: what grows with time costs all alike.
      for (const at of STATES.keys()) {
        const state = STATES[(round + at) % STATES.length] ?? 'off';
        for (const id of ids) await ask('PATCH', `/${id}`, { enabled: state === 'on' });
        if (state === 'on' && !(await isBlocked(server)))
          throw new Error('The rules do not read the message.');
        // The rules are compiled for the first message after a change.
        await costOf(load, ours, request, WARM_MS);
        const cost = await costOf(load, ours, request);
        if (round >= WARM_ROUNDS) costs[state].push(cost);
      }
    const each = ({ median }: { readonly median: number }) => (median / sessions).toFixed(2);
    const [off, on, ratio] = [spreadOf(costs.off), spreadOf(costs.on), ratiosOf(costs.on, costs.off)];
    const control = ratiosOf(costs.control, costs.off);
    return {
      lines: [
        `POST message by a person to ${sessions} sessions, ${connections} connections, saturated, with ${DATABASE}`,
        `rules off ${show(off, 0)} µs CPU, 6,000 keywords ${show(on, 0)}, ratio ${show(ratio)}, ` +
          `target ≤ ${RULES_TARGET}: ${verdictOf(ratio, RULES_TARGET)}`,
        `rules off beside rules off: ratio ${show(control)}`,
        ...(sessions === 0
          ? []
          : [`for each delivery: rules off ${each(off)} µs CPU, 6,000 keywords ${each(on)}`]),
      ],
      figures: { database: DATABASE, rounds, sessions, connections, cpuMicros: costs },
    };
  } finally {
    load.end();
    for (const socket of open) socket.terminate();
    await server.stop();
  }
}

/** Sessions that receive each message: of G19's part, and as many as in G1. */
const [SESSIONS, SESSIONS_G1] = [200, 1_000];
await runParts(
  {
    g18: measure,
    // One connection, so that each message is flushed to its sessions by itself, as in G1.
    g1rules: (rounds: number) => measureRules(rounds, SESSIONS_G1, 1),
    g18rules: (rounds: number) => measureRules(rounds, 0),
    g19rules: (rounds: number) => measureRules(rounds, SESSIONS),
  },
  ROUNDS,
);
process.exit();

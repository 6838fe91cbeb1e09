// Measures the server's CPU for each request, beside a bare uWebSockets handler in the same run (G18).
// `npm run bench:requests`; BENCH_DATABASE_URL names an empty PostgreSQL database, else the embedded database is used.
import { setTimeout as pause } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { LIMITS } from '../../protocol/limits.ts';
import { LOAD_CPU, SERVER_CPU, Worker } from '../fanout/arena.ts';
import { type Finding, runParts } from '../fanout/parts.ts';
import { ratiosOf, show, spreadOf, verdictOf } from '../fanout/spread.ts';
import type { SpawnedServer } from '../gateway/spawn.ts';
import {
  CONNECTIONS,
  CONTENT,
  type Contender,
  costOf,
  DATABASE,
  KINDS,
  type Kind,
  openSession,
  requestOf,
  scriptOf,
  startServer,
  TARGETS,
  WARM_MS,
} from './contender.ts';
import { measureDelivered } from './delivered.ts';
import type { HostOrder } from './host.ts';
import type { LoadNews, LoadOrder } from './load.ts';

const ROUNDS = 5;
const STORED_MESSAGES = 120;

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

async function measure(rounds: number): Promise<Finding> {
  const server = await startServer();
  const reference = new Worker<HostOrder, { readonly kind: 'opened'; readonly port: number }>(
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

/** The rules are off in two of the states: what lies between these is the error of the measurement. */
const STATES = ['off', 'on', 'control'] as const;
/** Rounds that do not count: the first thousands of messages are sent by code that is not yet compiled. */
const WARM_ROUNDS = 3;

/**
 * Measures how much CPU auto moderation with 6,000 keywords adds to a person's message that this many sessions receive: the
 * same server with its rules off and on, in turns. The search index is kept in both.
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
    g19: measureDelivered,
    // One connection, so that each message is flushed to its sessions by itself, as in G1.
    g1rules: (rounds: number) => measureRules(rounds, SESSIONS_G1, 1),
    g18rules: (rounds: number) => measureRules(rounds, 0),
    g19rules: (rounds: number) => measureRules(rounds, SESSIONS),
  },
  ROUNDS,
);
process.exit();

// Goal: an interaction is answered once or fails once, and never twice, whenever the server is killed. KILLS sets the number of kills.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GatewayClient } from '../support/gateway-client.ts';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

const KILLS = Number(process.env.KILLS ?? 4);
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
/** Interactions begun before each kill, and how long a kill may wait at most. */
const BEGUN = 6;
const KILL_WITHIN_MS = 60;
const HEARD_MS = 10_000;
/** A restart takes some seconds. */
const KILL_TIMEOUT_MS = 30_000;
const UNKNOWN_INTERACTION = 10_062;
const ACKNOWLEDGED = 40_060;

interface Received {
  readonly id: string;
  readonly token: string;
}

interface Message {
  readonly interaction_metadata?: { readonly id: string };
}

/** Repeatable chance, 0 to 1. */
function chanceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The same nonce would name the same interaction, after a restart too. */
let nonces = 0;
let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'guildhall-interactions-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

/** Answers as a bot does; null when no answer came. */
async function answer(server: TestServer, { id, token }: Received, type: 4 | 5): Promise<number | null> {
  const params = { interaction_id: id, interaction_token: token };
  const body = { type, data: type === 4 ? { content: id } : {} };
  return server
    .restOf(null)
    .ask('create_interaction_response', { params, body })
    .then(({ status, body: said }) => (status === 204 ? 204 : said.code))
    .catch(() => null);
}

/** How many messages name each interaction. */
async function answers(server: TestServer): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const page = await server.user().call<Message[]>('list_messages', {
    params: { channel_id: server.info.guild.text_channel_id },
    query: { limit: 100 },
  });
  for (const { interaction_metadata: of } of page) if (of) found.set(of.id, (found.get(of.id) ?? 0) + 1);
  return found;
}

/** One kill: interactions are under way in every state, and are answered again after the restart. */
async function round(server: TestServer, chance: () => number, restart: () => Promise<TestServer>) {
  const { body: command } = await server
    .bot()
    .ask<{ id: string; version: string; name: string; type: number }>('create_application_command', {
      params: { application_id: server.info.application.id },
      body: { name: 'ping', description: 'Answers.' },
    });
  const bot = await GatewayClient.ready(server.info.gateway, { token: server.info.bot.token });
  const person = await Person.of(server);
  const { id, version, name, type } = command;
  const said = new Map<string, number | null>();
  const under: Promise<unknown>[] = [];
  const received: Received[] = [];
  for (let n = 0; n < BEGUN; n += 1) {
    nonces += 1;
    const nonce = String(nonces);
    const waits = chance() * 20;
    const kind = chance() < 0.7 ? 4 : 5;
    under.push(
      person.ask({ type: 2, nonce, data: { id, version, name, type } }).catch(() => undefined),
      bot
        .dispatch<{ id: string; token: string }>(
          'INTERACTION_CREATE',
          (d) => !received.some((one) => one.id === d.id),
        )
        .then(async (one) => {
          received.push(one);
          await delay(waits);
          said.set(one.id, await answer(server, one, kind));
        })
        .catch(() => undefined),
    );
  }
  // Most kills come when the bot has heard of an interaction, some before, however busy the machine is.
  if (chance() < 0.8) await expect.poll(() => received.length, { timeout: HEARD_MS }).toBeGreaterThan(0);
  await delay(chance() * KILL_WITHIN_MS);
  await server.kill9();
  bot.close();
  person.close();
  await Promise.all(under);
  const again = await restart();
  const repeated = new Map<string, number | null>();
  for (const one of received) repeated.set(one.id, await answer(again, one, 4));
  const count = await answers(again);
  for (const { id: one } of received) {
    const [first, second, messages] = [said.get(one) ?? null, repeated.get(one), count.get(one) ?? 0];
    const what = JSON.stringify({ first, second, messages });
    // What was answered with success is there, and refuses another answer.
    if (first === 204) expect([second, messages], what).toEqual([ACKNOWLEDGED, 1]);
    // A lost answer has happened or not: the second one tells which, and agrees with the channel.
    else if (second === 204 || second === ACKNOWLEDGED) expect(messages, what).toBe(1);
    else expect([second, messages], what).toEqual([UNKNOWN_INTERACTION, 0]);
  }
  return { server: again, seen: received.length };
}

test(
  'interactions under way at a kill are answered once or refused, and none twice',
  async () => {
    const chance = chanceOf(SEED);
    const start = (port?: number) =>
      startServer({ dataDir, relayed: false, ...(port !== undefined && { port }) });
    let server = await start();
    let seen = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const done = await round(server, chance, () => start());
      server = done.server;
      seen += done.seen;
    }
    expect(seen, `seed ${SEED}`).toBeGreaterThan(0);
    await server.stop();
  },
  KILLS * KILL_TIMEOUT_MS,
);

// Goal: an interaction is answered once or fails once, and its follow-up is sent once, whenever the server is killed. KILLS sets the number of kills.
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
const BEGUN = 8;
/** So many of them press a button. */
const PRESSED = 2;
const BUTTON = { type: 1, components: [{ type: 2, style: 1, label: 'Go', custom_id: 'go' }] };
const KILL_WITHIN_MS = 160;
const HEARD_MS = 10_000;
/** A restart takes some seconds. */
const KILL_TIMEOUT_MS = 30_000;
const UNKNOWN_INTERACTION = 10_062;
const ACKNOWLEDGED = 40_060;

interface Received {
  readonly id: string;
  readonly token: string;
  /** 2: a command; 3: the press of a button. */
  readonly type: 2 | 3;
  /** The message of the button. */
  readonly message?: { readonly id: string };
}

interface Message {
  readonly id: string;
  readonly content: string;
  readonly interaction_metadata?: { readonly id: string; readonly original_response_message_id?: string };
}

/** A message, one that is prepared first, or a change of the message of the button. */
type Kind = 4 | 5 | 7;

/** The server's answers to the bot before the kill; null without an answer. */
interface Said {
  readonly kind: Kind;
  readonly answer: number | null;
  /** The status of the follow-up, which completes a deferred answer. */
  readonly followUp: number | null;
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
async function answer(server: TestServer, { id, token }: Received, type: Kind): Promise<number | null> {
  const params = { interaction_id: id, interaction_token: token };
  const body = { type, data: type === 5 ? {} : { content: id } };
  return server
    .restOf(null)
    .ask('create_interaction_response', { params, body })
    .then(({ status, body: said }) => (status === 204 ? 204 : said.code))
    .catch(() => null);
}

/** Sends the follow-up of an interaction; null when no answer came. */
async function followUp(server: TestServer, { id, token }: Received): Promise<number | null> {
  const params = { webhook_id: server.info.application.id, webhook_token: token };
  return server
    .restOf(null)
    .ask('execute_webhook', { params, body: { content: `more ${id}` } })
    .then(({ status }) => status)
    .catch(() => null);
}

const newest = (server: TestServer): Promise<Message[]> =>
  server.user().call<Message[]>('list_messages', {
    params: { channel_id: server.info.guild.text_channel_id },
    query: { limit: 100 },
  });

/** The texts of the messages that answer an interaction, and those of its follow-ups. A changed message answers too. */
function answersOf({ id, message: source }: Received, page: readonly Message[]) {
  const own = page.filter(({ interaction_metadata: of }) => of?.id === id);
  const isMore = ({ interaction_metadata: of }: Message) => of?.original_response_message_id !== undefined;
  const texts = (found: readonly Message[]) => found.map(({ content }) => content);
  const changed = page.filter((one) => one.id === source?.id && one.content === id);
  return {
    first: texts([...own.filter((one) => !isMore(one)), ...changed]),
    more: texts(own.filter(isMore)),
  };
}

/** Checks what became of one interaction: `repeated` is the answer to its callback after the restart. */
function judge(one: Received, said: Said | null, repeated: number | null, page: readonly Message[]): void {
  const { first, more } = answersOf(one, page);
  const what = JSON.stringify({ said, repeated, first, more });
  // A successful callback is stored, and a second one is refused.
  if (said?.answer === 204) expect([repeated, first.length], what).toEqual([ACKNOWLEDGED, 1]);
  // A lost answer has happened or not: the second one shows which, and agrees with the channel.
  else if (repeated === 204 || repeated === ACKNOWLEDGED) expect(first.length, what).toBe(1);
  else expect([repeated, first.length], what).toEqual([UNKNOWN_INTERACTION, 0]);
  const text = `more ${one.id}`;
  if (said?.kind === 5) {
    expect(more, what).toEqual([]);
    if (said.followUp === 200) expect(first, what).toEqual([text]);
    else if (said.answer === 204) expect(['', text], what).toContain(first[0]);
    return;
  }
  // A follow-up that was acknowledged is there; one without an answer may be there, once.
  const most = said?.answer === 204 ? 1 : 0;
  expect(more.length, what).toBeLessThanOrEqual(most);
  if (said?.followUp === 200) expect(more, what).toEqual([text]);
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
  const buttons: string[] = [];
  for (let n = 0; n < PRESSED; n += 1) {
    const made = await server.bot().call<{ id: string }>('create_message', {
      params: { channel_id: server.info.guild.text_channel_id },
      body: { content: 'press', components: [BUTTON] },
    });
    buttons.push(made.id);
  }
  const said = new Map<string, Said>();
  const under: Promise<unknown>[] = [];
  const received: Received[] = [];
  for (let n = 0; n < BEGUN; n += 1) {
    nonces += 1;
    const nonce = String(nonces);
    const [waits, rests] = [chance() * 20, chance() * 10];
    const written = chance() < 0.7 ? 4 : 5;
    const button = buttons[n];
    const use = { type: 2, nonce, data: { id, version, name, type } };
    const press = { ...use, type: 3, message_id: button, data: { component_type: 2, custom_id: 'go' } };
    under.push(
      person.ask(button === undefined ? use : press).catch(() => undefined),
      bot
        .dispatch<Received>('INTERACTION_CREATE', (d) => !received.some((one) => one.id === d.id))
        .then(async (one) => {
          received.push(one);
          await delay(waits);
          const kind = one.type === 3 ? 7 : written;
          const answered = await answer(server, one, kind);
          said.set(one.id, { kind, answer: answered, followUp: null });
          if (answered !== 204) return;
          await delay(rests);
          said.set(one.id, { kind, answer: answered, followUp: await followUp(server, one) });
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
  for (const one of received) repeated.set(one.id, await answer(again, one, one.type === 3 ? 7 : 4));
  const page = await newest(again);
  for (const one of received) judge(one, said.get(one.id) ?? null, repeated.get(one.id) ?? null, page);
  const followed = [...said.values()].filter((one) => one.followUp === 200).length;
  return { server: again, seen: received.length, followed };
}

test(
  'interactions pending at a SIGKILL are answered once or rejected, and follow-ups are sent once',
  async () => {
    const chance = chanceOf(SEED);
    const start = (port?: number) =>
      startServer({ dataDir, relayed: false, ...(port !== undefined && { port }) });
    let server = await start();
    let [seen, followed] = [0, 0];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const done = await round(server, chance, () => start());
      server = done.server;
      seen += done.seen;
      followed += done.followed;
    }
    expect(seen, `seed ${SEED}`).toBeGreaterThan(0);
    if (KILLS >= 50)
      console.info(`${KILLS} kills, seed ${SEED}: ${seen} interactions, ${followed} follow-ups acknowledged`);
    await server.stop();
  },
  KILLS * KILL_TIMEOUT_MS,
);

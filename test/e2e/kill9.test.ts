// Goal: whatever was answered with success is there after SIGKILL at any moment and a restart on the same data.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RestClient } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const ROUNDS = 4;
const WRITERS = 12;
/** Messages of a round, at least. */
const ANSWERED_MIN = 20;
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);

/** Repeatable chance, 0 to 1. */
function chanceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Changes that the server has acknowledged. */
interface Ledger {
  /** Content by message; null: deleted. An edit without an answer may have happened or not: then two contents. */
  readonly messages: Map<string, { sure: string | null; perhaps: (string | null)[] }>;
  readonly roles: Map<string, string>;
  readonly reactions: Set<string>;
}

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'guildhall-kill9-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

/** One writer: makes messages and changes its own, until the server is gone. */
async function write(server: TestServer, ledger: Ledger, name: string, chance: () => number): Promise<void> {
  const rest = server.bot();
  const { id: guild_id, text_channel_id: channel_id } = server.info.guild;
  const own: string[] = [];
  for (let step = 0; ; step += 1) {
    const draw = chance();
    const message_id = own[Math.floor(chance() * own.length)];
    const text = `${name} step ${step}`;
    try {
      if (message_id === undefined || draw < 0.55) {
        const { id } = await rest.call<{ id: string }>('create_message', {
          params: { channel_id },
          body: { content: text },
        });
        ledger.messages.set(id, { sure: text, perhaps: [] });
        own.push(id);
      } else if (draw < 0.95) {
        const entry = ledger.messages.get(message_id)!;
        const deletes = draw > 0.85;
        entry.perhaps.push(deletes ? null : text);
        const params = { channel_id, message_id };
        if (deletes) await rest.call('delete_message', { params });
        else await rest.call('update_message', { params, body: { content: text } });
        entry.sure = deletes ? null : text;
        entry.perhaps.pop();
        if (deletes) own.splice(own.indexOf(message_id), 1);
      } else {
        const { id } = await rest.call<{ id: string }>('create_guild_role', {
          params: { guild_id },
          body: { name: text },
        });
        ledger.roles.set(id, text);
        const params = { channel_id, message_id, emoji_name: '✅' };
        await rest.call('add_my_message_reaction', { params });
        ledger.reactions.add(message_id);
      }
    } catch (error) {
      // Only a connection that broke ends a writer; a refusal fails the test.
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

/** Reads the whole channel back, newest first. */
async function history(rest: RestClient, channel_id: string) {
  const found = new Map<string, { content: string; reacted: boolean }>();
  let before: string | undefined;
  for (;;) {
    const page = await rest.call<{ id: string; content: string; reactions?: unknown[] }[]>('list_messages', {
      params: { channel_id },
      query: { limit: 100, ...(before !== undefined && { before }) },
    });
    for (const { id, content, reactions } of page)
      found.set(id, { content, reacted: reactions !== undefined });
    if (page.length < 100) return found;
    before = page.at(-1)!.id;
  }
}

/** Acknowledged changes that are lost. */
async function broken(server: TestServer, ledger: Ledger): Promise<string[]> {
  const rest = server.bot();
  const there = await history(rest, server.info.guild.text_channel_id);
  const roles = await rest.call<{ id: string; name: string }[]>('list_guild_roles', {
    params: { guild_id: server.info.guild.id },
  });
  const wrong: string[] = [];
  for (const [id, entry] of ledger.messages) {
    const content = there.get(id)?.content ?? null;
    if (content !== entry.sure && !entry.perhaps.includes(content))
      wrong.push(`message ${id} is ${content}, was answered ${entry.sure}`);
    // The current state is the base of the next round.
    entry.sure = content;
    entry.perhaps = [];
  }
  for (const [id, name] of ledger.roles)
    if (!roles.some((role) => role.id === id && role.name === name)) wrong.push(`role ${name} is lost`);
  for (const id of ledger.reactions)
    if (there.has(id) && !there.get(id)!.reacted) wrong.push(`the reaction to ${id} is lost`);
  return wrong;
}

test(`${ROUNDS} kills under load of ${WRITERS} writers lose no acknowledged write (SEED=${SEED})`, async () => {
  const chance = chanceOf(SEED);
  const ledger: Ledger = { messages: new Map(), roles: new Map(), reactions: new Set() };
  const sizes: number[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const server = await startServer({ dataDir, relayed: false });
    expect(await broken(server, ledger)).toEqual([]);
    const writers = Array.from({ length: WRITERS }, (_, index) =>
      write(server, ledger, `Round ${round} writer ${index}`, chanceOf(SEED + round * 100 + index)),
    );
    await delay(300 + chance() * 2000);
    // However slow the machine: there is something to lose.
    const before = sizes.at(-1) ?? 0;
    while (ledger.messages.size <= before + ANSWERED_MIN) await delay(20);
    await server.kill9();
    await Promise.all(writers);
    expect(server.complaints).toEqual([]);
    sizes.push(ledger.messages.size);
  }
  const last = await startServer({ dataDir });
  const rounds = `SEED=${SEED}: messages answered by round: ${sizes.join(', ')}; roles: ${ledger.roles.size}`;
  expect(await broken(last, ledger), rounds).toEqual([]);
  await last.finish();
});

// Goal: a process that is killed costs its clients nothing: the next one goes on with their sessions where they were.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/freeport.ts';
import type { RestClient } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { botOf } from '../support/shards.ts';

const MESSAGES = 1000;
const WRITERS = 8;
const KILLS = 1;

/**
 * A port that never refuses, as a supervisor or a balancer keeps one: stock libraries identify again when their
 * connection is refused. A connection waits until the server behind it answers: a process that was just killed may
 * still accept one, so its first bytes are kept and sent to the next process.
 */
async function openDoor(port: number) {
  const open = new Set<Socket>();
  const bring = (client: Socket, request: Buffer[]): void => {
    if (client.destroyed) return;
    const inner = connect(port, '127.0.0.1', () => {
      for (const bytes of request) inner.write(bytes);
    });
    const keep = (bytes: Buffer): void => {
      request.push(bytes);
      if (!inner.connecting) inner.write(bytes);
    };
    let isAnswered = false;
    inner.once('data', (bytes: Buffer) => {
      isAnswered = true;
      client.off('data', keep).write(bytes);
      client.pipe(inner).pipe(client);
    });
    const end = () => inner.destroy();
    client.on('data', keep).once('close', end);
    inner.on('error', () => inner.destroy());
    inner.once('close', () => {
      // A close without a reset: discord.js takes a reset for a server that is not there, and identifies again.
      if (isAnswered) client.resume().end();
      else setTimeout(() => bring(client.off('data', keep).off('close', end), request), 50);
    });
  };
  const door = createServer((client) => {
    open.add(client);
    client.on('error', () => client.destroy()).once('close', () => open.delete(client));
    bring(client, []);
  });
  await once(door.listen(0, '127.0.0.1'), 'listening');
  const close = (): void => {
    door.close();
    for (const client of open) client.destroy();
  };
  return { origin: `http://127.0.0.1:${(door.address() as AddressInfo).port}`, close };
}

/** Every message of the channel, oldest first. */
async function history(rest: RestClient, channel_id: string): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const before = ids[0];
    const page = await rest.call<{ id: string }[]>('list_messages', {
      params: { channel_id },
      query: { limit: 100, ...(before !== undefined && { before }) },
    });
    ids.unshift(...page.map(({ id }) => id).reverse());
    if (page.length < 100) return ids;
  }
}

test(`a discord.js bot misses none of ${MESSAGES} messages over ${KILLS} kill(s), and identifies once`, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'guildhall-journal-'));
  const port = await freePort();
  const door = await openDoor(port);
  const set = { journal: 'on', public_url: door.origin };
  const begin = () => startServer({ bots: 2, dataDir, port, set });
  let server: TestServer = await begin();
  onTestFinished(async () => {
    await server.finish();
    await rm(dataDir, { recursive: true, force: true });
  });
  const { guild } = server.info;
  const { client, counts, seen, login } = botOf(server);
  await login();

  const earlier = new Set(await history(server.bot(1), guild.text_channel_id));
  const answered: string[] = [];
  let left = MESSAGES;
  const write = async () => {
    while (left > 0) {
      left -= 1;
      const body = { content: `No. ${MESSAGES - left}` };
      const params = { channel_id: guild.text_channel_id };
      try {
        answered.push((await server.bot(1).call<{ id: string }>('create_message', { params, body })).id);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        left += 1;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
  const writing = Promise.all(Array.from({ length: WRITERS }, write));
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await expect
      .poll(() => seen.length, { timeout: 60_000 })
      .toBeGreaterThanOrEqual((MESSAGES * kill) / (KILLS + 1));
    await server.kill9();
    server = await begin();
    await expect.poll(() => counts, { timeout: 60_000 }).toEqual({ ready: 1, resumed: kill, guilds: 1 });
  }
  await writing;
  const written = (await history(server.bot(1), guild.text_channel_id)).filter((id) => !earlier.has(id));
  await expect.poll(() => seen.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(written.length);
  expect(seen).toEqual(written);
  expect(answered.filter((id) => !seen.includes(id))).toEqual([]);
  expect(counts).toEqual({ ready: 1, resumed: KILLS, guilds: 1 });
  await client.destroy();
  door.close();
});

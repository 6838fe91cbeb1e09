// Goal: one server of several processes: after any of them is killed, its port answers, its work continues on the
// others, and its clients miss nothing.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INTENTS } from '../../protocol/intents.ts';
import { freePort } from '../support/freeport.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { ask } from '../support/players.ts';
import { openDatabase, type TestDatabase } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { botOf, channelAt, history, settled, statusOf } from '../support/shards.ts';
import { ROOT } from '../support/source.ts';

const MESSAGES = 1000;
const WRITERS = 4;
const CLI = join(ROOT, 'dist/cli.js');
const soon = { timeout: 60_000, interval: 100 };

const database: TestDatabase | null = await openDatabase('shards');
let server: TestServer;

/** Opens connections one after the other until it is stopped; returns what became of them. */
function probe(port: number): () => Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  let isOver = false;
  const attempt = () =>
    new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve('connected')).once('error', ({ message }) => resolve(message));
      socket.once('close', () => resolve('closed')).setTimeout(10_000, () => socket.destroy());
    });
  const running = (async () => {
    while (!isOver) {
      const outcome = await attempt();
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  return async () => {
    isOver = true;
    await running;
    return outcomes;
  };
}

/** Writes messages; one that was not answered is sent again under its nonce. Answers their ids. */
async function write(count: number, name: string): Promise<string[]> {
  const ids = new Set<string>();
  const params = { channel_id: server.info.guild.text_channel_id };
  let left = count;
  const writer = async () => {
    while (left > 0) {
      left -= 1;
      const no = `${name} ${count - left}`;
      const body = { content: no, nonce: no, enforce_nonce: true };
      for (;;) {
        const answer = await server
          .bot(1)
          .ask<{ id: string }>('create_message', { params, body })
          .catch(() => null);
        if (answer && answer.status < 300) ids.add(answer.body.id);
        if (answer && answer.status < 500) {
          expect(answer.status).toBe(200);
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  return [...ids];
}

/** A session that receives activities, and the shard that holds it. */
async function listenerOf(token: string): Promise<{ session: GatewayClient; shardId: string }> {
  const sessions = async () => {
    const { shards } = await statusOf(server);
    return new Map(shards.map(({ id, sessions: count }) => [id, count ?? 0]));
  };
  const before = await sessions();
  const intents = INTENTS.GUILDS | INTENTS.GUILD_EMBEDDED_ACTIVITIES;
  const session = await GatewayClient.ready(server.info.gateway, { token, intents });
  const grown = async () => {
    for (const [id, count] of await sessions()) if (count > (before.get(id) ?? 0)) return id;
    return null;
  };
  await expect.poll(grown, soon).not.toBeNull();
  return { session, shardId: (await grown()) ?? '' };
}

afterAll(() => database?.stop());

describe.runIf(database !== null)('three shards', () => {
  let activitiesPort: number;
  beforeAll(async () => {
    // Three ports beside each other, one for each shard.
    do activitiesPort = await freePort();
    while ((await freePort()) !== activitiesPort + 1 || (await freePort()) !== activitiesPort + 2);
    const set = { activities_url: `http://localhost:${activitiesPort}` };
    const databaseUrl = database?.url ?? '';
    server = await startServer({ shards: 3, bots: 2, relayed: false, databaseUrl, set });
  });
  afterAll(() => server.finish());

  test('are one server: listed by name, process and what they own', async () => {
    const { shards, partitions, partitions_unserved, supervisor_pid } = await statusOf(server);
    expect(shards.map(({ id, pid }) => ({ id, pid }))).toEqual(server.info.shards);
    expect(shards.map(({ state }) => state)).toEqual(['serving', 'serving', 'serving']);
    expect(shards.reduce((sum, row) => sum + row.partitions, 0)).toBe(partitions);
    expect([partitions_unserved, supervisor_pid]).toEqual([0, server.child.pid]);
    const metrics = await (await fetch(`${server.info.admin.url}/metrics`)).text();
    for (const { id } of shards) expect(metrics).toContain(`guildhall_gateway_sockets{shard="${id}"}`);
  });

  test('each serve the activities of all applications, on ports beside each other, by the latest mappings', async () => {
    const target = createServer((asked, answer) => answer.end(`${asked.headers.host} ${asked.url}`));
    target.listen(0, '127.0.0.1');
    await once(target, 'listening');
    const host = `127.0.0.1:${(target.address() as AddressInfo).port}`;
    /** The answer of the proxy of each shard; a browser resolves every name under localhost, and `fetch` does not. */
    const answers = (path: string) =>
      Promise.all(
        [0, 1, 2].map(
          (shard) =>
            new Promise<string>((resolve, reject) => {
              const headers = { host: `${server.info.application.id}.localhost:${activitiesPort}` };
              const at = { host: '127.0.0.1', port: activitiesPort + shard, path, headers };
              get(at, (answer) => {
                let text = '';
                answer
                  .on('data', (part) => (text += part))
                  .on('end', () => resolve(`${answer.statusCode} ${text}`));
              }).on('error', reject);
            }),
        ),
      );
    for (const folder of ['one', 'two']) {
      const url_mappings = [{ prefix: '/', target: `${host}/${folder}` }];
      await server.admin(`/applications/${server.info.application.id}/activity`, { url_mappings });
      await expect.poll(() => answers('/page'), soon).toEqual(Array(3).fill(`200 ${host} /${folder}/page`));
    }
    target.closeAllConnections();
    target.close();
  });

  test(`lose no event when the home shard of a bot is killed under ${MESSAGES} messages`, async () => {
    const { client, counts, seen, login } = botOf(server);
    await login();
    const before = (await statusOf(server)).shards;
    const home = before.find(({ sessions }) => sessions === 1)!;
    const probed = probe(server.port);
    const writing = write(MESSAGES, 'no.');
    await expect.poll(() => seen.length, soon).toBeGreaterThan(MESSAGES / 4);
    process.kill(home.pid as number, 'SIGKILL');
    await expect.poll(() => counts.resumed, soon).toBe(1);
    const answered = await writing;
    await expect
      .poll(
        async () => (await statusOf(server)).shards.map(({ state, partitions }) => [state, partitions > 0]),
        soon,
      )
      .toEqual(Array(3).fill(['serving', true]));
    const after = (await statusOf(server)).shards;
    expect(after.find(({ id }) => id === home.id)).toMatchObject({ restarts: 1 });
    expect(after.find(({ id }) => id === home.id)?.pid).not.toBe(home.pid);
    const written = await history(server, server.info.guild.text_channel_id);
    await expect.poll(() => seen.length, soon).toBeGreaterThanOrEqual(written.length);
    expect(seen).toEqual(written);
    expect(answered.filter((id) => !written.includes(id))).toEqual([]);
    expect(counts).toEqual({ ready: 1, resumed: 1, guilds: 1 });
    const { connected = 0, ...others } = await probed();
    expect(connected).toBeGreaterThan(100);
    // A connection that the dead process had not taken up yet is reset; none is refused.
    for (const outcome of Object.keys(others)) expect(outcome).toMatch(/ECONNRESET|closed/);
    await client.destroy();
  });

  test('are restarted one after the other without a lost session or a refused connection', async () => {
    const { client, counts, seen, login } = botOf(server);
    await login();
    const before = (await statusOf(server)).shards;
    const earlier = await history(server, server.info.guild.text_channel_id);
    const probed = probe(server.port);
    const { url, token } = server.info.admin;
    const env = { ...process.env, GUILDHALL_ADMIN_URL: url, GUILDHALL_ADMIN_TOKEN: token };
    const restart = promisify(execFile)(process.execPath, [CLI, 'cluster', 'restart'], { env });
    const answered = write(100, 'again');
    expect((await restart).stdout).toContain('All shards were restarted.');
    const after = (await statusOf(server)).shards;
    for (const [index, { pid }] of after.entries()) expect(pid).not.toBe(before[index]?.pid);
    const ids = await answered;
    const written = (await history(server, server.info.guild.text_channel_id)).slice(earlier.length);
    await expect.poll(() => seen.length, soon).toBeGreaterThanOrEqual(written.length);
    expect(seen).toEqual(written);
    expect(ids.filter((id) => !written.includes(id))).toEqual([]);
    expect(counts).toMatchObject({ ready: 1, guilds: 1 });
    expect(counts.resumed).toBeGreaterThanOrEqual(1);
    for (const outcome of Object.keys(await probed())) expect(outcome).toMatch(/connected|ECONNRESET|closed/);
    await client.destroy();
  });

  test('keep an activity and its participants when the owner shard of its guild is killed', async () => {
    const { application, users, bot } = server.info;
    const participant = await listenerOf(users[0]!.token);
    let watcher = await listenerOf(bot.token);
    // The kernel chooses the shard of a connection.
    while (watcher.shardId === participant.shardId) {
      await watcher.session.close();
      watcher = await listenerOf(bot.token);
    }
    const status = await settled(server);
    const owner = status.shards.find(({ id }) => id !== participant.shardId && id !== watcher.shardId)!;
    const channel = await channelAt(server, owner, status);
    const path = `/channels/${channel}/activities/${application.id}`;
    type Activity = { composite_instance_id: string; participants: readonly { user_id: string }[] };
    /** A request that the killed shard may have taken is sent again. */
    const asked = async (user: number, method: string, query = ''): Promise<Activity | undefined> => {
      const body = method === 'PUT' ? { connection_id: 'one' } : undefined;
      for (;;) {
        const token = `Bearer ${users[user]!.token}`;
        const answer = await ask(server, token, [method, `${path}${query}`, body]).catch(() => null);
        if (answer && answer.status < 300)
          return (answer.body as unknown as { activity?: Activity })?.activity;
        if (answer && answer.status < 500) expect.fail(`${method} was answered ${answer.status}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const told = (session: GatewayClient, count: number) =>
      session.dispatch<Activity>('EMBEDDED_ACTIVITY_UPDATE_V2', ({ participants }) => {
        return Array.isArray(participants) && participants.length === count;
      });
    const both = (count: number) =>
      Promise.all([participant, watcher].map(({ session }) => told(session, count)));
    const begun = await asked(0, 'PUT');
    expect(await both(1)).toMatchObject([begun, begun]);
    const [{ guild_id: guildId }] = participant.session.received
      .filter(({ t }) => t === 'EMBEDDED_ACTIVITY_UPDATE_V2')
      .map(({ d }) => d) as [{ guild_id: string }];
    await server.admin(`/guilds/${guildId}/members`, { user_id: users[1]!.id, permissions: '0' });
    process.kill(owner.pid as number, 'SIGKILL');
    expect(await asked(0, 'PUT')).toEqual(begun);
    const joined = await asked(1, 'PUT');
    expect(joined).toMatchObject({
      composite_instance_id: begun!.composite_instance_id,
      participants: users.slice(0, 2).map(({ id }) => ({ user_id: id })),
    });
    expect(await both(2)).toMatchObject([joined, joined]);
    await asked(1, 'DELETE');
    await asked(0, 'DELETE', '?connection_id=one');
    expect((await both(0)).map((update) => update.composite_instance_id)).toEqual(
      Array(2).fill(begun!.composite_instance_id),
    );
    expect([participant.session.isOpen, watcher.session.isOpen]).toEqual([true, true]);
    await Promise.all([participant.session.close(), watcher.session.close()]);
  });
});

function isGone(pid: number | null | undefined): boolean {
  try {
    return !process.kill(pid as number, 0);
  } catch {
    return true;
  }
}

describe('one shard under a supervisor', () => {
  afterAll(() => server.kill9());

  test('leaves the port open while it is away, and does not outlive its supervisor', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'guildhall-shard-'));
    server = await startServer({ shards: 1, dataDir, relayed: false });
    const { pid } = server.info.shards?.[0] ?? { pid: 0 };
    const probed = probe(server.port);
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => isGone(pid), soon).toBe(true);
    // A new connection waits at the port until the next process serves.
    const { status } = await server.user().ask('get_my_user');
    expect(status).toBe(200);
    for (const outcome of Object.keys(await probed())) expect(outcome).toMatch(/connected|ECONNRESET|closed/);
    const [row] = (await statusOf(server)).shards;
    expect(row).toMatchObject({ id: 'shard-0', state: 'serving', restarts: 1 });
    await server.kill9();
    await expect.poll(() => isGone(row?.pid), soon).toBe(true);
    await rm(dataDir, { recursive: true });
  });
});

// Goal: a caller that opens a connection for each request, and so reaches all shards, has one limit.
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';

const REQUESTS = 40;

const database: TestDatabase | null = await openDatabase('shardslimits');
let server: TestServer;
afterAll(() => database?.stop());

interface Answer {
  readonly status: number;
  readonly limit: number;
}

/** Sends a message over a connection of its own. */
function send(content: string): Promise<Answer> {
  const { api, bot, guild } = server.info;
  return new Promise((resolve, reject) => {
    const sent = request(`${api}/v10/channels/${guild.text_channel_id}/messages`, {
      ...{ method: 'POST', agent: new Agent({ keepAlive: false }) },
      headers: { authorization: `Bot ${bot.token}`, 'content-type': 'application/json' },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.resume();
      const limit = Number(response.headers['x-ratelimit-limit']);
      resolve({ status: response.statusCode ?? 0, limit });
    });
    sent.end(JSON.stringify({ content }));
  });
}

describe.runIf(database !== null)('a caller that reaches all shards', () => {
  beforeAll(async () => {
    const databaseUrl = database?.url ?? '';
    server = await startServer({ shards: 3, relayed: false, rateLimits: true, databaseUrl });
  });
  afterAll(() => server?.finish());

  test('may send as many messages in a window as one that reaches one shard', async () => {
    const answers = await Promise.all(Array.from({ length: REQUESTS }, (_, n) => send(`message ${n}`)));
    const sent = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 429);
    expect(sent.length + refused.length).toBe(REQUESTS);
    expect(sent.length).toBe(sent[0]?.limit);
    expect(refused.length).toBeGreaterThan(0);
  });
});

// Goal: SIGTERM is a farewell: every session is asked to reconnect, every write is answered or refused, and none that was answered is lost.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OP } from '../../protocol/opcodes.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer } from '../support/server.ts';

const SESSIONS = 20;
const WRITERS = 8;
const ANSWERED_MIN = 50;

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'guildhall-drain-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

test('a drain sends op 7 to every session, exits 0 within ten seconds, and loses no acknowledged write', async () => {
  const server = await startServer({ dataDir });
  const { token } = server.info.bot;
  const sessions = await Promise.all(
    Array.from({ length: SESSIONS }, () => GatewayClient.ready(server.info.gateway, { token, intents: 1 })),
  );
  const leaving = sessions.map(async (session, index) => {
    await session.next(({ op }) => op === OP.RECONNECT, 'op 7');
    // As stock libraries do; half of them do not even listen.
    if (index % 2 === 0) await session.close(4900);
    return session.closed;
  });

  const answered: string[] = [];
  const refused = new Set<number>();
  const params = { channel_id: server.info.guild.text_channel_id };
  let stopped = false;
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let step = 0; !stopped; step += 1) {
      const body = { content: `Writer ${writer}, step ${step}` };
      try {
        const { status, body: message } = await server
          .bot()
          .ask<{ id: string }>('create_message', { params, body });
        if (status === 200) answered.push(message.id);
        else refused.add(status);
      } catch {
        // The server no longer accepts connections.
        await delay(20);
      }
    }
  });
  // However slow the machine: there is something to lose.
  while (answered.length <= ANSWERED_MIN) await delay(50);
  const startedMs = performance.now();
  const code = await server.stop();
  const tookMs = performance.now() - startedMs;
  stopped = true;
  await Promise.all(writers);
  const ends = await Promise.all(leaving);
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(10_000);
  expect(new Set(ends.map(({ code }) => code))).toEqual(new Set([4000, 4900]));
  expect([...refused].filter((status) => status !== 503)).toEqual([]);
  expect(server.complaints).toEqual([]);

  const again = await startServer({ dataDir });
  const lost: string[] = [];
  for (const message_id of answered) {
    const { status } = await again.bot().ask('get_message', { params: { ...params, message_id } });
    if (status !== 200) lost.push(message_id);
  }
  expect(lost).toEqual([]);
  expect(await again.stop()).toBe(0);
});

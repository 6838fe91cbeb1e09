// Goal: an application with an interactions URL keeps its answers while the shards of its guild are drained one after the other.
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyKeyMiddleware } from 'discord-interactions';
import express from 'express';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayClient } from '../support/gateway-client.ts';
import { openDatabase, type TestDatabase } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ownerOf, settled, statusOf } from '../support/shards.ts';

/** Longer than a handover, shorter than the deadline of an answer. */
const THINKS_MS = 1_200;
const EVERY_MS = 300;
const PING = 1;
const COMMAND = { name: 'slow', description: 'Answers late.', type: 1 };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const database: TestDatabase | null = await openDatabase('shardsendpoint');
let server: TestServer;
let app: Server;
afterAll(() => database?.stop());

describe.runIf(database !== null)('an application with an interactions URL', () => {
  let command: { readonly id: string; readonly version: string };

  beforeAll(async () => {
    server = await startServer({ shards: 3, relayed: false, databaseUrl: database?.url ?? '' });
    const web = express();
    const verified = verifyKeyMiddleware(server.info.application.public_key);
    web.post('/interactions', verified, async (request, response) => {
      const { id, type } = request.body as { readonly id: string; readonly type: number };
      if (type !== PING) await pause(THINKS_MS);
      response.json(type === PING ? { type: 1 } : { type: 4, data: { content: `answer to ${id}` } });
    });
    app = web.listen(0, '127.0.0.1');
    await once(app, 'listening');
    const url = `http://127.0.0.1:${(app.address() as AddressInfo).port}/interactions`;
    const body = { interactions_endpoint_url: url };
    expect((await server.bot().ask('update_my_application', { body })).status).toBe(200);
    const params = { application_id: server.info.application.id };
    command = await server.bot().call('create_application_command', { params, body: COMMAND });
  });
  afterAll(async () => {
    app?.closeAllConnections();
    app?.close();
    await server?.finish();
  });

  /** Invokes the command. @returns the status, with the body of a refusal; null without an answer. */
  async function invoke(nonce: string, sessionId?: string): Promise<string | null> {
    const { api, users, application, guild } = server.info;
    const response = await fetch(`${api}/v10/interactions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${users[0]?.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ type: 2, nonce, application_id: application.id, guild_id: guild.id, session_id: sessionId },
        ...{
          channel_id: guild.text_channel_id,
          data: { ...command, name: COMMAND.name, type: 1, options: [] },
        },
      }),
    }).catch(() => null);
    return response && `${response.status} ${await response.text()}`.trim();
  }

  test('gets each answer into the channel once while the owner of the guild is drained', async () => {
    const owner = () => statusOf(server).then((status) => ownerOf(server.info.guild.id, status).id);
    const outcomes: Promise<string | null>[] = [];
    let isOver = false;
    const invoking = (async () => {
      for (let no = 1; !isOver; no += 1) {
        outcomes.push(invoke(String(no)));
        await pause(EVERY_MS);
      }
    })();
    for (let drains = 0; drains < 2; drains += 1) {
      await pause(THINKS_MS);
      await server.admin(`/cluster/shards/${await owner()}/drain`, {});
      await pause(THINKS_MS);
      await settled(server);
    }
    isOver = true;
    await invoking;
    const accepted = (await Promise.all(outcomes)).filter((status) => status === '204').length;
    await pause(THINKS_MS * 2);
    const params = { channel_id: server.info.guild.text_channel_id };
    const messages = await server
      .bot()
      .call<{ content: string }[]>('list_messages', { params, query: { limit: 100 } });
    const answers = messages.filter(({ content }) => content.startsWith('answer to '));
    expect(new Set(answers.map(({ content }) => content)).size).toBe(answers.length);
    expect(accepted).toBeGreaterThan(10);
    expect(answers.length).toBe(accepted);
  });

  test('is never refused to an open session while the owner of its user is drained', async () => {
    const user = server.info.users[0]!;
    const sessions = await Promise.all(
      Array.from({ length: 12 }, () => GatewayClient.ready(server.info.gateway, { token: user.token })),
    );
    const outcomes: Promise<string | null>[] = [];
    let isOver = false;
    const invoking = (async () => {
      for (let no = 1; !isOver; no += 1) {
        // A session whose own shard is drained has to resume first.
        const open = sessions.filter((session) => session.isOpen);
        outcomes.push(invoke(`of a session ${no}`, open[no % open.length]!.sessionId));
        await pause(EVERY_MS / 10);
      }
    })();
    const owner = ownerOf(user.id, await statusOf(server));
    await server.admin(`/cluster/shards/${owner.id}/drain`, {});
    await pause(THINKS_MS * 2);
    isOver = true;
    await invoking;
    await settled(server);
    const refused = (await Promise.all(outcomes)).filter((status) => status !== '204');
    expect(refused.filter((status) => status !== null && !status.startsWith('503'))).toEqual([]);
    expect(outcomes.length - refused.length).toBeGreaterThan(30);
    for (const session of sessions) session.close();
  });
});

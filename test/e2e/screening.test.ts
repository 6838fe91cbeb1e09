// Goal: an unmodified oceanic.js bot decides about people who join a screened guild, and these people receive the
// decision.
import { Client } from 'oceanic.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Caller, callerOf } from '../support/callers.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

interface Applicant {
  readonly id: string;
  readonly call: Caller;
  readonly gateway: GatewayClient;
}

let server: TestServer;
let client: Client;
let bot: Caller;
let path: string;

beforeAll(async () => {
  server = await startServer();
  path = `/guilds/${server.info.guild.id}`;
  bot = callerOf(server, `Bot ${server.info.bot.token}`);
  client = new Client({
    auth: `Bot ${server.info.bot.token}`,
    gateway: { intents: ['GUILDS', 'GUILD_MEMBERS'] },
    rest: { baseURL: `${server.info.api}/v10` },
  });
  const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
  await client.connect();
  await ready;
});
afterAll(async () => {
  client?.disconnect(false);
  await server?.finish();
});

/** A person who joins by a new invite, with a session of their own. */
async function applicant(username: string): Promise<Applicant> {
  const made = await server.admin<{ user: { id: string }; token: string }>('/users', { username });
  const call = callerOf(server, made.token);
  const gateway = await GatewayClient.ready(server.info.gateway, { token: made.token });
  const { code } = await bot<{ code: string }>(
    `POST /channels/${server.info.guild.text_channel_id}/invites`,
    { unique: true },
  );
  await call(`POST /invites/${code}`, {});
  await gateway.dispatch('GUILD_CREATE', (d) => d.id === server.info.guild.id);
  return { id: made.user.id, call, gateway };
}

test('people answer the form, and the bot approves one request and rejects one', async () => {
  await expect(bot(`GET ${path}/member-verification`)).rejects.toThrow('10068');
  const form = await bot<{ version: string }>(`PATCH ${path}/member-verification`, {
    enabled: true,
    description: 'A quiet place',
    form_fields: [
      { field_type: 'TERMS', label: 'Rules', required: true, values: ['Be kind'] },
      { field_type: 'PARAGRAPH', label: 'Why do you come?', required: true },
    ],
  });
  const [ann, bob] = [await applicant('ann.screened'), await applicant('bob.screened')];
  const send = `POST /channels/${server.info.guild.text_channel_id}/messages`;
  await expect(ann.call(send, { content: 'hello?' })).rejects.toThrow('50013');
  expect(await ann.call(`GET ${path}/member-verification`)).toEqual(form);
  const answers = { version: form.version, form_fields: [{ response: true }, { response: 'To read' }] };
  for (const { id, call, gateway } of [ann, bob]) {
    expect(await call(`PUT ${path}/requests/@me`, answers)).toMatchObject({
      ...{ application_status: 'SUBMITTED', user_id: id },
    });
    await gateway.dispatch('GUILD_JOIN_REQUEST_UPDATE', (d) => d.status === 'SUBMITTED');
    await expect(call(`GET ${path}/requests`)).rejects.toThrow('50013');
  }

  const { total, guildJoinRequests } = await client.rest.guilds.getJoinRequests(server.info.guild.id, {
    status: 'SUBMITTED',
  });
  expect([total, guildJoinRequests.map(({ userID }) => userID)]).toEqual([2, [bob.id, ann.id]]);
  const [ofBob, ofAnn] = guildJoinRequests.map(({ id }) => id) as [string, string];
  const { actionJoinRequest } = client.rest.guilds;
  const guildId = server.info.guild.id;
  const act = actionJoinRequest.bind(client.rest.guilds, guildId);
  // oceanic.js answers with the request that it has kept, as it was before.
  await act(ofAnn, { action: 'APPROVED' });
  await ann.gateway.dispatch('GUILD_MEMBER_UPDATE', (d) => d.pending === false);
  expect(await ann.call(send, { content: 'thanks' })).toMatchObject({ content: 'thanks' });
  expect(await ann.call(`GET ${path}/requests/@me`)).toMatchObject({ application_status: 'APPROVED' });

  await act(ofBob, { action: 'REJECTED', rejectionReason: 'Full today' });
  await bob.gateway.dispatch(
    'GUILD_JOIN_REQUEST_UPDATE',
    ({ request }) => (request as { rejection_reason: string | null }).rejection_reason === 'Full today',
  );
  await bob.gateway.dispatch('GUILD_DELETE', (d) => d.id === guildId);
  await expect(act(ofBob, { action: 'APPROVED' })).rejects.toThrow();
  await expect(act('12', { action: 'APPROVED' })).rejects.toThrow();
  await expect(bot(`PATCH ${path}/requests/${ofAnn}`, { action: 'STARTED' })).rejects.toThrow('50035');

  const cleo = await applicant('cleo.screened');
  await bot(`PATCH ${path}/member-verification`, { enabled: false, bulk_action: 'APPROVED' });
  await cleo.gateway.dispatch('GUILD_MEMBER_UPDATE', (d) => d.pending === false);
  for (const { gateway } of [ann, bob, cleo]) gateway.close();
});

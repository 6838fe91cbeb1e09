// Goal: the operator pages through sessions, lobbies, queues and logs, sees what each session was sent, and sees no secret.
// The pages of a supervisor can name a shard.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { ReplayConnection } from '../../../cli/replayconnection.ts';
import type { Engine } from '../../../embedding.ts';
import { createEngine } from '../../../main.ts';
import { type ConsoleServer, openAdminServer } from '../../../transports/admin/server.ts';

const TOKEN = 'the admin token';
let engine: Engine;
let admin: ConsoleServer;
let connection: ReplayConnection;
let guildId: string;
let ownerId: string;
let userToken: string;
let applicationId: string;

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, admin_port: 0, voice: false, log_level: 'silent', rate_limits: false },
  });
  const { gateway } = await engine.listen();
  admin = await openAdminServer({ engine, clock: systemClock, host: '127.0.0.1', port: 0, token: TOKEN });
  const { user, token } = await engine.admin.createUser({ username: 'keeper' });
  [ownerId, userToken] = [user.id, token];
  guildId = (await engine.admin.createGuild({ name: 'Harbour', ownerId: user.id })).id;
  const made = await engine.admin.createApplication({ name: 'Lantern', ownerId: user.id });
  applicationId = made.application.id;
  for (const map of ['dunes', 'ice', 'sea'])
    await engine.api.createOpenLobby({ as: made.bot.id, body: { metadata: { map }, game: 'race' } });
  await engine.api.updateGuild({ as: user.id, params: { guild_id: guildId }, body: { name: 'Port' } });
  connection = new ReplayConnection(gateway);
  await connection.send(2, { token, properties: {}, intents: 1 });
  await connection.take('GUILD_CREATE', 10_000);
});
afterAll(async () => {
  connection?.close();
  await admin?.close();
  await engine?.close();
});

interface Row {
  readonly id: string;
  readonly [key: string]: unknown;
}

async function get(path: string): Promise<Record<string, Row[]>> {
  const response = await fetch(admin.url + path, { headers: { authorization: `Bearer ${TOKEN}` } });
  return (await response.json()) as Record<string, Row[]>;
}

describe('the admin port', () => {
  test('lists sessions with their sent dispatches, without session ids and tokens', async () => {
    const { sessions } = await get('/sessions');
    expect(sessions).toMatchObject([{ id: '1', user_id: ownerId, bot: false, intents: 1 }]);
    expect(sessions![0]).toMatchObject({ latest: expect.arrayContaining([{ seq: 1, t: 'READY' }]) });
    const text = JSON.stringify(sessions);
    expect([text.includes(userToken), text.includes('session_id')]).toEqual([false, false]);
    expect((await get('/sessions?after=1')).sessions).toEqual([]);
  });

  test('pages through the lobbies of an application', async () => {
    const first = (await get(`/applications/${applicationId}/lobbies?limit=2`)).lobbies!;
    expect(first).toMatchObject([{ game: 'race', linked_channel_id: null }, { game: 'race' }]);
    const rest = (await get(`/applications/${applicationId}/lobbies?limit=2&after=${first[1]!.id}`)).lobbies!;
    expect(rest).toHaveLength(1);
  });

  test('lists waiting tickets by queue, and queued webhook events', async () => {
    engine.lobbies.defineQueue('ranked', { size: 5 });
    const { bot } = await engine.admin.showApplication(applicationId as never);
    await engine.api.createMatchmakingTicket({
      as: bot!.id,
      body: { queue: 'ranked', properties: {}, user_ids: [ownerId] },
    });
    const { queues } = await get('/matchmaking');
    expect(queues).toMatchObject([
      { application_id: applicationId, queue: 'ranked', waiting: 1, players: 1, making: 0 },
    ]);
    expect(queues![0]!.oldest_at).toMatch(/^\d{4}-/);
    expect((await get('/webhook-events')).events).toEqual([]);
    expect((await get('/webhook-deliveries')).attempts).toEqual([]);
  });

  test('finds a person by username in any case', async () => {
    expect((await get('/users?username=KEEPER')).users).toMatchObject([{ id: ownerId }]);
    expect((await get('/users?username=nobody')).users).toEqual([]);
  });

  test('pages through applications by id', async () => {
    await engine.admin.createApplication({ name: 'Second' });
    const [first] = (await get('/applications?limit=1')).applications!;
    expect(first).toMatchObject({ id: applicationId });
    const rest = (await get(`/applications?limit=10&after=${first!.id}`)).applications!;
    expect(rest).toMatchObject([{ name: 'Second' }]);
  });

  test('pages through the audit log of a guild, newest first, and its join requests', async () => {
    const { entries } = await get(`/guilds/${guildId}/audit-log?limit=1`);
    expect(entries).toMatchObject([{ user_id: ownerId, action_type: 1 }]);
    expect((await get(`/guilds/${guildId}/audit-log?before=${entries![0]!.id}`)).entries).toEqual([]);
    expect((await get(`/guilds/${guildId}/join-requests`)).requests).toEqual([]);
  });

  test('lists nothing of guilds and applications that do not exist', async () => {
    expect(await get('/guilds/1/audit-log')).toEqual({ entries: [] });
    expect(await get('/guilds/1/join-requests')).toEqual({ requests: [] });
    expect(await get('/applications/1/lobbies')).toEqual({ lobbies: [] });
  });

  test.each([
    '/sessions?limit=0',
    '/sessions?limit=5000',
    '/applications?limit=1001',
    '/sessions?after=x',
    '/webhook-events?limit=101',
    '/webhook-deliveries?before=x',
  ])('refuses the query of %s', async (path) => {
    expect((await get(path)).error).toMatchObject({ code: 'invalid_query' });
  });
});

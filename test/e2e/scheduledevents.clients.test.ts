// Goal: unmodified oceanic.js and eris bots schedule events with every method that they have for it.
import http from 'node:http';
import Eris from 'eris';
import { Client } from 'oceanic.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callerOf } from '../support/callers.ts';
import { startServer, type TestServer } from '../support/server.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server?.finish());

const startMs = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS;
const event = {
  name: 'Regatta',
  privacyLevel: 2 as const,
  entityType: 3 as const,
  entityMetadata: { location: 'The bay' },
};

async function online(errors: (Error | string)[]): Promise<Client> {
  const { api, bot } = server.info;
  const client = new Client({
    auth: `Bot ${bot.token}`,
    gateway: { intents: ['GUILDS', 'GUILD_SCHEDULED_EVENTS'] },
    rest: { baseURL: `${api}/v10` },
  });
  client.on('error', (error) => errors.push(error));
  const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
  await client.connect();
  await ready;
  return client;
}

test('oceanic.js makes, reads, changes and deletes an event, its exceptions and its users', async () => {
  const { bot, guild, users } = server.info;
  const errors: (Error | string)[] = [];
  const client = await online(errors);
  const { guilds } = client.rest;

  const told = new Promise<string>((resolve) =>
    client.once('guildScheduledEventCreate', ({ id }) => resolve(id)),
  );
  const made = await guilds.createScheduledEvent(guild.id, {
    ...event,
    scheduledStartTime: new Date(startMs).toISOString(),
    scheduledEndTime: new Date(startMs + HOUR_MS).toISOString(),
    reason: 'summer',
  });
  expect(await told).toBe(made.id);
  expect(made).toMatchObject({ name: 'Regatta', status: 1, entityMetadata: { location: 'The bay' } });
  // The library cannot set a rule.
  const path = `/guilds/${guild.id}/scheduled-events/${made.id}`;
  const rule = { start: new Date(startMs).toISOString(), frequency: 3 };
  await callerOf(server, `Bot ${bot.token}`)(`PATCH ${path}`, { recurrence_rule: rule });

  const exception = await guilds.createScheduledEventException(guild.id, made.id, {
    originalScheduledStartTime: new Date(startMs + DAY_MS).toISOString(),
    scheduledStartTime: new Date(startMs + DAY_MS + 60_000).toISOString(),
  });
  expect(exception).toMatchObject({ eventID: made.id, isCanceled: false });
  expect(exception.scheduledStartTime?.getTime()).toBe(startMs + DAY_MS + 60_000);
  const { eventExceptionID: exceptionId } = exception;
  const canceled = await guilds.editScheduledEventException(guild.id, made.id, exceptionId, {
    isCanceled: true,
  });
  expect(canceled.isCanceled).toBe(true);

  const person = callerOf(server, `Bearer ${users[0]!.token}`);
  await person(`PUT ${path}/users/@me`, {});
  await person(`PUT ${path}/${exceptionId}/users/@me`, { response: 0 });
  const interested = await guilds.getScheduledEventUsers(guild.id, made.id, { withMember: true });
  expect(interested.map(({ userID, response, member }) => [userID, response, member?.id])).toEqual([
    [users[0]!.id, 1, users[0]!.id],
  ]);
  const others = await guilds.getScheduledEventExceptionUsers(guild.id, made.id, exceptionId, { limit: 1 });
  expect(others.map(({ userID, response }) => [userID, response])).toEqual([[users[0]!.id, 0]]);
  const counts = await guilds.getScheduledEventUserCounts(guild.id, made.id, {
    guildScheduledEventExceptionIDs: [exceptionId],
  });
  expect(counts).toEqual({
    guildScheduledEventCount: 1,
    guildScheduledEventExceptionCounts: { [exceptionId]: 1 },
  });
  await guilds.deleteScheduledEventException(guild.id, made.id, exceptionId);

  const changed = await guilds.editScheduledEvent(guild.id, made.id, { name: 'Storm', status: 2 });
  expect([changed.name, changed.status]).toEqual(['Storm', 2]);
  const one = await guilds.getScheduledEvent(guild.id, made.id, 1);
  expect([one.name, one.userCount]).toEqual(['Storm', 1]);
  expect((await guilds.getScheduledEvents(guild.id, 1)).map(({ id }) => id)).toEqual([made.id]);
  const log = await guilds.getAuditLog(guild.id, { limit: 1, actionType: 100 });
  expect(log.guildScheduledEvents.map(({ id }) => id)).toEqual([made.id]);
  expect(log.entries[0]?.reason).toBe('summer');
  await guilds.deleteScheduledEvent(guild.id, made.id);
  expect(errors).toEqual([]);
  client.disconnect(false);
});

test('eris makes, reads, changes and deletes an event', async () => {
  const { api, bot, guild } = server.info;
  const { hostname, port, pathname } = new URL(api);
  // The library always asks for https.
  const agent = Object.assign(new http.Agent(), { protocol: 'https:', defaultPort: Number(port) });
  const client = Eris(`Bot ${bot.token}`, {
    intents: ['guilds', 'guildScheduledEvents'],
    restMode: true,
    rest: {
      domain: hostname,
      baseURL: `${pathname}/v10`,
      agent: agent as unknown as import('node:https').Agent,
    },
  });
  const errors: Error[] = [];
  client.on('error', (error) => errors.push(error));
  const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
  await client.connect();
  await ready;
  const heard = (name: 'guildScheduledEventCreate' | 'guildScheduledEventUpdate') =>
    new Promise<string>((resolve) => client.once(name, ({ id }: { id: string }) => resolve(id)));

  const created = heard('guildScheduledEventCreate');
  const made = await client.createGuildScheduledEvent(guild.id, {
    ...event,
    scheduledStartTime: new Date(startMs),
    scheduledEndTime: new Date(startMs + HOUR_MS),
  } as never);
  expect(await created).toBe(made.id);
  const updated = heard('guildScheduledEventUpdate');
  const changed = await client.editGuildScheduledEvent(guild.id, made.id, { name: 'Calm' } as never);
  expect([await updated, changed.name]).toEqual([made.id, 'Calm']);
  const list = await client.getGuildScheduledEvents(guild.id, { withUserCount: true });
  expect(list.map(({ name, userCount }) => [name, userCount])).toEqual([['Calm', 0]]);
  expect(await client.getRESTGuildScheduledEvent(guild.id, made.id)).toMatchObject({ name: 'Calm' });
  expect(await client.getGuildScheduledEventUsers(guild.id, made.id)).toEqual([]);
  await client.deleteGuildScheduledEvent(guild.id, made.id);
  expect(errors).toEqual([]);
  client.disconnect({ reconnect: false });
});

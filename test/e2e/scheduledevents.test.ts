// Goal: stock clients schedule events, hear of them and of their users, and see them begin and end.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ChannelType,
  Client,
  type ClientEvents,
  GuildScheduledEventEntityType as Entity,
  Events,
  GuildScheduledEventRecurrenceRuleFrequency as Frequency,
  GatewayIntentBits,
  type Guild,
  type GuildScheduledEvent,
  GuildScheduledEventPrivacyLevel,
  GuildScheduledEventStatus as Status,
  type GuildScheduledEventRecurrenceRuleWeekday as Weekday,
} from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Caller, callerOf } from '../support/callers.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const TIMEOUT_MS = 10_000;
const HOUR_MS = 3_600_000;
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const { Guilds, GuildScheduledEvents, GuildModeration } = GatewayIntentBits;

let server: TestServer;
/** Administrator; does. */
let bot: Client<true>;
/** A plain member; watches. */
let watcher: Client<true>;
/** A plain member without the intent of events. */
let deaf: Client<true>;
let guild: Guild;
let person: Caller;

async function online(token: string, intents: number[]): Promise<Client<true>> {
  const { api, cdn } = server.info;
  const client = new Client({ intents, rest: { api, cdn, mediaProxy: cdn, version: '10' } });
  client.on(Events.Error, (error) => expect.fail(error.message));
  const [[ready]] = await Promise.all([heard(client, Events.ClientReady), client.login(token)]);
  return ready;
}

function patient<T>(what: string, listen: (resolve: (value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what} did not come.`)), TIMEOUT_MS);
    listen((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

const heard = <E extends keyof ClientEvents>(client: Client, event: E): Promise<ClientEvents[E]> =>
  patient(event, (resolve) => client.once(event as string, (...args) => resolve(args as ClientEvents[E])));

const outside = (more: object = {}) => ({
  name: 'Picnic',
  scheduledStartTime: Date.now() + HOUR_MS,
  scheduledEndTime: Date.now() + 2 * HOUR_MS,
  privacyLevel: GuildScheduledEventPrivacyLevel.GuildOnly,
  entityType: Entity.External,
  entityMetadata: { location: 'The park' },
  ...more,
});

/** A new event, as the doer and the watcher have it. */
async function scheduled(options: object = {}): Promise<[GuildScheduledEvent, GuildScheduledEvent]> {
  const [[seen], made] = await Promise.all([
    heard(watcher, Events.GuildScheduledEventCreate),
    guild.scheduledEvents.create(outside(options) as never),
  ]);
  expect(seen.id).toBe(made.id);
  return [made, seen as GuildScheduledEvent];
}

const pathOf = ({ id }: { readonly id: string }) =>
  `/guilds/${server.info.guild.id}/scheduled-events/${id}` as const;

beforeAll(async () => {
  server = await startServer();
  const [plain, plainer] = [await server.newBot('Wick'), await server.newBot('Wax')];
  bot = await online(server.info.bot.token, [Guilds, GuildScheduledEvents, GuildModeration]);
  watcher = await online(plain.token, [Guilds, GuildScheduledEvents]);
  deaf = await online(plainer.token, [Guilds]);
  guild = bot.guilds.cache.get(server.info.guild.id)!;
  person = callerOf(server, `Bearer ${server.info.users[0]!.token}`);
});
afterAll(async () => {
  await Promise.all([bot?.destroy(), watcher?.destroy(), deaf?.destroy()]);
  await server?.finish();
});

describe('an event', () => {
  test('is created, changed and deleted, and sessions with the intent receive each event', async () => {
    const missed: string[] = [];
    deaf.on('raw' as never, (({ t }: { t: string }) => missed.push(t)) as never);
    const [made, seen] = await scheduled({ description: 'Bring cake.', image: PNG, reason: 'spring' });
    expect(seen).toMatchObject({
      name: 'Picnic',
      description: 'Bring cake.',
      status: Status.Scheduled,
      creatorId: bot.user.id,
      entityMetadata: { location: 'The park' },
    });
    const image = await fetch(made.coverImageURL() as string);
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/webp']);

    const [[before, after]] = await Promise.all([
      heard(watcher, Events.GuildScheduledEventUpdate),
      made.edit({ name: 'Feast', description: '' }),
    ]);
    expect([before?.name, after.name, after.description]).toEqual(['Picnic', 'Feast', null]);
    const [[, begun]] = await Promise.all([
      heard(watcher, Events.GuildScheduledEventUpdate),
      made.setStatus(Status.Active),
    ]);
    expect(begun.status).toBe(Status.Active);

    const [[gone]] = await Promise.all([heard(watcher, Events.GuildScheduledEventDelete), made.delete()]);
    expect(gone.id).toBe(made.id);
    const log = await guild.fetchAuditLogs({ limit: 4 });
    expect(log.entries.map(({ action }) => action)).toEqual([102, 101, 101, 100]);
    expect(log.entries.at(3)).toMatchObject({ reason: 'spring', targetId: made.id });
    expect(missed).toEqual([]);
  });

  test('is listed and fetched with the number of its users', async () => {
    const [{ id }] = await scheduled({ name: 'Counted' });
    const all = await guild.scheduledEvents.fetch({ withUserCount: true });
    expect(all.get(id)?.userCount).toBe(0);
    const one = await guild.scheduledEvents.fetch({
      guildScheduledEvent: id,
      force: true,
      withUserCount: true,
    });
    expect(one).toMatchObject({ name: 'Counted', userCount: 0, creatorId: bot.user.id });
    await guild.scheduledEvents.delete(id);
    await expect(guild.scheduledEvents.fetch({ guildScheduledEvent: id, force: true })).rejects.toMatchObject(
      {
        code: 10070,
      },
    );
  });

  test('has interested users, and sessions receive each addition and removal', async () => {
    const [made] = await scheduled({ name: 'Popular' });
    const { id: userId } = server.info.users[0]!;
    const own = `${pathOf(made)}/users/@me`;
    // The library reports only users that it knows.
    await watcher.users.fetch(userId);
    const [[event, user]] = await Promise.all([
      heard(watcher, Events.GuildScheduledEventUserAdd),
      person(`PUT ${own}`, {}),
    ]);
    expect([event.id, user.id]).toEqual([made.id, userId]);
    const users = await made.fetchSubscribers({ withMember: true });
    expect(users.map((each) => [each.user.id, each.member?.id])).toEqual([[userId, userId]]);
    const one = await guild.scheduledEvents.fetch({
      guildScheduledEvent: made.id,
      force: true,
      withUserCount: true,
    });
    expect(one.userCount).toBe(1);
    await Promise.all([heard(watcher, Events.GuildScheduledEventUserRemove), person(`DELETE ${own}`)]);
    expect((await made.fetchSubscribers()).size).toBe(0);
    await expect(person(`DELETE ${own}`)).rejects.toThrow('10071');
    await made.delete();
  });

  test('is shown with an invite to it', async () => {
    const [made] = await scheduled({ name: 'Open day' });
    const url = await made.createInviteURL({ channel: server.info.guild.text_channel_id });
    const code = new URL(url.split('?')[0] as string).pathname.split('/').at(-1) as string;
    const invite = await bot.fetchInvite(code, { guildScheduledEventId: made.id });
    expect(invite.guildScheduledEvent).toMatchObject({ id: made.id, name: 'Open day', userCount: 0 });
    await made.delete();
  });

  test('is shown to a client that connects later, unless it is over', async () => {
    const [kept] = await scheduled({ name: 'Kept' });
    const [over] = await scheduled({ name: 'Over' });
    await over.setStatus(Status.Canceled);
    const late = await online(server.info.bot.token, [Guilds, GuildScheduledEvents]);
    expect(late.guilds.cache.first()?.scheduledEvents.cache.map(({ name }) => name)).toEqual(['Kept']);
    await late.destroy();
    await expect(over.edit({ name: 'Again' })).rejects.toMatchObject({ code: 180000 });
    await kept.delete();
  });

  test('opens its stage when it begins, and closes the stage when it ends', async () => {
    const stage = await guild.channels.create({ name: 'round', type: ChannelType.GuildStageVoice });
    const [made] = await scheduled({
      name: 'Tales',
      entityType: Entity.StageInstance,
      channel: stage.id,
      entityMetadata: undefined,
    });
    const [[opened]] = await Promise.all([
      heard(watcher, Events.StageInstanceCreate),
      made.setStatus(Status.Active),
    ]);
    expect(opened).toMatchObject({ topic: 'Tales', guildScheduledEventId: made.id, channelId: stage.id });
    const [[closed]] = await Promise.all([
      heard(watcher, Events.StageInstanceDelete),
      made.setStatus(Status.Completed),
    ]);
    expect(closed.id).toBe(opened.id);
    await stage.delete();
  });

  test('begins and ends by itself outside of channels', async () => {
    const [{ id }] = await scheduled({
      scheduledStartTime: Date.now() + 1_500,
      scheduledEndTime: Date.now() + 4_000,
    });
    const [, begun] = await heard(watcher, Events.GuildScheduledEventUpdate);
    expect([begun.id, begun.status]).toEqual([id, Status.Active]);
    const [, over] = await heard(watcher, Events.GuildScheduledEventUpdate);
    expect([over.id, over.status]).toEqual([id, Status.Completed]);
  });
});

test('an event that was due while the server was down begins and ends after a restart', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'guildhall-events-'));
  let other = await startServer({ dataDir });
  const path = `/guilds/${other.info.guild.id}/scheduled-events`;
  const does = () => callerOf(other, `Bot ${other.info.bot.token}`);
  const nowMs = Date.now();
  const { id } = await does()<{ id: string }>(`POST ${path}`, {
    ...{ name: 'Night watch', privacy_level: 2, entity_type: 3, entity_metadata: { location: 'Quay' } },
    scheduled_start_time: new Date(nowMs + 300).toISOString(),
    scheduled_end_time: new Date(nowMs + 400).toISOString(),
  });
  await other.kill9();
  await delay(Math.max(0, nowMs + 500 - Date.now()));
  other = await startServer({ dataDir });
  await expect
    .poll(async () => (await does()<{ status: number }>(`GET ${path}/${id}`)).status, {
      timeout: TIMEOUT_MS,
    })
    .toBe(Status.Completed);
  await other.finish();
  await rm(dataDir, { recursive: true, force: true });
});

describe('a recurring event', () => {
  const startMs = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS;
  const day = ((new Date(startMs).getUTCDay() + 6) % 7) as Weekday;
  const rule = {
    startAt: startMs,
    frequency: Frequency.Weekly,
    interval: 1,
    byWeekday: [day],
  };
  const times = { scheduledStartTime: startMs, scheduledEndTime: startMs + HOUR_MS };

  test('waits for its next occurrence when one has ended', async () => {
    const [made, seen] = await scheduled({ ...times, recurrenceRule: rule });
    expect(seen.recurrenceRule).toMatchObject({ frequency: Frequency.Weekly, interval: 1, byWeekday: [day] });
    await made.setStatus(Status.Active);
    const ended = await made.setStatus(Status.Completed);
    expect([ended.status, ended.scheduledStartTimestamp]).toEqual([
      Status.Scheduled,
      startMs + 7 * 24 * HOUR_MS,
    ]);
    await made.delete();
  });

  test('has exceptions, whose users answer for themselves', async () => {
    const [made] = await scheduled({ ...times, recurrenceRule: rule });
    const does = callerOf(server, `Bot ${server.info.bot.token}`);
    const { token, id: userId } = server.info.users[0]!;
    const gateway = await GatewayClient.ready(server.info.gateway, { token });
    const original = new Date(startMs + 7 * 24 * HOUR_MS).toISOString();
    const exceptions = `${pathOf(made)}/exceptions`;
    const exception = await does<{ event_exception_id: string }>(`POST ${exceptions}`, {
      original_scheduled_start_time: original,
      is_canceled: true,
    });
    const id = exception.event_exception_id;
    expect(exception).toEqual({
      event_id: made.id,
      event_exception_id: id,
      scheduled_start_time: null,
      scheduled_end_time: null,
      is_canceled: true,
    });
    await gateway.dispatch('GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE', (d) => d.event_exception_id === id);
    expect(await does(`PATCH ${exceptions}/${id}`, { is_canceled: false })).toMatchObject({
      is_canceled: false,
    });
    await gateway.dispatch('GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE', (d) => d.event_exception_id === id);
    expect(await does(`GET ${pathOf(made)}`)).toMatchObject({
      guild_scheduled_event_exceptions: [{ event_exception_id: id }],
    });

    const own = `${pathOf(made)}/${id}/users/@me`;
    const answer = {
      guild_scheduled_event_id: made.id,
      guild_scheduled_event_exception_id: id,
      user_id: userId,
      response: 0,
    };
    expect(await person(`PUT ${own}`, { response: 0 })).toEqual(answer);
    await gateway.dispatch(
      'GUILD_SCHEDULED_EVENT_USER_ADD',
      (d) => d.guild_scheduled_event_exception_id === id && d.response === 0,
    );
    expect(await does(`GET ${pathOf(made)}/${id}/users?with_member=true`)).toMatchObject([
      { ...answer, user: { id: userId }, member: { user: { id: userId } } },
    ]);
    const counts = `${pathOf(made)}/users/counts?guild_scheduled_event_exception_ids=${id}`;
    expect(await does(`GET ${counts}`)).toEqual({
      guild_scheduled_event_count: 0,
      guild_scheduled_event_exception_counts: { [id]: 1 },
    });
    await person(`DELETE ${own}`);
    await does(`DELETE ${exceptions}/${id}`);
    await gateway.dispatch('GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE', (d) => d.event_exception_id === id);
    gateway.close();
    await made.delete();
  });
});

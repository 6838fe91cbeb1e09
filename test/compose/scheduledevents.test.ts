// Goal: events begin and end at their times over a real database, also after a restart, and with the people in their channel.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { EventObject } from '../../engine/scheduledevent/event.ts';
import type { ChannelId, GuildId, ScheduledEventId } from '../../protocol/ids.ts';
import { openInstance, until } from '../support/instance.ts';

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];
let instance: Awaited<ReturnType<typeof openInstance>>;

beforeEach(async () => {
  instance = await openInstance();
}, 60_000);
afterEach(() => instance.close());

const iso = (ms: number) => new Date(ms).toISOString();

/** Lets time pass while the database answers. */
async function pass(ms: number, stepMs = 1_000): Promise<void> {
  for (let done = 0; done < ms; done += stepMs) {
    instance.clock.advance(stepMs);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

async function create(more: object): Promise<ScheduledEventId> {
  const id = instance.foundation.nextId();
  const input = {
    id,
    name: 'Picnic',
    entityType: 3 as const,
    startTime: iso(instance.clock.now() + HOUR_MS),
    ...more,
  };
  const reply = await instance.guilds.call(instance.guildId, 'createScheduledEvent', input, SYSTEM);
  expect(reply).toMatchObject({ ok: true });
  return id;
}

async function eventOf(guildId: GuildId, eventId: ScheduledEventId): Promise<EventObject> {
  const input = { eventId, withUserCount: false };
  const reply = await instance.guilds.call(guildId, 'getScheduledEvent', input, SYSTEM);
  if (!reply.ok) throw new Error(reply.refusal.message);
  return reply.value;
}

const statuses = (sink: { dispatches: readonly { t: string; d: unknown }[] }) =>
  sink.dispatches.flatMap(({ t, d }) =>
    t === 'GUILD_SCHEDULED_EVENT_UPDATE' ? [(d as EventObject).status] : [],
  );

test('an event outside of channels begins and ends on time, and a session receives both updates', async () => {
  const { sink } = await instance.connect();
  await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  const nowMs = instance.clock.now();
  await create({ location: 'park', startTime: iso(nowMs + 10_000), endTime: iso(nowMs + 20_000) });
  await pass(9_000);
  expect(statuses(sink)).toEqual([]);
  await pass(2_000);
  await until(() => statuses(sink).length === 1, 'the beginning');
  await pass(10_000);
  await until(() => statuses(sink).length === 2, 'the end');
  expect(statuses(sink)).toEqual([2, 3]);
}, 60_000);

test('events that became due while no server ran begin or end after the next start', async () => {
  const { guildId } = instance;
  const startMs = instance.clock.now() + HOUR_MS;
  const id = await create({ location: 'park', startTime: iso(startMs), endTime: iso(startMs + HOUR_MS) });
  const recurring = await create({
    ...{ location: 'park', startTime: iso(startMs), endTime: iso(startMs + HOUR_MS) },
    rule: { start: iso(startMs), frequency: 3 },
  });
  instance.close();
  const laterMs = startMs + 30 * HOUR_MS;
  instance = await openInstance({}, undefined, new VirtualClock(laterMs));
  for (let tries = 0; (await eventOf(guildId, id)).status !== 3 && tries < 100; tries += 1) await pass(1_000);
  expect(await eventOf(guildId, id)).toMatchObject({ status: 3 });
  const next = await eventOf(guildId, recurring);
  expect(next.status).toBe(1);
  expect(Date.parse(next.scheduled_start_time)).toBe(startMs + 48 * HOUR_MS);
}, 60_000);

test('an event in a voice channel ends about five minutes after the last member left', async () => {
  const { sink, session } = await instance.connect();
  await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  const channels = await instance.guilds.call(instance.guildId, 'listChannels', {}, SYSTEM);
  const voice = channels.ok && channels.value.find(({ type }) => type === 2);
  if (!voice) throw new Error('no voice channel');
  const id = await create({ entityType: 2, channelId: voice.id });
  const input = { guildId: instance.guildId, selfMute: false, selfDeaf: false, selfVideo: false };
  const move = (channelId: ChannelId | null) =>
    session.ask({ name: 'voiceState', input: { ...input, channelId } });
  const states = () => sink.names.filter((name) => name === 'VOICE_STATE_UPDATE').length;
  move(voice.id);
  await until(() => states() === 1, 'a place in voice');
  await instance.guilds.call(instance.guildId, 'updateScheduledEvent', { eventId: id, status: 2 }, SYSTEM);
  await pass(20 * MINUTE_MS, 5_000);
  expect((await eventOf(instance.guildId, id)).status).toBe(2);
  move(null);
  await until(() => states() === 2, 'nobody in voice');
  await pass(4 * MINUTE_MS, 5_000);
  expect((await eventOf(instance.guildId, id)).status).toBe(2);
  await pass(2 * MINUTE_MS, 5_000);
  await until(() => statuses(sink).at(-1) === 3, 'the end');
}, 60_000);

// Goal: permitted members create events within the bounds, viewers of the channel receive them, and they are logged.
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { guildCreatePayload } from '../../../engine/guild/payloads.ts';
import { guildRules } from '../../../engine/guild/rules.ts';
import type { EventObject } from '../../../engine/scheduledevent/event.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite, RecordingSession, role } from '../../support/guild.ts';
import { caller, envAt, fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const HOUR_MS = 3_600_000;
const at = (ms: number) => new Date(NOW_MS + ms).toISOString();
const HIDDEN = [overwrite('1', 0, { deny: P.VIEW_CHANNEL })];
const STAGE_MODERATOR = P.MANAGE_CHANNELS | P.MUTE_MEMBERS | P.MOVE_MEMBERS;

/**
 * Text 40, voice 50, hidden voice 51, stage 53. User 2 owns the guild, 10 creates events, 11 manages them, 12 is plain, 13
 * creates events and moderates stages.
 */
function arrange(): Guild {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT,
    roles: [
      role('100', P.CREATE_EVENTS, 1),
      role('101', P.MANAGE_EVENTS, 1),
      role('102', P.CREATE_EVENTS | STAGE_MODERATOR, 1),
    ],
    members: [
      fullMember('10', ['100']),
      fullMember('11', ['101']),
      fullMember('12'),
      fullMember('13', ['102']),
    ],
    channels: [
      channel('40'),
      channel('50', [], { type: 2 }),
      channel('51', HIDDEN, { type: 2 }),
      channel('53', [], { type: 13 }),
    ],
    sessions: ['2', '10', '12'].map((userId) => new RecordingSession(`s${userId}`, userId)),
  });
  guild.info = { ...guild.info, features: [] };
  return guild;
}

const OUTSIDE = { entityType: 3, location: 'The park', startTime: at(HOUR_MS), endTime: at(2 * HOUR_MS) };
const VOICE = { entityType: 2, channelId: '50', startTime: at(HOUR_MS) };
const STAGE = { entityType: 1, channelId: '53', startTime: at(HOUR_MS) };

const create = (guild: Guild, more: object = {}, userId = '2') =>
  ruled<EventObject>(
    guild,
    'createScheduledEvent',
    { id: '500', name: 'Picnic', ...OUTSIDE, ...more },
    userId,
  );
const update = (guild: Guild, more: object, userId = '2') =>
  ruled<EventObject>(guild, 'updateScheduledEvent', { eventId: '500', ...more }, userId);
const list = (guild: Guild, userId: string) =>
  ruled<EventObject[]>(guild, 'listScheduledEvents', { withUserCount: true }, userId).outcome;

/** The fields that a refusal names. */
const fieldsOf = ({ outcome }: { outcome: ReturnType<typeof create>['outcome'] }) =>
  outcome.ok ? 'accepted' : Object.keys(outcome.refusal.errors ?? {});

describe('a new event', () => {
  it('is sent to all members when it is outside of channels, and logged', () => {
    const guild = arrange();
    const { outcome, dispatches } = create(guild, { description: ' ', image: 'a'.repeat(32) }, '10');
    const event = {
      id: '500',
      guild_id: '1',
      channel_id: null,
      creator_id: '10',
      name: 'Picnic',
      description: null,
      image: 'a'.repeat(32),
      scheduled_start_time: '2026-03-01T13:00:00.000000+00:00',
      scheduled_end_time: '2026-03-01T14:00:00.000000+00:00',
      privacy_level: 2,
      status: 1,
      entity_type: 3,
      entity_id: null,
      entity_metadata: { location: 'The park' },
      recurrence_rule: null,
      guild_scheduled_event_exceptions: [],
    };
    expect(outcome).toMatchObject({ ok: true, value: { ...event, creator: { id: '10' } } });
    expect(dispatches[0]).toEqual({ t: 'GUILD_SCHEDULED_EVENT_CREATE', d: event, to: { kind: 'guild' } });
    expect(dispatches[1]?.d).toMatchObject({
      action_type: 100,
      target_id: '500',
      user_id: '10',
      changes: expect.arrayContaining([
        { key: 'location', new_value: 'The park' },
        { key: 'image_hash', new_value: 'a'.repeat(32) },
        { key: 'status', new_value: 1 },
      ]),
    });
  });

  it('is sent to members who see its channel', () => {
    const { dispatches } = create(arrange(), { ...VOICE, location: null });
    expect(dispatches[0]).toMatchObject({
      t: 'GUILD_SCHEDULED_EVENT_CREATE',
      d: { entity_metadata: null, scheduled_end_time: at(2 * HOUR_MS).replace('Z', '000+00:00') },
      to: { kind: 'channel', channelId: '50' },
    });
  });

  it.each([
    [{ startTime: at(0) }, ['scheduled_start_time']],
    [{ startTime: at(1) }, 'accepted'],
    [{ startTime: at(157_766_400_000), endTime: at(157_766_400_001) }, 'accepted'],
    [{ startTime: at(157_766_400_001), endTime: at(157_766_400_002) }, ['scheduled_start_time']],
    [{ endTime: at(HOUR_MS) }, ['scheduled_end_time']],
    [{ endTime: at(HOUR_MS + 1) }, 'accepted'],
    [{ endTime: null }, ['scheduled_end_time']],
    [{ location: null }, ['entity_metadata']],
    [{ location: ' ' }, ['entity_metadata']],
    [{ channelId: '50' }, ['channel_id']],
    [{ entityType: 2 }, ['channel_id']],
    [{ entityType: 1, channelId: null }, ['channel_id']],
    [{ ...VOICE, endTime: null }, 'accepted'],
    [{ rule: { start: at(0), frequency: 3, interval: 2 } }, ['recurrence_rule']],
  ])('is answered for %j with %j', (more, expected) => {
    expect(fieldsOf(create(arrange(), more))).toEqual(expected);
  });

  it.each([
    [{ entityType: 2, channelId: '53' }, 50024],
    [{ entityType: 1, channelId: '50' }, 50024],
    [{ entityType: 2, channelId: '40' }, 50024],
    [{ entityType: 2, channelId: '99' }, 10003],
  ])('is refused in the wrong channel (%j) with %i', (more, code) => {
    expect(create(arrange(), more).code).toBe(code);
  });

  it.each([
    ['10', OUTSIDE, undefined],
    ['10', VOICE, undefined],
    ['10', { ...VOICE, channelId: '51' }, 50001],
    ['10', STAGE, 50013],
    ['13', STAGE, undefined],
    ['11', OUTSIDE, 50013],
    ['12', VOICE, 50013],
  ])('is answered for user %s and %j with %s', (userId, more, code) => {
    expect(create(arrange(), more, userId).code).toBe(code);
  });

  it('may be created with MANAGE_EVENTS before the date of the permission split', () => {
    const authority = { by: caller('11'), requires: 0n };
    const input = { id: '500', name: 'Picnic', ...OUTSIDE } as never;
    const decided = (day?: string) =>
      guildRules.decide(arrange(), 'createScheduledEvent', input, authority, {
        ...envAt(),
        ...(day !== undefined && { rulesMs: Date.parse(day) }),
      }).ok;
    expect([decided('2026-02-22'), decided('2026-02-23'), decided()]).toEqual([true, false, false]);
  });

  it('may be created by a member with the permission in one channel only', () => {
    const guild = arrange();
    const allowed = [overwrite('12', 1, { allow: P.CREATE_EVENTS })];
    guild.channels.set('50' as ChannelId, channel('50', allowed, { type: 2 }));
    expect(create(guild, VOICE, '12').code).toBeUndefined();
    expect(create(guild, { ...OUTSIDE, id: '501' }, '12').code).toBe(50013);
  });

  it('is refused beyond 100 scheduled or active events', () => {
    const guild = arrange();
    for (let at = 0; at < 100; at += 1)
      expect(create(guild, { id: String(1_000 + at) }).code).toBeUndefined();
    expect(create(guild).code).toBe(30038);
    ruled(guild, 'updateScheduledEvent', { eventId: '1000', status: 4 }, '2');
    expect(create(guild).code).toBeUndefined();
  });
});

describe('a change of an event', () => {
  it('is dispatched, and logged with the changed fields', () => {
    const guild = arrange();
    create(guild);
    const { dispatches } = update(guild, { name: ' Feast ', location: 'The hall' });
    expect(dispatches).toMatchObject([
      { t: 'GUILD_SCHEDULED_EVENT_UPDATE', d: { name: 'Feast', entity_metadata: { location: 'The hall' } } },
      {
        d: {
          action_type: 101,
          changes: [
            { key: 'name', old_value: 'Picnic', new_value: 'Feast' },
            { key: 'location', old_value: 'The park', new_value: 'The hall' },
          ],
        },
      },
    ]);
    expect(update(guild, { name: 'Feast' }).types).toEqual([]);
    expect(update(guild, {}).outcome).toMatchObject({ value: { name: 'Feast' } });
  });

  it('is allowed to the creator and to members who manage events', () => {
    const guild = arrange();
    create(guild, {}, '10');
    expect(update(guild, { name: 'a' }, '10').code).toBeUndefined();
    expect(update(guild, { name: 'b' }, '11').code).toBeUndefined();
    expect(update(guild, { name: 'c' }, '13').code).toBe(50013);
    expect(update(guild, { name: 'd' }, '12').code).toBe(50013);
    expect(update(guild, { eventId: '9', name: 'd' }).code).toBe(10070);
  });

  it('moves the event only into channels visible to the caller, and removes it for members who lose sight of it', () => {
    const guild = arrange();
    create(guild, VOICE, '10');
    expect(update(guild, { channelId: '51' }, '10').code).toBe(50001);
    expect(update(guild, { entityType: 3 }, '10').outcome).toMatchObject({ ok: false });
    const moved = update(guild, { channelId: '51' });
    expect(moved.dispatches.slice(0, 2)).toMatchObject([
      {
        t: 'GUILD_SCHEDULED_EVENT_DELETE',
        d: { channel_id: '50' },
        to: { kind: 'users', userIds: ['10', '12'] },
      },
      { t: 'GUILD_SCHEDULED_EVENT_UPDATE', to: { kind: 'channel', channelId: '51' } },
    ]);
    const out = update(guild, { entityType: 3, location: 'Sea', channelId: null, endTime: at(2 * HOUR_MS) });
    expect(out.outcome).toMatchObject({ value: { channel_id: null, entity_metadata: { location: 'Sea' } } });
    expect(out.dispatches[0]).toMatchObject({ t: 'GUILD_SCHEDULED_EVENT_UPDATE', to: { kind: 'guild' } });
    expect(update(guild, { entityType: 2, channelId: '50' }).outcome).toMatchObject({
      value: { entity_type: 2, entity_metadata: null },
    });
  });

  it('removes a moved event for members whose sessions are not here yet', () => {
    const guild = arrange();
    (guild.sessionCounts as Map<unknown, number>).clear();
    create(guild, VOICE, '10');
    const { dispatches } = update(guild, { channelId: '51' });
    expect(dispatches.slice(0, 2)).toMatchObject([
      { t: 'GUILD_SCHEDULED_EVENT_DELETE', to: { kind: 'users', userIds: [] } },
      { t: 'GUILD_SCHEDULED_EVENT_UPDATE' },
    ]);
  });

  it.each([
    [[2], undefined],
    [[4], undefined],
    [[1], undefined],
    [[3], 50035],
    [[2, 3], undefined],
    [[2, 2], undefined],
    [[2, 4], 50035],
    [[2, 1], 50035],
    [[4, 1], 180000],
    [[2, 3, 2], 180000],
  ])('ends, through the statuses %j, with %s', (statuses, code) => {
    const guild = arrange();
    create(guild, VOICE);
    const codes = statuses.map((status) => update(guild, { status }).code);
    expect(codes.at(-1)).toBe(code);
    expect(codes.slice(0, -1).every((each) => each === undefined)).toBe(true);
  });

  it('is rejected for start, type or channel of an active event', () => {
    const guild = arrange();
    create(guild, VOICE);
    update(guild, { status: 2 });
    expect(fieldsOf(update(guild, { startTime: at(HOUR_MS) }))).toEqual(['scheduled_start_time']);
    expect(fieldsOf(update(guild, { channelId: '51' }))).toEqual(['channel_id']);
    expect(fieldsOf(update(guild, { entityType: 3 }))).toEqual(['entity_type']);
    expect(fieldsOf(update(guild, { name: 'On', endTime: at(1) }))).toBe('accepted');
    expect(fieldsOf(update(guild, { endTime: at(0) }))).toEqual(['scheduled_end_time']);
  });

  it('refuses a start in the past even when nothing changes', () => {
    const guild = arrange();
    create(guild, VOICE);
    const late = { eventId: '500', startTime: VOICE.startTime };
    expect(ruled(guild, 'updateScheduledEvent', late, '2', NOW_MS + HOUR_MS).code).toBe(50035);
  });
});

describe('an event', () => {
  const get = (guild: Guild, userId: string) =>
    ruled<EventObject>(guild, 'getScheduledEvent', { eventId: '500', withUserCount: true }, userId);

  it('is deleted by members with permission, once', () => {
    const guild = arrange();
    create(guild, {}, '10');
    const remove = (userId: string) => ruled(guild, 'deleteScheduledEvent', { eventId: '500' }, userId);
    expect(remove('12').code).toBe(50013);
    expect(remove('10').dispatches).toMatchObject([
      { t: 'GUILD_SCHEDULED_EVENT_DELETE', d: { id: '500' }, to: { kind: 'guild' } },
      { d: { action_type: 102, target_id: '500' } },
    ]);
    expect(remove('10').code).toBe(10070);
  });

  it('is unknown, in a hidden channel, to members who do not see it', () => {
    const guild = arrange();
    create(guild, { ...VOICE, channelId: '51' });
    expect(get(guild, '12').code).toBe(10070);
    expect(get(guild, '2').outcome).toMatchObject({ value: { id: '500', user_count: 0 } });
    expect(list(guild, '12')).toMatchObject({ value: [] });
    expect(list(guild, '2')).toMatchObject({ value: [{ id: '500', user_count: 0 }] });
    const seen = (userId: string) =>
      guildCreatePayload(guild, userId as UserId, 50, 1, NOW_MS).guild_scheduled_events;
    expect([seen('12').length, seen('2').length]).toEqual([0, 1]);
    expect(seen('2')[0]).not.toHaveProperty('due_ms');
  });

  it('is kept by id after its end, until 100 other events have ended', () => {
    const guild = arrange();
    create(guild);
    update(guild, { status: 4 });
    expect(list(guild, '2')).toMatchObject({ value: [] });
    expect(guildCreatePayload(guild, '2' as UserId, 50, 1, NOW_MS).guild_scheduled_events).toEqual([]);
    for (let n = 0; n < 100; n += 1) {
      expect(get(guild, '2').outcome).toMatchObject({ value: { status: 4 } });
      create(guild, { id: String(1_000 + n) });
      update(guild, { eventId: String(1_000 + n), status: 4 });
    }
    expect(get(guild, '2').code).toBe(10070);
    expect(guild.scheduledEvents.byId.size).toBe(100);
  });
});

describe('a stage event', () => {
  it('opens a stage of its name when it begins, and closes it when it ends', () => {
    const guild = arrange();
    create(guild, STAGE);
    const begun = update(guild, { status: 2 });
    expect(begun.types).toEqual([
      'scheduledEventUpdated',
      'stageInstanceCreated',
      'auditLogged',
      'auditLogged',
    ]);
    const stage = guild.stageInstances.get('53' as ChannelId);
    expect(stage).toMatchObject({ topic: 'Picnic', guild_scheduled_event_id: '500' });
    expect(begun.outcome).toMatchObject({ value: { status: 2, entity_id: stage?.id } });
    const over = update(guild, { status: 3 });
    expect(over.dispatches.map(({ t }) => t).slice(0, 2)).toEqual([
      'GUILD_SCHEDULED_EVENT_UPDATE',
      'STAGE_INSTANCE_DELETE',
    ]);
    expect(guild.stageInstances.size).toBe(0);
    expect(over.outcome).toMatchObject({ value: { status: 3, entity_id: null } });
  });

  it('begins and ends with a stage that is opened for it', () => {
    const guild = arrange();
    create(guild, STAGE);
    const open = (more: object = {}) =>
      ruled(
        guild,
        'createStageInstance',
        { channelId: '53', topic: 'Tales', privacyLevel: 2, scheduledEventId: '500', notify: false, ...more },
        '2',
      );
    expect(open({ scheduledEventId: '9' }).code).toBe(10070);
    expect(open().dispatches.map(({ t, d }) => [t, 'status' in d && d.status])).toEqual([
      ['GUILD_SCHEDULED_EVENT_UPDATE', 2],
      ['STAGE_INSTANCE_CREATE', false],
      ['GUILD_AUDIT_LOG_ENTRY_CREATE', false],
    ]);
    expect(open().code).toBe(150006);
    const closed = ruled(guild, 'deleteStageInstance', { channelId: '53' }, '2');
    expect(closed.dispatches[0]).toMatchObject({ t: 'GUILD_SCHEDULED_EVENT_UPDATE', d: { status: 3 } });
    expect(open().code).toBe(180000);
  });

  it('takes over the stage that is open, and leaves it open when it is deleted', () => {
    const guild = arrange();
    create(guild, STAGE);
    ruled(
      guild,
      'createStageInstance',
      { channelId: '53', topic: 'Tales', privacyLevel: 2, scheduledEventId: null, notify: false },
      '2',
    );
    update(guild, { status: 2 });
    const linked = () => guild.stageInstances.get('53' as ChannelId)?.guild_scheduled_event_id;
    expect(linked()).toBe('500');
    create(guild, { ...STAGE, id: '501' });
    expect(update(guild, { eventId: '501', status: 2 }).code).toBe(150006);
    ruled(guild, 'deleteScheduledEvent', { eventId: '500' }, '2');
    expect(linked()).toBeNull();
  });

  it.each([
    [[], 4],
    [[2], 3],
  ])(
    'ends when its channel is deleted: after the statuses %j with %i, and is dispatched to its users',
    (statuses, status) => {
      const guild = arrange();
      create(guild, { ...STAGE, rule: { start: STAGE.startTime, frequency: 3 } });
      for (const each of statuses) update(guild, { status: each });
      const { dispatches } = ruled(guild, 'deleteChannel', { channelId: '53' }, '2');
      const names = dispatches.map(({ t }) => t);
      expect(names.indexOf('GUILD_SCHEDULED_EVENT_UPDATE')).toBeGreaterThanOrEqual(0);
      expect(names.indexOf('GUILD_SCHEDULED_EVENT_UPDATE')).toBeLessThan(names.indexOf('CHANNEL_DELETE'));
      expect(guild.scheduledEvents.byId.get('500')).toMatchObject({ status, due_ms: null });
      expect(update(guild, { name: 'x' }).code).toBe(10070);
    },
  );
});

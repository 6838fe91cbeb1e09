// Goal: the clock begins, ends and moves events at their times, and an event under way lasts while people are in its channel.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { ScheduledEvent } from '../../../engine/scheduledevent/event.ts';
import { timed } from '../../../engine/scheduledevent/schedule.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];
const iso = (ms: number) => new Date(ms).toISOString();
const wire = (ms: number) => iso(ms).replace('Z', '000+00:00');

/** Voice 50 and stage 53. User 2 owns the guild; 11 and 12 are plain. */
function arrange(): Guild {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT,
    members: [fullMember('11'), fullMember('12')],
    channels: [channel('50', [], { type: 2 }), channel('53', [], { type: 13 })],
  });
  guild.info = { ...guild.info, features: [] };
  return guild;
}

const [START_MS, END_MS] = [NOW_MS + HOUR_MS, NOW_MS + 2 * HOUR_MS];
const OUTSIDE = { entityType: 3, location: 'park', startTime: iso(START_MS), endTime: iso(END_MS) };
const VOICE = { entityType: 2, channelId: '50', startTime: iso(START_MS) };
const DAILY = { start: iso(START_MS), frequency: 3 };

const create = (guild: Guild, more: object) =>
  ruled(guild, 'createScheduledEvent', { id: '500', name: 'Picnic', ...more }, '2');
const update = (guild: Guild, more: object, nowMs = NOW_MS) =>
  ruled(guild, 'updateScheduledEvent', { eventId: '500', ...more }, '2', nowMs);
const settle = (guild: Guild, nowMs: number) => ruled(guild, 'settleScheduledEvents', {}, '0', nowMs);
const event = (guild: Guild): ScheduledEvent => guild.scheduledEvents.byId.get('500')!;

const place = (guild: Guild, userId: string, channelId: string | null) =>
  ({
    guild_id: guild.id,
    user_id: userId,
    channel_id: channelId,
    session_id: `s${userId}`,
    ...{ deaf: false, mute: false, self_deaf: false, self_mute: false, self_video: false, suppress: false },
  }) as never;
const enter = (guild: Guild, userId: string, channelId = '50') =>
  guild.voiceStates.set(userId as UserId, place(guild, userId, channelId));
const leave = (guild: Guild, userId: string, nowMs: number) =>
  ruled(guild, 'dropVoice', { userId, sessionId: `s${userId}`, channelId: '50' }, '0', nowMs);

describe('an event outside of channels', () => {
  it('starts at its start time and ends at its end time, without an audit log entry', () => {
    const guild = arrange();
    create(guild, OUTSIDE);
    expect(event(guild).due_ms).toBe(START_MS);
    expect(settle(guild, START_MS - 1).types).toEqual([]);
    const begun = settle(guild, START_MS);
    expect(begun.types).toEqual(['scheduledEventUpdated']);
    expect(begun.dispatches).toMatchObject([{ t: 'GUILD_SCHEDULED_EVENT_UPDATE', d: { status: 2 } }]);
    expect(event(guild).due_ms).toBe(END_MS);
    expect(settle(guild, END_MS - 1).types).toEqual([]);
    expect(settle(guild, END_MS).dispatches).toMatchObject([{ d: { status: 3 } }]);
    expect(event(guild).due_ms).toBeNull();
    expect(settle(guild, END_MS + DAY_MS).types).toEqual([]);
  });

  it('starts and ends late when the clock did not run, one step at a time', () => {
    const guild = arrange();
    create(guild, OUTSIDE);
    expect(settle(guild, END_MS + DAY_MS).dispatches).toMatchObject([{ d: { status: 2 } }]);
    expect(settle(guild, END_MS + DAY_MS).dispatches).toMatchObject([{ d: { status: 3 } }]);
  });

  it('is due at its other time when that changes', () => {
    const guild = arrange();
    create(guild, OUTSIDE);
    update(guild, { startTime: iso(START_MS + 1) });
    expect(event(guild).due_ms).toBe(START_MS + 1);
    update(guild, { status: 2 });
    update(guild, { endTime: iso(END_MS + 5) });
    expect(event(guild).due_ms).toBe(END_MS + 5);
  });

  it('waits for its next occurrence when it recurs', () => {
    const guild = arrange();
    create(guild, { ...OUTSIDE, rule: DAILY });
    settle(guild, START_MS);
    expect(event(guild).status).toBe(2);
    settle(guild, END_MS);
    expect(event(guild)).toMatchObject({
      status: 1,
      scheduled_start_time: wire(START_MS + DAY_MS),
      scheduled_end_time: wire(END_MS + DAY_MS),
      due_ms: START_MS + DAY_MS,
    });
    settle(guild, START_MS + DAY_MS);
    settle(guild, END_MS + 5 * DAY_MS);
    expect(event(guild).scheduled_start_time).toBe(wire(START_MS + 6 * DAY_MS));
  });
});

describe('an event in a channel', () => {
  it.each([
    ['once', {}, { status: 4, due_ms: null }],
    ['daily', { rule: DAILY }, { status: 1, scheduled_start_time: wire(START_MS + DAY_MS) }],
  ])(
    'does not start by itself, and cannot start four hours after its start time, when it takes place %s',
    (_, more, then) => {
      const guild = arrange();
      create(guild, { ...VOICE, ...more });
      expect(settle(guild, START_MS + 4 * HOUR_MS - 1).types).toEqual([]);
      expect(event(guild).status).toBe(1);
      expect(settle(guild, START_MS + 4 * HOUR_MS).types).toEqual(['scheduledEventUpdated']);
      expect(event(guild)).toMatchObject(then);
    },
  );

  it('ends five minutes after the last user has left', () => {
    const guild = arrange();
    create(guild, VOICE);
    enter(guild, '11');
    enter(guild, '12');
    update(guild, { status: 2 });
    expect(leave(guild, '11', NOW_MS + 1_000).types).not.toContain('scheduledEventTimed');
    const leftMs = NOW_MS + 4 * MINUTE_MS;
    const left = leave(guild, '12', leftMs);
    expect(left.types).toContain('scheduledEventTimed');
    expect(left.dispatches.map(({ t }) => t)).not.toContain('GUILD_SCHEDULED_EVENT_UPDATE');
    expect(settle(guild, leftMs + 5 * MINUTE_MS - 1).types).toEqual([]);
    expect(settle(guild, leftMs + 5 * MINUTE_MS).dispatches).toMatchObject([{ d: { status: 3 } }]);
  });

  it('continues while members are in its channel, and when a member returns in time', () => {
    const guild = arrange();
    create(guild, VOICE);
    enter(guild, '11');
    update(guild, { status: 2 });
    for (let at = 1; at < 10; at += 1) settle(guild, NOW_MS + at * 5 * MINUTE_MS);
    expect(event(guild).status).toBe(2);
    leave(guild, '11', NOW_MS + HOUR_MS);
    enter(guild, '12');
    settle(guild, NOW_MS + HOUR_MS + 5 * MINUTE_MS);
    expect(event(guild)).toMatchObject({ status: 2 });
    expect(event(guild).idle).toBeUndefined();
  });

  it('lasts five minutes more when its voice states were lost, as in a crash', () => {
    const guild = arrange();
    create(guild, VOICE);
    enter(guild, '11');
    update(guild, { status: 2 });
    guild.voiceStates.clear();
    const firstMs = event(guild).due_ms!;
    expect(settle(guild, firstMs).types).toEqual(['scheduledEventTimed']);
    expect(settle(guild, firstMs + 5 * MINUTE_MS).dispatches).toMatchObject([{ d: { status: 3 } }]);
  });

  it('closes its stage when the clock ends it, without an audit log entry', () => {
    const guild = arrange();
    create(guild, { ...VOICE, entityType: 1, channelId: '53' });
    update(guild, { status: 2 });
    settle(guild, NOW_MS + 5 * MINUTE_MS);
    const { types } = settle(guild, NOW_MS + 10 * MINUTE_MS);
    expect(types).toEqual(['scheduledEventUpdated', 'stageInstanceDeleted']);
    expect(guild.stageInstances.has('53' as ChannelId)).toBe(false);
  });
});

describe('an exception', () => {
  const dayTwo = START_MS + DAY_MS;
  const except = (guild: Guild, originalMs: number, more: object) =>
    ruled<{ event_exception_id: string }>(
      guild,
      'createEventException',
      { eventId: '500', originalTime: iso(originalMs), ...more },
      '2',
    );

  it('moves its occurrence alone', () => {
    const guild = arrange();
    create(guild, { ...OUTSIDE, rule: DAILY });
    except(guild, START_MS, { startTime: iso(START_MS + 1_000), endTime: iso(END_MS + 2_000) });
    expect(event(guild)).toMatchObject({ due_ms: START_MS + 1_000, scheduled_start_time: wire(START_MS) });
    settle(guild, START_MS + 1_000);
    expect(event(guild)).toMatchObject({ status: 2, due_ms: END_MS + 2_000 });
    settle(guild, END_MS + 2_000);
    expect(event(guild)).toMatchObject({ due_ms: dayTwo, guild_scheduled_event_exceptions: [] });
  });

  it('moves or cancels the first occurrence, also if the rule excludes the day of the start', () => {
    const guild = arrange();
    const startDay = (new Date(START_MS).getUTCDay() + 6) % 7;
    const rule = { start: iso(START_MS), frequency: 2 as const, by_weekday: [(startDay + 2) % 7] };
    create(guild, { ...OUTSIDE, rule });
    expect(event(guild)).toMatchObject({ scheduled_start_time: wire(START_MS), due_ms: START_MS });
    expect(except(guild, START_MS, { isCanceled: true }).code).toBeUndefined();
    expect(except(guild, dayTwo, { isCanceled: true }).code).toBe(50_035);
    const passed = settle(guild, START_MS);
    const next = { status: 1, scheduled_start_time: wire(START_MS + 2 * DAY_MS) };
    expect(passed.dispatches).toMatchObject([{ d: next }]);
  });

  it('skips its occurrence when it cancels it', () => {
    const guild = arrange();
    create(guild, { ...OUTSIDE, rule: DAILY });
    except(guild, START_MS, { isCanceled: true });
    except(guild, dayTwo, { isCanceled: true });
    const passed = settle(guild, START_MS);
    expect(passed.dispatches).toMatchObject([{ d: { status: 1, scheduled_start_time: wire(dayTwo) } }]);
    settle(guild, dayTwo);
    expect(event(guild)).toMatchObject({ status: 1, due_ms: dayTwo + DAY_MS });
  });
});

it('a recurring event is updated in a bounded number of steps at any time, and always has a later occurrence', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 3 * DAY_MS }), { maxLength: 20 }),
      fc.boolean(),
      (waits, isOutside) => {
        const guild = arrange();
        create(guild, { ...(isOutside ? OUTSIDE : VOICE), rule: DAILY });
        let nowMs = NOW_MS;
        for (const wait of waits) {
          nowMs += wait;
          let steps = 0;
          while ((event(guild).due_ms ?? 0) <= nowMs && steps < 10) {
            settle(guild, nowMs);
            steps += 1;
          }
          expect(event(guild).due_ms).toBeGreaterThan(nowMs);
          expect(timed(event(guild), nowMs).due_ms).toBeGreaterThan(nowMs - 1);
        }
      },
    ),
    { numRuns: 200 },
  );
});

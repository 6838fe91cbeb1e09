// Goal: the routes of scheduled events take what the platform takes, at every bound, and answer in its shape.
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../../protocol/limits.ts';
import { P } from '../../../../protocol/permissions.ts';
import { openMemoryBlobs } from '../../../../storage/blob/blobs.memory.ts';
import { audit } from '../../../../transports/rest/resources/audit.ts';
import { invites } from '../../../../transports/rest/resources/invites.ts';
import { scheduledEvents } from '../../../../transports/rest/resources/scheduledevents.ts';
import {
  scheduledEventsUnlisted,
  scheduledEventUsers,
} from '../../../../transports/rest/resources/scheduledevents.users.ts';
import { buildGuild, channel, overwrite, role } from '../../../support/guild.ts';
import { dataUri, pngPixel } from '../../../support/media.ts';
import { validateResponse } from '../../../support/openapi.ts';
import { fullMember, NOW_MS } from '../../../support/people.ts';
import { codeOf, type Fakes, restGuild } from '../../../support/restguild.ts';
import { isUnlisted, objectionsToUnlisted } from '../../../support/unlistedschemas.ts';

const HOUR_MS = 3_600_000;
const iso = (ms: number) => new Date(NOW_MS + ms).toISOString();
const PNG = dataUri(pngPixel());
const BODY = {
  name: 'Picnic',
  privacy_level: 2,
  entity_type: 3,
  entity_metadata: { location: 'park' },
  scheduled_start_time: iso(HOUR_MS),
  scheduled_end_time: iso(2 * HOUR_MS),
};

/** User 10 creates events, 12 is plain. Voice 50 and hidden voice 51. */
function arrange(fakes: Fakes = {}) {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT,
    roles: [role('100', P.CREATE_EVENTS | P.VIEW_AUDIT_LOG, 1)],
    members: [fullMember('10', ['100']), fullMember('12')],
    channels: [
      channel('50', [], { type: 2 }),
      channel('51', [overwrite('1', 0, { deny: P.VIEW_CHANNEL })], { type: 2 }),
    ],
  });
  let last = 500;
  const operations = {
    ...scheduledEvents,
    ...scheduledEventUsers,
    ...scheduledEventsUnlisted,
    ...audit,
    ...invites,
  };
  const blobs = openMemoryBlobs();
  const rest = restGuild(guild, operations, { nextId: () => String(++last) as never, blobs, ...fakes });
  const valid = async (operationId: string, options: Parameters<typeof rest.invoke>[1]) => {
    const result = await rest.invoke(operationId, options);
    const { status, body } = result;
    const objections = isUnlisted(operationId)
      ? objectionsToUnlisted(operationId, status, body)
      : validateResponse(operationId, status, body);
    expect(objections).toEqual([]);
    return result;
  };
  const create = (more: object = {}, as = '10') =>
    valid('create_guild_scheduled_event', { as, body: { ...BODY, ...more } });
  return { guild, blobs, ...rest, valid, create };
}

const params = { guild_scheduled_event_id: '501' };
const errorsOf = ({ body }: { readonly body: unknown }) =>
  Object.keys((body as { errors?: object }).errors ?? {});

describe('a new event', () => {
  const { scheduled_event_description_chars_max: text, scheduled_event_location_chars_max: place } = LIMITS;
  const many = (count: number) => Array.from({ length: count }, (_, at) => at);
  const rule = { start: iso(HOUR_MS), frequency: 3 };

  it.each([
    ['a name of 100 characters', { name: 'n'.repeat(100) }, []],
    ['a longer name', { name: 'n'.repeat(101) }, ['name']],
    ['no name', { name: '' }, ['name']],
    ['a blank name', { name: ' ' }, ['name']],
    ['no name at all', { name: undefined }, ['name']],
    ['the longest description', { description: 'd'.repeat(text) }, []],
    ['a longer description', { description: 'd'.repeat(text + 1) }, ['description']],
    ['the longest place', { entity_metadata: { location: 'l'.repeat(place) } }, []],
    ['a longer place', { entity_metadata: { location: 'l'.repeat(place + 1) } }, ['entity_metadata']],
    ['no place', { entity_metadata: undefined }, ['entity_metadata']],
    ['another privacy', { privacy_level: 1 }, ['privacy_level']],
    ['no privacy', { privacy_level: undefined }, ['privacy_level']],
    ['an unknown type', { entity_type: 4 }, ['entity_type']],
    ['no type', { entity_type: undefined }, ['entity_type']],
    ['a start that is no time', { scheduled_start_time: 'soon' }, ['scheduled_start_time']],
    ['no start', { scheduled_start_time: undefined }, ['scheduled_start_time']],
    ['an end that is no time', { scheduled_end_time: 'later' }, ['scheduled_end_time']],
    ['a channel that is no id', { channel_id: 'x' }, ['channel_id']],
    ['a text as image', { image: 'data:text/plain;base64,aa' }, ['image']],
    ['bytes that are no image', { image: 'data:image/png;base64,aaaa' }, ['image']],
    ['an image', { image: PNG }, []],
    ['a rule', { recurrence_rule: rule }, []],
    ['an unknown frequency', { recurrence_rule: { ...rule, frequency: 4 } }, ['recurrence_rule']],
    ['an unknown weekday', { recurrence_rule: { ...rule, by_weekday: [7] } }, ['recurrence_rule']],
    ['too many weekdays', { recurrence_rule: { ...rule, by_weekday: many(8) } }, ['recurrence_rule']],
    ['an interval that no rule has', { recurrence_rule: { ...rule, interval: 2 } }, ['recurrence_rule']],
    ['a rule without start', { recurrence_rule: { frequency: 3 } }, ['recurrence_rule']],
  ])('is accepted or refused with %s', async (_, more, fields) => {
    const { create } = arrange();
    const made = await create(more);
    expect([made.status, errorsOf(made)]).toEqual([fields.length === 0 ? 200 : 400, fields]);
  });

  it('is returned with its creator, listed, changed and deleted', async () => {
    const { create, valid, invoke } = arrange();
    const made = await create({ recurrence_rule: rule });
    expect(made.body).toMatchObject({
      id: '501',
      creator: { id: '10' },
      recurrence_rule: { frequency: 3, interval: 1 },
    });
    expect(made.body).not.toHaveProperty('due_ms');
    const query = { with_user_count: 'true' };
    const list = await valid('list_guild_scheduled_events', { as: '12', query });
    expect(list.body).toMatchObject([{ id: '501', user_count: 0 }]);
    const one = await valid('get_guild_scheduled_event', { as: '12', params });
    expect(one.body).toEqual(made.body);
    const body = { name: 'Feast', status: 2, entity_type: null, recurrence_rule: null };
    const changed = await valid('update_guild_scheduled_event', { as: '10', params, body });
    expect(changed.body).toMatchObject({ name: 'Feast', status: 2, recurrence_rule: null });
    const wrong = await invoke('update_guild_scheduled_event', { as: '10', params, body: { status: 5 } });
    expect(errorsOf(wrong)).toEqual(['status']);
    expect(await invoke('delete_guild_scheduled_event', { as: '10', params })).toMatchObject({ status: 204 });
    expect(codeOf(await invoke('get_guild_scheduled_event', { as: '12', params }))).toBe(10070);
  });

  it('stores no image when the caller may not create it', async () => {
    const { create, invoke, blobs } = arrange();
    const hash = async (result: Awaited<ReturnType<typeof create>>) =>
      blobs.head(`guild-events/501/${(result.body as { image?: string }).image}`);
    const made = await create({ image: PNG });
    expect(await hash(made)).not.toBeNull();
    expect(codeOf(await create({ image: PNG }, '12'))).toBe(50013);
    const { image } = made.body as { image: string };
    expect(await blobs.head(`guild-events/502/${image}`)).toBeNull();
    const change = { as: '12', params, body: { image: PNG } };
    expect(codeOf(await invoke('update_guild_scheduled_event', change))).toBe(50013);
  });
});

describe('the users of an event', () => {
  const user = { ...fullMember('12').user };

  it('are listed in pages to members who see the event', async () => {
    const asked: unknown[] = [];
    const users = async (...args: unknown[]) => {
      asked.push(args);
      return [{ user, member: fullMember('12'), response: 1 }];
    };
    const { create, valid, invoke } = arrange({
      read: { scheduledEvents: { users, answerCounts: async () => new Map([['7', 3]]) } },
    });
    await create();
    const query = { with_member: 'true', limit: '2', before: '9', after: '5' };
    const found = await valid('list_guild_scheduled_event_users', { as: '12', params, query });
    expect(found.body).toMatchObject([
      {
        guild_scheduled_event_id: '501',
        user_id: '12',
        user: { id: '12' },
        member: { roles: [] },
        response: 1,
      },
    ]);
    await valid('list_guild_scheduled_event_users', { as: '12', params });
    expect(asked).toEqual([
      ['1', '501', null, { before: '9', after: '5', limit: 2, withMember: true }],
      ['1', '501', null, { limit: 100, withMember: false }],
    ]);
    for (const wrong of [{ limit: '0' }, { limit: '101' }, { before: 'x' }]) {
      const refused = await invoke('list_guild_scheduled_event_users', { as: '12', params, query: wrong });
      expect(codeOf(refused), JSON.stringify(wrong)).toBe(50035);
    }
    const ids = (count: number) => Array.from({ length: count }, (_, at) => String(at + 7));
    const count = (of: string[]) =>
      valid('count_guild_scheduled_event_users', {
        ...{ as: '12', params, query: { guild_scheduled_event_exception_ids: of } },
      });
    expect((await count(ids(2))).body).toEqual({
      guild_scheduled_event_count: 0,
      guild_scheduled_event_exception_counts: { 7: 3, 8: 0 },
    });
    expect((await count(ids(10))).status).toBe(200);
    expect(codeOf(await count(ids(11)))).toBe(50035);
  });

  it('respond for themselves; applications do not', async () => {
    const { create, valid, invoke } = arrange();
    await create();
    const own = { as: '12', params, bot: false };
    const answered = await valid('subscribe_guild_scheduled_event', { ...own, body: {} });
    expect(answered.body).toEqual({ guild_scheduled_event_id: '501', user_id: '12', response: 1 });
    expect((await valid('unsubscribe_guild_scheduled_event', own)).status).toBe(204);
    expect(codeOf(await invoke('unsubscribe_guild_scheduled_event', own))).toBe(10071);
    const bot = await invoke('subscribe_guild_scheduled_event', { ...own, bot: true, body: {} });
    expect(codeOf(bot)).toBe(20001);
    const wrong = await invoke('subscribe_guild_scheduled_event', { ...own, body: { response: 2 } });
    expect(errorsOf(wrong)).toEqual(['response']);
  });
});

it('an exception is created, changed and removed in the shape of the OpenAPI file', async () => {
  const { create, valid, invoke } = arrange();
  await create({ recurrence_rule: { start: iso(HOUR_MS), frequency: 3 } });
  const body = { original_scheduled_start_time: iso(HOUR_MS), is_canceled: true };
  const made = await valid('create_guild_scheduled_event_exception', { as: '10', params, body });
  expect(made.body).toMatchObject({ event_id: '501', is_canceled: true });
  const { event_exception_id: id } = made.body as { event_exception_id: string };
  const one = { as: '10', params: { ...params, exception_id: id } };
  const changed = await valid('update_guild_scheduled_event_exception', {
    ...one,
    body: { is_canceled: false },
  });
  expect(changed.body).toMatchObject({ is_canceled: false });
  expect((await invoke('delete_guild_scheduled_event_exception', one)).status).toBe(204);
  const missing = await invoke('create_guild_scheduled_event_exception', { as: '10', params, body: {} });
  expect(errorsOf(missing)).toEqual(['original_scheduled_start_time']);
});

it('the audit log returns existing events of its entries, each once', async () => {
  const entries = [
    { id: '3', action_type: 101, user_id: '10', target_id: '501' },
    { id: '2', action_type: 100, user_id: '10', target_id: '501' },
    { id: '1', action_type: 100, user_id: '10', target_id: '499' },
  ];
  const { create, valid } = arrange({
    read: { guilds: { auditLog: async () => entries }, users: { get: async () => [] } },
  });
  await create();
  const log = await valid('list_guild_audit_log_entries', { as: '10' });
  expect(log.body).toMatchObject({ guild_scheduled_events: [{ id: '501', creator: { id: '10' } }] });
});

it('an invite returns an event outside of channels or in its own channel, and no other', async () => {
  const { create, guild, invoke } = arrange({ read: { directory: { inviteGuild: async () => '1' } } });
  guild.info = { ...guild.info, features: [] };
  guild.invites.set('abc', {
    ...{ code: 'abc', channel_id: '50' as never, guild_id: guild.id, inviter: null, expires_at: null },
    ...{ created_at: iso(0), max_age: 0, max_uses: 0, uses: 0, temporary: false },
  });
  await create();
  const voice = { entity_type: 2, entity_metadata: null };
  await create({ ...voice, channel_id: '50' });
  await create({ ...voice, channel_id: '51' }, '2');
  const shown = async (id: string) => {
    const query = { guild_scheduled_event_id: id };
    const result = await invoke('invite_resolve', { as: null, params: { code: 'abc' }, query });
    return (result.body as { guild_scheduled_event?: { id: string } }).guild_scheduled_event?.id;
  };
  expect([await shown('501'), await shown('502'), await shown('503'), await shown('9')]).toEqual([
    '501',
    '502',
    undefined,
    undefined,
  ]);
});

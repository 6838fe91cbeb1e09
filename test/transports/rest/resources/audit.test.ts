/** Goal: the log is read by those who may, filtered as asked, with the users its entries name. */
import { expect, it, vi } from 'vitest';
import { P } from '../../../../protocol/permissions.ts';
import { audit } from '../../../../transports/rest/resources/audit.ts';
import { buildGuild, channel, role, user } from '../../../support/guild.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

/** A public thread, two private ones, and one of a hidden channel; '10' is in the second private one. */
const THREADS = [
  { id: '70', type: 11, parent_id: '50' },
  { id: '71', type: 12, parent_id: '50' },
  { id: '72', type: 12, parent_id: '50' },
  { id: '73', type: 11, parent_id: '51' },
];
const HIDDEN = { id: '1', type: 0 as const, allow: '0', deny: String(P.VIEW_CHANNEL) };

const ENTRIES = [
  { id: '900', action_type: 20, user_id: '10', target_id: '12' },
  { id: '901', action_type: 30, user_id: '10', target_id: '101' },
  { id: '902', action_type: 26, user_id: '13', target_id: null },
];

function arrange(entries: readonly object[] = ENTRIES) {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    roles: [role('100', P.VIEW_AUDIT_LOG, 1), role('102', P.VIEW_AUDIT_LOG | P.MANAGE_THREADS, 2)],
    members: [fullMember('10', ['100']), fullMember('11', ['102']), fullMember('12')],
    channels: [channel('50'), channel('51', [HIDDEN])],
  });
  const auditLog = vi.fn(async () => entries);
  const get = vi.fn(async (ids: string[]) => ids.map((id) => user(id)));
  const listed = async (_: string, readerId: string, ids: string[]) =>
    THREADS.filter(({ id }) => ids.includes(id)).map((thread) => ({
      thread,
      own: thread.id === '72' && readerId === '10' ? { user_id: readerId } : null,
    }));
  const { invoke } = restGuild(guild, audit, {
    read: { guilds: { auditLog }, users: { get }, threads: { listed } },
  });
  return { auditLog, get, read: (options: object) => invoke('list_guild_audit_log_entries', options) };
}

it('refuses members without VIEW_AUDIT_LOG', async () => {
  const { read, auditLog } = arrange();
  expect(codeOf(await read({ as: '12' }))).toBe(50013);
  expect(auditLog).not.toHaveBeenCalled();
});

it('returns fifty entries by default, and each user of the entries once', async () => {
  const { read, auditLog, get } = arrange();
  expect(await read({ as: '10' })).toMatchObject({
    status: 200,
    body: { audit_log_entries: ENTRIES, webhooks: [], threads: [], integrations: [], users: [{}, {}, {}] },
  });
  expect(auditLog).toHaveBeenCalledWith('1', { limit: 50 });
  expect(get).toHaveBeenCalledWith(['10', '12', '13']);
});

it('returns the threads of its entries that the reader may view', async () => {
  const named = THREADS.map(({ id }, at) => ({
    ...{ id: String(900 + at), action_type: 110 + (at % 2), user_id: '12', target_id: id },
  }));
  const gone = { id: '990', action_type: 112, user_id: '12', target_id: '70' };
  const { read } = arrange([...named, gone]);
  const seenBy = async (as: string) =>
    ((await read({ as })).body as { threads: { id: string }[] }).threads.map(({ id }) => id);
  expect(await seenBy('10')).toEqual(['70', '72']);
  expect(await seenBy('11')).toEqual(['70', '71', '72']);
});

it('passes every filter to the store, and refuses malformed ones', async () => {
  const { read, auditLog } = arrange();
  const query = { user_id: '10', target_id: '12', action_type: '20', before: '5', after: '4', limit: '3' };
  await read({ as: '10', query });
  expect(auditLog).toHaveBeenCalledWith('1', {
    userId: '10',
    targetId: '12',
    actionType: 20,
    before: '5',
    after: '4',
    limit: 3,
  });
  for (const wrong of [{ limit: '0' }, { limit: '101' }, { action_type: '2' }, { user_id: 'x' }])
    expect(codeOf(await read({ as: '10', query: wrong }))).toBe(50035);
});

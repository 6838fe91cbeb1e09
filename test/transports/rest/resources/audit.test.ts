/** Goal: the log is read by those who may, filtered as asked, with the users its entries name. */
import { expect, it, vi } from 'vitest';
import { P } from '../../../../protocol/permissions.ts';
import { audit } from '../../../../transports/rest/resources/audit.ts';
import { buildGuild, role, user } from '../../../support/guild.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

const ENTRIES = [
  { id: '900', action_type: 20, user_id: '10', target_id: '12' },
  { id: '901', action_type: 30, user_id: '10', target_id: '101' },
  { id: '902', action_type: 26, user_id: '13', target_id: null },
];

function arrange() {
  const guild = buildGuild({
    roles: [role('100', P.VIEW_AUDIT_LOG, 1)],
    members: [fullMember('10', ['100']), fullMember('12')],
  });
  const auditLog = vi.fn(async () => ENTRIES);
  const get = vi.fn(async (ids: string[]) => ids.map((id) => user(id)));
  const { invoke } = restGuild(guild, audit, { read: { guilds: { auditLog }, users: { get } } });
  return { auditLog, get, read: (options: object) => invoke('list_guild_audit_log_entries', options) };
}

it('is for those with the bit', async () => {
  const { read, auditLog } = arrange();
  expect(codeOf(await read({ as: '12' }))).toBe(50013);
  expect(auditLog).not.toHaveBeenCalled();
});

it('answers fifty entries by default, and everyone they name once', async () => {
  const { read, auditLog, get } = arrange();
  expect(await read({ as: '10' })).toMatchObject({
    status: 200,
    body: { audit_log_entries: ENTRIES, webhooks: [], threads: [], integrations: [], users: [{}, {}, {}] },
  });
  expect(auditLog).toHaveBeenCalledWith('1', { limit: 50 });
  expect(get).toHaveBeenCalledWith(['10', '12', '13']);
});

it('hands every filter on, and refuses those it cannot read', async () => {
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

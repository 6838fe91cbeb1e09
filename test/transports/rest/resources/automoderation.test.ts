/** Goal: the routes of auto moderation take what the platform takes, of those who may, and answer in its shape. */
import { describe, expect, it } from 'vitest';
import { P } from '../../../../protocol/permissions.ts';
import { audit } from '../../../../transports/rest/resources/audit.ts';
import { autoModeration } from '../../../../transports/rest/resources/automoderation.ts';
import { buildGuild, channel, role } from '../../../support/guild.ts';
import { validateResponse } from '../../../support/openapi.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

/** User 10 manages the guild and silences; 11 is plain. */
function arrange() {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    roles: [role('100', P.MANAGE_GUILD | P.MODERATE_MEMBERS, 1)],
    members: [fullMember('10', ['100']), fullMember('11')],
    channels: [channel('50')],
  });
  const entries: object[] = [];
  const read = { guilds: { auditLog: async () => entries }, users: { get: async () => [] } };
  return { guild, entries, ...restGuild(guild, { ...autoModeration, ...audit }, { read }) };
}

const common = { name: 'words', event_type: 1, trigger_type: 1 };
const made = (more: object) => {
  const { invoke } = arrange();
  return invoke('create_auto_moderation_rule', { as: '10', body: { ...common, ...more } });
};
const metadata = (more: object) => ({ trigger_metadata: more });
const action = (type: number, more: object = {}) => ({ actions: [{ type, metadata: more }] });
const many = <T>(count: number, each: T): T[] => Array.from({ length: count }, () => each);

describe('rules', () => {
  it('are created, listed, read, changed and deleted in the shape of the OpenAPI file', async () => {
    const { invoke } = arrange();
    const body = { ...common, ...metadata({ keyword_filter: ['cat'] }) };
    const rule = await invoke('create_auto_moderation_rule', { as: '10', body });
    expect(rule).toMatchObject({ status: 200, body: { name: 'words', enabled: false, creator_id: '10' } });
    expect(validateResponse('create_auto_moderation_rule', 200, rule.body)).toEqual([]);
    const params = { rule_id: (rule.body as { id: string }).id };
    const shown = await invoke('get_auto_moderation_rule', { as: '10', params });
    expect(shown.body).toEqual(rule.body);
    const changed = await invoke('update_auto_moderation_rule', {
      ...{ as: '10', params },
      body: { enabled: true, name: 'other' },
    });
    expect(changed.body).toEqual({ ...(rule.body as object), enabled: true, name: 'other' });
    const all = await invoke('list_auto_moderation_rules', { as: '10' });
    expect(all.body).toEqual([changed.body]);
    expect(validateResponse('list_auto_moderation_rules', 200, all.body)).toEqual([]);
    expect(await invoke('delete_auto_moderation_rule', { as: '10', params })).toMatchObject({ status: 204 });
    expect(await invoke('get_auto_moderation_rule', { as: '10', params })).toMatchObject({ status: 404 });
  });

  it.each(Object.keys(autoModeration))(
    'are refused to members who do not manage the guild: %s',
    async (operation) => {
      const { invoke } = arrange();
      const call = { as: '11', params: { rule_id: '1' }, body: common };
      expect(codeOf(await invoke(operation as never, call as never))).toBe(50013);
    },
  );

  const word = (length: number) => metadata({ keyword_filter: ['x'.repeat(length)] });
  it.each<[string, object, object]>([
    ['name', { name: 'x'.repeat(100) }, { name: 'x'.repeat(101) }],
    ['event_type', { event_type: 1 }, { event_type: 3 }],
    ['trigger_type', { trigger_type: 3 }, { trigger_type: 2 }],
    [
      'trigger_metadata.keyword_filter',
      metadata({ keyword_filter: many(1_000, 'x') }),
      metadata({ keyword_filter: many(1_001, 'x') }),
    ],
    ['trigger_metadata.keyword_filter.0', word(60), word(61)],
    ['trigger_metadata.keyword_filter.0', word(1), word(0)],
    [
      'trigger_metadata.regex_patterns',
      metadata({ regex_patterns: many(10, 'x') }),
      metadata({ regex_patterns: many(11, 'x') }),
    ],
    [
      'trigger_metadata.regex_patterns.0',
      metadata({ regex_patterns: ['x'.repeat(260)] }),
      metadata({ regex_patterns: ['x'.repeat(261)] }),
    ],
    [
      'trigger_metadata.allow_list',
      metadata({ allow_list: many(100, 'x') }),
      metadata({ allow_list: many(101, 'x') }),
    ],
    [
      'trigger_metadata.allow_list.0',
      metadata({ allow_list: ['x'.repeat(60)] }),
      metadata({ allow_list: ['x'.repeat(61)] }),
    ],
    [
      'trigger_metadata.presets.0',
      { trigger_type: 4, ...metadata({ presets: [1, 2, 3] }) },
      { trigger_type: 4, ...metadata({ presets: [4] }) },
    ],
    [
      'trigger_metadata.mention_total_limit',
      { trigger_type: 5, ...metadata({ mention_total_limit: 50 }) },
      { trigger_type: 5, ...metadata({ mention_total_limit: 51 }) },
    ],
    [
      'trigger_metadata.mention_total_limit',
      { trigger_type: 5, ...metadata({ mention_total_limit: 0 }) },
      { trigger_type: 5, ...metadata({ mention_total_limit: -1 }) },
    ],
    ['actions', { actions: many(5, { type: 1 }) }, { actions: many(6, { type: 1 }) }],
    ['actions', { actions: [{ type: 1 }] }, { actions: [] }],
    ['actions.0.type', { actions: [{ type: 1 }] }, { actions: [{ type: 5 }] }],
    [
      'actions.0.metadata.custom_message',
      action(1, { custom_message: 'x'.repeat(150) }),
      action(1, { custom_message: 'x'.repeat(151) }),
    ],
    ['actions.0.metadata.channel_id', action(2, { channel_id: '50' }), action(2, { channel_id: '51' })],
    [
      'actions.0.metadata.duration_seconds',
      action(3, { duration_seconds: 2_419_200 }),
      action(3, { duration_seconds: 2_419_201 }),
    ],
    ['exempt_roles', { exempt_roles: many(20, '1') }, { exempt_roles: many(21, '1') }],
    ['exempt_channels', { exempt_channels: many(50, '1') }, { exempt_channels: many(51, '1') }],
  ])('have a bound at %s', async (path, good, bad) => {
    expect((await made(good)).status, 'at the bound').toBe(200);
    const refused = await made(bad);
    expect([refused.status, codeOf(refused)]).toEqual([400, 50035]);
    const { errors } = refused.body as { errors: object };
    const leaf = path
      .split('.')
      .reduce<unknown>((tree, key) => (tree as Record<string, unknown>)?.[key], errors);
    expect(leaf).toHaveProperty('_errors');
  });

  it('are returned with the audit log entries that refer to them', async () => {
    const { invoke, facts, entries } = arrange();
    const { body: rule } = await invoke('create_auto_moderation_rule', { as: '10', body: common });
    for (const fact of facts) if (fact.type === 'auditLogged') entries.push(fact.entry);
    const log = await invoke('list_guild_audit_log_entries', { as: '2' });
    expect(log).toMatchObject({ status: 200, body: { auto_moderation_rules: [rule] } });
    expect(validateResponse('list_guild_audit_log_entries', 200, log.body)).toEqual([]);
  });
});

// Goal: a member who breaks several rules at once is timed out for the longest of their durations.
import { expect, test } from 'vitest';
import type { Rule, RuleDraft } from '../../../engine/automod/rule.ts';
import { snowflakeOf } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, OWNER_ID, role } from '../../support/guild.ts';
import { creation } from '../../support/messages.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const [ANN, MANAGER, MOD] = ['11', '12', '13'];

function arrange() {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    roles: [role('60', P.MANAGE_GUILD, 1), role('61', P.MANAGE_GUILD | P.MODERATE_MEMBERS, 2)],
    members: [fullMember(ANN), fullMember(MANAGER, ['60']), fullMember(MOD, ['61'])],
    channels: [channel('50')],
  });
  guild.info = { ...guild.info, features: [] };
  return guild;
}

test.each([[[600, 60]], [[60, 600]]])(
  'rules of %j seconds time out for the longest duration, 600 seconds',
  (durations) => {
    const guild = arrange();
    durations.forEach((duration_seconds, index) => {
      const draft = {
        ...{ name: `rule ${index}`, event_type: 1, trigger_type: 1, enabled: true },
        trigger_metadata: { keyword_filter: ['nitro'] },
        actions: [{ type: 1 }, { type: 3, metadata: { duration_seconds } }],
      } as RuleDraft;
      const { outcome } = ruled<Rule>(guild, 'createAutoModerationRule', { draft }, OWNER_ID);
      if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
      // Ids of tests restart with each command.
      guild.autoModeration.delete(outcome.value.id);
      guild.autoModeration.set({ ...outcome.value, id: snowflakeOf(BigInt(800_000 + index)) });
    });
    ruled(guild, 'createMessage', creation({ content: 'nitro' }), ANN);
    const until = guild.members.get(ANN as never)?.communication_disabled_until;
    expect(Date.parse(until ?? '')).toBe(NOW_MS + 600_000);
  },
);

test('a disabled rule blocks nothing', () => {
  const guild = arrange();
  const draft = {
    name: 'words',
    event_type: 1,
    trigger_type: 1,
    trigger_metadata: { keyword_filter: ['nitro'] },
  };
  const { outcome } = ruled<Rule>(guild, 'createAutoModerationRule', { draft: draft as RuleDraft }, OWNER_ID);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  const said = [false, true].map((enabled) => {
    guild.autoModeration.set({ ...outcome.value, enabled });
    return ruled(guild, 'createMessage', creation({ content: 'nitro' }), ANN).outcome.ok;
  });
  expect(said).toEqual([true, false]);
});

const SILENCING: RuleDraft = { actions: [{ type: 3, metadata: { duration_seconds: 60 } }] };

test('creating a rule with the action TIMEOUT requires MODERATE_MEMBERS', () => {
  const guild = arrange();
  const draft = { name: 'words', event_type: 1, trigger_type: 1, ...SILENCING };
  expect(ruled(guild, 'createAutoModerationRule', { draft }, MANAGER).code).toBe(50013);
  expect(ruled(guild, 'createAutoModerationRule', { draft }, MOD).code).toBeUndefined();
});

test('changing a rule that has or gets the action TIMEOUT requires MODERATE_MEMBERS', () => {
  const guild = arrange();
  const draft = { name: 'words', event_type: 1, trigger_type: 1, ...SILENCING };
  const { outcome } = ruled<Rule>(guild, 'createAutoModerationRule', { draft }, MOD);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  const change = (changed: RuleDraft, by: string) =>
    ruled(guild, 'updateAutoModerationRule', { ruleId: outcome.value.id, draft: changed }, by).code;
  const changes: readonly RuleDraft[] = [
    { enabled: true },
    { name: 'other' },
    { trigger_metadata: { keyword_filter: ['the*'] } },
    { exempt_roles: ['60' as never] },
    { actions: [{ type: 1 }] },
  ];
  for (const each of changes) expect(change(each, MANAGER)).toBe(50013);
  for (const each of changes) expect(change(each, MOD)).toBeUndefined();
  // It silences no more, until someone who may silence changes that.
  expect(change({ enabled: false }, MANAGER)).toBeUndefined();
  expect(change(SILENCING, MANAGER)).toBe(50013);
});

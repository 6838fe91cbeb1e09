// Goal: whoever breaks several rules at once is silenced for the longest of their times.
import { expect, test } from 'vitest';
import type { Rule, RuleDraft } from '../../../engine/automod/rule.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, OWNER_ID } from '../../support/guild.ts';
import { creation } from '../../support/messages.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const ANN = '11';

function arrange() {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    members: [fullMember(ANN)],
    channels: [channel('50')],
  });
  guild.info = { ...guild.info, features: [] };
  return guild;
}

test.each([[[600, 60]], [[60, 600]]])('rules of %j seconds silence for 600', (durations) => {
  const guild = arrange();
  durations.forEach((duration_seconds, index) => {
    const draft = {
      ...{ name: `rule ${index}`, event_type: 1, trigger_type: 1, enabled: true },
      trigger_metadata: { keyword_filter: ['nitro'] },
      actions: [{ type: 1 }, { type: 3, metadata: { duration_seconds } }],
    } as RuleDraft;
    const { outcome } = ruled<Rule>(guild, 'createAutoModerationRule', { draft }, OWNER_ID);
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
    // Ids of tests begin anew with each command.
    guild.autoModeration.delete(outcome.value.id);
    guild.autoModeration.set({ ...outcome.value, id: String(800_000 + index) });
  });
  ruled(guild, 'createMessage', creation({ content: 'nitro' }), ANN);
  const until = guild.members.get(ANN as never)?.communication_disabled_until;
  expect(Date.parse(until ?? '')).toBe(NOW_MS + 600_000);
});

test('a rule that is off stops nothing', () => {
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

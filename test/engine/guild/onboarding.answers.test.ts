// Goal: what a member chooses in the onboarding is remembered, gives and takes the roles of its options and nothing else.
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { members } from '../../../engine/guild/members.ts';
import { onboardingAnswers } from '../../../engine/guild/onboarding.answers.ts';
import { onboarding } from '../../../engine/guild/onboarding.ts';
import { pages } from '../../../engine/guild/pages.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role } from '../../support/guild.ts';
import { caller, fullMember, runner } from '../../support/people.ts';

const run = runner(onboarding, onboardingAnswers, members, pages);
const [STARTED, COMPLETED] = [8, 2];

/** 11 is a new member with the role 104 of a moderator; the options A, B and C give the roles 101, 102 and 103. */
function arrange(more: object = {}): { guild: Guild; option: (title: string) => string } {
  const roles = ['101', '102', '103', '104'].map((id, at) => role(id, 0n, at + 1));
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    roles: [role('100', P.MANAGE_GUILD | P.MANAGE_ROLES, 9), ...roles],
    members: [fullMember('10', ['100']), fullMember('11', ['104'])],
    channels: Array.from({ length: 8 }, (_, at) => channel(String(30 + at))),
  });
  const option = (title: string, ...role_ids: string[]) => ({ title, role_ids });
  const draft = {
    enabled: true,
    default_channel_ids: Array.from({ length: 8 }, (_, at) => String(30 + at)),
    prompts: [
      {
        ...{ id: '1', title: 'Team', required: true, single_select: true, in_onboarding: true },
        options: [option('A', '101'), option('B', '102')],
      },
      { id: '2', title: 'Games', in_onboarding: true, options: [option('C', '103', '102'), option('D')] },
    ],
    ...more,
  };
  expect(run(guild, 'putOnboarding', { draft }, caller('10')).code).toBeUndefined();
  const options = guild.pages.onboarding?.prompts.flatMap((prompt) => prompt.options) ?? [];
  return { guild, option: (title) => options.find((each) => each.title === title)?.id ?? title };
}

const choose = (guild: Guild, chosen: readonly string[], isLast = false, more: object = {}) =>
  run(guild, 'answerOnboarding', { draft: { onboarding_responses: chosen, ...more }, isLast }, caller('11'));
const me = (guild: Guild) => {
  const { roles, flags } = guild.members.get('11' as UserId) ?? { roles: [], flags: 0 };
  return { roles: [...roles].sort(), flags };
};

describe('a member in the onboarding', () => {
  it('receives the roles of the chosen options, has completed the onboarding, and reads the answers again', () => {
    const { guild, option } = arrange();
    const chosen = [option('A'), option('C'), option('C')];
    const seen = { onboarding_prompts_seen: { [guild.pages.onboarding?.prompts[0]?.id ?? '']: 5, 77: 6 } };
    const done = choose(guild, chosen, true, seen);
    expect(done.types).toEqual(['onboardingAnswered', 'memberUpdated']);
    expect(done.outcome).toMatchObject({
      value: { user_id: '11', onboarding_responses: chosen.slice(0, 2) },
    });
    expect(me(guild)).toEqual({ roles: ['101', '102', '103', '104'], flags: STARTED | COMPLETED });
    expect(run(guild, 'getOnboarding', {}, caller('11')).outcome).toMatchObject({
      value: {
        responses: chosen.slice(0, 2),
        onboarding_prompts_seen: { [guild.pages.onboarding!.prompts[0]!.id]: 5 },
      },
    });
    expect(choose(guild, chosen, true, seen).types).toEqual([]);
  });

  it('loses the roles of options that are no longer chosen, and keeps those of others and of moderators', () => {
    const { guild, option } = arrange();
    choose(guild, [option('A'), option('C')], true);
    choose(guild, [option('B')]);
    expect(me(guild)).toEqual({ roles: ['102', '104'], flags: STARTED | COMPLETED });
    choose(guild, []);
    expect(me(guild).roles).toEqual(['104']);
  });

  it('does not complete the onboarding by changing answers', () => {
    const { guild, option } = arrange();
    choose(guild, [option('A')]);
    expect(me(guild).flags).toBe(STARTED);
  });

  it('must answer required prompts, with one option for single choice, and only known options', () => {
    const { guild, option } = arrange();
    for (const chosen of [[], [option('C')], [option('A'), option('B')], [option('A'), '99']])
      expect([chosen, choose(guild, chosen, true).code]).toEqual([chosen, 50_035]);
    expect(choose(guild, [option('A'), option('B')]).code).toBe(50_035);
    expect(me(guild)).toEqual({ roles: ['104'], flags: 0 });
  });

  it('may answer only while the onboarding is enabled, and after passing the screening', () => {
    const off = arrange({ enabled: false });
    expect(choose(off.guild, [off.option('A')]).code).toBe(50_013);
    const { guild, option } = arrange();
    const pending = { ...guild.members.get('11' as UserId)!, pending: true };
    guild.members.set('11' as UserId, pending);
    for (const isLast of [true, false]) expect(choose(guild, [option('A')], isLast).code).toBe(50_013);
  });

  it('does not receive deleted options, nor roles that an application manages', () => {
    const { guild, option } = arrange();
    choose(guild, [option('A'), option('C')], true);
    const [team] = guild.pages.onboarding!.prompts;
    run(guild, 'putOnboarding', { draft: { prompts: [team] } }, caller('10'));
    expect(run(guild, 'getOnboarding', {}, caller('11')).outcome).toMatchObject({
      value: { responses: [option('A')] },
    });
    guild.roles.set('102' as never, { ...guild.roles.get('102' as never)!, managed: true });
    choose(guild, [option('B')]);
    expect(me(guild).roles).not.toContain('101');
  });

  it('has answered nothing after leaving and joining again', () => {
    const { guild, option } = arrange();
    choose(guild, [option('A')], true);
    members.facts.memberRemoved.apply(guild, {
      type: 'memberRemoved',
      user: guild.members.get('11' as UserId)!.user,
    });
    expect(run(guild, 'getOnboarding', {}, caller('11')).outcome).toMatchObject({ value: { responses: [] } });
  });
});

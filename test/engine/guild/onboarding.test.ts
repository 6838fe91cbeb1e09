// Goal: an onboarding keeps its prompts' ids, gives away no role that its author could not, and leads to enough channels.
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { onboarding } from '../../../engine/guild/onboarding.ts';
import { pages } from '../../../engine/guild/pages.ts';
import { roles } from '../../../engine/guild/roles.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite, role } from '../../support/guild.ts';
import { caller, fullMember, runner } from '../../support/people.ts';

const run = runner(onboarding, pages, roles);

/** 30 to 37 are open to all; 38 is readable and 39 hidden. Role 100 is the author's, 101 above and 102 below it. */
function arrange(): Guild {
  return buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    roles: [role('100', P.MANAGE_GUILD | P.MANAGE_ROLES, 5), role('101', 0n, 9), role('102', 0n, 1)],
    members: [fullMember('10', ['100'])],
    channels: [
      ...Array.from({ length: 8 }, (_, at) => channel(String(30 + at))),
      channel('38', [overwrite('1', 0, { deny: P.SEND_MESSAGES })]),
      channel('39', [overwrite('1', 0, { deny: P.VIEW_CHANNEL })]),
    ],
  });
}
const put = (guild: Guild, draft: object) => run(guild, 'putOnboarding', { draft }, caller('10'));
const option = (title: string, more: object = {}) => ({ title, ...more });
const prompt = (id: string, options: object[], more: object = {}) => ({
  id,
  title: `Q${id}`,
  options,
  ...more,
});
const ids = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => String(from + at));
const entries = (facts: readonly { type: string }[]) =>
  facts.flatMap((fact) => ('entry' in fact ? [(fact.entry as { action_type: number }).action_type] : []));

describe('an onboarding', () => {
  it('is empty and disabled by default', () => {
    expect(run(arrange(), 'getOnboarding', {}, caller('10')).outcome).toMatchObject({
      value: { guild_id: '1', prompts: [], default_channel_ids: [], enabled: false, mode: 0 },
    });
  });

  it('marks roles of its options with IN_PROMPT, while an option has them', () => {
    const guild = arrange();
    const flagged = () => [...guild.roles.values()].flatMap(({ id, flags }) => (flags === 1 ? [id] : []));
    const made = put(guild, { prompts: [prompt('5', [option('A', { role_ids: ['102'] })])] });
    expect(flagged()).toEqual(['102']);
    expect(made.dispatches).toMatchObject([{ t: 'GUILD_ROLE_UPDATE', d: { role: { id: '102', flags: 1 } } }]);
    put(guild, { mode: 1 });
    expect(flagged()).toEqual(['102']);
    put(guild, { prompts: [prompt('6', [option('B')])] });
    expect(flagged()).toEqual([]);
  });

  it('gives new ids to new prompts and options, keeps those that exist, and logs each change', () => {
    const guild = arrange();
    const made = put(guild, {
      prompts: [
        prompt('5', [option('A', { role_ids: ['102', '102'], channel_ids: ['30'], emoji_name: '🎲' })]),
        prompt('5', [option('B')]),
      ],
    });
    expect(entries(made.facts)).toEqual([166, 163, 163]);
    const [first, second] = guild.pages.onboarding?.prompts ?? [];
    expect(first?.id).not.toBe('5');
    expect(first?.id).not.toBe(second?.id);
    expect(first?.options[0]).toMatchObject({
      ...{ role_ids: ['102'], channel_ids: ['30'], description: '' },
      emoji: { id: null, name: '🎲', animated: false },
    });
    const kept = { ...first, title: 'Renamed', options: first?.options.map(({ id }) => option('A', { id })) };
    const changed = put(guild, { prompts: [kept], mode: 1 });
    expect(entries(changed.facts)).toEqual([167, 164, 165]);
    expect(guild.pages.onboarding?.prompts[0]).toMatchObject({
      ...{ id: first?.id, title: 'Renamed', options: [{ id: first?.options[0]?.id, role_ids: [] }] },
    });
    expect(put(guild, {}).types).toEqual([]);
  });

  it('refuses roles at or above the author, unknown roles, channels and emoji', () => {
    const refused = (more: object) => put(arrange(), { prompts: [prompt('5', [option('A', more)])] }).code;
    expect(refused({ role_ids: ['101'] })).toBe(50013);
    expect(refused({ role_ids: ['999'] })).toBe(10011);
    expect(refused({ channel_ids: ['999'] })).toBe(10003);
    expect(refused({ emoji_name: 'none' })).toBe(10014);
    expect(put(arrange(), { default_channel_ids: ['999'] }).code).toBe(10003);
  });

  it('keeps an existing role above the author', () => {
    const guild = arrange();
    const draft = { prompts: [prompt('5', [option('A', { role_ids: ['101'] })])] };
    run(guild, 'putOnboarding', { draft }, caller('2'));
    const [made] = guild.pages.onboarding?.prompts ?? [];
    expect(put(guild, { prompts: [{ ...made, title: 'Renamed' }] }).code).toBeUndefined();
  });

  it.each([
    ['7 channels of which 5 are writable', { default_channel_ids: ids(30, 36) }, undefined],
    ['6 channels', { default_channel_ids: ids(30, 35) }, 350000],
    ['a hidden channel among 7', { default_channel_ids: [...ids(30, 35), '39'] }, 350000],
    ['a readable channel among 7', { default_channel_ids: [...ids(30, 35), '38'] }, undefined],
  ])('is enabled or refused with %s', (_name, draft, code) => {
    expect(put(arrange(), { ...draft, enabled: true }).code).toBe(code);
  });

  it('counts the channels of questions in the advanced mode only', () => {
    const draft = {
      default_channel_ids: ids(30, 33),
      prompts: [prompt('5', [option('A', { channel_ids: ids(33, 36) })], { in_onboarding: true })],
      enabled: true,
    };
    expect(put(arrange(), { ...draft, mode: 0 }).code).toBe(350000);
    const guild = arrange();
    expect(put(guild, { ...draft, mode: 1 }).code).toBeUndefined();
    expect(put(guild, { default_channel_ids: [] }).code).toBe(350001);
    expect(put(guild, { default_channel_ids: [], enabled: false }).code).toBeUndefined();
  });

  it('omits deleted roles and channels', () => {
    const guild = arrange();
    put(guild, {
      default_channel_ids: ['30', '31'],
      prompts: [prompt('5', [option('A', { role_ids: ['102'], channel_ids: ['30'] })])],
    });
    guild.channels.delete('30' as never);
    guild.roles.delete('102' as never);
    expect(run(guild, 'getOnboarding', {}, caller('10')).outcome).toMatchObject({
      value: { default_channel_ids: ['31'], prompts: [{ options: [{ role_ids: [], channel_ids: [] }] }] },
    });
  });
});

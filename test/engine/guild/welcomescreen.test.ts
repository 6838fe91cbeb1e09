// Goal: a welcome screen is shown once it is on, names live channels only, and every change of it is logged.
import { describe, expect, it } from 'vitest';
import { info } from '../../../engine/guild/info.ts';
import { pages } from '../../../engine/guild/pages.ts';
import { welcomeScreen } from '../../../engine/guild/welcomescreen.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role } from '../../support/guild.ts';
import { caller, fullMember, runner } from '../../support/people.ts';

const run = runner(welcomeScreen, pages, info);

/** 10 manages the guild, 12 does not; 30 to 32 are channels, 33 is a category. */
function arrange() {
  const guild = buildGuild({
    roles: [role('100', P.MANAGE_GUILD, 5)],
    members: [fullMember('10', ['100']), fullMember('12')],
    channels: [channel('30'), channel('31', [], { type: 15 }), channel('32'), channel('33', [], { type: 4 })],
  });
  guild.info = { ...guild.info, features: ['NEWS'] };
  return guild;
}
const update = (guild: ReturnType<typeof arrange>, draft: object) =>
  run(guild, 'updateWelcomeScreen', { draft }, caller('10'));
const get = (guild: ReturnType<typeof arrange>, as: string) => run(guild, 'getWelcomeScreen', {}, caller(as));
const welcome = (channel_id: string, more: object = {}) => ({ channel_id, description: 'look', ...more });

describe('a welcome screen', () => {
  it('is unknown to its managers before its creation, and forbidden to others', () => {
    expect(get(arrange(), '10').code).toBe(10069);
    expect(get(arrange(), '12').code).toBe(50013);
  });

  it('is readable by all members when it is enabled', () => {
    const guild = arrange();
    const made = update(guild, {
      description: 'Hello',
      welcome_channels: [welcome('30', { emoji_name: '👋' }), welcome('31')],
    });
    const screen = {
      description: 'Hello',
      welcome_channels: [
        { channel_id: '30', description: 'look', emoji_id: null, emoji_name: '👋' },
        { channel_id: '31', description: 'look', emoji_id: null, emoji_name: null },
      ],
    };
    expect(made.outcome).toMatchObject({ value: screen });
    expect(made.types).toEqual(['pageWritten', 'auditLogged']);
    expect(get(guild, '12').code).toBe(50013);
    const on = update(guild, { enabled: true });
    expect(on.types).toEqual(['guildUpdated', 'auditLogged']);
    expect(on.dispatches[0]).toMatchObject({
      t: 'GUILD_UPDATE',
      d: { features: ['NEWS', 'WELCOME_SCREEN_ENABLED'] },
    });
    expect(on.facts[1]).toMatchObject({ entry: { action_type: 1, changes: [{ key: 'features' }] } });
    expect(get(guild, '12').outcome).toMatchObject({ value: screen });
    expect(update(guild, { enabled: false }).types).toEqual(['guildUpdated', 'auditLogged']);
    expect(guild.info.features).toEqual(['NEWS']);
  });

  it('loses deleted channels, keeps absent fields, and is not written twice', () => {
    const guild = arrange();
    update(guild, { description: 'Hello', welcome_channels: [welcome('30'), welcome('32')] });
    guild.channels.delete('30' as never);
    expect(get(guild, '10').outcome).toMatchObject({ value: { welcome_channels: [{ channel_id: '32' }] } });
    update(guild, { description: null });
    expect(guild.pages.welcome_screen).toMatchObject({
      description: null,
      welcome_channels: [{ channel_id: '32' }],
    });
    expect(update(guild, { description: '', welcome_channels: null, enabled: null }).types).toEqual([]);
  });

  it('refuses unknown channels, categories, repetitions and unknown emoji', () => {
    const refused = (...welcome_channels: object[]) => update(arrange(), { welcome_channels });
    for (const channels of [[welcome('99')], [welcome('33')], [welcome('30'), welcome('30')]])
      expect(refused(...channels).outcome).toMatchObject({
        refusal: { code: 50035, errors: { welcome_channels: { [channels.length - 1]: { channel_id: {} } } } },
      });
    expect(refused(welcome('30', { emoji_name: 'no emoji' })).code).toBe(10014);
  });
});

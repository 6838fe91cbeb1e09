// Goal: a widget shows strangers what everyone may see and no more, and offers one invite at a time.
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { info } from '../../../engine/guild/info.ts';
import { invites } from '../../../engine/guild/invites.ts';
import { pages } from '../../../engine/guild/pages.ts';
import { widget } from '../../../engine/guild/widget.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite } from '../../support/guild.ts';
import { caller, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(widget, info, invites, pages);
const VOICE = { type: 2 };

/** 30 is text; 40 is voice for all, 41 is hidden, 42 is closed to most; 120 people, whose ids begin at 1000. */
function arrange(): Guild {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT,
    channels: [
      channel('30'),
      channel('40', [], { ...VOICE, position: 3 }),
      channel('41', [overwrite('1', 0, { deny: P.VIEW_CHANNEL })], VOICE),
      channel('42', [overwrite('1', 0, { deny: P.CONNECT })], VOICE),
      channel('43', [], { type: 13, position: 1 }),
      channel('50', [], { type: 4 }),
    ],
    members: Array.from({ length: 120 }, (_, at) =>
      fullMember(String(1000 + at), [], { nick: `nick ${at}` }),
    ),
  });
  guild.info = { ...guild.info, name: 'Hall', features: [], widget_enabled: false, widget_channel_id: null };
  return guild;
}
const set = (guild: Guild, draft: object, code = 'code1') =>
  run(guild, 'updateWidgetSettings', { draft, code }, caller('2'));
const shown = (guild: Guild) =>
  run<Record<string, unknown>>(guild, 'getWidget', {}, caller('0', { system: true }));

describe('a widget', () => {
  it('is refused while it is disabled', () => {
    expect(shown(arrange()).code).toBe(50004);
  });

  it('is enabled with an invite of its own, which is deleted when the channel changes or the widget is disabled', () => {
    const guild = arrange();
    const on = set(guild, { enabled: true, channel_id: '30' });
    expect(on.types).toEqual(['guildUpdated', 'inviteCreated', 'pageWritten', 'auditLogged']);
    expect(on.facts[3]).toMatchObject({
      entry: {
        action_type: 1,
        changes: [{ key: 'widget_enabled' }, { key: 'widget_channel_id', new_value: '30' }],
      },
    });
    expect(on.dispatches.map(({ t }) => t)).toEqual(['GUILD_UPDATE', 'INVITE_CREATE']);
    expect(shown(guild).outcome).toMatchObject({ value: { inviteCode: 'code1', name: 'Hall' } });
    expect(set(guild, { enabled: true }).types).toEqual([]);
    const moved = set(guild, { channel_id: '40' }, 'code2');
    expect(moved.types).toEqual([
      'guildUpdated',
      'inviteDeleted',
      'inviteCreated',
      'pageWritten',
      'auditLogged',
    ]);
    expect(shown(guild).outcome).toMatchObject({ value: { inviteCode: 'code2' } });
    const off = set(guild, { enabled: false }, 'code3');
    expect(off.types).toEqual(['guildUpdated', 'inviteDeleted', 'pageWritten', 'auditLogged']);
    expect(guild.pages.widget).toBeUndefined();
    expect(run(guild, 'getWidgetSettings', {}, caller('2')).outcome).toMatchObject({
      value: { enabled: false, channel_id: '40' },
    });
  });

  it('has no invite while invites are paused or its channel does not exist', () => {
    const guild = arrange();
    set(guild, { enabled: true, channel_id: '30' });
    guild.info = { ...guild.info, features: ['INVITES_DISABLED'] };
    expect(shown(guild).outcome).toMatchObject({ value: { inviteCode: null } });
    guild.info = { ...guild.info, features: [] };
    const until = new Date(NOW_MS + 1000).toISOString();
    guild.pages = { ...guild.pages, incidents: { invites_disabled_until: until, dms_disabled_until: null } };
    expect(shown(guild).outcome).toMatchObject({ value: { inviteCode: null } });
    guild.pages = { widget: { invite_code: 'code1' } };
    guild.channels.delete('30' as ChannelId);
    expect(shown(guild).outcome).toMatchObject({ value: { inviteCode: null } });
  });

  it('refuses channels that are unknown or cannot be invited to', () => {
    expect(set(arrange(), { channel_id: '99' }).code).toBe(10003);
    expect(set(arrange(), { channel_id: '50' }).code).toBe(50024);
  });

  it('shows open voice channels and at most 100 members without their ids', () => {
    const guild = arrange();
    set(guild, { enabled: true });
    for (let at = 0; at < 110; at += 1) {
      const presence = { status: 'idle', activities: at === 0 ? [{ name: 'a game' }] : [] };
      guild.presences.set(String(1000 + at) as UserId, presence as never);
    }
    const inVoice = (channel_id: string) => ({ channel_id, deaf: false, mute: true, self_deaf: false });
    guild.voiceStates.set('1000' as UserId, inVoice('40') as never);
    guild.voiceStates.set('1001' as UserId, inVoice('41') as never);
    const { outcome } = shown(guild);
    const value = outcome.ok ? outcome.value : {};
    expect(value).toMatchObject({
      channels: [
        { id: '43', name: 'channel 43', position: 1 },
        { id: '40', name: 'channel 40', position: 3 },
      ],
      presence_count: 110,
    });
    const members = value.members as Record<string, unknown>[];
    expect(members).toHaveLength(100);
    expect(members[0]).toMatchObject({
      ...{ id: '0', username: 'nick 0', discriminator: '0000', avatar: null, status: 'idle' },
      ...{ activity: { name: 'a game' }, channel_id: '40', mute: true },
    });
    expect(members[1]).not.toHaveProperty('channel_id');
    expect(JSON.stringify(value)).not.toContain('"1000"');
  });
});

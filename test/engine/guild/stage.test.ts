/** Goal: a stage channel has one instance at most, from when a moderator opens it until one, or the channel, ends it. */
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { guildCreatePayload } from '../../../engine/guild/payloads.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const HIDDEN = [overwrite('1', 0, { deny: P.VIEW_CHANNEL })];

/** Voice channel 50, stage 53. User 2 owns the guild, 11 is plain. */
function arrange(): Guild {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT,
    members: [fullMember('11')],
    channels: [channel('50', [], { type: 2 }), channel('53', [], { type: 13 })],
  });
  guild.info = { ...guild.info, features: [] };
  return guild;
}

describe('a stage instance', () => {
  const open = (guild: Guild, more: object = {}, userId = '2') =>
    ruled(
      guild,
      'createStageInstance',
      { channelId: '53', topic: 'Tales', privacyLevel: 2, scheduledEventId: null, notify: false, ...more },
      userId,
    );

  it('exists once per stage channel, is dispatched to members who see the channel, and is logged', () => {
    const guild = arrange();
    const { outcome, dispatches } = open(guild);
    const stage = {
      id: '900001',
      guild_id: '1',
      channel_id: '53',
      topic: 'Tales',
      privacy_level: 2,
      discoverable_disabled: true,
      guild_scheduled_event_id: null,
    };
    expect(outcome).toMatchObject({ ok: true, value: stage });
    expect(dispatches).toMatchObject([
      { t: 'STAGE_INSTANCE_CREATE', d: stage, to: { kind: 'channel', channelId: '53' } },
      {
        d: {
          action_type: 83,
          target_id: '900001',
          options: { channel_id: '53' },
          changes: [
            { key: 'topic', new_value: 'Tales' },
            { key: 'privacy_level', new_value: 2 },
          ],
        },
      },
    ]);
    expect(open(guild).code).toBe(150006);
  });

  it('requires a stage channel and a known event, and notifies only with permission', () => {
    const guild = arrange();
    expect(open(guild, { channelId: '50' }).code).toBe(50024);
    expect(open(guild, { channelId: '99' }).code).toBe(10003);
    expect(open(guild, { scheduledEventId: '5' }).code).toBe(10070);
    expect(open(guild, { notify: true }, '11').code).toBe(50013);
    expect(open(guild, { notify: true }).code).toBeUndefined();
  });

  it('updates changed fields, and dispatches nothing when nothing changes', () => {
    const guild = arrange();
    const update = (change: object) =>
      ruled(guild, 'updateStageInstance', { channelId: '53', ...change }, '2');
    expect(update({ topic: 'x' }).code).toBe(10067);
    open(guild);
    expect(update({ topic: 'Songs' }).dispatches).toMatchObject([
      { t: 'STAGE_INSTANCE_UPDATE', d: { topic: 'Songs', privacy_level: 2 } },
      {
        d: { action_type: 84, changes: [{ key: 'topic', old_value: 'Tales', new_value: 'Songs' }] },
      },
    ]);
    expect(update({ topic: 'Songs', privacyLevel: 2 }).types).toEqual([]);
    expect(update({}).outcome).toMatchObject({ value: { topic: 'Songs' } });
  });

  it('keeps its privacy when only its topic changes', () => {
    const guild = arrange();
    open(guild, { privacyLevel: 1 });
    const { outcome } = ruled(guild, 'updateStageInstance', { channelId: '53', topic: 'Songs' }, '2');
    expect(outcome).toMatchObject({ value: { topic: 'Songs', privacy_level: 1 } });
  });

  it('ends once, and with its channel', () => {
    const guild = arrange();
    open(guild);
    const end = () => ruled(guild, 'deleteStageInstance', { channelId: '53' }, '2');
    expect(end().dispatches).toMatchObject([
      { t: 'STAGE_INSTANCE_DELETE', d: { topic: 'Tales' } },
      { d: { action_type: 85 } },
    ]);
    expect(end().code).toBe(10067);
    open(guild);
    const { types } = ruled(guild, 'deleteChannel', { channelId: '53' }, '2');
    expect(types).toEqual(['stageInstanceDeleted', 'channelDeleted', 'auditLogged']);
    expect(guild.stageInstances.size).toBe(0);
  });

  it('is in GUILD_CREATE for those who see its channel', () => {
    const guild = arrange();
    open(guild);
    const seen = (userId: string) =>
      guildCreatePayload(guild, userId as UserId, 50, 1, NOW_MS).stage_instances;
    expect(seen('11')).toMatchObject([{ channel_id: '53', topic: 'Tales' }]);
    guild.channels.set('53' as ChannelId, channel('53', HIDDEN, { type: 13 }));
    expect(seen('11')).toEqual([]);
    expect(seen('2')).toHaveLength(1);
  });
});

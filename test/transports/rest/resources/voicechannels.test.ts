/** Goal: the routes of stages, sounds and voice statuses take what the platform takes, of those who may, and answer in its shape. */
import { describe, expect, it } from 'vitest';
import type { UserId } from '../../../../protocol/ids.ts';
import { P } from '../../../../protocol/permissions.ts';
import { soundboard } from '../../../../transports/rest/resources/soundboard.ts';
import { stageInstances } from '../../../../transports/rest/resources/stageinstances.ts';
import { voiceChannels } from '../../../../transports/rest/resources/voicechannels.ts';
import { buildGuild, channel, overwrite, role } from '../../../support/guild.ts';
import { validateResponse } from '../../../support/openapi.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

const MODERATOR = P.MANAGE_CHANNELS | P.MUTE_MEMBERS | P.MOVE_MEMBERS;

/** Voice 50, stage 53, and stage 54 that only the owner sees. User 10 moderates stages, 11 only some of it; 12 is in 50. */
function arrange() {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT | P.SPEAK,
    roles: [
      role('100', MODERATOR, 2),
      role('101', P.MANAGE_CHANNELS | P.MUTE_MEMBERS, 1),
      role('102', P.USE_SOUNDBOARD | P.SET_VOICE_CHANNEL_STATUS, 1),
    ],
    members: [
      fullMember('10', ['100']),
      fullMember('11', ['101']),
      fullMember('12', ['102']),
      fullMember('13'),
    ],
    channels: [
      channel('50', [], { type: 2 }),
      channel('53', [], { type: 13 }),
      channel('54', [overwrite('1', 0, { deny: P.VIEW_CHANNEL })], { type: 13 }),
    ],
  });
  const state = {
    user_id: '12',
    channel_id: '50',
    deaf: false,
    mute: false,
    self_deaf: false,
    suppress: false,
  };
  guild.voiceStates.set('12' as UserId, state as never);
  guild.voiceStates.set('13' as UserId, { ...state, user_id: '13' } as never);
  return { guild, ...restGuild(guild, { ...stageInstances, ...soundboard, ...voiceChannels }) };
}

describe('stage instances', () => {
  const body = { topic: 'Tales', channel_id: '53' };
  const params = { channel_id: '53' };

  it('are opened, read, changed and closed in the shape of the OpenAPI file', async () => {
    const { invoke } = arrange();
    const made = await invoke('create_stage_instance', { as: '10', body, reason: 'evening' });
    expect(made).toMatchObject({
      status: 200,
      body: { topic: 'Tales', channel_id: '53', guild_id: '1', privacy_level: 2 },
    });
    expect(validateResponse('create_stage_instance', 200, made.body)).toEqual([]);
    expect((await invoke('get_stage_instance', { as: '12', params })).body).toEqual(made.body);
    const change = { topic: 'Songs', privacy_level: 1 };
    const changed = await invoke('update_stage_instance', { as: '10', params, body: change });
    expect(changed).toMatchObject({ status: 200, body: change });
    expect(validateResponse('update_stage_instance', 200, changed.body)).toEqual([]);
    expect(await invoke('delete_stage_instance', { as: '10', params })).toMatchObject({
      status: 204,
      body: undefined,
    });
    const gone = await invoke('get_stage_instance', { as: '12', params });
    expect([gone.status, codeOf(gone)]).toEqual([404, 10067]);
  });

  it('require all three permissions of stage moderators', async () => {
    const { invoke } = arrange();
    expect(codeOf(await invoke('create_stage_instance', { as: '11', body }))).toBe(50013);
    await invoke('create_stage_instance', { as: '10', body });
    expect(codeOf(await invoke('update_stage_instance', { as: '11', params, body: {} }))).toBe(50013);
    expect(codeOf(await invoke('delete_stage_instance', { as: '11', params }))).toBe(50013);
  });

  it('are hidden from members who do not see the channel', async () => {
    const { invoke } = arrange();
    await invoke('create_stage_instance', { body: { ...body, channel_id: '54' } });
    expect(codeOf(await invoke('get_stage_instance', { as: '10', params: { channel_id: '54' } }))).toBe(
      50001,
    );
  });

  it.each([{ topic: '' }, { topic: 'x'.repeat(121) }, { privacy_level: 3 }, { channel_id: 'x' }])(
    'refuse %j',
    async (wrong) => {
      const { invoke } = arrange();
      expect(codeOf(await invoke('create_stage_instance', { body: { ...body, ...wrong } }))).toBe(50035);
    },
  );
});

describe('the soundboard', () => {
  const params = { channel_id: '50' };

  it('lists the default sounds in the shape of the OpenAPI file, each once', async () => {
    const { invoke } = arrange();
    const { status, body } = await invoke('get_soundboard_default_sounds', { as: '13' });
    expect(status).toBe(200);
    expect(validateResponse('get_soundboard_default_sounds', 200, body)).toEqual([]);
    const sounds = body as { sound_id: string; name: string }[];
    expect(sounds.length).toBeGreaterThan(3);
    for (const key of ['sound_id', 'name'] as const)
      expect(new Set(sounds.map((sound) => sound[key])).size).toBe(sounds.length);
  });

  it('plays a sound for members with USE_SOUNDBOARD and SPEAK', async () => {
    const { invoke, facts } = arrange();
    const body = { sound_id: '1' };
    expect(codeOf(await invoke('send_soundboard_sound', { as: '13', params, body }))).toBe(50013);
    expect((await invoke('send_soundboard_sound', { as: '12', params, body })).status).toBe(204);
    expect(facts).toMatchObject([{ type: 'soundPlayed', userId: '12', sound: { sound_id: '1' } }]);
    expect(codeOf(await invoke('send_soundboard_sound', { as: '12', params, body: {} }))).toBe(50035);
  });
});

describe('the status of a voice channel', () => {
  const params = { channel_id: '50' };
  const set = (rest: ReturnType<typeof arrange>, body: object, as = '12') =>
    rest.invoke('update_voice_channel_status', { as, params, body });

  it('has at most 500 characters, and is removed by null or an empty text', async () => {
    const rest = arrange();
    expect((await set(rest, { status: '🎲'.repeat(500) })).status).toBe(204);
    expect(codeOf(await set(rest, { status: 'x'.repeat(501) }))).toBe(50035);
    expect((await set(rest, {})).status).toBe(204);
    expect((await set(rest, { status: null })).status).toBe(204);
    expect(rest.facts.map(({ type }) => type)).toEqual([
      'voiceStatusChanged',
      'auditLogged',
      'voiceStatusChanged',
      'auditLogged',
    ]);
  });

  it('requires its own permission, also from members in the channel', async () => {
    const rest = arrange();
    expect(codeOf(await set(rest, { status: 'x' }, '13'))).toBe(50013);
    expect(codeOf(await set(rest, { status: 'x' }, '10'))).toBe(50013);
  });
});

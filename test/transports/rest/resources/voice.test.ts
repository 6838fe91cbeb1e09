/** Goal: the routes of voice states and regions answer in the platform's shape, to those who may ask. */
import { describe, expect, it } from 'vitest';
import { newUser } from '../../../../engine/user/user.ts';
import type { UserId } from '../../../../protocol/ids.ts';
import { P } from '../../../../protocol/permissions.ts';
import { voice } from '../../../../transports/rest/resources/voice.ts';
import { buildGuild, channel } from '../../../support/guild.ts';
import { validateResponse } from '../../../support/openapi.ts';
import { fullMember, NOW_MS } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';
import { ruled } from '../../../support/ruled.ts';

/** A user with every field that answers must have. */
const whole = (userId: string) =>
  newUser({ id: userId as UserId, username: `user${userId}`, globalName: null, bot: false });

/** Voice channel 50 with user 10 in it, stage 53 with 11; 12 is in neither. The owner, 2, may do everything. */
function arrange() {
  const everyone = P.VIEW_CHANNEL | P.CONNECT | P.SPEAK | P.REQUEST_TO_SPEAK;
  const guild = buildGuild({
    everyone,
    members: ['10', '11', '12'].map((userId) => fullMember(userId, [], { user: whole(userId) })),
    channels: [channel('50', [], { type: 2 }), channel('53', [], { type: 13 })],
  });
  guild.info = { ...guild.info, features: [] };
  for (const [userId, channelId] of [
    ['10', '50'],
    ['11', '53'],
  ] as const) {
    const wish = { channelId, sessionId: 's', selfMute: false, selfDeaf: false, selfVideo: false };
    ruled(guild, 'setVoiceState', wish, userId);
  }
  return { guild, ...restGuild(guild, voice) };
}

describe('voice states', () => {
  it('are readable for the caller and for other members', async () => {
    const { invoke } = arrange();
    const own = await invoke('get_self_voice_state', { as: '10' });
    const other = await invoke('get_voice_state', { as: '12', params: { user_id: '11' } });
    expect([own.status, other.status]).toEqual([200, 200]);
    expect(own.body).toMatchObject({ channel_id: '50', user_id: '10', suppress: false, guild_id: '1' });
    expect(other.body).toMatchObject({ channel_id: '53', user_id: '11', suppress: true });
    expect(validateResponse('get_self_voice_state', 200, own.body)).toEqual([]);
    expect(validateResponse('get_voice_state', 200, other.body)).toEqual([]);
  });

  it('are unknown for a user who is not in voice', async () => {
    const { invoke } = arrange();
    const answers = [
      await invoke('get_self_voice_state', { as: '12' }),
      await invoke('get_voice_state', { as: '10', params: { user_id: '12' } }),
      await invoke('update_self_voice_state', { as: '12', body: { suppress: true } }),
      await invoke('update_voice_state', { params: { user_id: '12' }, body: { suppress: true } }),
    ];
    expect(answers.map((answer) => [answer.status, codeOf(answer)])).toEqual(answers.map(() => [404, 10065]));
  });

  it('are changed on a stage: a member requests to speak, is made a speaker and moved back', async () => {
    const { guild, invoke } = arrange();
    const stateOf = () => guild.voiceStates.get('11' as UserId);
    const raised = await invoke('update_self_voice_state', {
      as: '11',
      body: { channel_id: '53', request_to_speak_timestamp: new Date(NOW_MS).toISOString() },
    });
    expect([raised.status, Date.parse(stateOf()?.request_to_speak_timestamp ?? '')]).toEqual([204, NOW_MS]);
    const params = { user_id: '11' };
    expect((await invoke('update_voice_state', { params, body: { suppress: false } })).status).toBe(204);
    expect(stateOf()?.suppress).toBe(false);
    await invoke('update_self_voice_state', { as: '11', body: { suppress: true, channel_id: null } });
    expect(stateOf()).toMatchObject({ suppress: true, request_to_speak_timestamp: null });
  });

  it('are changed only on stages, and only with permission', async () => {
    const { invoke } = arrange();
    const change = (userId: string, as: string) =>
      invoke('update_voice_state', { as, params: { user_id: userId }, body: { suppress: false } });
    expect(codeOf(await change('10', '2'))).toBe(50024);
    expect(codeOf(await change('11', '12'))).toBe(50013);
    expect(codeOf(await invoke('update_self_voice_state', { as: '11', body: { suppress: false } }))).toBe(
      50013,
    );
  });

  it('are refused with a malformed time', async () => {
    const body = { request_to_speak_timestamp: 'soon' };
    expect(codeOf(await arrange().invoke('update_self_voice_state', { as: '11', body }))).toBe(50035);
  });
});

describe('regions', () => {
  it('list this server, for everyone and for members', async () => {
    const { invoke } = arrange();
    for (const operation of ['list_voice_regions', 'list_guild_voice_regions']) {
      const { status, body } = await invoke(operation, { as: '12' });
      expect([status, body]).toMatchObject([200, [{ id: 'local', optimal: true }]]);
      expect(validateResponse(operation, 200, body)).toEqual([]);
    }
    expect(codeOf(await invoke('list_guild_voice_regions', { as: '99' }))).toBe(10004);
  });
});

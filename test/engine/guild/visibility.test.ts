// Goal: a client that gains or loses sight of a channel is shown who is in voice there as other clients are.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite } from '../../support/guild.ts';
import { fullMember } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const [ANN, BOB] = ['10', '11'] as [UserId, UserId];
const LOUNGE = '51' as ChannelId;

let guild: Guild;
beforeEach(() => {
  guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT | P.SPEAK,
    members: [fullMember(ANN), fullMember(BOB)],
    channels: [channel(LOUNGE, [], { type: 2 }), channel('52', [], { type: 2 })],
  });
  for (const userId of [ANN, BOB]) (guild.sessionCounts as Map<UserId, number>).set(userId, 1);
  const state = { user_id: ANN, channel_id: LOUNGE, session_id: 's', member: fullMember(ANN) };
  guild.voiceStates.set(ANN, state as never);
});

const change = (deny: bigint, id: string = BOB) =>
  ruled(guild, 'setOverwrite', { channelId: LOUNGE, overwrite: overwrite(id, 1, { deny }) }, '2')
    .dispatches.filter(({ t }) => t !== 'CHANNEL_UPDATE' && !t.startsWith('GUILD_AUDIT'))
    .map(({ t, d, to }) => [t, 'channel_id' in d ? d.channel_id : null, 'userIds' in to ? to.userIds : to]);

describe('a voice channel', () => {
  it('is hidden with those who are in voice there, as if they had left', () => {
    expect(change(P.VIEW_CHANNEL)).toEqual([
      ['VOICE_STATE_UPDATE', null, [BOB]],
      ['CHANNEL_DELETE', null, [BOB]],
    ]);
  });

  it('is shown with those who are in voice there', () => {
    change(P.VIEW_CHANNEL);
    expect(change(0n)).toEqual([
      ['CHANNEL_CREATE', null, [BOB]],
      ['VOICE_STATE_UPDATE', LOUNGE, [BOB]],
    ]);
  });

  it('is hidden from a user who is in voice there without a voice state of that user', () => {
    const states = change(P.VIEW_CHANNEL, ANN).filter(([t]) => t === 'VOICE_STATE_UPDATE');
    expect(states.map(([, , to]) => to)).not.toContainEqual([ANN]);
  });

  it('is shown without anybody when nobody is in voice there', () => {
    guild.voiceStates.clear();
    change(P.VIEW_CHANNEL);
    expect(change(0n)).toEqual([['CHANNEL_CREATE', null, [BOB]]]);
  });
});

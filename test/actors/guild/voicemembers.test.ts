// Goal: a member in voice may speak again when a time-out ends, although no command and no fact says so.
import { describe, expect, it } from 'vitest';
import { GuildVoiceMembers } from '../../../actors/guild/guild.voicemembers.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, GUILD_ID, OWNER_ID, overwrite } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const [ANN, BOB] = ['10', '11'];
const [LOUNGE, HALL] = ['51', '52'];

/** Ann and Bob are in voice; Bob may never speak there. */
function arrange() {
  const clock = new VirtualClock(NOW_MS);
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT | P.SPEAK,
    members: [fullMember(ANN), fullMember(BOB)],
    channels: [
      channel(LOUNGE, [overwrite(BOB, 1, { deny: P.SPEAK })], { type: 2 }),
      channel(HALL, [], { type: 2 }),
    ],
  });
  const settled: number[] = [];
  const reports: string[] = [];
  const members = new GuildVoiceMembers({
    guildId: GUILD_ID,
    listener: {
      voiceJoined: (_, { userId, callId }) => void reports.push(`${userId} is in ${callId}`),
      voiceLeft: (_, userId) => void reports.push(`${userId} left`),
      callEnded: (_, channelId, because) => void reports.push(`${channelId} ${because ?? 'ended'}`),
    },
    ...{ clock, wheel: new TimerWheel(clock) },
    settle: () => {
      settled.push(clock.now() - NOW_MS);
      run('settleVoice', {}, '0');
    },
  });
  function run(command: string, input: object, userId: string): void {
    const { facts } = ruled(guild, command, input, userId, clock.now());
    members.after(guild, facts, clock.now())?.();
  }
  const setChannel = (userId: string, channelId: string | null) => {
    const self = { selfMute: false, selfDeaf: false, selfVideo: false };
    run('setVoiceState', { channelId, sessionId: `s${userId}`, ...self }, userId);
  };
  for (const userId of [ANN, BOB]) setChannel(userId, LOUNGE);
  return {
    ...{ clock, members },
    leave: (userId: string) => setChannel(userId, null),
    move: (userId: string) => setChannel(userId, HALL),
    deleteChannel: (channelId: string) => run('deleteChannel', { channelId }, OWNER_ID),
    reports: () => reports.splice(0),
    timeOut(userId: string, forMs: number) {
      const communicationDisabledUntil = new Date(clock.now() + forMs).toISOString();
      run('updateMember', { userId, communicationDisabledUntil }, OWNER_ID);
    },
    isSuppressed: (userId: string) => guild.voiceStates.get(userId as UserId)?.suppress,
    /** Milliseconds from the start at which voice was settled since the last call. */
    settles: () => settled.splice(0),
  };
}

describe('the voice members of a guild', () => {
  it('are settled once when a time-out ends', () => {
    const { clock, timeOut, isSuppressed, settles } = arrange();
    timeOut(ANN, 60_000);
    expect([settles(), isSuppressed(ANN)]).toEqual([[0], true]);
    clock.advance(59_950);
    expect(settles()).toEqual([]);
    clock.advance(120_000);
    expect([settles(), isSuppressed(ANN)]).toEqual([[60_000], false]);
  });

  it('are settled at the end of a time-out after one whose end changed nothing', () => {
    const { clock, timeOut, isSuppressed, settles } = arrange();
    timeOut(BOB, 60_000);
    timeOut(ANN, 120_000);
    settles();
    clock.advance(180_000);
    expect([settles(), isSuppressed(ANN)]).toEqual([[60_000, 120_000], false]);
  });

  it('are reported to their call when they join and when they leave, and the call at the end of the guild', () => {
    const { members, leave, reports } = arrange();
    expect(reports()).toEqual([ANN, BOB].map((userId) => `${userId} is in ${LOUNGE}`));
    leave(ANN);
    expect(reports()).toEqual([`${ANN} left`]);
    members.end('released');
    expect(reports()).toEqual([`${LOUNGE} ended`]);
  });

  it('are forgotten with their channel, and those of other channels are not', () => {
    const { members, move, deleteChannel, reports } = arrange();
    move(BOB);
    reports();
    deleteChannel(LOUNGE);
    expect(reports()).toEqual([`${LOUNGE} ended`]);
    members.end('released');
    expect(reports()).toEqual([`${HALL} ended`]);
  });

  it('are not settled after their guild has left memory', () => {
    const { clock, members, timeOut, settles } = arrange();
    timeOut(ANN, 60_000);
    settles();
    members.end('moved');
    clock.advance(120_000);
    expect(settles()).toEqual([]);
  });
});

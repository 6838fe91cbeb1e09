// Goal: sessions that are shown only what is near them receive the presences of the members whom they name, once each.
import { expect, it } from 'vitest';
import type { Recipient } from '../../../engine/fanout/body.ts';
import { buildGuild, channel, everyone, id, member, RecordingSession } from '../../support/guild.ts';

const PEOPLE = ['13', '14', '15', '16'];

/** A large guild of four people, of whom 13 and 14 are in one call; and who receives the presence of a member. */
function arrange() {
  const sessions = new Map<string, Recipient>(
    PEOPLE.map((userId) => [
      userId,
      Object.assign(new RecordingSession(userId, userId), { largeThreshold: 50 }),
    ]),
  );
  const guild = buildGuild({
    members: PEOPLE.map((userId) => member(userId)),
    channels: [channel('50', [], { type: 2 })],
    sessions: [...sessions.values()],
  });
  guild.memberCount = 51;
  for (const userId of ['13', '14'])
    guild.voiceStates.set(id(userId), { user_id: userId, channel_id: '50' } as never);
  return {
    guild,
    watch: (by: string, ...userIds: string[]) => {
      const session = sessions.get(by);
      if (session)
        guild.audiences.watch(
          session,
          userIds.map((userId) => id(userId)),
        );
    },
    reached: (userId: string) =>
      guild.audiences
        .recipients(guild, { t: 'PRESENCE_UPDATE', d: { user: { id: userId } }, to: everyone }, 0)
        .flatMap(({ to }) => to.map((session) => session.userId))
        .sort(),
  };
}

it('a named member reaches those who named the member, until they name others or end', () => {
  const { guild, watch, reached } = arrange();
  watch('15', '13', '16');
  watch('16', '13', '15', '13');
  expect(reached('13')).toEqual(['13', '14', '15', '16']);
  expect(reached('15')).toEqual(['15', '16']);
  watch('16', '14');
  expect(reached('13')).toEqual(['13', '14', '15']);
  guild.audiences.delete('15');
  expect(reached('13')).toEqual(['13', '14']);
  guild.members.set(id('16'), null);
  expect(reached('14')).toEqual(['13', '14']);
});

it('a member who is near, or names itself, is not sent the presence twice', () => {
  const { watch, reached } = arrange();
  watch('14', '13');
  watch('15', '15');
  expect([reached('13'), reached('15')]).toEqual([['13', '14'], ['15']]);
});

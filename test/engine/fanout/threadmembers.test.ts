// Goal: who is added to a thread or removed from it learns so, whether a dispatch names users by their ids or by objects.
import { expect, it } from 'vitest';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, everyone, member, RecordingSession } from '../../support/guild.ts';

it.each([
  ['added, by an object', { added_members: [{ user_id: '21' }] }],
  ['added, by the id', { added_members: ['21'] }],
  ['removed, by the id', { removed_member_ids: ['21'] }],
  ['removed, beside an unknown entry', { removed_member_ids: [null, '21'] }],
])('a bot without the intent of members receives that its user was %s', (_, changed) => {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL,
    members: [member('20'), member('21')],
    channels: [channel('30')],
    sessions: ['20', '21'].map((userId) => new RecordingSession(userId, userId, ['GUILDS'])),
  });
  const reached = guild.audiences
    .recipients(guild, { t: 'THREAD_MEMBERS_UPDATE', d: { id: '31', ...changed }, to: everyone }, 0)
    .flatMap(({ to }) => to.map(({ userId }) => userId));
  expect(reached).toEqual(['21']);
});

// Goal: what an application learns of the place of an invocation is so of threads too.
import { expect, test } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { describeInGuild } from '../../../engine/interaction/guildplace.ts';
import type { Asked } from '../../../engine/interaction/place.ts';
import { wantedBy } from '../../../engine/interaction/resolved.ts';
import type { ApplicationId, ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, id, OWNER_ID } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const placeOf = (guild: Guild, channelId: string, userId: string) => {
  const asked: Asked = {
    ...{
      channelId: id<ChannelId>(channelId),
      userId: id<UserId>(userId),
      applicationId: id<ApplicationId>(7),
    },
    ...{ botId: null, wanted: wantedBy([]), message: null },
  };
  return describeInGuild(guild, asked, NOW_MS);
};

test.each([true, false])('a thread is age-restricted as its channel is: %s', (nsfw) => {
  const channels = [channel('50', [], { nsfw })];
  const guild = buildGuild({ everyone: P.VIEW_CHANNEL, members: [fullMember('9')], channels });
  ruled(guild, 'createThread', { channelId: '50', draft: { name: 'Talk', type: 11 } }, OWNER_ID);
  const [threadId = ''] = guild.threads.keys();
  expect(placeOf(guild, threadId, '9')).toMatchObject({ value: { bearerId: '50', isNsfw: nsfw } });
});

test('a member who has not passed the screening uses no application', () => {
  const everyone = P.VIEW_CHANNEL | P.USE_APPLICATION_COMMANDS;
  const members = [fullMember('9', [], { pending: true })];
  const guild = buildGuild({ everyone, members, channels: [channel('50')] });
  expect(placeOf(guild, '50', '9')).toMatchObject({ value: { permissions: String(P.VIEW_CHANNEL) } });
});

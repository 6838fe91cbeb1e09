// Goal: in a private channel an application receives what its users may see, and only its users invoke it there.
import { expect, test } from 'vitest';
import type { StoredMessage } from '../../../engine/guild/guild.ts';
import type { InvocationQuery } from '../../../engine/interaction/place.ts';
import { describePrivately } from '../../../engine/interaction/privateplace.ts';
import { wantedBy } from '../../../engine/interaction/resolved.ts';
import { privateState } from '../../../engine/privatechannel/rules.ts';
import type { PrivateChannel } from '../../../engine/user/facts.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { id, user } from '../../support/guild.ts';

const CHANNEL = id<ChannelId>(60);
const FIXED = P.ATTACH_FILES | P.EMBED_LINKS | P.MENTION_EVERYONE;

const direct: PrivateChannel = {
  ...{ id: CHANNEL, type: 1, recipientIds: [id<UserId>(1), id<UserId>(20)] },
  ...{ last_message_id: null, last_pin_ms: null },
};
const state = privateState(direct, [user('1'), user('20', true)], null);
const asked = (more: Partial<InvocationQuery> = {}): InvocationQuery => ({
  ...{ channelId: CHANNEL, userId: id<UserId>(1), applicationId: id<ApplicationId>(7), botId: null },
  ...{ wanted: wantedBy([]), message: null },
  ...more,
});
const described = (more: Partial<InvocationQuery> = {}, message: StoredMessage | null = null) =>
  describePrivately(state, asked(more), message, []);

test('a private channel is unknown to users other than its recipients', () => {
  expect(described({ userId: id<UserId>(2) })).toMatchObject({ ok: false, refusal: { code: 10_003 } });
  expect(described()).toMatchObject({ ok: true, value: { user: { id: '1' }, member: null } });
});

test('a message of another channel, and an unknown one, are unknown', () => {
  const named = { channelId: CHANNEL, id: id<MessageId>(900), isTarget: false };
  const message = (channelId: string) =>
    ({ id: '900', channel_id: channelId, mentions: [] }) as unknown as StoredMessage;
  expect(described({ message: named }, message('61'))).toMatchObject({ refusal: { code: 10_008 } });
  expect(described({ message: named })).toMatchObject({ refusal: { code: 10_008 } });
  expect(described({ message: named }, message('60'))).toMatchObject({ value: { message: { id: '900' } } });
});

test('a bot may use external emojis in private channels with itself', () => {
  expect(described()).toMatchObject({ value: { isBotHere: false, appPermissions: String(FIXED) } });
  expect(described({ botId: id<UserId>(20) })).toMatchObject({
    value: { isBotHere: true, appPermissions: String(FIXED | P.USE_EXTERNAL_EMOJIS) },
  });
});

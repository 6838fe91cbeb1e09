// Goal: an application learns of the place of an invocation what its invoker may see there, and no more.
import { describe, expect, test } from 'vitest';
import type { Guild, StoredMessage } from '../../../engine/guild/guild.ts';
import { describeInGuild } from '../../../engine/interaction/guildplace.ts';
import type { InvocationQuery } from '../../../engine/interaction/place.ts';
import { type NamedKind, wantedBy } from '../../../engine/interaction/resolved.ts';
import type { ApplicationId, ChannelId, FreshId, MessageId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, id, OWNER_ID, overwrite } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const placeOf = (guild: Guild, channelId: string, userId: string, more: Partial<InvocationQuery> = {}) => {
  const asked: InvocationQuery = {
    ...{
      channelId: id<ChannelId>(channelId),
      userId: id<UserId>(userId),
      applicationId: id<ApplicationId>(7),
    },
    ...{ botId: null, wanted: wantedBy([]), message: null },
    ...more,
  };
  return describeInGuild(guild, asked, NOW_MS);
};

test.each([true, false])('a thread is age-restricted like its channel: %s', (nsfw) => {
  const channels = [channel('50', [], { nsfw })];
  const guild = buildGuild({ everyone: P.VIEW_CHANNEL, members: [fullMember('9')], channels });
  ruled(guild, 'createThread', { channelId: '50', draft: { name: 'Talk', type: 11 } }, OWNER_ID);
  const [threadId = ''] = guild.threads.keys();
  expect(placeOf(guild, threadId, '9')).toMatchObject({ value: { bearerId: '50', isNsfw: nsfw } });
});

test('a member who has not passed the screening is refused', () => {
  const everyone = P.VIEW_CHANNEL | P.USE_APPLICATION_COMMANDS;
  const members = [fullMember('9', [], { pending: true })];
  const guild = buildGuild({ everyone, members, channels: [channel('50')] });
  expect(placeOf(guild, '50', '9')).toMatchObject({ value: { permissions: String(P.VIEW_CHANNEL) } });
});

describe('the place of an invocation', () => {
  const HELD = P.VIEW_CHANNEL | P.SEND_MESSAGES | P.READ_MESSAGE_HISTORY;
  const BOT = id<UserId>(20);
  const MESSAGE = id<MessageId>(900);
  const wanting = (kind: NamedKind, ...ids: string[]) =>
    wantedBy(ids.map((one) => ({ path: [], kind, id: id<FreshId>(one) })));

  /** Members 9 and 20, a bot; channel 50 for all, 51 hidden from member 9, 52 without history for member 9. */
  function arrange(everyone = HELD): Guild {
    const guild = buildGuild({
      everyone,
      members: [fullMember('9', [], { deaf: true, mute: true }), fullMember('20')],
      channels: [
        channel('50', [overwrite('20', 1, { deny: P.SEND_MESSAGES })]),
        channel('51', [overwrite('9', 1, { deny: P.VIEW_CHANNEL })]),
        channel('52', [overwrite('9', 1, { deny: P.READ_MESSAGE_HISTORY })]),
      ],
    });
    guild.info = { ...guild.info, premium_tier: 0 };
    return guild;
  }

  /** Puts a message into a channel. */
  const written = (guild: Guild, channelId: string) => {
    const message = { id: MESSAGE, channel_id: channelId, content: 'x', author: { id: '9' }, mentions: [] };
    guild.messages.set(MESSAGE, message as unknown as StoredMessage);
    return { channelId: id<ChannelId>(channelId), id: MESSAGE, isTarget: false };
  };

  test('is refused to members who cannot see the channel, and to non-members', () => {
    expect(placeOf(arrange(), '51', '9')).toMatchObject({ refusal: { code: 50_001 } });
    expect(placeOf(arrange(), '50', '8')).toMatchObject({ refusal: { code: 50_001 } });
    expect(placeOf(arrange(), '59', '9')).toMatchObject({ refusal: { code: 10_003 } });
    expect(placeOf(arrange(), '50', '9')).toMatchObject({ ok: true });
  });

  test('resolves channels visible to the invoker, each with the permissions of invoker and bot', () => {
    const wanted = wanting('channel', '50', '51');
    const found = placeOf(arrange(), '52', '9', { botId: BOT, wanted });
    expect(found.ok && found.value.resolved.channels).toEqual({
      50: expect.objectContaining({
        permissions: String(HELD),
        app_permissions: String(HELD & ~P.SEND_MESSAGES),
      }),
    });
  });

  test('resolves members without user, deaf and mute', () => {
    const found = placeOf(arrange(), '50', '20', { wanted: wanting('user', '9') });
    const resolved = found.ok ? Object.keys(found.value.resolved.members?.['9'] ?? {}) : [];
    expect(resolved).toContain('permissions');
    for (const key of ['user', 'deaf', 'mute']) expect(resolved).not.toContain(key);
  });

  test('allows a message command only on messages of its channel, with READ_MESSAGE_HISTORY', () => {
    const reach = (channelId: string, in_: string, isTarget: boolean) => {
      const guild = arrange();
      const message = { ...written(guild, channelId), isTarget };
      const found = placeOf(guild, in_, '9', { message });
      return found.ok ? null : found.refusal.code;
    };
    expect(reach('52', '52', true)).toBe(10_008);
    expect(reach('52', '52', false)).toBeNull();
    expect(reach('50', '50', true)).toBeNull();
    expect(reach('50', '52', false)).toBe(10_008);
  });

  test('allows an application outside of the guild to mention everyone if the invoker may', () => {
    const outside = P.ATTACH_FILES | P.EMBED_LINKS | P.USE_EXTERNAL_EMOJIS;
    const held = (everyone: bigint) => placeOf(arrange(everyone), '50', '9');
    expect(held(HELD)).toMatchObject({ value: { isBotHere: false, appPermissions: String(outside) } });
    expect(held(HELD | P.MENTION_EVERYONE)).toMatchObject({
      value: { appPermissions: String(outside | P.MENTION_EVERYONE) },
    });
  });
});

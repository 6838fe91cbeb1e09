// Goal: a manager links a channel to a lobby; the channel shows the lobby's messages, and the lobby receives the
// channel's.
import { describe, expect, test } from 'vitest';
import type { Guild, GuildChannel, LinkedLobby } from '../../../engine/guild/guild.ts';
import { linkEnded, linksEnded, linkUpdates } from '../../../engine/guild/lobbylinks.ts';
import type { ApplicationId, ChannelId, UserId } from '../../../protocol/ids.ts';
import { rule } from '../../suites/builders.ts';
import { foundedGuild } from '../../support/backed.ts';
import { user } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const link: LinkedLobby = {
  application_id: '1001' as ApplicationId,
  lobby_id: '900' as ChannelId,
  linked_by: '2' as UserId,
  linked_at: 'then',
  require_application_authorization: false,
};

function arrange(change: Partial<GuildChannel> | object = {}) {
  const guild = foundedGuild();
  const channel = [...guild.channels.values()].find(({ type }) => type === 0) as GuildChannel;
  guild.channels.set(channel.id, { ...channel, ...change } as GuildChannel);
  return { guild, channelId: channel.id };
}
const make = (guild: Guild, channelId: ChannelId, more: object = {}, stale: string | null = null) =>
  ruled<GuildChannel>(guild, 'linkChannel', { channelId, link: { ...link, ...more }, stale }, '2');
const write = (guild: Guild, channelId: ChannelId, author = '50', more: object = {}) =>
  ruled(
    guild,
    'writeFromLobby',
    {
      ...{ channelId, lobbyId: '900', author: user(author), content: 'from the game', flags: 0 },
      ...{ additionalName: null, ...more },
    },
    '0',
  );

describe('a lobby link of a channel', () => {
  test('is returned on the channel to all members, and removed when the channel is unlinked', () => {
    const { guild, channelId } = arrange();
    const { dispatches } = make(guild, channelId);
    expect(dispatches).toMatchObject([{ t: 'CHANNEL_UPDATE', d: { id: channelId, linked_lobby: link } }]);
    const undo = (lobbyId: string | null) => ruled(guild, 'unlinkChannel', { channelId, lobbyId }, '2');
    expect(undo('901').types).toEqual([]);
    expect(undo('900').dispatches[0]?.d).not.toHaveProperty('linked_lobby');
    expect(undo(null).types).toEqual([]);
  });

  test.each([
    ['a voice channel', { type: 2 }, 50024],
    ['an age-restricted channel', { nsfw: true }, 50035],
    ['a channel of another lobby', { linked_lobby: { ...link, lobby_id: '901' } }, 50035],
    ['a channel that is linked to it already', { linked_lobby: link }, undefined],
  ])('is accepted or refused to %s', (_, change, code) => {
    const { guild, channelId } = arrange(change);
    expect(make(guild, channelId).code).toBe(code);
  });

  test('replaces a link that the other lobby no longer has', () => {
    const { guild, channelId } = arrange({ linked_lobby: { ...link, lobby_id: '901' } });
    expect(make(guild, channelId, {}, '901').types).toEqual(['channelUpdated']);
    expect(guild.channels.get(channelId)?.linked_lobby?.lobby_id).toBe('900');
  });
});

describe('a message from the linked lobby', () => {
  test('has its author, member or not, with the name that the game set', () => {
    const { guild, channelId } = arrange({ linked_lobby: link });
    expect(write(guild, channelId, '50', { additionalName: 'Rook' }).dispatches).toMatchObject([
      {
        t: 'MESSAGE_CREATE',
        d: {
          content: 'from the game',
          author: { id: '50' },
          application_id: '1001',
          lobby_member: { additional_name: 'Rook' },
          mentions: [],
          mention_everyone: false,
        },
      },
    ]);
  });

  test('is refused for banned or timed-out authors, and in channels that are not linked', () => {
    const { guild, channelId } = arrange({ linked_lobby: link });
    guild.bans.set('50' as UserId, { user: user('50'), reason: null });
    expect(write(guild, channelId).code).toBe(50001);
    const until = new Date(NOW_MS + 60_000).toISOString();
    const silent = { ...fullMember('11'), communication_disabled_until: until };
    guild.members.set('11' as UserId, silent);
    expect(write(guild, channelId, '11').code).toBe(50001);
    expect(write(guild, channelId, '51', { lobbyId: '901' }).code).toBe(10003);
    const mine = {
      channelId,
      lobbyId: '900',
      author: user('2'),
      content: 'x',
      flags: 0,
      additionalName: null,
    };
    expect(ruled(guild, 'writeFromLobby', mine, '2').code).toBe(10003);
  });

  test('follows the rules of the guild, also for authors who are no members', () => {
    const { guild, channelId } = arrange({ linked_lobby: link });
    guild.autoModeration.set({ ...rule('700'), trigger_metadata: { keyword_filter: ['game'] } });
    const { code, types } = write(guild, channelId);
    expect([code, types]).toEqual([200000, ['auditLogged', 'autoModerationActionExecuted']]);
    expect(write(guild, channelId, '50', { content: 'hello' }).code).toBeUndefined();
  });
});

describe('the updates of a channel for its linked lobby', () => {
  const to = (channelId: ChannelId) => ({ kind: 'channel' as const, channelId });

  test('contain the messages of the channel except those that came from the lobby itself', () => {
    const { guild, channelId } = arrange({ linked_lobby: link });
    const hear = (t: string, d: object) =>
      linkUpdates(guild, channelId, link, { t: t as never, d, to: to(channelId) }).map(({ news }) => news);
    const message = { id: '70', channel_id: channelId };
    expect(hear('MESSAGE_CREATE', message)).toEqual([{ kind: 'created', message }]);
    expect(hear('MESSAGE_UPDATE', message)).toEqual([{ kind: 'updated', message }]);
    expect(hear('MESSAGE_CREATE', { ...message, application_id: '1001' })).toEqual([]);
    expect(hear('MESSAGE_CREATE', { ...message, application_id: '1002' })).toHaveLength(1);
    expect(hear('MESSAGE_DELETE', { id: '70' })).toEqual([{ kind: 'deleted', messageId: '70' }]);
    expect(hear('MESSAGE_DELETE_BULK', { ids: ['70', '71'] })).toEqual([
      { kind: 'deleted', messageId: '70' },
      { kind: 'deleted', messageId: '71' },
    ]);
    expect(hear('TYPING_START', {})).toEqual([]);
    const channel = guild.channels.get(channelId) as GuildChannel;
    expect(hear('CHANNEL_UPDATE', channel)).toEqual([{ kind: 'changed', channel }]);
  });

  test('contain the deletion of the channel and of the guild', () => {
    const { guild, channelId } = arrange();
    expect(linksEnded(guild)).toEqual([]);
    make(guild, channelId);
    expect(linksEnded(guild)).toMatchObject([{ lobbyId: '900', channelId, news: { kind: 'gone' } }]);
    const channel = guild.channels.get(channelId) as GuildChannel;
    expect(linkEnded(guild, channel)).toEqual(linksEnded(guild));
  });
});

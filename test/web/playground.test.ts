// Goal: what the playground keeps of the gateway: guilds and members, messages with reactions and votes, frames without secrets.
import { describe, expect, test } from 'vitest';
import { type GuildViews, guildsAfter } from '../../sdk/guilds/guilds.ts';
import { messagesAfter } from '../../web/chat/changes.ts';
import { ownPath } from '../../web/chat/ownpath.ts';
import type { ChatMessage } from '../../web/chat/shapes.ts';
import { frameOf, isShown } from '../../web/playground/frame.ts';
import { orderedChannels, threadsOf } from '../../web/playground/place.ts';

const GUILD = {
  id: '1',
  name: 'Hall',
  member_count: 2,
  channels: [
    { id: '10', type: 4, name: 'Talk', position: 0 },
    { id: '11', type: 0, name: 'general', parent_id: '10', position: 1 },
    { id: '12', type: 2, name: 'Room', parent_id: '10', position: 0 },
    { id: '13', type: 0, name: 'rules', position: 5 },
  ],
  threads: [{ id: '14', type: 11, name: 'idea', parent_id: '11', thread_metadata: { archived: false } }],
  members: [{ user: { id: '7', username: 'ada', global_name: 'Ada' } }],
  presences: [{ user: { id: '7' }, status: 'idle', activities: [] }],
};

const after = (...dispatches: readonly (readonly [string, Record<string, unknown>])[]): GuildViews =>
  dispatches.reduce<GuildViews>((world, [t, d]) => guildsAfter(world, t, d), new Map());

describe('the guilds of the playground', () => {
  test('list channels without a category first, and text before voice', () => {
    const guild = after(['GUILD_CREATE', GUILD]).get('1')!;
    expect(orderedChannels(guild).map(({ name }) => name)).toEqual(['rules', 'Talk', 'general', 'Room']);
    expect(threadsOf(guild, '11').map(({ name }) => name)).toEqual(['idea']);
  });

  test('follow presences, members and archived threads', () => {
    const guild = after(
      ['GUILD_CREATE', GUILD],
      ['GUILD_MEMBER_ADD', { guild_id: '1', user: { id: '8', username: 'bo', bot: true } }],
      [
        'PRESENCE_UPDATE',
        { guild_id: '1', user: { id: '8' }, status: 'online', activities: [{ name: 'Chess' }] },
      ],
      ['THREAD_UPDATE', { ...GUILD.threads[0], guild_id: '1', thread_metadata: { archived: true } }],
    ).get('1')!;
    expect(guild.members.get('7')).toMatchObject({ name: 'Ada', status: 'idle' });
    expect(guild.members.get('8')).toMatchObject({ isBot: true, status: 'online', activity: 'Chess' });
    expect(guild.memberCount).toBe(3);
    expect(threadsOf(guild, '11')).toEqual([]);
  });
});

const message = (more: object = {}): ChatMessage => ({
  ...{
    id: '5',
    channel_id: '11',
    content: 'hi',
    timestamp: '2026-01-01T00:00:00Z',
    embeds: [],
    attachments: [],
  },
  author: { id: '7', username: 'ada' },
  ...more,
});

describe('the messages of a channel', () => {
  test('count reactions and remember the own ones', () => {
    const d = { message_id: '5', emoji: { id: null, name: '👍' } };
    const twice = ['7', '8'].reduce<readonly ChatMessage[]>(
      (messages, user_id) => messagesAfter(messages, 'MESSAGE_REACTION_ADD', { ...d, user_id }, '7'),
      [message()],
    );
    expect(twice[0]?.reactions).toEqual([{ emoji: d.emoji, count: 2, me: true }]);
    const once = messagesAfter(twice, 'MESSAGE_REACTION_REMOVE', { ...d, user_id: '7' }, '7');
    expect(once[0]?.reactions).toEqual([{ emoji: d.emoji, count: 1, me: false }]);
  });

  test('count votes of polls', () => {
    const poll = { question: { text: 'Tea?' }, answers: [{ answer_id: 1, poll_media: { text: 'Yes' } }] };
    const d = { message_id: '5', answer_id: 1, user_id: '7' };
    const [voted] = messagesAfter([message({ poll })], 'MESSAGE_POLL_VOTE_ADD', d, '7');
    expect(voted?.poll?.results?.answer_counts).toEqual([{ id: 1, count: 1, me_voted: true }]);
  });

  test('keep reactions over an edit, and drop what is deleted', () => {
    const reactions = [{ emoji: { id: null, name: '🎉' }, count: 1, me: false }];
    const edited = messagesAfter(
      [message({ reactions })],
      'MESSAGE_UPDATE',
      { ...message({ content: 'new' }) },
      '7',
    );
    expect(edited[0]).toMatchObject({ content: 'new', reactions });
    expect(messagesAfter(edited, 'MESSAGE_DELETE_BULK', { ids: ['5'] }, '7')).toEqual([]);
  });
});

describe('the frames of the panel', () => {
  test('show no tokens', () => {
    const frame = frameOf('{"op":2,"d":{"token":"abc.def","properties":{"token":"x"}}}', true, 1, 0);
    expect(frame.text).not.toMatch(/abc\.def|"x"/);
    expect(frame).toMatchObject({ op: 2, t: '', isSent: true });
  });

  test('are filtered by words, direction and heartbeats', () => {
    const filter = { words: 'message', direction: 'received', heartbeats: false } as const;
    const created = frameOf('{"op":0,"t":"MESSAGE_CREATE","s":1,"d":{}}', false, 1, 0);
    expect(isShown(created, filter)).toBe(true);
    expect(isShown({ ...created, isSent: true }, filter)).toBe(false);
    const beat = frameOf('{"op":1,"d":5}', true, 2, 0);
    expect(isShown(beat, { ...filter, words: '', direction: 'both' })).toBe(false);
    expect(isShown(beat, { words: '', direction: 'both', heartbeats: true })).toBe(true);
  });

  test('may be anything', () => {
    expect(frameOf('{', false, 1, 0).text).toBe('A frame that is not JSON.');
  });
});

test('the page loads files of this server only', () => {
  expect(ownPath('http://other.test/attachments/1/2/a.png?ex=1')).toBe('/attachments/1/2/a.png?ex=1');
  for (const url of ['https://other.test/pixel.png', 'javascript:alert(1)', '/attachments/1', ''])
    expect(ownPath(url)).toBeNull();
});

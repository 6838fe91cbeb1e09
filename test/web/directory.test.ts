// Goal: the page knows who is in which voice channel from dispatches alone, and no dispatch breaks it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../sdk/voice/wire.ts';
import { type Directory, EMPTY, heardOf } from '../../web/directory.ts';

const after = (...dispatches: readonly [string, Json][]): Directory =>
  dispatches.reduce((directory, [name, d]) => heardOf(directory, name, d), EMPTY);

const READY: [string, Json] = ['READY', { user: { id: '1', username: 'me' } }];
const GUILD: [string, Json] = [
  'GUILD_CREATE',
  {
    id: '9',
    name: 'Guild',
    channels: [
      { id: '20', type: 0, name: 'text' },
      { id: '21', type: 2, name: 'voice', position: 1 },
      { id: '22', type: 13, name: 'stage' },
    ],
    members: [{ nick: 'Nick', user: { id: '2', username: 'two', global_name: 'Two' } }],
    voice_states: [{ user_id: '2', channel_id: '21', self_mute: true }],
  },
];
const moved = (channelId: string | null): [string, Json] => [
  'VOICE_STATE_UPDATE',
  {
    guild_id: '9',
    user_id: '3',
    channel_id: channelId,
    suppress: true,
    member: { user: { id: '3', username: 'three' } },
  },
];

describe('the directory', () => {
  test('contains voice channels and stages with their members', () => {
    const { self, guilds, people } = after(READY, GUILD, moved('22'));
    const guild = guilds.get('9')!;
    expect(self?.name).toBe('me');
    expect([...guild.channels.values()]).toEqual([
      { id: '21', name: 'voice', isStage: false, position: 1 },
      { id: '22', name: 'stage', isStage: true, position: 0 },
    ]);
    expect(guild.voiceStates.get('2')).toMatchObject({ channelId: '21', muted: true, silenced: false });
    expect(guild.voiceStates.get('3')).toMatchObject({ channelId: '22', muted: true, silenced: true });
    expect([...people.values()].map(({ name }) => name)).toEqual(['Nick', 'three']);
  });

  test('removes departed users, and deleted channels and guilds', () => {
    const left = after(READY, GUILD, moved('22'), moved(null), [
      'CHANNEL_DELETE',
      { id: '22', guild_id: '9', type: 13 },
    ]);
    expect([...left.guilds.get('9')!.voiceStates.keys()]).toEqual(['2']);
    expect([...left.guilds.get('9')!.channels.keys()]).toEqual(['21']);
    expect(heardOf(left, 'GUILD_DELETE', { id: '9' }).guilds.size).toBe(0);
    expect(heardOf(left, ...READY).guilds.size).toBe(0);
  });

  test('is the same object when a dispatch changes nothing', () => {
    const directory = after(READY, GUILD);
    expect(heardOf(directory, 'MESSAGE_CREATE', { id: '1' })).toBe(directory);
  });

  test('is broken by no dispatch', () => {
    const names = fc.constantFrom(
      'READY',
      'GUILD_CREATE',
      'GUILD_UPDATE',
      'CHANNEL_UPDATE',
      'VOICE_STATE_UPDATE',
    );
    const keys = fc.constantFrom(
      'id',
      'guild_id',
      'user',
      'channels',
      'members',
      'voice_states',
      'channel_id',
      'type',
    );
    fc.assert(
      fc.property(names, fc.dictionary(keys, fc.anything()), (name, d) => {
        expect(heardOf(after(READY, GUILD), name, d).guilds).toBeInstanceOf(Map);
      }),
    );
  });
});

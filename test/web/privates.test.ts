// Goal: the playground knows the user's private channels, by the people in them, and no channel of a guild among them.
import { expect, test } from 'vitest';
import { type PrivateChannelViews, privatesAfter } from '../../sdk/guilds/privates.ts';
import { nameOf } from '../../web/playground/place.ts';

const ANN = { id: '1', username: 'ann', global_name: 'Ann' };
const BEN = { id: '2', username: 'ben', global_name: null };
const dm = { id: '10', type: 1, recipients: [ANN] };
const group = { id: '11', type: 3, name: null, recipients: [ANN, BEN] };
const none: PrivateChannelViews = new Map();
const names = (privates: PrivateChannelViews) => [...privates.values()].map(nameOf);

test('READY lists private channels with the name of a group or of the people in it', () => {
  const named = { ...group, id: '12', name: 'Crew' };
  const privates = privatesAfter(none, 'READY', {
    private_channels: [dm, group, named, { id: '5', type: 0 }],
  });
  expect(names(privates)).toEqual(['Ann', 'Ann, ben', 'Crew']);
  expect([...privates.values()].map(({ isGroup }) => isGroup)).toEqual([false, true, true]);
  expect(privates.get('11')?.people.get('2')).toEqual({ id: '2', name: 'ben' });
});

test('adds a new channel, removes a deleted one, and ignores channels of guilds', () => {
  const one = privatesAfter(none, 'CHANNEL_CREATE', dm);
  expect(names(one)).toEqual(['Ann']);
  const ofGuild = { id: '7', type: 0, guild_id: '3', name: 'general' };
  expect(privatesAfter(one, 'CHANNEL_CREATE', ofGuild)).toBe(one);
  expect(privatesAfter(one, 'MESSAGE_CREATE', { id: '8' })).toBe(one);
  expect(names(privatesAfter(one, 'CHANNEL_DELETE', { id: '10', type: 1 }))).toEqual([]);
});

test('tracks users who are added to a group and removed from it', () => {
  const one = privatesAfter(none, 'CHANNEL_CREATE', { ...group, recipients: [ANN] });
  const two = privatesAfter(one, 'CHANNEL_RECIPIENT_ADD', { channel_id: '11', user: BEN });
  expect(names(two)).toEqual(['Ann, ben']);
  const left = privatesAfter(two, 'CHANNEL_RECIPIENT_REMOVE', { channel_id: '11', user: ANN });
  expect(names(left)).toEqual(['ben']);
  expect(privatesAfter(two, 'CHANNEL_RECIPIENT_ADD', { channel_id: '99', user: ANN })).toBe(two);
  expect(names(privatesAfter(left, 'CHANNEL_RECIPIENT_REMOVE', { channel_id: '11', user: BEN }))).toEqual([
    'Nobody else',
  ]);
});

test('keeps the newest two hundred channels', () => {
  let privates = none;
  for (let id = 0; id < 250; id += 1)
    privates = privatesAfter(privates, 'CHANNEL_CREATE', { ...dm, id: String(id) });
  expect([privates.size, privates.has('49'), privates.has('50')]).toEqual([200, false, true]);
});

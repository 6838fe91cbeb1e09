// Goal: an application is notified of messages to the person, and not of what the person writes.
import { expect, test } from 'vitest';
import type { Person } from '../../../sdk/rpc/person.ts';
import { rpcEvents } from '../../../sdk/rpc/rpcevents.ts';

const [ME, PEER] = [
  { id: '1', username: 'me' },
  { id: '2', username: 'peer' },
];
const person: Pick<Person, 'user'> = { user: ME };
const notified = (d: object) =>
  rpcEvents(
    'MESSAGE_CREATE',
    { id: '71', channel_id: '42', content: 'hi', ...d },
    {
      ...{ person: person as Person, before: null, cdn: 'http://server.test' },
      local: () => ({ volume: 100, mute: false }),
    },
  ).some(({ name }) => name === 'NOTIFICATION_CREATE');

test.each([
  ['in a private channel by another user', { author: PEER }, true],
  ['that mentions the user', { author: PEER, guild_id: '3', mentions: [ME] }, true],
  ['of a guild that mentions another user', { author: PEER, guild_id: '3', mentions: [PEER] }, false],
  ['of the user', { author: ME, mentions: [ME] }, false],
])('a message %s sends NOTIFICATION_CREATE only when it is for the user', (_, d, isNotified) => {
  expect(notified(d)).toBe(isNotified);
});

// Goal: a message that looks the same to everybody is encoded once for all lists in which a server answers it.
import { expect, test } from 'vitest';
import { SharedMessages } from '../../../transports/rest/sharedmessages.ts';

/** A message that counts how often it is encoded. */
function counted(id: string, isShared: boolean) {
  const seen = { times: 0 };
  const message = {
    toJSON() {
      seen.times += 1;
      return { id };
    },
  };
  return { seen, message: isShared ? Object.freeze(message) : message };
}

test('a frozen object in lists is encoded once, and any other each time', () => {
  const shared = new SharedMessages();
  const [frozen, own] = [counted('1', true), counted('2', false)];
  for (let time = 0; time < 3; time += 1)
    expect(shared.encodedList([frozen.message, own.message, null, undefined])).toBe(
      '[{"id":"1"},{"id":"2"},null,null]',
    );
  expect([frozen.seen.times, own.seen.times]).toEqual([1, 3]);
});

// Goal: a change of a username follows one rule for people and another for bots.

import { describe, expect, test } from 'vitest';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import { newUser, userRules } from '../../../engine/user/user.ts';
import type { UserId } from '../../../protocol/ids.ts';
import type { APIUser } from '../../../protocol/objects.ts';
import { envAt, NOW_MS } from '../../support/people.ts';

const named = (username: string, bot = false): APIUser =>
  newUser({ id: '1' as UserId, username, globalName: null, bot });
/** The username after the change, or the code of the refusal. */
function change(user: APIUser, username: string): string {
  const outcome = userRules.decide({ user }, 'updateUser', { username }, SYSTEM, envAt(NOW_MS));
  if (outcome.ok) return outcome.value.username;
  const found = outcome.refusal.errors?.username as { _errors?: readonly { code: string }[] } | undefined;
  return found?._errors?.[0]?.code ?? 'another refusal';
}

describe('a person', () => {
  test('gets a name of a to z, digits, underscores and single dots, in lower case', () => {
    const anna = named('anna');
    expect(change(anna, ' Anna.B_1 ')).toBe('anna.b_1');
    for (const username of ['Änna', 'анна', 'an na', 'a..b', 'anna!', 'an#na', 'lone\ufffd'])
      expect([username, change(anna, username)]).toEqual([username, 'USERNAME_INVALID_CHARACTERS']);
    expect(change(anna, 'Moderator')).toBe('USERNAME_RESERVED');
  });

  test('keeps a name that is older than the rule when it asks for that name again', () => {
    const old = named('Änna B');
    for (const username of ['Änna B', 'änna b', ' ÄNNA B ']) expect(change(old, username)).toBe('Änna B');
    expect(change(old, 'Änna C')).toBe('USERNAME_INVALID_CHARACTERS');
    expect(change(named('admin'), 'Admin')).toBe('admin');
  });
});

test('a bot may use capitals, single spaces, other scripts and reserved names', () => {
  const bot = named('Lantern', true);
  expect(change(bot, ' Night   Watch ')).toBe('Night Watch');
  for (const username of ['Сова', 'Moderator', 'a..b']) expect(change(bot, username)).toBe(username);
  expect(change(bot, 'x@y')).toBe('USERNAME_INVALID_CONTAINS');
  expect(change(bot, 'x')).toBe('BASE_TYPE_BAD_LENGTH');
});

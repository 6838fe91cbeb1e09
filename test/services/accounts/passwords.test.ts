// Goal: no way of setting a password takes one that is guessed first.
import { describe, expect, test } from 'vitest';
import type { UserId } from '../../../protocol/ids.ts';
import { arrangeAccounts, HOME, PASSWORD } from './arrange.ts';

/** Common ones in their usual disguises, and digits alone. */
const WEAK = ['trustno1', 'Iloveyou', 'QWERTYUIOP!', 'liverpool1', '19900512', '0171 2345678', 'guildhall'];

async function arrange() {
  const { accounts, signUp, linked } = arrangeAccounts();
  const userId = await signUp();
  await accounts.confirmEmail(linked());
  await accounts.forgot('anna', HOME);
  await accounts.idle();
  const link = linked();
  const also = { userId: '77' as UserId, facts: [] };
  return {
    registration: (password: string) => accounts.register({ username: 'bert', email: null, password }, HOME),
    'the operator who makes an account': (password: string) =>
      accounts.create({ username: 'bert', email: null, password }, also),
    'a change by the owner': (password: string) =>
      accounts.changePassword(userId, { current: PASSWORD, password }, null, HOME),
    'a link to reset': (password: string) => accounts.reset(link, password),
    'the operator who sets one': (password: string) => accounts.setPassword(userId, password),
  };
}

describe('a common or all-digit password', () => {
  test.each([
    'registration',
    'the operator who makes an account',
    'a change by the owner',
    'a link to reset',
    'the operator who sets one',
  ] as const)('is refused by %s', async (way) => {
    const ways = await arrange();
    for (const password of WEAK) {
      const reply = await ways[way](password);
      expect([password, reply]).toMatchObject([
        password,
        {
          ok: false,
          refusal: { errors: { password: { _errors: [{ code: expect.stringMatching(/COMMON|DIGITS/) }] } } },
        },
      ]);
    }
    expect((await ways[way]('a horse that is correct')).ok).toBe(true);
  });
});

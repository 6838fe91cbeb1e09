import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import { isReservedUsername } from '../../protocol/usernames.ts';

export const USERNAME_CHARACTERS_MAX = 32;

/**
 * @source https://docs.discord.food/resources/user#unique-usernames and
 * https://docs.discord.food/resources/user#usernames-and-nicknames
 */
const USERNAME = /^[a-z0-9_.]{2,32}$/;

const USERNAME_RESERVED = invalidField(['username'], 'USERNAME_RESERVED', 'This name is reserved.');
export const USERNAME_TAKEN = invalidField(
  ['username'],
  'USERNAME_ALREADY_TAKEN',
  'This name is taken. Try another.',
);

/** A person's username as it is stored. Check it with `usernameObjection`. */
export const usernameOf = (given: string): string => given.trim().toLowerCase();

/** Why a person cannot have this username; null when allowed. Bots follow the rule of `updateUser` instead. */
export function usernameObjection(username: string): Refusal | null {
  const wrong = (code: string, message: string) => invalidField(['username'], code, message);
  if (username.length < 2 || username.length > USERNAME_CHARACTERS_MAX)
    return wrong('BASE_TYPE_BAD_LENGTH', 'Must be between 2 and 32 in length.');
  if (!USERNAME.test(username) || username.includes('..'))
    return wrong(
      'USERNAME_INVALID_CHARACTERS',
      'Use letters a to z, digits, underscores and single dots only.',
    );
  return isReservedUsername(username) ? USERNAME_RESERVED : null;
}

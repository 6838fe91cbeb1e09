import { snowflakeOf } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { newUser } from './user.ts';

/**
 * The account that the server writes direct messages from. It cannot sign in, and has no application. Its id is below
 * every id that a clock gives.
 *
 * @source https://docs.discord.com/developers/resources/user#user-object-user-structure; `system`
 */
export const SYSTEM_USER: APIUser = {
  ...newUser({ id: snowflakeOf(1n), username: 'Guildhall', globalName: null, bot: true }),
  system: true,
};

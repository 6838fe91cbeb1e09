import type { APIUser } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import type { Env } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { holds } from '../permissions/permissions.ts';
import { bitsOf } from './authorize.ts';
import type { Guild } from './guild.ts';

/** The creator of an expression: a member, or the operator's user of a system command. */
export const creatorIn = (guild: Guild, by: By): APIUser | null => guild.members.get(by.userId)?.user ?? null;

/**
 * Whether the caller may change or delete an expression: any with MANAGE_GUILD_EXPRESSIONS, the own ones also with
 * CREATE_GUILD_EXPRESSIONS.
 *
 * @source https://docs.discord.com/developers/topics/permissions
 */
export function mayChange(guild: Guild, by: By, creatorId: string, env: Env): boolean {
  const held = bitsOf(guild, by, env.nowMs);
  if (holds(held, P.MANAGE_GUILD_EXPRESSIONS)) return true;
  return creatorId === by.userId && holds(held, P.CREATE_GUILD_EXPRESSIONS, env.rulesMs);
}

/** Whether the caller sees who created an expression. */
export function seesCreators(guild: Guild, by: By, env: Env): boolean {
  return (bitsOf(guild, by, env.nowMs) & (P.MANAGE_GUILD_EXPRESSIONS | P.CREATE_GUILD_EXPRESSIONS)) !== 0n;
}

/** The object without its creator, as the gateway and members without the permissions see it. */
export function withoutUser<T extends { readonly user: APIUser }>({
  user: _user,
  ...rest
}: T): Omit<T, 'user'> {
  return rest;
}

import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { CreateInput } from '../channel/draft.ts';
import type { By } from '../kernel/authority.ts';
import type { Guild } from './guild.ts';

/** A guild's `explicit_content_filter`. */
const FILTER = { MEMBERS_WITHOUT_ROLES: 1, ALL_MEMBERS: 2 } as const;

/**
 * Refuses an explicit image with 20009 when the guild's filter covers its author. Whether an image is explicit is decided
 * by the embedding program.
 *
 * @source https://docs.discord.com/developers/resources/guild#guild-object-explicit-content-filter-level
 */
export function explicitRefusal(
  { info, members }: Guild,
  { userId, system }: By,
  { isExplicit, from }: Pick<CreateInput, 'isExplicit' | 'from'>,
): Refusal | null {
  if (!isExplicit || from || system) return null;
  const level = info.explicit_content_filter;
  const hasRoles = (members.get(userId)?.roles.length ?? 0) > 0;
  const isFiltered = level === FILTER.ALL_MEMBERS || (level === FILTER.MEMBERS_WITHOUT_ROLES && !hasRoles);
  return isFiltered ? refusal('EXPLICIT_CONTENT_CANNOT_BE_SENT') : null;
}

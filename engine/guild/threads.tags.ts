import { ChannelFlags } from 'discord-api-types/v10';
import { P } from '../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Env } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { bitsIn } from './authorize.ts';
import type { Guild, GuildChannel } from './guild.ts';

interface ForumTag {
  readonly id: string;
  readonly moderated: boolean;
}

const isTag = (tag: unknown): tag is ForumTag =>
  typeof tag === 'object' && tag !== null && 'id' in tag && 'moderated' in tag;

function tagsOf(forum: GuildChannel): readonly ForumTag[] {
  const tags: unknown = 'available_tags' in forum ? forum.available_tags : [];
  return Array.isArray(tags) ? tags.filter(isTag) : [];
}

/** The tags without those that the post has had and the forum has deleted since. */
export function livingTags(
  forum: GuildChannel,
  tags: readonly string[],
  before: readonly string[],
): readonly string[] {
  const known = new Set(tagsOf(forum).map(({ id }) => id));
  return [...new Set(tags)].filter((id) => known.has(id) || !before.includes(id));
}

/**
 * Why these tags cannot be applied to a post of the forum.
 *
 * @param before Tags that it has now, which may stay.
 * @returns 40067 where one is required, 40066 where the caller may apply none of them, 50035 for an unknown one, 50013 for one that only moderators apply.
 */
export function tagRefusal(
  guild: Guild,
  forum: GuildChannel,
  tags: readonly string[],
  before: readonly string[],
  by: By,
  env: Env,
): Refusal | null {
  const isRequired = ((forum.flags ?? 0) & ChannelFlags.RequireTag) !== 0;
  const moderates = (bitsIn(guild, by, forum, env.nowMs) & P.MANAGE_THREADS) !== 0n;
  if (isRequired && tags.length === 0) {
    const mayMeet = moderates || tagsOf(forum).some(({ moderated }) => !moderated);
    return refusal(mayMeet ? 'TAG_REQUIRED' : 'NO_TAGS_FOR_NON_MODERATORS');
  }
  const known = new Map(tagsOf(forum).map((tag) => [tag.id, tag]));
  const unknown = tags.findIndex((id) => !known.has(id));
  if (unknown >= 0)
    return invalidField(['applied_tags', unknown], 'INVALID_TAG', 'The forum has no such tag.');
  const changed = [...tags, ...before].filter((id) => tags.includes(id) !== before.includes(id));
  const isReserved = changed.some((id) => known.get(id)?.moderated === true);
  return isReserved && !moderates ? refusal('MISSING_PERMISSIONS') : null;
}

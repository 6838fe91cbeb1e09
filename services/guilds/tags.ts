import type { Users } from '../../actors/user/users.ts';
import type { GuildTag } from '../../engine/guild/pages.types.ts';
import { shownTag } from '../../engine/guild/tag.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { UserStore } from '../../storage/user/port.ts';

interface TagPorts {
  readonly users: Pick<Users, 'update'>;
  readonly store: Pick<UserStore, 'tagged'>;
  readonly onFault: (error: unknown) => void;
}

/** Keeps the tags that people show behind their names equal to those of their guilds. */
interface Tags {
  /** A member who shows the tag of the guild has left it. */
  left(guildId: GuildId, userId: UserId): void;
  /** The guild has another tag, or none (null). */
  changed(guildId: GuildId, tag: GuildTag | null): void;
}

/** Users who are changed at once, in the background. */
const PAGE = 100;

/** What the server leaves of a tag that it took away. */
const CLEARED = { identity_guild_id: null, identity_enabled: null, tag: null, badge: null };

/**
 * Changes users in the background, one after another. A crash meanwhile leaves the rest with the earlier tag, until the tag
 * changes again or they choose another one.
 */
export function createTags({ users, store, onFault }: TagPorts): Tags {
  const take = (guildId: GuildId, userId: UserId, tag: GuildTag | null) =>
    users.update(userId, {
      ...{ shows: guildId },
      primary_guild: tag === null ? CLEARED : shownTag(guildId, tag),
    });

  async function changeAll(guildId: GuildId, tag: GuildTag | null): Promise<void> {
    for (let after: UserId | null = null; ; ) {
      const page: readonly UserId[] = await store.tagged(guildId, after, PAGE);
      for (const userId of page) await take(guildId, userId, tag);
      after = page.at(-1) ?? null;
      if (page.length < PAGE) return;
    }
  }

  return {
    left: (guildId, userId) => void take(guildId, userId, null).catch(onFault),
    changed: (guildId, tag) => void changeAll(guildId, tag).catch(onFault),
  };
}

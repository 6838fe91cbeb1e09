import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { UserChange } from '../../engine/user/user.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';

interface TagChoicePorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly users: { update(userId: UserId, change: UserChange): Promise<Reply<APIUser>> };
}

/** The choice of the guild tag that a user shows. */
export interface TagChoice {
  /**
   * Shows the tag of a guild of which the user is a member; null shows none.
   *
   * @returns 50035 for a guild without a tag.
   */
  choose(userId: UserId, guildId: GuildId | null, authority: Authority): Promise<Reply<APIUser>>;
}

/** How often one choice is repeated because the guild changed its tag meanwhile. */
const CHANGES_MAX = 3;
const NO_TAG = invalidField(['identity_guild_id'], 'GUILD_TAG_UNKNOWN', 'This guild has no tag.');
/** `primary_guild` of a user who shows no tag by choice. */
const HIDDEN = { identity_guild_id: null, identity_enabled: false, tag: null, badge: null };

export function createTagChoice({ guilds, users }: TagChoicePorts): TagChoice {
  const hide = (userId: UserId) => users.update(userId, { primary_guild: HIDDEN });
  return {
    async choose(userId, guildId, authority) {
      if (guildId === null) return hide(userId);
      const ask = () => guilds.call(guildId, 'getTag', {}, authority);
      let tag = await ask();
      for (let at = 0; at < CHANGES_MAX; at += 1) {
        if (!tag.ok) return tag;
        if (tag.value === null) return { ok: false, refusal: NO_TAG };
        const reply = await users.update(userId, { primary_guild: tag.value });
        // If the guild changed its tag, or the user left, before the user was stored, the change did not reach this user.
        const now = await ask();
        if (now.ok && now.value?.tag === tag.value.tag && now.value.badge === tag.value.badge) return reply;
        if (!now.ok || now.value === null) await hide(userId);
        tag = now;
      }
      return { ok: false, refusal: refusal('API_OVERLOADED') };
    },
  };
}

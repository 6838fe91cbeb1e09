import type { Routing } from '../../actors/placement/routing.ts';
import type { Lifetime } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { Users } from '../../actors/user/users.ts';
import type { GuildTag } from '../../engine/guild/pages.types.ts';
import { shownTag } from '../../engine/guild/tag.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { TagStore, TagUpdate } from '../../storage/guild/port.ts';
import type { UserStore } from '../../storage/user/port.ts';
import { QueuedWork } from '../queuedwork.ts';

interface TagPorts {
  readonly users: Pick<Users, 'update'>;
  readonly storage: { readonly tags: TagStore; readonly users: Pick<UserStore, 'guildIds'> };
  readonly routing: Pick<Routing, 'owns'>;
  readonly wheel: Wheel;
  /** Ends the work in the background. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly onFault: (error: unknown) => void;
}

/** Keeps the tags that people show behind their names equal to those of their guilds. */
interface Tags {
  /** A guild has another tag or none, or a member who shows its tag has left. */
  wake(): void;
}

/** Updates and users that are read together, and users that are changed at once. */
const [UPDATES_PAGE, USERS_PAGE, AT_ONCE] = [100, 100, 8];

/** Fields of a user's tag after the server removed it. */
const CLEARED = { identity_guild_id: null, identity_enabled: null, tag: null, badge: null };

/**
 * Changes users in the background. What is to be done is queued in the commit that makes it necessary, and removed once every
 * user has the tag that the guild has now, so that a crash leaves no user with an earlier one.
 */
export function startTags({ users, storage, routing, wheel, scope, onFault }: TagPorts): Tags {
  const { tags } = storage;

  async function give(guildId: GuildId, userIds: readonly UserId[], tag: GuildTag | null): Promise<void> {
    const change = { shows: guildId, primary_guild: tag === null ? CLEARED : shownTag(guildId, tag) };
    for (let at = 0; at < userIds.length; at += AT_ONCE) {
      const some = userIds.slice(at, at + AT_ONCE);
      // A refusal (the user is gone) is final.
      await Promise.all(some.map((userId) => users.update(userId, change)));
    }
  }

  async function update({ guildId, userId }: TagUpdate): Promise<boolean> {
    if (userId !== null) {
      // A user who has joined again since may show the tag.
      const isMember = (await storage.users.guildIds(userId)).includes(guildId);
      await give(guildId, [userId], isMember ? await tags.of(guildId) : null);
      return true;
    }
    const tag = await tags.of(guildId);
    for (let after: UserId | null = null; !scope.over; ) {
      const page: UserId[] = await tags.users(guildId, after, USERS_PAGE);
      await give(guildId, page, tag);
      after = page.at(-1) ?? null;
      if (page.length < USERS_PAGE) return true;
    }
    return false;
  }

  async function work(): Promise<'done' | 'failed'> {
    let isDone = true;
    for (let after: TagUpdate['seq'] | null = null; !scope.over; ) {
      const page: TagUpdate[] = await tags.updates(after, UPDATES_PAGE);
      for (const one of page.filter(({ guildId }) => routing.owns(guildId))) {
        try {
          if (await update(one)) await tags.drop(one);
        } catch (error) {
          isDone = false;
          queue.report(error);
        }
      }
      after = page.at(-1)?.seq ?? null;
      if (page.length < UPDATES_PAGE) break;
    }
    return isDone ? 'done' : 'failed';
  }

  const queue = new QueuedWork({ work, wheel, scope, onFault });
  queue.start();
  return queue;
}

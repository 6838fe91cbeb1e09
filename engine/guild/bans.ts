import { AUDIT } from '../../protocol/audit.ts';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import { auditEntry } from './auditing.ts';
import type { BanFacts, GuildFact } from './facts.ts';
import type { Ban, Guild } from './guild.ts';
import { leaveFacts } from './members.joining.ts';
import { isAbove } from './members.update.ts';
import { withRequests } from './screening.ts';
import type { GuildTopic } from './topic.ts';

type BanCommands = {
  /** Permission check before the list is read from the store. */
  authorizeBanRead: { input: object; value: null };
  getBan: { input: { readonly userId: UserId }; value: Ban };
  /** Bans a user, member or not. A second ban changes nothing and is no error. */
  banUser: { input: { readonly userId: UserId }; value: null };
  /** At most `LIMITS.bulk_ban_users_max` users. Each succeeds or fails on its own; refused when none succeeds. */
  banUsers: {
    input: { readonly userIds: readonly UserId[] };
    value: { readonly banned: readonly UserId[]; readonly failed: readonly UserId[] };
  };
  unbanUser: { input: { readonly userId: UserId }; value: null };
  /**
   * Deletes a banned user's messages. It runs after the ban, so that no new message can be written, with ids of the
   * user's messages from the store; refused for a user who is not banned.
   */
  purgeBanned: {
    input: {
      readonly userId: UserId;
      readonly messages: readonly { readonly channelId: ChannelId; readonly id: MessageId }[];
    };
    value: null;
  };
};

const target = ({ userId }: { readonly userId: UserId }, guild: Guild): Needs => aboutUsers(guild, [userId]);
const aboutUsers = (guild: Guild, userIds: readonly UserId[]): Needs => ({
  ...withRequests(guild, userIds),
  bans: userIds,
  users: userIds,
});

export const bans: GuildTopic<BanCommands, keyof BanFacts> = {
  commands: {
    authorizeBanRead: { decide: () => accepted(null) },
    getBan: {
      needs: ({ userId }) => ({ bans: [userId] }),
      decide: (guild, { userId }) => {
        const ban = guild.bans.get(userId);
        return ban ? accepted(ban) : refused(refusal('UNKNOWN_BAN'));
      },
    },
    banUser: {
      needs: target,
      decide: (guild, { userId }, by, env) => {
        if (guild.bans.get(userId)) return accepted(null);
        const no = banRefusal(guild, userId, by);
        return no ? refused(no) : accepted(null, banFacts(guild, userId, by, env));
      },
    },
    banUsers: { needs: ({ userIds }, guild) => aboutUsers(guild, userIds), decide: banUsers },
    unbanUser: {
      needs: ({ userId }) => ({ bans: [userId] }),
      decide: (guild, { userId }, by, env) => {
        const ban = guild.bans.get(userId);
        if (!ban) return refused(refusal('UNKNOWN_BAN'));
        return accepted(null, [
          { type: 'banRemoved', user: ban.user },
          auditEntry(env, by, { actionType: AUDIT.MEMBER_BAN_REMOVE, targetId: userId }),
        ]);
      },
    },
    purgeBanned: {
      // Messages are deleted from archived threads too: the dispatches and the message counts need the threads.
      needs: ({ userId, messages }) => ({
        bans: [userId],
        threads: [...new Set(messages.map(({ channelId }) => channelId))],
      }),
      decide: (guild, { userId, messages }) => {
        if (!guild.bans.get(userId)) return refused(refusal('UNKNOWN_BAN'));
        return accepted(null, purgeFacts(messages));
      },
    },
  },
  facts: {
    banAdded: {
      apply: (guild, { ban }) => {
        guild.bans.set(ban.user.id, ban);
      },
      dispatches: (guild, { ban }) => [toGuild('GUILD_BAN_ADD', { guild_id: guild.id, user: ban.user })],
    },
    banRemoved: {
      apply: (guild, { user }) => {
        guild.bans.set(user.id, null);
      },
      dispatches: (guild, { user }) => [toGuild('GUILD_BAN_REMOVE', { guild_id: guild.id, user })],
    },
  },
};

const toGuild = (t: Dispatch['t'], d: object): Dispatch => ({ t, d, to: { kind: 'guild' } });

/** A caller cannot ban the owner, themselves, or a member who is not below them. */
function banRefusal(guild: Guild, userId: UserId, by: By): Refusal | null {
  if (guild.members.get(userId)) return isAbove(guild, by, userId) ? null : refusal('MISSING_PERMISSIONS');
  return guild.users.get(userId) ? null : refusal('UNKNOWN_USER');
}

function banFacts(guild: Guild, userId: UserId, by: By, env: Env): GuildFact[] {
  const member = guild.members.get(userId);
  const user = member?.user ?? guild.users.get(userId);
  if (!user) return [];
  return [
    ...(member ? leaveFacts(guild, member) : []),
    { type: 'banAdded', ban: { user, reason: by.reason } },
    auditEntry(env, by, { actionType: AUDIT.MEMBER_BAN_ADD, targetId: userId }),
  ];
}

function banUsers(
  guild: Guild,
  { userIds }: { readonly userIds: readonly UserId[] },
  by: By,
  env: Env,
): Outcome<{ banned: UserId[]; failed: UserId[] }, GuildFact> {
  const banned: UserId[] = [];
  const failed: UserId[] = [];
  const facts: GuildFact[] = [];
  for (const userId of new Set(userIds)) {
    if (guild.bans.get(userId) || banRefusal(guild, userId, by)) failed.push(userId);
    else {
      banned.push(userId);
      facts.push(...banFacts(guild, userId, by, env));
    }
  }
  return banned.length > 0 ? accepted({ banned, failed }, facts) : refused(refusal('FAILED_TO_BAN_USERS'));
}

/** One fact per channel and at most 100 messages, as clients expect of a bulk deletion. */
function purgeFacts(
  messages: readonly { readonly channelId: ChannelId; readonly id: MessageId }[],
): GuildFact[] {
  const byChannel = new Map<ChannelId, MessageId[]>();
  for (const { channelId, id } of messages) {
    const ids = byChannel.get(channelId);
    if (ids) ids.push(id);
    else byChannel.set(channelId, [id]);
  }
  const facts: GuildFact[] = [];
  for (const [channelId, ids] of byChannel) {
    for (let at = 0; at < ids.length; at += LIMITS.bulk_delete_max) {
      const messageIds = ids.slice(at, at + LIMITS.bulk_delete_max);
      facts.push({ type: 'messagesBulkDeleted', channelId, messageIds });
    }
  }
  return facts;
}

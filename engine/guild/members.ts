import { AUDIT } from '../../protocol/audit.ts';
import type { RoleId, UserId } from '../../protocol/ids.ts';
import { listsMembers } from '../../protocol/intents.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused, withBefore } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import { auditEntry, changesOf, sameValue } from './auditing.ts';
import { bitsOf } from './authorize.ts';
import { asJudged } from './automod.profiles.ts';
import type { GuildFact, MemberFacts } from './facts.ts';
import type { Guild, Member } from './guild.ts';
import { admissionRefusal, admitted, joinFacts, joining, leaveFacts } from './members.joining.ts';
import {
  isAbove,
  keptNick,
  type MemberChange,
  nickRefusal,
  roleAudit,
  roleRefusal,
  updateMember,
} from './members.update.ts';
import { admissionFacts, unscreened, withRequests } from './screening.ts';
import type { GuildTopic } from './topic.ts';
import { sightOf, visibilityDiff } from './visibility.ts';

/** A new member as a bot or the operator adds one; every field but the user requires its own permission. */
export interface AddMember {
  readonly userId: UserId;
  readonly nick?: string | null;
  readonly roles?: readonly RoleId[] | null;
  readonly mute?: boolean | null;
  readonly deaf?: boolean | null;
}

export interface MemberAccess {
  readonly userId: UserId;
  readonly roles: readonly string[];
  /** Decimal. */
  readonly permissions: string;
}

type MemberCommands = {
  getMember: { input: { readonly userId: UserId }; value: Member };
  /** The caller's roles and permissions in the guild. */
  getOwnAccess: { input: object; value: MemberAccess };
  /** Permission check before the stores are read. The whole list is for bots whose application may see all members. */
  authorizeMemberRead: { input: { readonly wholeList: boolean }; value: null };
  /** `added` is false when the user was a member already; then nothing changes. */
  addMember: { input: AddMember; value: { readonly member: Member; readonly added: boolean } };
  updateMember: { input: { readonly userId: UserId } & MemberChange; value: Member };
  /** The caller's own member. `avatar` and `banner` are hashes of stored images. */
  updateMyMember: { input: MyMemberChange; value: Member };
  kickMember: { input: { readonly userId: UserId }; value: null };
  leaveGuild: { input: object; value: null };
  /**
   * Ends a temporary membership after the user's last session ended; `joinedAt` names the membership. A member with a
   * role stays, and with `ifOffline` also a member with a session here.
   */
  endTemporaryMembership: {
    input: { readonly userId: UserId; readonly joinedAt: string; readonly ifOffline?: boolean };
    value: null;
  };
  addMemberRole: { input: { readonly userId: UserId; readonly roleId: RoleId }; value: null };
  removeMemberRole: { input: { readonly userId: UserId; readonly roleId: RoleId }; value: null };
  /** A user's own profile changed; the guild's copy is updated. Does nothing for users who are not members. */
  memberUserChanged: { input: { readonly user: APIUser }; value: null };
};

export interface MyMemberChange {
  readonly nick?: string | null;
  readonly avatar?: string | null;
  readonly banner?: string | null;
}

const targets = ({ userId }: { readonly userId: UserId }, guild: Guild): Needs =>
  withRequests(guild, [userId]);

export const members: GuildTopic<MemberCommands, keyof MemberFacts> = {
  commands: {
    getMember: {
      // The table of users decides between an unknown member and an unknown user.
      needs: ({ userId }, guild) => (guild.members.get(userId) ? {} : { members: [userId], users: [userId] }),
      decide: (guild, { userId }) => {
        const member = guild.members.get(userId);
        if (member) return accepted(member);
        return refused(refusal(guild.users.get(userId) === null ? 'UNKNOWN_USER' : 'UNKNOWN_MEMBER'));
      },
    },
    getOwnAccess: {
      decide: (guild, _input, by, env) => {
        const member = guild.members.get(by.userId);
        if (!member) return refused(refusal('UNKNOWN_MEMBER'));
        const permissions = String(bitsOf(guild, by, env.nowMs));
        return accepted({ userId: by.userId, roles: member.roles, permissions });
      },
    },
    authorizeMemberRead: {
      decide: (_guild, { wholeList }, by) =>
        wholeList && !listsMembers(by) ? refused(refusal('MISSING_ACCESS')) : accepted(null),
    },
    addMember: {
      needs: ({ userId }) => joining(userId),
      decide: addMember,
    },
    updateMember: { needs: targets, decide: updateMember },
    updateMyMember: {
      decide: (guild, input, by, env) => {
        const member = guild.members.get(by.userId);
        if (!member) return refused(refusal('UNKNOWN_MEMBER'));
        const may = bitsOf(guild, by, env.nowMs);
        if (input.nick !== undefined) {
          const no = nickRefusal(guild, by, by.userId, may);
          if (no) return refused(no);
        }
        const after: Member = {
          ...member,
          ...(input.nick === undefined ? {} : { nick: keptNick(input.nick) }),
          ...(input.avatar === undefined ? {} : { avatar: input.avatar }),
          ...(input.banner === undefined ? {} : { banner: input.banner }),
        };
        if (sameValue(member, after)) return accepted(member);
        const facts: GuildFact[] = [{ type: 'memberUpdated', member: after }];
        if (member.nick !== after.nick) {
          const changes = changesOf(member, after, ['nick']);
          facts.push(auditEntry(env, by, { actionType: AUDIT.MEMBER_UPDATE, targetId: by.userId, changes }));
        }
        return accepted(asJudged(guild, after, env), facts);
      },
    },
    kickMember: {
      needs: targets,
      decide: (guild, { userId }, by, env) => {
        const member = guild.members.get(userId);
        if (!member) return refused(refusal('UNKNOWN_MEMBER'));
        if (!isAbove(guild, by, userId)) return refused(refusal('MISSING_PERMISSIONS'));
        const entry = auditEntry(env, by, { actionType: AUDIT.MEMBER_KICK, targetId: userId });
        return accepted(null, [...leaveFacts(guild, member), entry]);
      },
    },
    leaveGuild: {
      needs: (_input, guild, by) => withRequests(guild, [by.userId]),
      decide: (guild, _input, by) => {
        const member = guild.members.get(by.userId);
        if (!member) return refused(refusal('UNKNOWN_GUILD'));
        if (guild.info.owner_id === by.userId) return refused(refusal('INVALID_GUILD'));
        return accepted(null, leaveFacts(guild, member));
      },
    },
    endTemporaryMembership: {
      needs: targets,
      decide: (guild, { userId, joinedAt, ifOffline }) => {
        const member = guild.members.get(userId);
        const stays = !member || member.joined_at !== joinedAt || member.roles.length > 0;
        const isBack = ifOffline === true && guild.sessionCounts.has(userId);
        return stays || isBack || guild.info.owner_id === userId
          ? accepted(null)
          : accepted(null, leaveFacts(guild, member));
      },
    },
    addMemberRole: {
      needs: targets,
      decide: (guild, { userId, roleId }, by, env) => switchRole(guild, userId, roleId, true, by, env),
    },
    removeMemberRole: {
      needs: targets,
      decide: (guild, { userId, roleId }, by, env) => switchRole(guild, userId, roleId, false, by, env),
    },
    memberUserChanged: {
      needs: ({ user }) => ({ members: [user.id] }),
      decide: (guild, { user }) => {
        const member = guild.members.get(user.id);
        if (!member || sameValue(member.user, user)) return accepted(null);
        return accepted(null, [{ type: 'memberUpdated', member: { ...member, user } }]);
      },
    },
  },
  facts: {
    memberAdded: {
      apply: (guild, { member }) => {
        guild.members.set(member.user.id, member);
        guild.formerMembers.set(member.user.id, null);
        guild.memberCount++;
        guild.visibilityVersion++;
      },
      dispatches: (guild, { member }) => [toGuild('GUILD_MEMBER_ADD', { ...member, guild_id: guild.id })],
    },
    memberUpdated: withBefore({
      voiceMembers: ({ member }) => member.user.id,
      before: (guild, { member }) =>
        seesAlike(guild, member) ? null : sightOf(guild, { userIds: [member.user.id] }),
      apply: (guild, { member }) => {
        const alike = seesAlike(guild, member);
        guild.members.set(member.user.id, member);
        if (!alike) guild.visibilityVersion++;
      },
      dispatches: (guild, { member }, before) => [
        { ...toGuild('GUILD_MEMBER_UPDATE', { ...member, guild_id: guild.id }), keepsSight: before === null },
        ...visibilityDiff(guild, before),
      ],
    }),
    memberRemoved: {
      voiceMembers: ({ user }) => user.id,
      apply: (guild, { user, timedOutUntil = null }) => {
        const userId = user.id;
        guild.members.set(userId, null);
        guild.formerMembers.set(userId, { userId, timedOutUntil });
        guild.memberCount--;
        guild.onboardingAnswers.set(userId, null);
        guild.presences.delete(userId);
        guild.voiceStates.delete(userId);
        guild.visibilityVersion++;
      },
      // The leaving user receives GUILD_DELETE before the others receive the removal. Without `unavailable` the client
      // knows that the user left the guild, not that the server failed.
      dispatches: (guild, { user }) => [
        { t: 'GUILD_DELETE', d: { id: guild.id }, to: { kind: 'users', userIds: [user.id] } },
        toGuild('GUILD_MEMBER_REMOVE', { guild_id: guild.id, user }),
      ],
    },
  },
};

const toGuild = (t: Dispatch['t'], d: object): Dispatch => ({ t, d, to: { kind: 'guild' } });

/** Whether the member sees the same channels as before: a mere change of name must not clear the memo of audiences. */
function seesAlike(guild: Guild, after: Member): boolean {
  const before = guild.members.get(after.user.id);
  return (
    before != null &&
    before.communication_disabled_until === after.communication_disabled_until &&
    before.flags === after.flags &&
    before.pending === after.pending &&
    sameValue(before.roles, after.roles)
  );
}

function addMember(
  guild: Guild,
  input: AddMember,
  by: By,
  env: Env,
): Outcome<{ member: Member; added: boolean }, GuildFact> {
  const already = guild.members.get(input.userId);
  if (already) return accepted({ member: already, added: false });
  const user = guild.users.get(input.userId);
  if (!user) return refused(refusal('UNKNOWN_USER'));
  const no = admissionRefusal(guild, input.userId) ?? extrasRefusal(guild, input, by, env);
  if (no) return refused(no);
  const { nick = null, roles, mute, deaf } = input;
  const member = admitted(
    guild,
    {
      ...{ user, nick: keptNick(nick), roles: [...new Set(roles ?? [])] },
      ...{ mute: mute ?? false, deaf: deaf ?? false },
    },
    env.nowMs,
  );
  const facts = joinFacts(guild, member, env);
  // The operator is no user, so the audit log has no user to name.
  if (user.bot && !by.system) {
    facts.push(auditEntry(env, by, { actionType: AUDIT.BOT_ADD, targetId: input.userId }));
  }
  return accepted({ member, added: true }, facts);
}

/** Initial values follow the same permission rules as later changes. */
function extrasRefusal(guild: Guild, input: AddMember, by: By, env: Env): Refusal | null {
  const may = bitsOf(guild, by, env.nowMs);
  const missing =
    (input.nick && !(may & P.MANAGE_NICKNAMES)) ||
    (input.roles?.length && !(may & P.MANAGE_ROLES)) ||
    (input.mute && !(may & P.MUTE_MEMBERS)) ||
    (input.deaf && !(may & P.DEAFEN_MEMBERS));
  if (missing) return refusal('MISSING_PERMISSIONS');
  for (const roleId of input.roles ?? []) {
    const no = roleRefusal(guild, by, roleId);
    if (no) return no;
  }
  return null;
}

function switchRole(
  guild: Guild,
  userId: UserId,
  roleId: RoleId,
  on: boolean,
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const member = guild.members.get(userId);
  if (!member) return refused(refusal('UNKNOWN_MEMBER'));
  const no = roleRefusal(guild, by, roleId);
  if (no) return refused(no);
  if (member.roles.includes(roleId) === on) return accepted(null);
  const roles = on ? [...member.roles, roleId] : member.roles.filter((id) => id !== roleId);
  const audit = on ? roleAudit(guild, userId, [roleId], []) : roleAudit(guild, userId, [], [roleId]);
  const after = unscreened({ ...member, roles });
  return accepted(null, [
    { type: 'memberUpdated', member: after },
    ...admissionFacts(guild, member, after, by, env),
    auditEntry(env, by, audit),
  ]);
}

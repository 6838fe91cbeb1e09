import { AUDIT } from '../../protocol/audit.ts';
import { INVITABLE } from '../../protocol/channeltypes.ts';
import type { ChannelId, GuildId, RoleId, ScheduledEventId, UserId } from '../../protocol/ids.ts';
import { isExpired } from '../../protocol/invites.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { isEmbedded } from '../application/mappings.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { channelPermissions, guildPermissions } from '../permissions/permissions.ts';
import type { Application } from '../user/facts.ts';
import { auditEntry } from './auditing.ts';
import { bitsIn, bitsOf } from './authorize.ts';
import type { GuildFact, InviteFacts } from './facts.ts';
import type { Guild, Invite, Member } from './guild.ts';
import { incidentOf } from './incidents.ts';
import { type InviteObject, invitedEvent, inviteObject } from './invites.objects.ts';
import { admissionRefusal, admitted, joinFacts, joining } from './members.joining.ts';
import { roleRefusal } from './members.update.ts';
import type { GuildTopic } from './topic.ts';
import { storedCode } from './vanity.ts';

/** A caller's request for an invite. */
export interface NewInvite {
  /** Seconds; 0 for an invite that never expires. */
  readonly maxAgeSec: number;
  /** 0 for no limit. */
  readonly maxUses: number;
  readonly temporary: boolean;
  readonly roleIds: readonly RoleId[];
  /** The only users who may accept it; absent: anyone may. */
  readonly targetUserIds?: readonly UserId[];
  /** The users come from an uploaded list. */
  readonly targetsUploaded?: true;
  /** The target of the invite besides the channel: somebody's stream there, or an application's activity. */
  readonly leadsTo?:
    | { readonly userId: UserId }
    /** As anyone sees it, and its activity. */
    | { readonly application: object; readonly activity?: NonNullable<Application['activity']> };
}

export interface CreateInvite extends NewInvite {
  readonly channelId: ChannelId;
  /** A random code that is not in use. */
  readonly code: string;
  /** Code of an invite that may be returned instead, when the caller does not insist on a new one. */
  readonly reuse: string | null;
  /** Number of the guild's invites, from the store; concurrent creations may exceed the bound slightly. */
  readonly inviteCount: number;
  /** Codes of expired invites as the store knows them; this command removes them. */
  readonly expired: readonly string[];
}

type InviteCommands = {
  createInvite: { input: CreateInvite; value: InviteObject };
  /** Permission check before a channel's invites are read from the store. */
  authorizeChannelInvites: {
    input: { readonly channelId: ChannelId };
    value: { readonly guildId: GuildId };
  };
  authorizeGuildInvites: { input: object; value: null };
  /** Converts stored invites to the wire's shape, each with the fields that the caller may see. */
  presentInvites: { input: { readonly invites: readonly Invite[] }; value: readonly InviteObject[] };
  /** For anyone who knows the code and may see the invite; the server itself calls it for the reader. */
  resolveInvite: {
    input: {
      readonly code: string;
      /** Null for a caller who is not signed in. */
      readonly readerId: UserId | null;
      readonly withCounts: boolean;
      /** A scheduled event to show with the invite; null for none. */
      readonly eventId?: ScheduledEventId | null;
    };
    value: InviteObject;
  };
  revokeInvite: { input: { readonly code: string }; value: InviteObject };
  /** The server itself calls it for a user who is not a member yet. `added`: this call made the user a member. */
  acceptInvite: {
    input: { readonly code: string; readonly userId: UserId };
    value: { readonly invite: InviteObject; readonly member: Member; readonly added: boolean };
  };
};

export const invites: GuildTopic<InviteCommands, keyof InviteFacts> = {
  commands: {
    createInvite: {
      needs: ({ code, reuse, expired }) => ({
        invites: [code, ...(reuse === null ? [] : [reuse]), ...expired],
      }),
      decide: createInvite,
    },
    authorizeChannelInvites: { decide: (guild) => accepted({ guildId: guild.id }) },
    authorizeGuildInvites: {
      decide: (guild, _input, by, env) =>
        bitsOf(guild, by, env.nowMs) & (P.MANAGE_GUILD | P.VIEW_AUDIT_LOG)
          ? accepted(null)
          : refused(refusal('MISSING_PERMISSIONS')),
    },
    presentInvites: {
      decide: (guild, input, by, env) =>
        accepted(
          listed(guild, input.invites).map((invite) => {
            const metadata = manages(guild, invite, by, env);
            return inviteObject(guild, invite, { metadata, counts: false });
          }),
        ),
    },
    resolveInvite: {
      needs: ({ code, readerId }, guild) => ({
        invites: [storedCode(guild, code)],
        members: readerId === null ? [] : [readerId],
      }),
      decide: (guild, { code, readerId, withCounts, eventId = null }, _by, env) => {
        const invite = liveInvite(guild, storedCode(guild, code), env);
        if (!invite || !sees(guild, invite, readerId, env)) return refused(refusal('UNKNOWN_INVITE'));
        const event = eventId === null ? {} : invitedEvent(guild, invite.channel_id, eventId);
        return accepted({
          ...inviteObject(guild, invite, { metadata: false, counts: withCounts }),
          ...event,
        });
      },
    },
    revokeInvite: {
      needs: ({ code }, guild) => ({ invites: [storedCode(guild, code)] }),
      decide: (guild, input, by, env) => {
        const code = storedCode(guild, input.code);
        const invite = liveInvite(guild, code, env);
        if (!invite) return refused(refusal('UNKNOWN_INVITE'));
        // A guild's own code is given up by its own operation.
        if (!manages(guild, invite, by, env) || code === guild.info.vanity_url_code)
          return refused(refusal('MISSING_PERMISSIONS'));
        const changes = auditedFields(invite).map(([key, value]) => ({ key, old_value: value }));
        return accepted(inviteObject(guild, invite, { metadata: true, counts: false }), [
          { type: 'inviteDeleted', code, channelId: invite.channel_id },
          auditEntry(env, by, { actionType: AUDIT.INVITE_DELETE, targetId: null, changes }),
        ]);
      },
    },
    acceptInvite: {
      needs: ({ code, userId }, guild) => ({ ...joining(userId), invites: [storedCode(guild, code)] }),
      decide: acceptInvite,
    },
  },
  facts: {
    inviteCreated: {
      apply: (guild, { invite }) => {
        guild.invites.set(invite.code, invite);
      },
      dispatches: (_guild, { invite: { inviter, target_user_ids: _, target_users_at: __, ...rest } }) => [
        {
          t: 'INVITE_CREATE',
          d: { ...rest, type: 0, ...(inviter ? { inviter } : {}) },
          to: { kind: 'channel', channelId: rest.channel_id },
        },
      ],
    },
    inviteUsed: {
      apply: (guild, { invite }) => {
        guild.invites.set(invite.code, invite);
      },
      // No dispatch carries the number of uses.
      dispatches: () => [],
    },
    inviteDeleted: {
      apply: (guild, { code }) => {
        guild.invites.set(code, null);
      },
      dispatches: (guild, { code, channelId }) => [
        {
          t: 'INVITE_DELETE',
          d: { channel_id: channelId, guild_id: guild.id, code },
          to: { kind: 'channel', channelId },
        },
      ],
    },
  },
};

/** The invite, unless it is unknown or expired: an expired invite stays stored for a while, but cannot be used. */
export function liveInvite(guild: Guild, code: string, env: Env): Invite | null {
  const invite = guild.invites.get(code);
  // An invite is deleted with its channel, but one may just have been loaded from the store.
  if (!invite || !guild.channels.has(invite.channel_id)) return null;
  return isExpired(invite, env.nowMs) ? null : invite;
}

/** Excludes the vanity code, which has an operation of its own. */
const listed = ({ info }: Guild, invites: readonly Invite[]): readonly Invite[] =>
  invites.filter(({ code }) => code !== info.vanity_url_code);

/** Whether the caller may revoke the invite, and so see its metadata. */
function manages(guild: Guild, invite: Invite, by: By, env: Env): boolean {
  if (bitsOf(guild, by, env.nowMs) & P.MANAGE_GUILD) return true;
  const channel = guild.channels.get(invite.channel_id);
  if (!channel) return false;
  return (bitsIn(guild, by, channel, env.nowMs) & P.MANAGE_CHANNELS) !== 0n;
}

/**
 * Whether a reader may see an invite. One with a list of users is seen by these users, its inviter, and members who may
 * read the list or the invites of the channel.
 *
 * @source https://docs.discord.com/developers/resources/invite#get-target-users
 */
function sees(guild: Guild, invite: Invite, readerId: UserId | null, { nowMs }: Env): boolean {
  const { target_user_ids: listed, inviter, channel_id } = invite;
  if (!listed) return true;
  if (readerId === null) return false;
  if (listed.includes(readerId) || inviter?.id === readerId) return true;
  const channel = guild.channels.get(channel_id);
  const inChannel = channel ? channelPermissions(guild, readerId, channel, nowMs) & P.MANAGE_CHANNELS : 0n;
  const inGuild = guildPermissions(guild, readerId, nowMs) & (P.MANAGE_GUILD | P.VIEW_AUDIT_LOG);
  return (inChannel | inGuild) !== 0n;
}

function createInvite(guild: Guild, input: CreateInvite, by: By, env: Env): Outcome<InviteObject, GuildFact> {
  const channel = guild.channels.get(input.channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  if (!INVITABLE.has(channel.type)) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const shows = { metadata: true, counts: false };
  const old = input.reuse === null ? null : liveInvite(guild, input.reuse, env);
  if (old && alike(old, input, by)) return accepted(inviteObject(guild, old, shows));
  if (guild.invites.get(input.code)) return refused(refusal('INVITE_CODE_INVALID_OR_TAKEN'));
  if (input.inviteCount >= LIMITS.invites_per_guild_max) return refused(refusal('MAXIMUM_INVITES'));
  if (input.roleIds.length > 0) {
    const may = bitsOf(guild, by, env.nowMs);
    if (!(may & P.MANAGE_ROLES)) return refused(refusal('MISSING_PERMISSIONS'));
    for (const roleId of input.roleIds) {
      const no = roleRefusal(guild, by, roleId);
      if (no) return refused(no);
    }
  }
  const target = targetOf(guild, input);
  if (!target.ok) return target;
  const invite: Invite = {
    code: input.code,
    channel_id: input.channelId,
    guild_id: guild.id,
    inviter: guild.members.get(by.userId)?.user ?? null,
    created_at: isoTimestamp(env.nowMs),
    expires_at: input.maxAgeSec === 0 ? null : isoTimestamp(env.nowMs + input.maxAgeSec * 1000),
    max_age: input.maxAgeSec,
    max_uses: input.maxUses,
    uses: 0,
    temporary: input.temporary,
    ...(input.roleIds.length > 0 ? { role_ids: [...new Set(input.roleIds)] } : {}),
    ...(input.targetUserIds ? { target_user_ids: input.targetUserIds } : {}),
    ...(input.targetsUploaded ? { target_users_at: isoTimestamp(env.nowMs) } : {}),
    ...target.value,
  };
  const changes = auditedFields(invite).map(([key, value]) => ({ key, new_value: value }));
  return accepted(inviteObject(guild, invite, shows), [
    ...expiries(guild, input.expired, env),
    { type: 'inviteCreated', invite },
    auditEntry(env, by, { actionType: AUDIT.INVITE_CREATE, targetId: null, changes }),
  ]);
}

/** The fields of an invite that say what it leads to: a stream that is live in the channel, or an activity. */
function targetOf(
  guild: Guild,
  { leadsTo, channelId }: CreateInvite,
): Outcome<Pick<Invite, 'target_type' | 'target_user' | 'target_application'>, never> {
  if (!leadsTo) return accepted({});
  if ('application' in leadsTo) {
    if (isEmbedded(leadsTo)) return accepted({ target_type: 2, target_application: leadsTo.application });
    const message = 'The application has no activity.';
    return refused(invalidField(['target_application_id'], 'BASE_TYPE_CHOICES', message));
  }
  const voice = guild.voiceStates.get(leadsTo.userId);
  const user = guild.members.get(leadsTo.userId)?.user;
  if (voice?.channel_id === channelId && voice.self_stream && user)
    return accepted({ target_type: 1, target_user: user });
  const message = 'The user does not stream in this channel.';
  return refused(invalidField(['target_user_id'], 'BASE_TYPE_CHOICES', message));
}

/** The deletions of those codes whose invites have really expired. */
function expiries(guild: Guild, codes: readonly string[], env: Env): GuildFact[] {
  return codes.flatMap((code) => {
    const invite = guild.invites.get(code);
    if (!invite || liveInvite(guild, code, env)) return [];
    return [{ type: 'inviteDeleted', code, channelId: invite.channel_id } satisfies GuildFact];
  });
}

/** The first invite of the caller that matches the request, so that it can be returned again; null for none. */
export const reusableInvite = (
  invites: readonly Invite[],
  input: NewInvite & Pick<CreateInvite, 'channelId'>,
  by: By,
): Invite | null => invites.find((invite) => alike(invite, input, by)) ?? null;

/** Whether an invite matches the request. */
const alike = (invite: Invite, input: NewInvite & Pick<CreateInvite, 'channelId'>, by: By): boolean =>
  invite.channel_id === input.channelId &&
  invite.inviter?.id === by.userId &&
  invite.max_age === input.maxAgeSec &&
  invite.max_uses === input.maxUses &&
  invite.temporary === input.temporary &&
  invite.role_ids === undefined &&
  invite.target_user_ids === undefined &&
  invite.target_type === undefined &&
  input.leadsTo === undefined &&
  input.targetUserIds === undefined &&
  input.roleIds.length === 0;

function acceptInvite(
  guild: Guild,
  { code: asked, userId }: { readonly code: string; readonly userId: UserId },
  _by: By,
  env: Env,
): Outcome<{ invite: InviteObject; member: Member; added: boolean }, GuildFact> {
  const code = storedCode(guild, asked);
  const invite = liveInvite(guild, code, env);
  if (!invite || guild.info.features.includes('INVITES_DISABLED') || incidentOf(guild, 'invites', env.nowMs))
    return refused(refusal('UNKNOWN_INVITE'));
  if (invite.target_user_ids?.includes(userId) === false) return refused(refusal('UNKNOWN_INVITE'));
  const shown = inviteObject(guild, invite, { metadata: false, counts: false });
  const already = guild.members.get(userId);
  if (already) {
    const member = { ...already, roles: [...new Set([...already.roles, ...rolesOf(guild, invite)])] };
    if (member.roles.length === already.roles.length)
      return accepted({ invite: shown, member: already, added: false });
    const facts: GuildFact[] = [{ type: 'memberUpdated', member }, ...usesOf(invite)];
    return accepted({ invite: shown, member, added: false }, facts);
  }
  const user = guild.users.get(userId);
  if (!user) return refused(refusal('UNKNOWN_USER'));
  if (user.bot) return refused(refusal('BOTS_CANNOT_USE_THIS_ENDPOINT'));
  const no = admissionRefusal(guild, userId);
  if (no) return refused(no);
  const member = admitted(guild, { user, roles: rolesOf(guild, invite) }, env.nowMs);
  return accepted({ invite: shown, member, added: true }, [
    ...joinFacts(guild, member, env, invite.temporary),
    ...usesOf(invite),
  ]);
}

/** The roles that the invite gives, without those that were deleted or became managed since. */
const rolesOf = (guild: Guild, { role_ids: ids = [] }: Invite): RoleId[] =>
  ids.filter((id) => guild.roles.get(id)?.managed === false);

/** One more use, which may be the last. */
function usesOf(invite: Invite): GuildFact[] {
  const { code, channel_id: channelId, max_uses: most } = invite;
  const uses = invite.uses + 1;
  const used: GuildFact = { type: 'inviteUsed', invite: { ...invite, uses } };
  return most > 0 && uses >= most ? [used, { type: 'inviteDeleted', code, channelId }] : [used];
}

/**
 * The fields of an invite that the audit log keeps.
 *
 * @source https://docs.discord.com/developers/resources/audit-log#audit-log-entry-object-audit-log-events; 40 to 42
 */
function auditedFields(invite: Invite): [key: string, value: unknown][] {
  const { code, channel_id, uses, max_uses, max_age, temporary, inviter } = invite;
  const inviterId = inviter ? { inviter_id: inviter.id } : {};
  return Object.entries({ code, channel_id, ...inviterId, uses, max_uses, max_age, temporary });
}

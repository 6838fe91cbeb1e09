import { GuildMemberFlags } from 'discord-api-types/v10';
import { AUDIT } from '../../protocol/audit.ts';
import { type ChannelId, everyoneRoleOf, type RoleId, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { keysOf } from '../../protocol/present.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { channelById, guildPermissions, outranks } from '../permissions/permissions.ts';
import { type AuditDraft, auditEntry, changesOf } from './auditing.ts';
import { bitsIn, bitsOf, mayEditRole } from './authorize.ts';
import { asJudged } from './automod.profiles.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, GuildChannel, Member } from './guild.ts';
import { admissionFacts, unscreened } from './screening.ts';
import { inVoice, leftVoice, voiceRefusal, wishOf } from './voice.states.ts';

const FLAGS_EDITABLE: number = GuildMemberFlags.BypassesVerification;
const MODERATES = P.MODERATE_MEMBERS | P.KICK_MEMBERS | P.BAN_MEMBERS;

/** A moderator's changes of a member. An absent key keeps its field; null resets it. */
export interface MemberChange {
  /** An empty text resets it too. */
  readonly nick?: string | null;
  readonly roles?: readonly RoleId[] | null;
  readonly mute?: boolean | null;
  readonly deaf?: boolean | null;
  /** The voice channel to move to; `null` disconnects. */
  readonly channelId?: ChannelId | null;
  /** ISO 8601; a past time ends the time-out. */
  readonly communicationDisabledUntil?: string | null;
  readonly flags?: number | null;
}

/** The change in progress: each step checks its own field and updates the draft. */
interface Draft {
  readonly guild: Guild;
  readonly by: By;
  readonly env: Env;
  /** The caller's permissions in the guild. */
  readonly may: bigint;
  readonly userId: UserId;
  member: Member;
  voice: GatewayVoiceState | undefined;
  readonly audits: AuditDraft[];
}

type Step = (draft: Draft, change: MemberChange) => Refusal | null;

/** Rules of Modify Guild Member: every field has its own permission, and most require that the target ranks lower. */
export function updateMember(
  guild: Guild,
  input: { readonly userId: UserId } & MemberChange,
  by: By,
  env: Env,
): Outcome<Member, GuildFact> {
  const member = guild.members.get(input.userId);
  if (!member) return refused(refusal('UNKNOWN_MEMBER'));
  const voice = guild.voiceStates.get(input.userId);
  const may = bitsOf(guild, by, env.nowMs);
  const draft: Draft = { guild, by, env, may, userId: input.userId, member, voice, audits: [] };
  for (const step of STEPS) {
    const no = step(draft, input);
    if (no) return refused(no);
  }
  draft.member = unscreened(draft.member);
  const changes = changesOf(member, draft.member, AUDITED);
  if (changes.length > 0) {
    draft.audits.push({ actionType: AUDIT.MEMBER_UPDATE, targetId: input.userId, changes });
  }
  const facts: GuildFact[] = [];
  if (draft.member !== member) facts.push({ type: 'memberUpdated', member: draft.member });
  facts.push(...admissionFacts(guild, member, draft.member, by, env));
  if (draft.voice && draft.voice !== voice) {
    const voiceState = { ...draft.voice, member: draft.member };
    facts.push({ type: 'voiceStateChanged', userId: input.userId, voiceState });
  }
  for (const audit of draft.audits) facts.push(auditEntry(env, by, audit));
  return accepted(asJudged(guild, draft.member, env), facts);
}

const AUDITED: readonly (keyof Member & string)[] = [
  'nick',
  'mute',
  'deaf',
  'communication_disabled_until',
  'flags',
];

/** Whether a caller may act on a member, which must rank below the caller and not be the owner. */
export const isAbove = (guild: Guild, by: By, userId: UserId): boolean =>
  by.system === true || outranks(guild, by.userId, userId);

/** Members with CHANGE_NICKNAME may rename themselves; renaming others is moderation. */
export function nickRefusal(guild: Guild, by: By, userId: UserId, may: bigint): Refusal | null {
  if (by.userId === userId) {
    return may & (P.CHANGE_NICKNAME | P.MANAGE_NICKNAMES) ? null : refusal('MISSING_PERMISSIONS');
  }
  return may & P.MANAGE_NICKNAMES && isAbove(guild, by, userId) ? null : refusal('MISSING_PERMISSIONS');
}

/** A nickname as it is stored: trimmed, and null when empty. */
export const keptNick = (nick: string | null): string | null => nick?.trim() || null;

const nick: Step = (draft, change) => {
  if (change.nick === undefined) return null;
  const no = nickRefusal(draft.guild, draft.by, draft.userId, draft.may);
  if (no) return no;
  return set(draft, { nick: keptNick(change.nick) });
};

const roles: Step = (draft, change) => {
  if (change.roles === undefined) return null;
  if (!(draft.may & P.MANAGE_ROLES)) return refusal('MISSING_PERMISSIONS');
  const wanted = [...new Set(change.roles ?? [])];
  const had: readonly string[] = draft.member.roles;
  const added = wanted.filter((id) => !had.includes(id));
  const removed = had.filter((id): id is RoleId => !wanted.includes(id as RoleId));
  for (const roleId of [...added, ...removed]) {
    const no = roleRefusal(draft.guild, draft.by, roleId);
    if (no) return no;
  }
  if (added.length + removed.length === 0) return null;
  draft.audits.push(roleAudit(draft.guild, draft.userId, added, removed));
  return set(draft, { roles: wanted });
};

/** Why a caller may not give or take a role: it must exist, not be managed, and be below the caller's highest role. */
export function roleRefusal(guild: Guild, by: By, roleId: RoleId): Refusal | null {
  const role = guild.roles.get(roleId);
  if (!role) return refusal('UNKNOWN_ROLE');
  if (roleId === everyoneRoleOf(guild.id) || role.managed) return refusal('INVALID_ROLE');
  return mayEditRole(guild, by, role) ? null : refusal('MISSING_PERMISSIONS');
}

/** The audit entry of a change of roles: partial roles under `$add` and `$remove`. */
export function roleAudit(
  guild: Guild,
  userId: UserId,
  added: readonly RoleId[],
  removed: readonly RoleId[],
): AuditDraft {
  const named = (ids: readonly RoleId[]) => ids.map((id) => ({ id, name: guild.roles.get(id)?.name ?? '' }));
  return {
    actionType: AUDIT.MEMBER_ROLE_UPDATE,
    targetId: userId,
    changes: [
      ...(added.length > 0 ? [{ key: '$add', new_value: named(added) }] : []),
      ...(removed.length > 0 ? [{ key: '$remove', new_value: named(removed) }] : []),
    ],
  };
}

const flags: Step = (draft, change) => {
  if (change.flags === undefined) return null;
  const may = draft.may & (P.MANAGE_GUILD | P.MANAGE_ROLES) || (draft.may & MODERATES) === MODERATES;
  if (!may || !isAbove(draft.guild, draft.by, draft.userId)) return refusal('MISSING_PERMISSIONS');
  const wanted = change.flags ?? draft.member.flags & ~FLAGS_EDITABLE;
  if ((wanted ^ draft.member.flags) & ~FLAGS_EDITABLE) {
    return invalidField(['flags'], 'BASE_TYPE_CHOICES', 'Only BYPASSES_VERIFICATION may be changed.');
  }
  return set(draft, { flags: wanted });
};

const timeout: Step = (draft, change) => {
  if (change.communicationDisabledUntil === undefined) return null;
  const { guild, by, userId, env } = draft;
  if (!(draft.may & P.MODERATE_MEMBERS) || !isAbove(guild, by, userId)) {
    return refusal('MISSING_PERMISSIONS');
  }
  const untilMs =
    change.communicationDisabledUntil === null ? 0 : Date.parse(change.communicationDisabledUntil);
  if (!(untilMs > env.nowMs)) return set(draft, { communication_disabled_until: null });
  if (untilMs > env.nowMs + LIMITS.timeout_ms_max) {
    const message = 'A timeout must end within 28 days.';
    return invalidField(['communication_disabled_until'], 'DATE_TIME_TYPE_MAX', message);
  }
  if (guildPermissions(guild, userId, env.nowMs) & P.ADMINISTRATOR) return refusal('MISSING_PERMISSIONS');
  return set(draft, { communication_disabled_until: isoTimestamp(untilMs) });
};

/** Server mute and deafen: the target must be in voice, and the caller must hold the bit in that channel. */
const voiceSwitch =
  (field: 'mute' | 'deaf', bit: bigint): Step =>
  (draft, change) => {
    const wanted = change[field];
    if (wanted === undefined || wanted === null) return null;
    const here = voiceChannelOf(draft);
    if (!here || !draft.voice) {
      return refusal(draft.may & bit ? 'TARGET_USER_NOT_IN_VOICE' : 'MISSING_PERMISSIONS');
    }
    if (!(mayIn(draft, here) & bit)) return refusal('MISSING_PERMISSIONS');
    if (draft.voice[field] !== wanted) draft.voice = { ...draft.voice, [field]: wanted };
    return set(draft, { [field]: wanted });
  };

const voiceChannel: Step = (draft, change) => {
  if (change.channelId === undefined) return null;
  const here = voiceChannelOf(draft);
  if (!here || !draft.voice) {
    return refusal(draft.may & P.MOVE_MEMBERS ? 'TARGET_USER_NOT_IN_VOICE' : 'MISSING_PERMISSIONS');
  }
  if (!(mayIn(draft, here) & P.MOVE_MEMBERS)) return refusal('MISSING_PERMISSIONS');
  if (change.channelId === null) {
    draft.voice = leftVoice(draft.voice, draft.member);
    draft.audits.push(voiceAudit(AUDIT.MEMBER_DISCONNECT, null));
    return null;
  }
  const there = draft.guild.channels.get(change.channelId);
  if (!there) return refusal('UNKNOWN_CHANNEL');
  if (there.id === here.id) return null;
  const no = voiceRefusal(draft.guild, there, mayIn(draft, there), draft.userId);
  if (no) return no;
  draft.voice = inVoice(draft.guild, draft.member, there, wishOf(draft.voice), draft.env.nowMs);
  draft.audits.push(voiceAudit(AUDIT.MEMBER_MOVE, there.id));
  return null;
};

const STEPS: readonly Step[] = [
  nick,
  roles,
  flags,
  timeout,
  voiceSwitch('mute', P.MUTE_MEMBERS),
  voiceSwitch('deaf', P.DEAFEN_MEMBERS),
  voiceChannel,
];

function voiceAudit(actionType: AuditDraft['actionType'], channelId: ChannelId | null): AuditDraft {
  const options = { count: '1', ...(channelId === null ? {} : { channel_id: channelId }) };
  return { actionType, targetId: null, options: options };
}

function voiceChannelOf(draft: Draft): GuildChannel | undefined {
  return channelById(draft.guild, draft.voice?.channel_id);
}

const mayIn = (draft: Draft, channel: GuildChannel): bigint =>
  bitsIn(draft.guild, draft.by, channel, draft.env.nowMs);

/** Updates the draft's member; without a change the member object stays the same, so that no fact follows. */
function set(draft: Draft, fields: Partial<Member>): null {
  const changed = keysOf(fields).some((key) => draft.member[key] !== fields[key]);
  if (changed) draft.member = { ...draft.member, ...fields };
  return null;
}

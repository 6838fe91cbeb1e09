import { AUDIT } from '../../protocol/audit.ts';
import { everyoneRoleOf, type RoleId, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { type APIRole, NO_FLAGS } from '../../protocol/objects.ts';
import { formatPermissions, P, parsePermissions } from '../../protocol/permissions.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused, withBefore } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { compareRoles } from '../permissions/permissions.ts';
import { auditEntry, changesOf } from './auditing.ts';
import { bitsOf, mayEditRole } from './authorize.ts';
import type { GuildFact, RoleFacts } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildTopic } from './topic.ts';
import { sightOf, visibilityDiff } from './visibility.ts';

/** A request's changes of a role: the wire's fields, the icon already a hash. Absent and null keep a field. */
export interface RoleDraft {
  readonly name?: string | null;
  readonly permissions?: string | null;
  readonly color?: number | null;
  readonly colors?: {
    readonly primary_color?: number | null;
    readonly secondary_color?: number | null;
    readonly tertiary_color?: number | null;
  } | null;
  readonly hoist?: boolean | null;
  readonly mentionable?: boolean | null;
  /** Null removes the icon. */
  readonly icon?: string | null;
  /** Null removes the emoji. */
  readonly unicode_emoji?: string | null;
}

export interface RoleMove {
  readonly id: RoleId;
  /** 1 is the lowest; a number above the last position means the last. */
  readonly position: number;
}

type RoleCommands = {
  listRoles: { input: object; value: APIRole[] };
  getRole: { input: { readonly roleId: RoleId }; value: APIRole };
  /** `roleId`: the new role's id, when its icon had to be stored first. */
  createRole: { input: { readonly draft: RoleDraft; readonly roleId?: RoleId }; value: APIRole };
  updateRole: { input: { readonly roleId: RoleId; readonly draft: RoleDraft }; value: APIRole };
  moveRoles: { input: { readonly moves: readonly RoleMove[] }; value: APIRole[] };
  deleteRole: { input: { readonly roleId: RoleId }; value: null };
};

/** Fields of a role that the audit log lists. */
const AUDITED = [
  'name',
  'permissions',
  'color',
  'colors',
  'hoist',
  'mentionable',
  'icon',
  'unicode_emoji',
  'position',
] as const;

/**
 * The only tones a role with a tertiary colour may have.
 *
 * @source https://docs.discord.com/developers/topics/permissions#role-object-role-colors-object
 */
const HOLOGRAPHIC = { primary_color: 11127295, secondary_color: 16759788, tertiary_color: 16761760 };

/** Roles from the lowest to the highest without @everyone: the order of `position`, from 1. */
const ladderOf = (guild: Guild): APIRole[] =>
  [...guild.roles.values()].filter((role) => role.id !== everyoneRoleOf(guild.id)).sort(compareRoles);

/** All roles from the lowest, @everyone, to the highest. */
export const rolesByRank = (guild: Guild): APIRole[] => [...guild.roles.values()].sort(compareRoles);

/** The facts that give every role of the order its position. */
const renumbered = (ladder: readonly APIRole[]): GuildFact[] =>
  ladder.flatMap((role, i) =>
    role.position === i + 1 ? [] : [{ type: 'roleUpdated' as const, role: { ...role, position: i + 1 } }],
  );

/** The managed role of an installed bot. */
export const ownRole = (guild: Guild, botId: UserId): APIRole | null =>
  [...guild.roles.values()].find((role) => role.managed && role.tags?.bot_id === botId) ?? null;

/** A role below all others, with the bits of @everyone and no other settings. */
export const blankRole = (guild: Guild, id: RoleId): APIRole => ({
  id,
  name: 'new role',
  color: 0,
  colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
  hoist: false,
  icon: null,
  unicode_emoji: null,
  position: 1,
  permissions: guild.roles.get(everyoneRoleOf(guild.id))?.permissions ?? '0',
  managed: false,
  mentionable: false,
  flags: NO_FLAGS,
});

/** A new role, and the new positions of the roles above it. */
export const roleFacts = (guild: Guild, role: APIRole): GuildFact[] => [
  { type: 'roleCreated', role },
  ...renumbered([role, ...ladderOf(guild)]),
];

/** The deletion of a role, and the new positions of the roles above it. */
export const roleEnd = (guild: Guild, roleId: RoleId): GuildFact[] => [
  { type: 'roleDeleted', roleId },
  ...renumbered(ladderOf(guild).filter((other) => other.id !== roleId)),
];

export function createRole(
  guild: Guild,
  { draft, roleId }: RoleCommands['createRole']['input'],
  by: By,
  env: Env,
): Outcome<APIRole, GuildFact> {
  if (guild.roles.size >= LIMITS.roles_per_guild_max) return refused(refusal('MAXIMUM_ROLES'));
  const blank = blankRole(guild, roleId ?? env.nextId());
  const edited = withDraft(guild, blank, draft, by, env.nowMs);
  if (!edited.ok) return edited;
  const role = edited.value;
  return accepted(role, [
    ...roleFacts(guild, role),
    auditEntry(env, by, {
      actionType: AUDIT.ROLE_CREATE,
      targetId: role.id,
      changes: changesOf(null, role, AUDITED),
    }),
  ]);
}

function updateRole(
  guild: Guild,
  { roleId, draft }: RoleCommands['updateRole']['input'],
  by: By,
  env: Env,
): Outcome<APIRole, GuildFact> {
  const role = guild.roles.get(roleId);
  if (!role) return refused(refusal('UNKNOWN_ROLE'));
  if (!mayEditRole(guild, by, role)) return refused(refusal('MISSING_PERMISSIONS'));
  // Only the permissions of @everyone can change: it shows no name, colour or icon of its own.
  const { permissions = null } = draft;
  const change = roleId === everyoneRoleOf(guild.id) ? { permissions } : draft;
  const edited = withDraft(guild, role, change, by, env.nowMs);
  if (!edited.ok) return edited;
  const changes = changesOf(role, edited.value, AUDITED);
  if (changes.length === 0) return accepted(role);
  return accepted(edited.value, [
    { type: 'roleUpdated', role: edited.value },
    auditEntry(env, by, { actionType: AUDIT.ROLE_UPDATE, targetId: roleId, changes }),
  ]);
}

/** The role after the draft, or the reason for a refusal. */
function withDraft(
  guild: Guild,
  role: APIRole,
  draft: RoleDraft,
  by: By,
  nowMs: number,
): Outcome<APIRole, never> {
  const permissions = draft.permissions == null ? null : parsePermissions(draft.permissions);
  if (permissions !== null) {
    const granted = permissions & ~BigInt(role.permissions);
    if ((granted & ~bitsOf(guild, by, nowMs)) !== 0n) return refused(refusal('MISSING_PERMISSIONS'));
  }
  const colors = colorsOf(guild, role, draft);
  if (!colors.ok) return colors;
  if ((draft.icon || draft.unicode_emoji) && !guild.info.features.includes('ROLE_ICONS')) {
    return refused(refusal('SERVER_NEEDS_MORE_BOOSTS'));
  }
  return accepted({
    ...role,
    name: draft.name ?? role.name,
    permissions: permissions === null ? role.permissions : formatPermissions(permissions),
    color: colors.value.primary_color,
    colors: colors.value,
    hoist: draft.hoist ?? role.hoist,
    mentionable: draft.mentionable ?? role.mentionable,
    // A role shows an icon or an emoji: the one set last.
    icon: draft.icon !== undefined ? draft.icon : draft.unicode_emoji ? null : (role.icon ?? null),
    unicode_emoji:
      draft.unicode_emoji !== undefined
        ? draft.unicode_emoji
        : draft.icon
          ? null
          : (role.unicode_emoji ?? null),
  });
}

/** `color` is the older name of `colors.primary_color`; both always agree. */
function colorsOf(
  guild: Guild,
  role: APIRole,
  { color, colors }: RoleDraft,
): Outcome<APIRole['colors'], never> {
  if (!colors) return accepted(color == null ? role.colors : { ...role.colors, primary_color: color });
  const next = {
    primary_color: colors.primary_color ?? color ?? role.colors.primary_color,
    secondary_color: colors.secondary_color ?? null,
    tertiary_color: colors.tertiary_color ?? null,
  };
  if (next.secondary_color === null && next.tertiary_color === null) return accepted(next);
  if (!guild.info.features.includes('ENHANCED_ROLE_COLORS')) {
    return refused(refusal('SERVER_NEEDS_MORE_BOOSTS'));
  }
  return accepted(next.tertiary_color === null ? next : HOLOGRAPHIC);
}

/**
 * Moves the named roles to their requested positions; the others keep their order around them. A caller moves only
 * roles below its own highest, and not up to it or above.
 */
function moveRoles(
  guild: Guild,
  { moves }: RoleCommands['moveRoles']['input'],
  by: By,
  env: Env,
): Outcome<APIRole[], GuildFact> {
  const wanted = new Map<string, number>();
  for (const [i, { id, position }] of moves.entries()) {
    if (!guild.roles.has(id)) return refused(refusal('UNKNOWN_ROLE'));
    // Clients send the whole list, including @everyone at position 0.
    if (id !== everyoneRoleOf(guild.id)) wanted.set(id, Math.max(1, position));
    else if (position !== 0) return refused(invalidField([i, 'position'], 'INVALID_ROLE', 'Invalid role'));
  }
  const ladder = ladderOf(guild);
  const moved = ladder
    .filter((role) => wanted.has(role.id))
    .sort((a, b) => wanted.get(a.id)! - wanted.get(b.id)!);
  const next = ladder.filter((role) => !wanted.has(role.id));
  for (const role of moved) next.splice(wanted.get(role.id)! - 1, 0, role);
  const raised = next.some((role, i) => role !== ladder[i] && !mayEditRole(guild, by, ladder[i]!));
  if (raised) return refused(refusal('MISSING_PERMISSIONS'));
  const facts = renumbered(next);
  const audit = facts.flatMap((fact) =>
    fact.type === 'roleUpdated' && wanted.has(fact.role.id)
      ? auditEntry(env, by, {
          actionType: AUDIT.ROLE_UPDATE,
          targetId: fact.role.id,
          changes: changesOf(guild.roles.get(fact.role.id)!, fact.role, ['position']),
        })
      : [],
  );
  const everyone = guild.roles.get(everyoneRoleOf(guild.id));
  const value = next.map((role, i) => ({ ...role, position: i + 1 }));
  return accepted(everyone ? [everyone, ...value] : value, [...facts, ...audit]);
}

function deleteRole(
  guild: Guild,
  { roleId }: RoleCommands['deleteRole']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const role = guild.roles.get(roleId);
  if (!role) return refused(refusal('UNKNOWN_ROLE'));
  // A managed role is deleted with its integration.
  if (role.managed || roleId === everyoneRoleOf(guild.id)) return refused(refusal('INVALID_ROLE'));
  if (!mayEditRole(guild, by, role)) return refused(refusal('MISSING_PERMISSIONS'));
  return accepted(null, [
    ...roleEnd(guild, roleId),
    auditEntry(env, by, {
      actionType: AUDIT.ROLE_DELETE,
      targetId: roleId,
      changes: changesOf(role, null, AUDITED),
    }),
  ]);
}

/** Subscribed users who hold a role; everyone holds @everyone. */
function subscribedHolders(guild: Guild, roleId: string): UserId[] {
  const userIds = [...guild.sessionCounts.keys()];
  if (roleId === guild.id) return userIds;
  return userIds.filter((userId) => guild.members.get(userId)?.roles.includes(roleId));
}

/** Bits of a role that affect which channels are visible. */
const SIGHT = P.VIEW_CHANNEL | P.ADMINISTRATOR;

const changedBits = (guild: Guild, { id, permissions }: APIRole): bigint =>
  BigInt(guild.roles.get(id)?.permissions ?? 0) ^ BigInt(permissions);

function applyRoleDeleted(guild: Guild, fact: RoleFacts['roleDeleted']): void {
  const { roleId } = fact;
  guild.roles.delete(roleId);
  // A copy, because a write moves the entry in the window's order of use.
  for (const [userId, member] of [...guild.members]) {
    if (!member?.roles.includes(roleId)) continue;
    guild.members.set(userId, { ...member, roles: member.roles.filter((id) => id !== roleId) });
  }
  for (const [id, channel] of guild.channels) {
    const overwrites = channel.permission_overwrites;
    if (!overwrites?.some((overwrite) => overwrite.id === roleId)) continue;
    const rest = overwrites.filter((overwrite) => overwrite.id !== roleId);
    guild.channels.set(id, { ...channel, permission_overwrites: rest });
  }
  guild.visibilityVersion++;
}

function applyRoleUpdated(guild: Guild, fact: RoleFacts['roleUpdated']): void {
  const id = fact.role.id;
  const changed = changedBits(guild, fact.role);
  guild.roles.set(id, fact.role);
  if (changed !== 0n) guild.visibilityVersion++;
}

/** Roles: their permissions, their order, and changes of both. */
export const roles: GuildTopic<RoleCommands, keyof RoleFacts> = {
  commands: {
    listRoles: { decide: (guild) => accepted(rolesByRank(guild)) },
    getRole: {
      decide: (guild, { roleId }) => {
        const role = guild.roles.get(roleId);
        return role ? accepted(role) : refused(refusal('UNKNOWN_ROLE'));
      },
    },
    createRole: { decide: createRole },
    updateRole: { decide: updateRole },
    moveRoles: { decide: moveRoles },
    deleteRole: { decide: deleteRole },
  },
  facts: {
    roleCreated: {
      apply: (guild, { role }) => {
        guild.roles.set(role.id, role);
      },
      dispatches: (guild, { role }) => [
        { t: 'GUILD_ROLE_CREATE', d: { guild_id: guild.id, role }, to: { kind: 'guild' } },
      ],
    },
    roleUpdated: withBefore({
      voiceMembers: 'everyone',
      before: (guild, { role }) => {
        const changed = changedBits(guild, role);
        const sight =
          (changed & SIGHT) === 0n ? null : sightOf(guild, { userIds: subscribedHolders(guild, role.id) });
        // MANAGE_THREADS shows private threads, which are in no `Sight`.
        return { sight, keepsSight: (changed & (SIGHT | P.MANAGE_THREADS)) === 0n };
      },
      apply: applyRoleUpdated,
      dispatches: (guild, { role }, { sight, keepsSight }) => [
        { t: 'GUILD_ROLE_UPDATE', d: { guild_id: guild.id, role }, to: { kind: 'guild' }, keepsSight },
        ...visibilityDiff(guild, sight),
      ],
    }),
    roleDeleted: withBefore({
      voiceMembers: 'everyone',
      before: (guild, { roleId }) => sightOf(guild, { userIds: subscribedHolders(guild, roleId) }),
      apply: applyRoleDeleted,
      dispatches: (guild, { roleId }, before) => [
        { t: 'GUILD_ROLE_DELETE', d: { guild_id: guild.id, role_id: roleId }, to: { kind: 'guild' } },
        ...visibilityDiff(guild, before),
      ],
    }),
  },
};

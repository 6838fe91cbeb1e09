import { type APIOverwrite, AuditLogOptionsType, OverwriteType } from 'discord-api-types/v10';
import { AUDIT } from '../../protocol/audit.ts';
import { type ChannelId, isRoleId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIRole } from '../../protocol/objects.ts';
import { formatPermissions, P, parsePermissions } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { type AuditDraft, type AuditFact, auditEntry, changesOf } from './auditing.ts';
import { bitsIn, bitsOf } from './authorize.ts';
import type { Guild, GuildChannel } from './guild.ts';

/** An overwrite as a request states it; absent bits mean none, and an absent type is derived from the id. */
export interface OverwriteDraft {
  readonly id: string;
  readonly type?: number | null;
  readonly allow?: string | null;
  readonly deny?: string | null;
}

/** Overwrites by the id of their role or member. */
type ById = ReadonlyMap<string, APIOverwrite>;

export const overwritesOf = (channel: GuildChannel): readonly APIOverwrite[] =>
  channel.permission_overwrites ?? [];

const byId = (overwrites: readonly APIOverwrite[]): ById =>
  new Map(overwrites.map((overwrite) => [overwrite.id, overwrite]));

/** The overwrites of a request; of two with one id the later counts. */
export function readOverwrites(
  guild: Guild,
  drafts: readonly OverwriteDraft[],
): Outcome<APIOverwrite[], never> {
  const read = new Map<string, APIOverwrite>();
  for (const draft of drafts) {
    const overwrite = readOverwrite(guild, draft);
    if (overwrite.type === OverwriteType.Role && !roleOf(guild, overwrite.id)) {
      return refused(refusal('UNKNOWN_ROLE'));
    }
    read.set(draft.id, overwrite);
  }
  if (read.size > LIMITS.overwrites_per_channel_max) return refused(refusal('MAXIMUM_OVERWRITES'));
  return accepted([...read.values()]);
}

/** The role that an overwrite's id names; undefined for a member's id. */
const roleOf = (guild: Guild, id: string): APIRole | undefined =>
  isRoleId(id) ? guild.roles.get(id) : undefined;

export function readOverwrite(guild: Guild, { id, type, allow, deny }: OverwriteDraft): APIOverwrite {
  const isRole = type == null ? roleOf(guild, id) !== undefined : type === OverwriteType.Role;
  return {
    id,
    type: isRole ? OverwriteType.Role : OverwriteType.Member,
    allow: formatPermissions(parsePermissions(allow ?? '0') ?? 0n),
    deny: formatPermissions(parsePermissions(deny ?? '0') ?? 0n),
  };
}

/** Equal for every id, in any order; a channel with overwrites equal to its category's is "synced". */
export function sameOverwrites(a: readonly APIOverwrite[], b: readonly APIOverwrite[]): boolean {
  if (a.length !== b.length) return false;
  const others = byId(b);
  return a.every((one) => {
    const other = others.get(one.id);
    return other?.type === one.type && other.allow === one.allow && other.deny === one.deny;
  });
}

/** Every bit that an overwrite allows or denies in one of the lists and not in the other. */
export function changedBits(before: readonly APIOverwrite[], after: readonly APIOverwrite[]): bigint {
  const [was, is] = [byId(before), byId(after)];
  let bits = 0n;
  for (const id of new Set([...was.keys(), ...is.keys()])) {
    bits |= BigInt(was.get(id)?.allow ?? 0) ^ BigInt(is.get(id)?.allow ?? 0);
    bits |= BigInt(was.get(id)?.deny ?? 0) ^ BigInt(is.get(id)?.deny ?? 0);
  }
  return bits;
}

/**
 * Whether the caller may change these bits of a channel's overwrites: bits that the caller holds in the guild or in the
 * category, or any bit when an overwrite of the channel itself gives the caller MANAGE_ROLES. Lifting a denial grants
 * as much as allowing, so both count. Only administrators may change MANAGE_ROLES itself, because a user who could take
 * it would then hold every other bit in the channel.
 *
 * @source https://docs.discord.com/developers/resources/channel#edit-channel-permissions and
 * https://docs.discord.com/developers/resources/guild#create-guild-channel
 */
export function overwritesRefusal(
  guild: Guild,
  by: By,
  place: { readonly channel: GuildChannel | null; readonly parentId: ChannelId | null },
  bits: bigint,
  nowMs: number,
): Refusal | null {
  const inGuild = bitsOf(guild, by, nowMs);
  if (bits === 0n || (inGuild & P.ADMINISTRATOR) !== 0n) return null;
  const { channel } = place;
  if ((bits & P.MANAGE_ROLES) !== 0n) return refusal('MISSING_PERMISSIONS');
  if (channel && (bitsIn(guild, by, channel, nowMs) & P.MANAGE_ROLES) === 0n) {
    return refusal('MISSING_PERMISSIONS');
  }
  if (channel && givesManageRoles(guild, by, channel)) return null;
  const parent = place.parentId ? guild.channels.get(place.parentId) : undefined;
  const held = inGuild | (parent ? bitsIn(guild, by, parent, nowMs) : 0n);
  return (bits & ~held) === 0n ? null : refusal('MISSING_PERMISSIONS');
}

function givesManageRoles(guild: Guild, by: By, channel: GuildChannel): boolean {
  const member = guild.members.get(by.userId);
  return overwritesOf(channel).some(
    ({ id, allow }) =>
      (BigInt(allow) & P.MANAGE_ROLES) !== 0n && (id === by.userId || member?.roles.includes(id) === true),
  );
}

const AUDITED = ['id', 'type', 'allow', 'deny'] as const;

/** One audit entry for each overwrite that was added, removed or changed. */
export function overwriteEntries(
  guild: Guild,
  env: Env,
  by: By,
  channelId: ChannelId,
  before: readonly APIOverwrite[],
  after: readonly APIOverwrite[],
): AuditFact[] {
  const [was, is] = [byId(before), byId(after)];
  const entries: AuditFact[] = [];
  for (const id of new Set([...was.keys(), ...is.keys()])) {
    const [old, next] = [was.get(id) ?? null, is.get(id) ?? null];
    const changes = changesOf(old, next, AUDITED);
    if (changes.length === 0) continue;
    const { type } = (next ?? old)!;
    const role = type === OverwriteType.Role ? roleOf(guild, id) : undefined;
    entries.push(
      auditEntry(env, by, {
        actionType: actionOf(old, next),
        targetId: channelId,
        changes,
        // The option's wire type is a string, unlike the overwrite's own.
        options: {
          id,
          type: type === OverwriteType.Role ? AuditLogOptionsType.Role : AuditLogOptionsType.Member,
          ...(role ? { role_name: role.name } : {}),
        },
      }),
    );
  }
  return entries;
}

function actionOf(old: APIOverwrite | null, next: APIOverwrite | null): AuditDraft['actionType'] {
  if (!old) return AUDIT.CHANNEL_OVERWRITE_CREATE;
  return next ? AUDIT.CHANNEL_OVERWRITE_UPDATE : AUDIT.CHANNEL_OVERWRITE_DELETE;
}

import { AUDIT } from '../../protocol/audit.ts';
import type { RoleId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Needs } from '../kernel/needs.ts';
import { auditEntry } from './auditing.ts';
import { bitsOf } from './authorize.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, Member } from './guild.ts';
import { leaveFacts } from './members.joining.ts';
import { isAbove } from './members.update.ts';
import { withRequests } from './screening.ts';
import type { GuildTopic } from './topic.ts';

export interface Candidates {
  /** Members who are inactive as far as the store knows. */
  readonly userIds: readonly UserId[];
  /** Roles that do not protect a member. */
  readonly includeRoles: readonly RoleId[];
}

type PruneCommands = {
  /** Permission check before inactive members are read from the store. */
  authorizePrune: { input: object; value: null };
  /** How many of the candidates a prune would remove. */
  countPrunable: { input: Candidates; value: { readonly count: number } };
  /** Removes candidates. `log`: these were the last ones, and the prune is logged with all members it removed. */
  pruneMembers: {
    input: Candidates & { readonly log: { readonly days: number; readonly removedBefore: number } | null };
    value: { readonly count: number };
  };
  /** Logs a prune that was refused after it had removed members, as when its author lost the permission. */
  logPrune: { input: { readonly days: number; readonly removed: number }; value: null };
};

const candidates = ({ userIds }: Candidates, guild: Guild): Needs => withRequests(guild, userIds);

/** Removal of inactive members. The store lists candidates; the guild decides for each of them. */
export const prune: GuildTopic<PruneCommands, never> = {
  commands: {
    authorizePrune: {
      decide: (guild, _input, by, env) => {
        const no = pruneRefusal(guild, by, env);
        return no ? refused(no) : accepted(null);
      },
    },
    countPrunable: {
      needs: candidates,
      decide: (guild, input, by, env) => {
        const no = pruneRefusal(guild, by, env);
        return no ? refused(no) : accepted({ count: prunable(guild, input, by).length });
      },
    },
    pruneMembers: { needs: candidates, decide: pruneMembers },
    logPrune: { decide: (_, input, by, env) => accepted(null, [prunedEntry(input, by, env)]) },
  },
  facts: {},
};

/** Both permissions are in the operation's declaration; a guild may ask for more. */
const pruneRefusal = (guild: Guild, by: By, env: Env): Refusal | null =>
  guild.info.features.includes('PRUNE_REQUIRES_ADMIN') &&
  (bitsOf(guild, by, env.nowMs) & P.ADMINISTRATOR) === 0n
    ? refusal('MISSING_PERMISSIONS')
    : null;

/** A member with a session counts as active, however long ago the session began. */
function prunable(guild: Guild, { userIds, includeRoles }: Candidates, by: By): Member[] {
  const included = new Set<string>(includeRoles);
  return userIds.flatMap((userId) => {
    const member = guild.members.get(userId);
    if (!member || member.user.bot || guild.sessionCounts.has(userId)) return [];
    if (userId === guild.info.owner_id || !isAbove(guild, by, userId)) return [];
    return member.roles.every((roleId) => included.has(roleId)) ? [member] : [];
  });
}

function pruneMembers(
  guild: Guild,
  input: PruneCommands['pruneMembers']['input'],
  by: By,
  env: Env,
): Outcome<{ count: number }, GuildFact> {
  const no = pruneRefusal(guild, by, env);
  if (no) return refused(no);
  const gone = prunable(guild, input, by);
  const facts = gone.flatMap((member) => leaveFacts(guild, member));
  const removed = gone.length + (input.log?.removedBefore ?? 0);
  if (!input.log || removed === 0) return accepted({ count: gone.length }, facts);
  const entry = prunedEntry({ days: input.log.days, removed }, by, env);
  return accepted({ count: gone.length }, [...facts, entry]);
}

function prunedEntry({ days, removed }: PruneCommands['logPrune']['input'], by: By, env: Env): GuildFact {
  const options = { delete_member_days: String(days), members_removed: String(removed) };
  return auditEntry(env, by, { actionType: AUDIT.MEMBER_PRUNE, targetId: null, options });
}

import { AUDIT } from '../../protocol/audit.ts';
import type { UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Needs } from '../kernel/needs.ts';
import { auditEntry } from './auditing.ts';
import { bitsOf } from './authorize.ts';
import type { GuildFact, InviteTargetFacts } from './facts.ts';
import type { Guild, Invite } from './guild.ts';
import { liveInvite } from './invites.ts';
import type { GuildTopic } from './topic.ts';

export interface InviteCode {
  readonly code: string;
}

/** The user list of an invite is stored with its request, so no job is ever in progress. */
export interface TargetUsersJob {
  readonly total: number;
  readonly doneAt: string;
}

type InviteTargetCommands = {
  getInviteTargets: { input: InviteCode; value: readonly UserId[] };
  /** Permission check before an uploaded list is read. */
  authorizeInviteTargets: { input: InviteCode; value: null };
  /** Replaces the users who may accept the invite. The caller has checked that they exist. */
  setInviteTargets: { input: InviteCode & { readonly userIds: readonly UserId[] }; value: null };
  getInviteTargetsJob: { input: InviteCode; value: TargetUsersJob };
};

const needs = ({ code }: InviteCode): Needs => ({ invites: [code] });

/** The only users who may accept an invite. */
export const inviteTargets: GuildTopic<InviteTargetCommands, keyof InviteTargetFacts> = {
  commands: {
    getInviteTargets: {
      needs,
      decide: (guild, input, by, env) =>
        withInvite(guild, input, by, env, READERS, ({ target_user_ids: ids }) =>
          ids ? accepted(ids) : refused(refusal('UNKNOWN_INVITE_TARGET_USERS')),
        ),
    },
    authorizeInviteTargets: {
      needs,
      decide: (guild, input, by, env) =>
        withInvite(guild, input, by, env, P.MANAGE_GUILD, () => accepted(null)),
    },
    setInviteTargets: {
      needs,
      decide: (guild, input, by, env) =>
        withInvite(guild, input, by, env, P.MANAGE_GUILD, (invite) => {
          const at = isoTimestamp(env.nowMs);
          const targeted = { ...invite, target_user_ids: input.userIds, target_users_at: at };
          const changes = [{ key: 'code', new_value: invite.code, old_value: invite.code }];
          return accepted(null, [
            { type: 'inviteTargeted', invite: targeted },
            auditEntry(env, by, { actionType: AUDIT.INVITE_UPDATE, targetId: null, changes }),
          ]);
        }),
    },
    getInviteTargetsJob: {
      needs,
      decide: (guild, input, by, env) =>
        withInvite(guild, input, by, env, READERS, ({ target_user_ids: ids, target_users_at: doneAt }) =>
          ids && doneAt
            ? accepted({ total: ids.length, doneAt })
            : refused(refusal('UNKNOWN_INVITE_TARGET_USERS_JOB')),
        ),
    },
  },
  facts: {
    inviteTargeted: {
      apply: (guild, { invite }) => {
        guild.invites.set(invite.code, invite);
      },
      // The list of invited users is sent to no client.
      dispatches: () => [],
    },
  },
};

const READERS = P.MANAGE_GUILD | P.VIEW_AUDIT_LOG;

/** Allowed for the inviter and for holders of any of the bits. */
function withInvite<Value>(
  guild: Guild,
  { code }: InviteCode,
  by: By,
  env: Env,
  bits: bigint,
  decide: (invite: Invite) => Outcome<Value, GuildFact>,
): Outcome<Value, GuildFact> {
  const invite = liveInvite(guild, code, env);
  if (!invite) return refused(refusal('UNKNOWN_INVITE'));
  if (invite.inviter?.id !== by.userId && (bitsOf(guild, by, env.nowMs) & bits) === 0n)
    return refused(refusal('MISSING_PERMISSIONS'));
  return decide(invite);
}

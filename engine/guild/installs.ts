import { AUDIT } from '../../protocol/audit.ts';
import type { ApplicationId, RoleId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIRole } from '../../protocol/objects.ts';
import { formatPermissions, parsePermissions } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { auditEntry } from './auditing.ts';
import { bitsOf } from './authorize.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import { admissionRefusal, admitted, joinFacts, joining, leaveFacts } from './members.joining.ts';
import { blankRole, createRole, ownRole, roleFacts } from './roles.ts';
import { unscreened } from './screening.ts';
import type { GuildTopic } from './topic.ts';

type InstallCommands = {
  /**
   * Adds an application's bot with a managed role of its own. The role gets those requested permissions that the caller
   * holds. For a bot that is a member already, the role is replaced by the new request.
   */
  installBot: {
    input: {
      readonly botId: UserId;
      readonly applicationId: ApplicationId;
      /** Name of the role: the application's. */
      readonly name: string;
      /** Decimal. */
      readonly permissions: string;
    };
    value: { readonly added: boolean };
  };
  /** Accepted when the caller may see the integrations. */
  checkIntegrations: { input: object; value: null };
  /** Removes an application's bot and its webhooks, whatever their rank. */
  removeIntegration: {
    input: { readonly botId: UserId; readonly applicationId: ApplicationId };
    value: null;
  };
  /** Dispatches the integration of an application that was added, changed or removed. */
  noteIntegration: {
    input: {
      readonly change: 'created' | 'updated' | 'deleted';
      readonly integration: { readonly id: string };
    };
    value: null;
  };
  /**
   * Adds a user with a new role of exactly these permissions (decimal), or gives a member the role. Role and membership
   * are one decision: a refusal of either creates neither. For the operator; the audit log names the owner of the
   * guild.
   */
  joinWithRole: {
    input: { readonly userId: UserId; readonly name: string; readonly permissions: string };
    value: { readonly added: boolean };
  };
};

function joinWithRole(
  guild: Guild,
  { userId, name, permissions }: InstallCommands['joinWithRole']['input'],
  by: By,
  env: Env,
): Outcome<{ added: boolean }, GuildFact> {
  if (!by.system) return refused(refusal('MISSING_PERMISSIONS'));
  const user = guild.users.get(userId);
  if (!user) return refused(refusal('UNKNOWN_USER'));
  const already = guild.members.get(userId);
  const no = already ? null : admissionRefusal(guild, userId);
  if (no) return refused(no);
  const { system: _, ...rest } = by;
  const owner: By = { ...rest, userId: guild.info.owner_id };
  const made = createRole(guild, { draft: { name, permissions } }, owner, env);
  if (!made.ok) return made;
  const role = made.value;
  const roles = [...((already?.roles ?? []) as RoleId[]), role.id];
  const joined: readonly GuildFact[] = already
    ? [{ type: 'memberUpdated', member: unscreened({ ...already, roles }) }]
    : joinFacts(guild, admitted(guild, { user, roles }, env.nowMs), env);
  const given = auditEntry(env, owner, {
    actionType: AUDIT.MEMBER_ROLE_UPDATE,
    targetId: userId,
    changes: [{ key: '$add', new_value: [{ id: role.id, name }] }],
  });
  return accepted({ added: !already }, [...made.facts, ...joined, given]);
}

function installBot(
  guild: Guild,
  { botId, applicationId, name, permissions }: InstallCommands['installBot']['input'],
  by: By,
  env: Env,
): Outcome<{ added: boolean }, GuildFact> {
  const user = guild.users.get(botId);
  if (!user?.bot) return refused(refusal('OAUTH2_APPLICATION_HAS_NO_BOT'));
  const already = guild.members.get(botId);
  const no = already ? null : admissionRefusal(guild, botId);
  if (no) return refused(no);
  const granted = formatPermissions((parsePermissions(permissions) ?? 0n) & bitsOf(guild, by, env.nowMs));
  const before = ownRole(guild, botId);
  const role = before ? { ...before, permissions: granted } : newRole(guild, { botId, name, granted }, env);
  if (!before && role && guild.roles.size >= LIMITS.roles_per_guild_max)
    return refused(refusal('MAXIMUM_ROLES'));
  const facts: GuildFact[] = [];
  if (before && before.permissions !== granted) facts.push({ type: 'roleUpdated', role: role! });
  if (!before && role) facts.push(...roleFacts(guild, role));
  const roles = role ? [role.id] : [];
  if (!already) {
    facts.push(...joinFacts(guild, admitted(guild, { user, roles }, env.nowMs), env));
    facts.push(auditEntry(env, by, { actionType: AUDIT.BOT_ADD, targetId: botId }));
    facts.push(auditEntry(env, by, { actionType: AUDIT.INTEGRATION_CREATE, targetId: applicationId }));
  } else if (role && !already.roles.includes(role.id)) {
    facts.push({ type: 'memberUpdated', member: { ...already, roles: [...already.roles, ...roles] } });
  }
  return accepted({ added: !already }, facts);
}

/** Null for a bot without requested permissions: it needs no role. */
function newRole(
  guild: Guild,
  { botId, name, granted }: { botId: UserId; name: string; granted: string },
  env: Env,
): APIRole | null {
  if (granted === '0') return null;
  const blank = blankRole(guild, env.nextId());
  return { ...blank, name, permissions: granted, managed: true, tags: { bot_id: botId } };
}

function removeIntegration(
  guild: Guild,
  { botId, applicationId }: InstallCommands['removeIntegration']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const member = guild.members.get(botId);
  if (!member) return refused(refusal('UNKNOWN_INTEGRATION'));
  const webhooks = [...(guild.webhooks?.values() ?? [])]
    .filter((webhook) => webhook.application_id === applicationId)
    .map(({ id, channel_id: channelId }) => ({ type: 'webhookDeleted', webhookId: id, channelId }) as const);
  const entry = auditEntry(env, by, { actionType: AUDIT.INTEGRATION_DELETE, targetId: applicationId });
  return accepted(null, [...webhooks, ...leaveFacts(guild, member), entry]);
}

/** Applications that are added to a guild, and removed from it. */
export const installs: GuildTopic<InstallCommands, 'integrationChanged'> = {
  commands: {
    checkIntegrations: { decide: () => accepted(null) },
    removeIntegration: {
      needs: ({ botId }) => ({ members: [botId], webhooks: true }),
      decide: removeIntegration,
    },
    noteIntegration: {
      decide: (_, { change, integration }) =>
        accepted(null, [{ type: 'integrationChanged', change, integration }]),
    },
    installBot: {
      needs: ({ botId }) => joining(botId),
      decide: installBot,
    },
    joinWithRole: {
      needs: ({ userId }) => joining(userId),
      decide: joinWithRole,
    },
  },
  facts: {
    integrationChanged: {
      durable: false,
      apply: () => {},
      dispatches: ({ id: guild_id }, { change, integration }) => [
        change === 'deleted'
          ? {
              t: 'INTEGRATION_DELETE',
              d: { id: integration.id, guild_id, application_id: integration.id },
              to: { kind: 'guild' },
            }
          : {
              t: change === 'created' ? 'INTEGRATION_CREATE' : 'INTEGRATION_UPDATE',
              d: { ...integration, guild_id },
              to: { kind: 'guild' },
            },
        { t: 'GUILD_INTEGRATIONS_UPDATE', d: { guild_id }, to: { kind: 'guild' } },
      ],
    },
  },
};

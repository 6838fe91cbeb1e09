import type { APIAuditLogEntry } from 'discord-api-types/v10';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import { AUDIT } from '../../../protocol/audit.ts';
import { CHANNEL } from '../../../protocol/channeltypes.ts';
import { type GuildId, isChannelId, isUserId, type UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { AuditLog } from '../../../protocol/schemas/audit.ts';
import { Choice, Int, Obj, Optional, Snowflake } from '../../../protocol/schemas/request.ts';
import type { WebhookStore } from '../../../storage/webhook/port.ts';
import { userBody } from '../accounts.ts';
import { op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { eventBody } from './scheduledevents.ts';

/** Actions whose target is a user. */
const ON_USERS: ReadonlySet<number> = new Set([
  AUDIT.MEMBER_KICK,
  AUDIT.MEMBER_BAN_ADD,
  AUDIT.MEMBER_BAN_REMOVE,
  AUDIT.MEMBER_UPDATE,
  AUDIT.MEMBER_ROLE_UPDATE,
  AUDIT.BOT_ADD,
  AUDIT.MESSAGE_DELETE,
  AUDIT.MESSAGE_PIN,
  AUDIT.MESSAGE_UNPIN,
  AUDIT.AUTO_MODERATION_BLOCK_MESSAGE,
  AUDIT.AUTO_MODERATION_FLAG_TO_CHANNEL,
  AUDIT.AUTO_MODERATION_USER_COMMUNICATION_DISABLED,
  AUDIT.AUTO_MODERATION_QUARANTINE_USER,
]);

const ON_RULES: ReadonlySet<number> = new Set([
  AUDIT.AUTO_MODERATION_RULE_CREATE,
  AUDIT.AUTO_MODERATION_RULE_UPDATE,
]);

export const audit = resource({
  list_guild_audit_log_entries: op({
    method: 'GET',
    path: '/guilds/:guild_id/audit-logs',
    auth: 'any',
    permission: P.VIEW_AUDIT_LOG,
    // The platform publishes no limit for this route; the value is this server's own.
    bucket: { per: 'guild_id', limit: 10, windowMs: 10_000 },
    query: Obj({
      user_id: Optional(Snowflake<UserId>()),
      target_id: Optional(Snowflake()),
      action_type: Optional(Choice(...Object.values(AUDIT))),
      before: Optional(Snowflake()),
      after: Optional(Snowflake()),
      limit: Optional(Int(1, LIMITS.audit_log_page_max)),
    }),
    status: 200,
    reply: AuditLog,
    handle: async ({ params, query, authority }, { guilds, read }) => {
      const guildId = params.guild_id;
      const may = await guilds.call(guildId, 'authorizeAuditRead', {}, authority);
      if (!may.ok) return may;
      const { user_id: userId, target_id: targetId, action_type: actionType, before, after } = query;
      const entries = await read.guilds.auditLog(guildId, {
        ...(userId === undefined ? {} : { userId: userId }),
        ...(targetId === undefined ? {} : { targetId }),
        ...(actionType === undefined ? {} : { actionType: Number(actionType) }),
        ...(before === undefined ? {} : { before }),
        ...(after === undefined ? {} : { after }),
        limit: query.limit ?? LIMITS.audit_log_page_default,
      });
      const users = await read.users.get(usersOf(entries));
      const webhooks = await webhooksOf(guildId, entries, read.webhooks);
      const eventIds = targetsOf(entries, ON_EVENTS);
      const events = await guilds.call(guildId, 'findScheduledEvents', { eventIds }, authority);
      if (!events.ok) return events;
      const threads = await threadsOf(entries, guildId, authority, { guilds, read });
      if (!threads.ok) return threads;
      const rules = entries.some(({ action_type: action }) => ON_RULES.has(action))
        ? await guilds.call(guildId, 'listAutoModerationRules', {}, authority)
        : null;
      const targets = new Set(entries.map(({ target_id: id }) => id));
      const named = rules?.ok ? rules.value.filter(({ id }) => targets.has(id)) : [];
      const lists = {
        ...{ ...NOTHING_ELSE, users, webhooks, auto_moderation_rules: named },
        guild_scheduled_events: events.value.map(eventBody),
        threads: threads.value,
      };
      return { ok: true, value: { ...lists, audit_log_entries: entries } };
    },
  }),
});

/** Lists that stay empty, although clients require the keys: the entries name their objects whole. */
const NOTHING_ELSE = { application_commands: [], integrations: [] };

const ON_WEBHOOKS: ReadonlySet<number> = new Set([AUDIT.WEBHOOK_CREATE, AUDIT.WEBHOOK_UPDATE]);

/** The webhooks that the entries name and that still exist, without their tokens. */
async function webhooksOf(
  guildId: GuildId,
  entries: readonly APIAuditLogEntry[],
  store: Pick<WebhookStore, 'ofGuild'>,
): Promise<object[]> {
  const named = entries.filter(({ action_type: action }) => ON_WEBHOOKS.has(action));
  if (named.length === 0) return [];
  const ids = new Set(named.map(({ target_id: id }) => id));
  const found = (await store.ofGuild(guildId)).filter(({ id }) => ids.has(id));
  return found.map((each) => ({ ...each, ...(each.user && { user: userBody(each.user) }) }));
}

const ON_EVENTS: ReadonlySet<number> = new Set([
  AUDIT.GUILD_SCHEDULED_EVENT_CREATE,
  AUDIT.GUILD_SCHEDULED_EVENT_UPDATE,
  AUDIT.GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE,
  AUDIT.GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE,
  AUDIT.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE,
]);

const ON_THREADS: ReadonlySet<number> = new Set([AUDIT.THREAD_CREATE, AUDIT.THREAD_UPDATE]);

/** The threads that the entries name, that still exist, and that the caller may read. */
async function threadsOf(
  entries: readonly APIAuditLogEntry[],
  guildId: GuildId,
  authority: Authority,
  { guilds, read }: Pick<Services, 'guilds' | 'read'>,
): Promise<Reply<readonly object[]>> {
  const ids = targetsOf(entries, ON_THREADS).filter((id) => isChannelId(id));
  if (ids.length === 0) return { ok: true, value: [] };
  const may = await guilds.call(guildId, 'authorizeSearch', { includesNsfw: true }, authority);
  if (!may.ok) return may;
  const [readable, managed] = [new Set(may.value.readable), new Set(may.value.managed)];
  const found = await read.threads.listed(guildId, authority.by.userId, ids);
  const seen = found.filter(
    ({ thread: { type, parent_id: parentId }, own }) =>
      readable.has(parentId) && (type !== CHANNEL.PRIVATE_THREAD || own !== null || managed.has(parentId)),
  );
  return { ok: true, value: seen.map(({ thread }) => thread) };
}

/** The targets of entries with these actions, without duplicates. */
const targetsOf = (entries: readonly APIAuditLogEntry[], actions: ReadonlySet<number>): string[] => [
  ...new Set(
    entries.flatMap(({ target_id: id, action_type: action }) => (id && actions.has(action) ? [id] : [])),
  ),
];

/** All users that the entries name, without duplicates. */
function usersOf(entries: readonly APIAuditLogEntry[]): UserId[] {
  const ids = new Set<string>();
  for (const { user_id: userId, target_id: targetId, action_type: actionType } of entries) {
    if (userId) ids.add(userId);
    if (targetId && ON_USERS.has(actionType)) ids.add(targetId);
  }
  return [...ids].filter(isUserId);
}

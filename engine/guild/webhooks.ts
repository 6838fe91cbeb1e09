import { AUDIT } from '../../protocol/audit.ts';
import { FORUMS, TEXT_LIKE, VOICE_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId, WebhookId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { nameRefusal, WEBHOOK, type Webhook } from '../webhook/webhook.ts';
import { type AuditFact, auditEntry, changesOf } from './auditing.ts';
import { bitsIn } from './authorize.ts';
import type { GuildFact, WebhookFacts } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildTopic } from './topic.ts';

export interface CreateWebhook {
  readonly channelId: ChannelId;
  /** A new id: the avatar is stored under it before. */
  readonly id: WebhookId;
  readonly name: string;
  /** Hash of a stored image. */
  readonly avatar: string | null;
}

/** Absent fields stay as they are. */
export interface UpdateWebhook {
  readonly webhookId: WebhookId;
  readonly name?: string;
  readonly avatar?: string | null;
  readonly channelId?: ChannelId;
}

/** Commands of a guild's webhooks. The server itself (`system`) runs the commands of callers with a webhook's token. */
type WebhookCommands = {
  createWebhook: { input: CreateWebhook; value: Webhook };
  listChannelWebhooks: { input: { readonly channelId: ChannelId }; value: readonly Webhook[] };
  listGuildWebhooks: { input: object; value: readonly Webhook[] };
  getWebhook: { input: { readonly webhookId: WebhookId }; value: Webhook };
  updateWebhook: { input: UpdateWebhook; value: Webhook };
  deleteWebhook: { input: { readonly webhookId: WebhookId }; value: null };
};

/** Types of channels that webhooks write in. */
const holdsWebhooks = (type: number): boolean =>
  TEXT_LIKE.has(type) || VOICE_LIKE.has(type) || FORUMS.has(type);

const needs = (): { readonly webhooks: true } => ({ webhooks: true });

export const webhooks: GuildTopic<WebhookCommands, keyof WebhookFacts> = {
  commands: {
    createWebhook: { needs, decide: createWebhook },
    listChannelWebhooks: {
      needs,
      decide: (guild, { channelId }) =>
        accepted(known(guild).filter(({ channel_id: id }) => id === channelId)),
    },
    listGuildWebhooks: { needs, decide: (guild) => accepted(known(guild)) },
    getWebhook: {
      needs,
      decide: (guild, { webhookId }, by, env) =>
        managed(guild, webhookId, by, env, (webhook) => accepted(webhook)),
    },
    updateWebhook: {
      needs,
      decide: (guild, input, by, env) =>
        managed(guild, input.webhookId, by, env, (webhook) => updateWebhook(guild, webhook, input, by, env)),
    },
    deleteWebhook: {
      needs,
      decide: (guild, { webhookId }, by, env) =>
        managed(guild, webhookId, by, env, (webhook) =>
          accepted(null, [
            { type: 'webhookDeleted', webhookId, channelId: webhook.channel_id },
            noted(AUDIT.WEBHOOK_DELETE, webhook, null, by, env),
          ]),
        ),
    },
  },
  facts: {
    webhookCreated: {
      apply: (guild, { webhook }) => {
        guild.webhooks?.set(webhook.id, webhook);
      },
      dispatches: (guild, { webhook }) => [changed(guild, webhook.channel_id)],
    },
    webhookUpdated: {
      apply: (guild, { webhook }) => {
        guild.webhooks?.set(webhook.id, webhook);
      },
      dispatches: (guild, { webhook, movedFrom }) => [
        ...(movedFrom === undefined ? [] : [changed(guild, movedFrom)]),
        changed(guild, webhook.channel_id),
      ],
    },
    webhookDeleted: {
      apply: (guild, { webhookId }) => {
        guild.webhooks?.delete(webhookId);
      },
      dispatches: (guild, { channelId }) => [changed(guild, channelId)],
    },
  },
};

const changed = (guild: Guild, channelId: ChannelId): Dispatch => ({
  t: 'WEBHOOKS_UPDATE',
  d: { guild_id: guild.id, channel_id: channelId },
  to: { kind: 'channel', channelId },
});

/** The guild's webhooks, which `needs` had loaded. */
const known = ({ webhooks }: Guild): readonly Webhook[] => [...(webhooks?.values() ?? [])];

/** Runs a rule on a webhook for a caller who may manage it: with MANAGE_WEBHOOKS there, or of its application. */
function managed<Value>(
  guild: Guild,
  webhookId: WebhookId,
  by: By,
  env: Env,
  rule: (webhook: Webhook) => Outcome<Value, GuildFact>,
): Outcome<Value, GuildFact> {
  const webhook = guild.webhooks?.get(webhookId);
  const channel = webhook && guild.channels.get(webhook.channel_id);
  if (!webhook || !channel) return refused(refusal('UNKNOWN_WEBHOOK'));
  const own = webhook.application_id !== null && by.bot && by.applicationId === webhook.application_id;
  const needed = P.VIEW_CHANNEL | P.MANAGE_WEBHOOKS;
  if (!own && (bitsIn(guild, by, channel, env.nowMs) & needed) !== needed)
    return refused(refusal('MISSING_PERMISSIONS'));
  return rule(webhook);
}

/** Why a channel cannot hold one more webhook; null when it can. */
export function fullRefusal(guild: Guild, channelId: ChannelId): Refusal | null {
  const there = known(guild).filter(({ channel_id: id }) => id === channelId).length;
  return there >= LIMITS.webhooks_per_channel_max ? refusal('MAXIMUM_WEBHOOKS') : null;
}

function createWebhook(guild: Guild, input: CreateWebhook, by: By, env: Env): Outcome<Webhook, GuildFact> {
  const { channelId, id, name, avatar } = input;
  const channel = guild.channels.get(channelId);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  if (!holdsWebhooks(channel.type)) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const no = nameRefusal(name, 'name') ?? fullRefusal(guild, channelId);
  if (no) return refused(no);
  if (known(guild).length >= LIMITS.webhooks_per_guild_max) return refused(refusal('MAXIMUM_GUILD_WEBHOOKS'));
  const creator = guild.members.get(by.userId)?.user;
  const webhook: Webhook = {
    id,
    type: WEBHOOK.INCOMING,
    guild_id: guild.id,
    channel_id: channelId,
    name: name.trim(),
    avatar,
    application_id: by.bot ? by.applicationId : null,
    ...(creator ? { user: creator } : {}),
  };
  return accepted(webhook, [
    { type: 'webhookCreated', webhook },
    noted(AUDIT.WEBHOOK_CREATE, null, webhook, by, env),
  ]);
}

function updateWebhook(
  guild: Guild,
  webhook: Webhook,
  { name, avatar, channelId }: UpdateWebhook,
  by: By,
  env: Env,
): Outcome<Webhook, GuildFact> {
  const no =
    (name === undefined ? null : nameRefusal(name, 'name')) ??
    moveRefusal(guild, webhook, channelId, by, env);
  if (no) return refused(no);
  const next: Webhook = {
    ...webhook,
    ...(name === undefined ? {} : { name: name.trim() }),
    ...(avatar === undefined ? {} : { avatar }),
    ...(channelId === undefined ? {} : { channel_id: channelId }),
  };
  const entry = noted(AUDIT.WEBHOOK_UPDATE, webhook, next, by, env);
  if (entry.entry.changes === undefined) return accepted(webhook);
  const moved = next.channel_id === webhook.channel_id ? {} : { movedFrom: webhook.channel_id };
  return accepted(next, [{ type: 'webhookUpdated', webhook: next, ...moved }, entry]);
}

/** Moving needs MANAGE_WEBHOOKS in the other channel too. */
function moveRefusal(
  guild: Guild,
  webhook: Webhook,
  channelId: ChannelId | undefined,
  by: By,
  env: Env,
): Refusal | null {
  if (channelId === undefined || channelId === webhook.channel_id) return null;
  const channel = guild.channels.get(channelId);
  if (!channel) return refusal('UNKNOWN_CHANNEL');
  if (!holdsWebhooks(channel.type)) return refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE');
  const needed = P.VIEW_CHANNEL | P.MANAGE_WEBHOOKS;
  if ((bitsIn(guild, by, channel, env.nowMs) & needed) !== needed) return refusal('MISSING_PERMISSIONS');
  return fullRefusal(guild, channelId);
}

/**
 * The audit entry of a change. A caller with a webhook's token is not named.
 *
 * @source https://docs.discord.com/developers/resources/audit-log#audit-log-entry-object-audit-log-events; 50 to 52
 */
export function noted(
  actionType: (typeof AUDIT)['WEBHOOK_CREATE' | 'WEBHOOK_UPDATE' | 'WEBHOOK_DELETE'],
  before: Webhook | null,
  after: Webhook | null,
  by: By,
  env: Env,
): AuditFact {
  const changes = changesOf(before, after, ['type', 'name', 'channel_id', 'avatar', 'application_id']);
  const targetId = (after ?? before)?.id ?? null;
  const fact = auditEntry(env, by, { actionType, targetId, changes });
  return by.system ? { ...fact, entry: { ...fact.entry, user_id: null } } : fact;
}

import { type APIEmbed, EmbedType, GuildMemberFlags, MessageType } from 'discord-api-types/v10';
import { AUDIT } from '../../protocol/audit.ts';
import { WITH_MESSAGES } from '../../protocol/channeltypes.ts';
import { everyoneRoleOf, type MessageId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { ACTION, type Rule, type RuleAction } from '../automod/rule.ts';
import type { Hit } from '../automod/verdicts.ts';
import { newMessage } from '../channel/messages.ts';
import type { Env } from '../kernel/aggregate.ts';
import { standingPermissions, timedOutUntilMs } from '../permissions/permissions.ts';
import { auditEntry } from './auditing.ts';
import type { Execution, GuildFact } from './facts.ts';
import type { Guild, GuildChannel, Member } from './guild.ts';

/** The trigger of the rules: a message, or a member's names. */
export interface Occasion {
  readonly guild: Guild;
  readonly env: Env;
  readonly user: APIUser;
  /** Null for a user who writes from a lobby and is no member. */
  readonly member: Member | null;
  readonly text: string;
  /** The channel of the message; null for a name. */
  readonly channel: GuildChannel | null;
  readonly messageId: MessageId | null;
}

interface Consequences {
  readonly facts: readonly GuildFact[];
  /** The text for the author of a blocked message; empty without one of the rule's own. Null when it is not blocked. */
  readonly blocked: string | null;
  /** The member afterwards. */
  readonly member: Member | null;
}

/** Member flag of a name that rules object to. */
export const QUARANTINED: number = GuildMemberFlags.AutomodQuarantinedUsernameOrGuildNickname;

/** Whether a user is exempt from all rules: bots, and members who manage the guild. */
export const isExempt = (guild: Guild, user: APIUser): boolean =>
  user.bot === true || (standingPermissions(guild, user.id) & (P.MANAGE_GUILD | P.ADMINISTRATOR)) !== 0n;

/** Whether a rule applies to a member, and in a channel: a thread's parent and a channel's category count too. */
export function applies(
  rule: Rule,
  guild: Guild,
  member: Member | null,
  channel: GuildChannel | null,
): boolean {
  const { exempt_roles: roles, exempt_channels: channels } = rule;
  const everyone = everyoneRoleOf(guild.id);
  if (roles.some((id) => id === everyone || member?.roles.includes(id))) return false;
  return channel === null || !channels.some((id) => id === channel.id || id === channel.parent_id);
}

const AUDITED = {
  [ACTION.BLOCK_MESSAGE]: AUDIT.AUTO_MODERATION_BLOCK_MESSAGE,
  [ACTION.SEND_ALERT_MESSAGE]: AUDIT.AUTO_MODERATION_FLAG_TO_CHANNEL,
  [ACTION.TIMEOUT]: AUDIT.AUTO_MODERATION_USER_COMMUNICATION_DISABLED,
  [ACTION.BLOCK_MEMBER_INTERACTION]: AUDIT.AUTO_MODERATION_QUARANTINE_USER,
} as const;

/** Carries out the actions of the triggered rules, in order. */
export function consequences(occasion: Occasion, hits: readonly Hit[]): Consequences {
  const blocks = hits.flatMap(({ rule }) =>
    rule.actions.flatMap((action) =>
      action.type === ACTION.BLOCK_MESSAGE ? (action.metadata.custom_message ?? '') : [],
    ),
  );
  const isBlocked = blocks.length > 0 && occasion.channel !== null;
  const facts: GuildFact[] = [];
  let { member } = occasion;
  for (const hit of hits) {
    for (const action of hit.rule.actions) {
      const done = carriedOut(occasion, hit, action, { member, isBlocked });
      if (!done) continue;
      member = done.member ?? member;
      facts.push(...done.facts, ...executionFacts(occasion, hit, action, isBlocked, done.alertId));
    }
  }
  const own = blocks.find((text) => text !== '');
  return { facts, member, blocked: isBlocked ? (own ?? '') : null };
}

interface Done {
  readonly facts: readonly GuildFact[];
  readonly member?: Member;
  readonly alertId?: MessageId;
}

/** Null for an action that is impossible here. */
function carriedOut(
  occasion: Occasion,
  hit: Hit,
  action: RuleAction,
  { member, isBlocked }: { readonly member: Member | null; readonly isBlocked: boolean },
): Done | null {
  const { guild, env, channel } = occasion;
  switch (action.type) {
    case ACTION.BLOCK_MESSAGE:
      return channel ? { facts: [] } : null;
    case ACTION.SEND_ALERT_MESSAGE: {
      const there = guild.channels.get(action.metadata.channel_id);
      if (!there || !WITH_MESSAGES.has(there.type)) return null;
      const message = newMessage(env, {
        channel_id: there.id,
        type: MessageType.AutoModerationAction,
        author: occasion.user,
        embeds: [alertOf(occasion, hit, isBlocked)],
      });
      const fact = {
        type: 'messageCreated',
        message,
        nonce: null,
        referenced: null,
        enforceNonce: false,
      } as const;
      return { facts: [fact], alertId: message.id };
    }
    case ACTION.TIMEOUT: {
      const untilMs = env.nowMs + action.metadata.duration_seconds * 1_000;
      if (!member || timedOutUntilMs(member) >= untilMs) return null;
      const silenced = { ...member, communication_disabled_until: isoTimestamp(untilMs) };
      return { facts: [{ type: 'memberUpdated', member: silenced }], member: silenced };
    }
    case ACTION.BLOCK_MEMBER_INTERACTION:
      if (!member) return null;
      return { facts: [], member: { ...member, flags: member.flags | QUARANTINED } };
  }
}

/** The audit entry and the dispatch of an action. */
function executionFacts(
  { env, user, channel, text, messageId }: Occasion,
  { rule, keyword, matched }: Hit,
  action: RuleAction,
  isBlocked: boolean,
  alertId: MessageId | undefined,
): readonly GuildFact[] {
  const place = channel ? { channel_id: channel.id } : {};
  const execution: Execution = {
    action,
    rule_id: rule.id,
    rule_trigger_type: rule.trigger_type,
    user_id: user.id,
    ...place,
    ...(messageId === null || isBlocked ? {} : { message_id: messageId }),
    ...(alertId === undefined ? {} : { alert_system_message_id: alertId }),
    content: text,
    matched_keyword: keyword,
    matched_content: matched,
  };
  const by = { userId: user.id, bot: false, applicationId: null, applicationFlags: 0, reason: null };
  const options = {
    auto_moderation_rule_name: rule.name,
    auto_moderation_rule_trigger_type: `${rule.trigger_type}` as const,
    ...place,
  };
  return [
    auditEntry(env, by, { actionType: AUDITED[action.type], targetId: user.id, options }),
    { type: 'autoModerationActionExecuted', execution },
  ];
}

/**
 * The alert about a triggered rule for moderators, in the form that clients render.
 *
 * @source https://docs.discord.food/resources/message#auto-moderation-message-embed
 */
function alertOf({ env, channel, text, messageId }: Occasion, hit: Hit, isBlocked: boolean): APIEmbed {
  const { rule, keyword, matched } = hit;
  const timeout = rule.actions.find((action) => action.type === ACTION.TIMEOUT);
  const quarantines = rule.actions.some(({ type }) => type === ACTION.BLOCK_MEMBER_INTERACTION);
  const fields: Readonly<Record<string, string | null>> = {
    rule_name: rule.name,
    decision_id: env.nextId(),
    decision_outcome: isBlocked ? 'blocked' : 'flagged',
    channel_id: channel?.id ?? null,
    flagged_message_id: isBlocked ? null : messageId,
    keyword,
    keyword_matched_content: matched,
    timeout_duration: timeout ? String(timeout.metadata.duration_seconds) : null,
    quarantine_user: quarantines ? 'username' : null,
  };
  return {
    type: EmbedType.AutoModerationMessage,
    description: text,
    fields: Object.entries(fields).flatMap(([name, value]) =>
      value === null || value === '' ? [] : [{ name, value, inline: false }],
    ),
  };
}

import { FORWARDABLE } from '../../protocol/channeltypes.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Paced } from '../automod/pace.ts';
import { type Rule, TRIGGER } from '../automod/rule.ts';
import type { Hit } from '../automod/verdicts.ts';
import { namedIn } from '../channel/compose.ts';
import type { Sender, Written } from '../channel/draft.ts';
import type { Env, Outcome } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { applies, consequences, isExempt, type Occasion } from './automod.actions.ts';
import { allTextOf } from './automod.text.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, GuildChannel, StoredMessage } from './guild.ts';
import type { GuildScope } from './messages.scope.ts';

/** The author of the message that is checked. */
interface Writing {
  readonly guild: Guild;
  readonly by: By;
  readonly env: Env;
  /** A webhook or an application, which no rule concerns. */
  readonly from: Sender | undefined;
}

function pacedOf({ author, content, timestamp }: StoredMessage): Paced {
  const { userIds, roleIds } = namedIn(content);
  const mentions = userIds.length + roleIds.length;
  return { userId: author.id, text: content, mentions, atMs: Date.parse(timestamp) };
}

/**
 * Decides about a message that its author may send or edit: rules may block it, and rules may do something about its
 * author or tell moderators, whether it is blocked or not.
 */
export function moderated(
  { channel }: GuildScope,
  outcome: Outcome<Written, GuildFact>,
  { guild, by, env, from }: Writing,
): Outcome<Written, GuildFact> {
  if (!outcome.ok || outcome.facts.length === 0 || from || by.system) return outcome;
  const isNew = outcome.facts.some(({ type }) => type === 'messageCreated');
  const judged = judgedMessage({ guild, env, channel, message: outcome.value.message, isNew });
  if (!judged) return outcome;
  const { facts, no } = judged;
  if (no) return { ok: false, refusal: no, facts };
  return facts.length === 0 ? outcome : { ...outcome, facts: [...outcome.facts, ...facts] };
}

/** The consequences of the rules for a message; null when none is triggered. */
export function judgedMessage({
  guild,
  env,
  channel,
  message,
  isNew,
}: {
  readonly guild: Guild;
  readonly env: Env;
  readonly channel: GuildChannel;
  readonly message: StoredMessage;
  readonly isNew: boolean;
}): { readonly facts: readonly GuildFact[]; readonly no: Refusal | null } | null {
  const judged = {
    guild,
    env,
    channel,
    user: message.author,
    text: allTextOf(message),
    messageId: message.id,
  };
  return judgedText(judged, (asked) => paceHits(guild, pacedOf(message), isNew, asked));
}

/** Judges the title that a member gives to a thread of the channel. */
export function moderatedTitle<Value>(
  channel: GuildChannel,
  title: string,
  outcome: Outcome<Value, GuildFact>,
  { guild, by, env, from }: Writing,
): Outcome<Value, GuildFact> {
  const user = guild.members.get(by.userId)?.user;
  if (!outcome.ok || from || by.system || !user) return outcome;
  const judged = judgedText({ guild, env, channel, user, text: title, messageId: null }, () => []);
  if (!judged) return outcome;
  const { facts, no, isBlocked } = judged;
  if (no)
    return { ok: false, refusal: isBlocked ? refusal('TITLE_BLOCKED_BY_AUTOMATIC_MODERATION') : no, facts };
  return facts.length === 0 ? outcome : { ...outcome, facts: [...outcome.facts, ...facts] };
}

interface Judged {
  readonly facts: readonly GuildFact[];
  readonly no: Refusal | null;
  /** A rule blocks it; without, there is too much to read for now. */
  readonly isBlocked: boolean;
}

/** @param more Matches of triggers other than words, among the rules that apply. */
function judgedText(
  {
    guild,
    env,
    channel,
    user,
    text,
    messageId,
  }: Omit<Occasion, 'member' | 'channel'> & { readonly channel: GuildChannel },
  more: (asked: (rule: Rule) => boolean) => readonly Hit[],
): Judged | null {
  const { autoModeration } = guild;
  if (!autoModeration.readsMessages || isExempt(guild, user)) return null;
  const member = guild.members.get(user.id) ?? null;
  const asked = (rule: Rule): boolean => applies(rule, guild, member, channel);
  const units = autoModeration.messageWords.patternSize(asked) * text.length;
  const waitMs = units === 0 ? 0 : autoModeration.work.waitMs(env.nowMs);
  if (waitMs > 0) {
    const no = { ...refusal('SERVER_WRITE_RATE_LIMIT'), retryAfterSec: waitMs / 1_000 };
    return { facts: [], no, isBlocked: false };
  }
  const work = { units };
  const hits = [...autoModeration.messageWords.read(text, asked, work), ...more(asked)];
  const worked =
    work.units === 0 ? [] : [{ type: 'autoModerationWorked', units: work.units, atMs: env.nowMs } as const];
  if (hits.length === 0) return { facts: worked, no: null, isBlocked: false };
  const { facts, blocked } = consequences({ guild, env, user, member, text, channel, messageId }, hits);
  const no = blocked === null ? null : blockedRefusal(blocked);
  return { facts: [...worked, ...facts], no, isBlocked: no !== null };
}

/** An edit does not count for rate rules, but its mentions do. */
function paceHits(guild: Guild, paced: Paced, isNew: boolean, asked: (rule: Rule) => boolean): Hit[] {
  const { autoModeration } = guild;
  const wordless = (rule: Rule): Hit => ({ rule, keyword: null, matched: null });
  const spam = autoModeration.of(TRIGGER.SPAM).filter(asked);
  const mentioning = autoModeration.of(TRIGGER.MENTION_SPAM).filter(asked);
  const isSpam = isNew && spam.length > 0 && autoModeration.pace.isSpam(paced);
  return [
    ...(isSpam ? spam.map(wordless) : []),
    ...mentioning
      .filter(
        ({ trigger_metadata: { mention_total_limit: max = 0, mention_raid_protection_enabled: raid } }) =>
          paced.mentions > max || (isNew && raid === true && autoModeration.pace.isRaid(paced)),
      )
      .map(wordless),
  ];
}

/** The refusal of a blocked message, with the rule's own text for its author. */
const blockedRefusal = (own: string): Refusal => {
  const blocked = refusal('BLOCKED_BY_AUTOMATIC_MODERATION');
  if (own === '') return blocked;
  const { errors = {} } = invalidField(['content'], 'AUTO_MODERATION_MESSAGE_BLOCKED', own);
  return { ...blocked, errors };
};

/** Records a member's message for rate rules. Messages of the server do not count. */
export function notePace(guild: Guild, message: StoredMessage): void {
  const { autoModeration } = guild;
  if (message.webhook_id || message.author.bot) return;
  if (!FORWARDABLE.has(message.type)) return;
  autoModeration.pace.note(pacedOf(message));
}

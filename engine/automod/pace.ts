import type { UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import { fold } from './fold.ts';

/** One member's latest message. */
interface LatestMessage {
  readonly atMs: number;
  /** The text as it is compared; empty for a message without one. */
  readonly text: string;
}

/** A message as rate rules see it. */
export interface Paced {
  readonly userId: UserId;
  readonly text: string;
  /** Distinct users and roles that it mentions. */
  readonly mentions: number;
  readonly atMs: number;
}

/** A text without what makes no difference when it is repeated. */
const compared = (text: string): string => fold(text).text.trim();

/** For each member, as many recent messages as a spam rule can count. */
const KEPT_MAX = Math.max(LIMITS.automod_spam_messages_max, LIMITS.automod_repeats_max);
const KEPT_MS = Math.max(LIMITS.automod_spam_ms, LIMITS.automod_repeats_ms);

/**
 * Recent messages of a guild's members, for spam and raids. They are in no table and end with the process; bounded by
 * members, messages and age.
 */
export class Pace {
  /** Messages by user; the most recent sender is last. */
  readonly #sent = new Map<UserId, readonly LatestMessage[]>();
  /** Messages with mentions within the window of a raid, oldest first. */
  #mentions: (readonly [atMs: number, count: number])[] = [];

  note({ userId, text, mentions, atMs }: Paced): void {
    const before = this.#sent.get(userId) ?? [];
    this.#sent.delete(userId);
    const kept = before.filter((sent) => atMs - sent.atMs < KEPT_MS).slice(1 - KEPT_MAX);
    this.#sent.set(userId, [...kept, { atMs, text: compared(text) }]);
    dropOldest(this.#sent, LIMITS.automod_paces_max);
    if (mentions > 0) this.#noteMentions(mentions, atMs);
  }

  /** Whether one more message is spam: by its number within the window, or because its text was sent so often. */
  isSpam({ userId, text, atMs }: Paced): boolean {
    const sent = this.#sent.get(userId) ?? [];
    const recent = sent.filter((each) => atMs - each.atMs < LIMITS.automod_spam_ms);
    if (recent.length >= LIMITS.automod_spam_messages_max) return true;
    const folded = compared(text);
    if (folded === '') return false;
    const same = sent.filter((each) => each.text === folded && atMs - each.atMs < LIMITS.automod_repeats_ms);
    return same.length >= LIMITS.automod_repeats_max;
  }

  /** Whether one more message with mentions belongs to a raid. */
  isRaid({ mentions, atMs }: Paced): boolean {
    if (mentions === 0) return false;
    const recent = this.#mentions.filter(([at]) => atMs - at < LIMITS.automod_raid_ms);
    return recent.reduce((sum, [, count]) => sum + count, mentions) > LIMITS.automod_raid_mentions_max;
  }

  /** Counts beyond the bound change nothing, so no more messages than the bound are kept. */
  #noteMentions(count: number, atMs: number): void {
    const recent = this.#mentions.filter(([at]) => atMs - at < LIMITS.automod_raid_ms);
    this.#mentions = [...recent, [atMs, count] as const].slice(-LIMITS.automod_raid_mentions_max);
  }
}

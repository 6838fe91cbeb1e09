import type { UserId } from '../../protocol/ids.ts';

/** How long an invite can be accepted. @source https://docs.discord.food/resources/message#message-activity-object */
export const INVITE_MS = 6 * 3_600_000;
/** Most invites of ephemeral messages; the oldest is evicted. Our bound. */
const UNSTORED_INVITES_MAX = 10_000;

/** An invite as its message contained it. */
export interface SentInvite {
  readonly from: UserId;
  readonly to: UserId;
  readonly type: number;
  readonly partyId: string | null;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** Invites of ephemeral messages, which are not stored. */
export class UnstoredInvites {
  readonly #byMessage = new Map<string, SentInvite>();

  add(messageId: string, invite: SentInvite): void {
    this.#byMessage.set(messageId, invite);
    for (const oldest of this.#byMessage.keys()) {
      if (this.#byMessage.size <= UNSTORED_INVITES_MAX) break;
      this.#byMessage.delete(oldest);
    }
  }

  get(messageId: string): SentInvite | null {
    return this.#byMessage.get(messageId) ?? null;
  }
}

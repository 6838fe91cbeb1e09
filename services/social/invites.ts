import type { UserId } from '../../protocol/ids.ts';

/** How long an invite can be accepted. @source the Social SDK's header */
export const INVITE_MS = 6 * 3_600_000;
/** Invites in messages that are never stored; the oldest goes first. Ours. */
const UNSTORED_INVITES_MAX = 10_000;

/** An invite as it was sent. */
export interface SentInvite {
  readonly from: UserId;
  readonly to: UserId;
  readonly type: number;
  readonly partyId: string | null;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** Invites that were sent in messages of which nothing is kept. */
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

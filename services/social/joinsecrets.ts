import type { HiddenActivity } from '../../engine/presence/activities.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';

/** What may be asked of it: by whom it is about, of the owner of that user, and for others from anywhere. */
export interface JoinSecretLookup extends Pick<JoinSecrets, 'of'> {
  joinable(userId: UserId, applicationId: ApplicationId | null): Promise<HiddenActivity | null>;
}

/** What live sessions do that others may join, with the secrets that nobody is shown. */
export class JoinSecrets {
  readonly #bySession = new Map<
    string,
    { readonly userId: UserId; readonly hidden: readonly HiddenActivity[] }
  >();
  readonly #byUser = new Map<UserId, Set<string>>();

  set(userId: UserId, sessionId: string, hidden: readonly HiddenActivity[]): void {
    this.end(sessionId);
    if (hidden.length === 0) return;
    this.#bySession.set(sessionId, { userId, hidden });
    const sessionIds = this.#byUser.get(userId);
    if (sessionIds) sessionIds.add(sessionId);
    else this.#byUser.set(userId, new Set([sessionId]));
  }

  end(sessionId: string): void {
    const known = this.#bySession.get(sessionId);
    if (!known) return;
    this.#bySession.delete(sessionId);
    const sessionIds = this.#byUser.get(known.userId);
    sessionIds?.delete(sessionId);
    if (sessionIds?.size === 0) this.#byUser.delete(known.userId);
  }

  /** Of one session; empty for a session that is somebody else's. */
  of(userId: UserId, sessionId: string): readonly HiddenActivity[] {
    const known = this.#bySession.get(sessionId);
    return known?.userId === userId ? known.hidden : [];
  }

  /** Whatever a user lets others join in an application; null: in any. */
  joinable(userId: UserId, applicationId: ApplicationId | null): HiddenActivity | null {
    for (const sessionId of this.#byUser.get(userId) ?? [])
      for (const one of this.of(userId, sessionId))
        if (one.secrets.join !== null && (applicationId === null || one.applicationId === applicationId))
          return one;
    return null;
  }
}

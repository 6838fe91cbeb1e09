import type { Routing } from '../../actors/placement/routing.ts';
import { type HiddenActivity, readActivities } from '../../engine/presence/activities.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Social } from './ports.ts';

/** Lookups of join secrets: `of` on the owner shard of the user, `joinable` from any shard. */
export interface JoinSecretLookup extends Pick<JoinSecrets, 'of'> {
  joinable(userId: UserId, applicationId: ApplicationId | null): Promise<HiddenActivity | null>;
}

/** Joinable activities of live sessions with their secrets, which are sent only to users who may join. */
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

  /** Activities of one session; empty when the session belongs to another user. */
  of(userId: UserId, sessionId: string): readonly HiddenActivity[] {
    const known = this.#bySession.get(sessionId);
    return known?.userId === userId ? known.hidden : [];
  }

  /** A joinable activity of the user in an application; null means in any application. */
  joinable(userId: UserId, applicationId: ApplicationId | null): HiddenActivity | null {
    for (const sessionId of this.#byUser.get(userId) ?? [])
      for (const one of this.of(userId, sessionId))
        if (one.secrets.join !== null && (applicationId === null || one.applicationId === applicationId))
          return one;
    return null;
  }
}

/** Joinable activities are on the owner shard of the user who shares them. */
export const joinSecretLookup = (joinSecrets: JoinSecrets, routing: Routing): JoinSecretLookup => ({
  of: (userId, sessionId) => joinSecrets.of(userId, sessionId),
  joinable: routing.ask('activities.joinable', async (userId: UserId, applicationId: ApplicationId | null) =>
    joinSecrets.joinable(userId, applicationId),
  ),
});

/** Stores the joinable activities in what a session reports; a session that has ended has none. */
export const recordActivities =
  (joinSecrets: JoinSecrets, nowMs: () => number): Social['visibleActivities'] =>
  (session, sent) => {
    const { sessionId, bot } = session;
    const source = { sessionId, applicationId: session.authorization?.applicationId ?? null };
    const { shown, hidden } = readActivities(sent, bot, nowMs(), source);
    joinSecrets.set(session.userId, sessionId, session.over ? [] : hidden);
    return shown;
  };

import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { GatewaySessionActor } from './session.shell.ts';

/** The sessions in which an application acts for a user, found by both without a walk through all sessions. */
export class BearerSessions {
  readonly #byUser = new Map<UserId, Set<GatewaySessionActor>>();

  add(session: GatewaySessionActor): void {
    if (!session.authorization) return;
    const own = this.#byUser.get(session.userId);
    if (own) own.add(session);
    else this.#byUser.set(session.userId, new Set([session]));
  }

  delete(session: GatewaySessionActor): void {
    const own = this.#byUser.get(session.userId);
    if (own?.delete(session) && own.size === 0) this.#byUser.delete(session.userId);
  }

  of(userId: UserId, applicationId: ApplicationId): GatewaySessionActor[] {
    return [...(this.#byUser.get(userId) ?? [])].filter(
      ({ authorization }) => authorization?.applicationId === applicationId,
    );
  }
}

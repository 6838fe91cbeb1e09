import { createHash } from 'node:crypto';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { GatewaySessionActor } from './session.shell.ts';

/** The sessions in which an application acts for a user, indexed by user to avoid a scan of all sessions. */
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

  /** @param grantId Leaves out sessions of other grants. */
  of(userId: UserId, applicationId: ApplicationId, grantId?: string): GatewaySessionActor[] {
    return [...(this.#byUser.get(userId) ?? [])].filter(
      ({ authorization }) =>
        authorization?.applicationId === applicationId &&
        (grantId === undefined || authorization.id === grantId),
    );
  }
}

/**
 * An id for client state that outlives a session, such as the keys of its calls. It is derived from the grant, so it
 * survives new tokens and connections. Formatted as a UUID; the hash does not reveal the grant.
 */
export function staticSessionIdOf({ id }: Authorization): string {
  const hash = createHash('sha256').update(`static session ${id}`).digest('hex');
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    hash.slice(12, 16),
    hash.slice(16, 20),
    hash.slice(20, 32),
  ].join('-');
}

import type { Routing } from '../../actors/placement/routing.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { OAuthPorts } from './oauth.ts';

interface RevocationPorts {
  readonly routing: Pick<Routing, 'tellAll'>;
  /** Closes the sessions of this shard that act for the user, or those of one grant. */
  readonly closeSessions: (userId: UserId, applicationId: ApplicationId, grantId?: string) => void;
  readonly activities: () => { takeBack(userId: UserId, applicationId: ApplicationId): void };
  readonly provisional: () => Pick<OAuthPorts, 'deauthorized'>;
  readonly onFault: (error: unknown) => void;
}

/**
 * Ends what an application does for a user after the authorization is revoked: sessions of all shards, headless
 * sessions, and the provisional account.
 */
export function createRevocation(
  ports: RevocationPorts,
): Pick<OAuthPorts, 'revoked' | 'closeSessionsOfGrant' | 'deauthorized'> {
  const closeSessions = ports.routing.tellAll('oauth.revoked', ports.closeSessions);
  return {
    revoked(userId, applicationId) {
      closeSessions(userId, applicationId, undefined);
      ports.activities().takeBack(userId, applicationId);
    },
    closeSessionsOfGrant: closeSessions,
    // Follow-up work of a revocation reports its own faults, so that the revocation does not look failed.
    deauthorized: (userId, applicationId) =>
      ports.provisional().deauthorized(userId, applicationId).catch(ports.onFault),
  };
}

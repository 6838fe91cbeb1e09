import { routed } from '../actors/cluster/routing/routed.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import type { ApplicationId, UserId } from '../protocol/ids.ts';
import { oauthGuilds } from '../services/oauth/guilds.ts';
import { createOAuth as assemble } from '../services/oauth/oauth.ts';
import type { OAuth } from '../services/oauth/ports.ts';
import { oauthRoutes } from '../services/routes.ts';
import type { Site } from './site.ts';

const REVOKED = { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The authorization was revoked.' };

export function createOAuth(site: Site): OAuth {
  const { storage, nextId, randomBytes, clock, guilds } = site;
  const { applications, users, settings } = storage;
  const closeSessions = site.routing.everywhere(
    'oauth.revoked',
    (userId: UserId, applicationId: ApplicationId) =>
      site.sessions().closeSessionsOfGrant(userId, applicationId, REVOKED),
  );
  const oauth = assemble({
    security: site.security,
    ...{ applications, users, settings, nextId, randomBytes, routing: site.routing },
    store: storage.oauth,
    commit: site.commit,
    commitAsOwner: site.commitAsOwner,
    nowMs: () => clock.now(),
    publicUrl: site.publicUrl,
    isBanned: (userId) => site.parts().provisional.isBanned(userId),
    merge: (order) => site.parts().provisional.merge(order),
    revoked(userId, applicationId) {
      closeSessions(userId, applicationId);
      site.parts().social.activities.takeBack(userId, applicationId);
    },
    // What hangs on a grant ends by itself; that it does not must not make the revocation look failed.
    deauthorized: (userId, applicationId) =>
      site
        .parts()
        .provisional.deauthorized(userId, applicationId)
        .catch((fault: unknown) => site.onFault(fault, 'deauthorized')),
    ...oauthGuilds(guilds, users),
  });
  return routed('oauth', oauth, oauthRoutes(applications), site.cluster);
}

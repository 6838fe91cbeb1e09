import { createOAuth as assemble } from '../actors/oauth/oauth.ts';
import type { OAuth } from '../actors/oauth/ports.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import type { Site } from './site.ts';

const REVOKED = { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The authorization was revoked.' };

export function createOAuth(site: Site): OAuth {
  const { storage, nextId, randomBytes, clock } = site;
  return assemble({
    store: storage.oauth,
    applications: storage.applications,
    users: storage.users,
    settings: storage.settings,
    commit: site.commit,
    nextId,
    randomBytes,
    nowMs: () => clock.now(),
    publicUrl: site.publicUrl,
    revoked: (userId, applicationId) => site.sessions().closeSessionsOfGrant(userId, applicationId, REVOKED),
    // What hangs on a grant ends by itself; that it does not must not make the revocation look failed.
    deauthorized: (userId, applicationId) =>
      site
        .parts()
        .provisional.deauthorized(userId, applicationId)
        .catch((fault: unknown) => site.onFault(fault, 'deauthorized')),
  });
}

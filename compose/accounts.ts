import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { routed } from '../actors/cluster/routing/routed.ts';
import { isPublic } from '../config/config.ts';
import { createPasswordHasher } from '../media/crypto/passwords.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import type { ApplicationId, UserId } from '../protocol/ids.ts';
import { assembleAccounts } from '../services/accounts/accounts.ts';
import { withoutBanned } from '../services/accounts/bans.ts';
import type { Accounts, Mailer, Passwords } from '../services/accounts/ports.ts';
import { countingRefusals } from '../services/accounts/refusedsignins.ts';
import { oauthGuilds } from '../services/oauth/guilds.ts';
import { createOAuth as assemble } from '../services/oauth/oauth.ts';
import type { OAuth } from '../services/oauth/ports.ts';
import type { Provisional } from '../services/players/ports.ts';
import { startProvisional } from '../services/players/start.ts';
import { accountRoutes, oauthRoutes, PROVISIONAL_ROUTES } from '../services/routes.ts';
import { createOutgoing } from '../transports/identity/outgoing.ts';
import { createOutbox } from '../transports/mail/outbox.ts';
import { createSmtpMailer } from '../transports/mail/smtp.ts';
import type { Site } from './site.ts';
import { serverSecret } from './stores.ts';

/**
 * Accounts of people over the house: real hashes, letters by mail or into the outbox, nobody who is banned, and what of it
 * metrics show.
 */
export function createAccounts(site: Site): Accounts {
  const passwords = createPasswordHasher();
  site.figures.push({
    name: 'guildhall_password_hashes_waiting',
    help: 'Passwords that wait to be hashed.',
    max: passwords.waiting.max,
    read: () => passwords.waiting.count,
  });
  const accounts = accountsOver(site, passwords);
  return countingRefusals(
    withoutBanned(accounts, (userId) => site.parts().provisional.isBanned(userId)),
    site.figures,
  );
}

function accountsOver(site: Site, passwords: Passwords): Accounts {
  const { config, storage, clock, nextId, randomBytes } = site;
  const accounts = assembleAccounts({
    accounts: storage.accounts,
    users: storage.users,
    userChanges: site.users,
    identity: site.identity,
    passwords,
    mailer: mailerOf(site),
    secret: () => serverSecret(config, storage, randomBytes),
    commit: site.commitAsOwner,
    registrationOpen: () =>
      config.registration === 'auto' ? !isPublic(config) : config.registration === 'open',
    addressLimits: config.rate_limits,
    publicUrl: site.publicUrl,
    nextId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes,
    routing: site.routing,
    security: site.security,
    onFault: (error) => site.onFault(error, 'accounts'),
  });
  return routed(accounts, accountRoutes(storage.accounts), site.cluster);
}

function mailerOf({ config, clock, logger, mailer }: Site): Mailer {
  if (mailer !== null) return mailer;
  const { smtp_url: url, mail_from: from, data_dir: folder } = config;
  if (url !== null) return createSmtpMailer({ url, from });
  return createOutbox({
    folder: folder === null ? null : join(folder, 'outbox'),
    from,
    nowMs: () => clock.now(),
    written: (path) => logger.info({ path }, 'A letter was written: there is no mail server.'),
  });
}

const REVOKED = { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The authorization was revoked.' };

export function createOAuth(site: Site): OAuth {
  const { storage, nextId, randomBytes, clock, guilds } = site;
  const { applications, users, settings } = storage;
  const closeSessions = site.routing.tellAll(
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
  return routed(oauth, oauthRoutes(applications), site.cluster);
}

/** The largest answer that is read from an identity provider: its documents are small. */
const ANSWER_BYTES_MAX = 256 << 10;
const ANSWER_TIMEOUT_MS = 10_000;
const REQUESTS_MAX = 64;

/** Provisional accounts of this house; what an earlier run left unfinished is taken up as soon as the house stands. */
export function createProvisional(site: Site): Provisional {
  const { config, storage, clock, telling, onFault } = site;
  const outgoing = createOutgoing({
    privateOrigins: originsOf(config.identity_issuers_private),
    extraCa: config.identity_ca_file === null ? null : readFileSync(config.identity_ca_file, 'utf8'),
    timeoutMs: ANSWER_TIMEOUT_MS,
    bytesMax: ANSWER_BYTES_MAX,
    requestsMax: REQUESTS_MAX,
  });
  const provisional = startProvisional({
    storage,
    outgoing,
    signOut: (userId) => site.parts().accounts.closeAll(userId, null),
    oauth: () => site.parts().oauth,
    mergeables: () => [site.parts().lobbies, site.parts().social],
    commit: site.commitAsOwner,
    routing: site.routing,
    notify(userId, t, d, among) {
      telling.tell(userId, t, d, { own: true, applications: among ?? 'all' });
      site.hooks.tap.see(t, d, userId);
    },
    wheel: site.wheel,
    onFault: (error) => onFault(error, 'provisional'),
    nextId: site.nextId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes: site.randomBytes,
  });
  return routed(provisional, PROVISIONAL_ROUTES, site.cluster);
}

/** Origins out of a list that commas part. */
const originsOf = (list: string | null): ReadonlySet<string> =>
  new Set(
    (list ?? '').split(',').flatMap((text) => (URL.canParse(text.trim()) ? [new URL(text).origin] : [])),
  );

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
import type { ServiceContext } from './context.ts';
import { serverSecret } from './stores.ts';

/**
 * Accounts of people over the house: real hashes, letters by mail or into the outbox, nobody who is banned, and what of it
 * metrics show.
 */
export function createAccounts(context: ServiceContext): Accounts {
  const passwords = createPasswordHasher();
  context.metrics.push({
    name: 'guildhall_password_hashes_waiting',
    help: 'Passwords that wait to be hashed.',
    max: passwords.waiting.max,
    read: () => passwords.waiting.count,
  });
  const accounts = accountsOver(context, passwords);
  return countingRefusals(
    withoutBanned(accounts, (userId) => context.features().provisional.isBanned(userId)),
    context.metrics,
  );
}

function accountsOver(context: ServiceContext, passwords: Passwords): Accounts {
  const { config, storage, clock, nextId, randomBytes } = context;
  const accounts = assembleAccounts({
    accounts: storage.accounts,
    users: storage.users,
    userChanges: context.users,
    identity: context.identity,
    passwords,
    mailer: mailerOf(context),
    secret: () => serverSecret(config, storage, randomBytes),
    commit: context.commitAsOwner,
    registrationOpen: () =>
      config.registration === 'auto' ? !isPublic(config) : config.registration === 'open',
    addressLimits: config.rate_limits,
    publicUrl: context.publicUrl,
    nextId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes,
    routing: context.routing,
    security: context.security,
    onFault: (error) => context.onFault(error, 'accounts'),
  });
  return routed(accounts, accountRoutes(storage.accounts), context.cluster);
}

function mailerOf({ config, clock, logger, mailer }: ServiceContext): Mailer {
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

export function createOAuth(context: ServiceContext): OAuth {
  const { storage, nextId, randomBytes, clock, guilds } = context;
  const { applications, users, settings } = storage;
  const closeSessions = context.routing.tellAll(
    'oauth.revoked',
    (userId: UserId, applicationId: ApplicationId) =>
      context.sessions().closeSessionsOfGrant(userId, applicationId, REVOKED),
  );
  const oauth = assemble({
    security: context.security,
    ...{ applications, users, settings, nextId, randomBytes, routing: context.routing },
    store: storage.oauth,
    commit: context.commit,
    commitAsOwner: context.commitAsOwner,
    nowMs: () => clock.now(),
    publicUrl: context.publicUrl,
    isBanned: (userId) => context.features().provisional.isBanned(userId),
    merge: (order) => context.features().provisional.merge(order),
    revoked(userId, applicationId) {
      closeSessions(userId, applicationId);
      context.features().social.activities.takeBack(userId, applicationId);
    },
    // What hangs on a grant ends by itself; that it does not must not make the revocation look failed.
    deauthorized: (userId, applicationId) =>
      context
        .features()
        .provisional.deauthorized(userId, applicationId)
        .catch((fault: unknown) => context.onFault(fault, 'deauthorized')),
    ...oauthGuilds(guilds, users),
  });
  return routed(oauth, oauthRoutes(applications), context.cluster);
}

/** The largest answer that is read from an identity provider: its documents are small. */
const ANSWER_BYTES_MAX = 256 << 10;
const ANSWER_TIMEOUT_MS = 10_000;
const REQUESTS_MAX = 64;

/** Provisional accounts of this house; what an earlier run left unfinished is taken up as soon as the house stands. */
export function createProvisional(context: ServiceContext): Provisional {
  const { config, storage, clock, notifier, onFault } = context;
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
    signOut: (userId) => context.features().accounts.closeAll(userId, null),
    oauth: () => context.features().oauth,
    mergeables: () => [context.features().lobbies, context.features().social],
    commit: context.commitAsOwner,
    routing: context.routing,
    notify(userId, t, d, among) {
      notifier.notify(userId, t, d, { own: true, applications: among ?? 'all' });
      context.hooks.tap.see(t, d, userId);
    },
    wheel: context.wheel,
    onFault: (error) => onFault(error, 'provisional'),
    nextId: context.nextId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes: context.randomBytes,
  });
  return routed(provisional, PROVISIONAL_ROUTES, context.cluster);
}

/** Origins out of a list that commas part. */
const originsOf = (list: string | null): ReadonlySet<string> =>
  new Set(
    (list ?? '').split(',').flatMap((text) => (URL.canParse(text.trim()) ? [new URL(text).origin] : [])),
  );

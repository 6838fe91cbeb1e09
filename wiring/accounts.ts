import { join } from 'node:path';
import { routed } from '../actors/cluster/routing/routed.ts';
import { isPublic } from '../config/config.ts';
import { createPasswordHasher } from '../media/crypto/passwords.ts';
import { assembleAccounts } from '../services/accounts/accounts.ts';
import { withoutBanned } from '../services/accounts/bans.ts';
import type { Accounts, Mailer, Passwords } from '../services/accounts/ports.ts';
import { countingRefusals } from '../services/accounts/refusedsignins.ts';
import { accountRoutes } from '../services/routes.ts';
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
  return routed('accounts', accounts, accountRoutes(storage.accounts), site.cluster);
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

import { join } from 'node:path';
import { createAccountsOver } from '../actors/account/accounts.ts';
import type { Accounts, Mailer } from '../actors/account/ports.ts';
import { isLoopback } from '../config.ts';
import { createPasswordHasher } from '../media/crypto/passwords.ts';
import { createOutbox } from '../transports/mail/outbox.ts';
import { createSmtpMailer } from '../transports/mail/smtp.ts';
import type { Site } from './site.ts';
import { serverSecret } from './stores.ts';

/** Accounts of people over the house: real hashes, and letters by mail or into the outbox. */
export function createAccounts(site: Site): Accounts {
  const { config, storage, clock, nextId, randomBytes } = site;
  return createAccountsOver({
    accounts: storage.accounts,
    users: storage.users,
    people: site.users,
    identity: site.identity,
    passwords: createPasswordHasher(),
    mailer: mailerOf(site),
    secret: () => serverSecret(config, storage, randomBytes),
    commit: site.commit,
    registrationOpen: () =>
      config.registration === 'auto' ? isLoopback(config.listen_host) : config.registration === 'open',
    addressLimits: config.rate_limits,
    publicUrl: site.publicUrl,
    nextId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes,
    onFault: (error) => site.onFault(error, 'accounts'),
  });
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

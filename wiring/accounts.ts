import { join } from 'node:path';
import { routed } from '../actors/cluster/routing/routed.ts';
import { isPublic } from '../config/config.ts';
import type { Reply } from '../engine/kernel/outcome.ts';
import { createPasswordHasher } from '../media/crypto/passwords.ts';
import { assembleAccounts } from '../services/accounts/accounts.ts';
import { withoutBanned } from '../services/accounts/bans.ts';
import type { Accounts, Mailer, Passwords } from '../services/accounts/ports.ts';
import { accountRoutes } from '../services/routes.ts';
import { createOutbox } from '../transports/mail/outbox.ts';
import { createSmtpMailer } from '../transports/mail/smtp.ts';
import type { Figure } from './figures.ts';
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

/** Why a sign-in was refused, by the status of the refusal. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'wrong',
  403: 'banned',
  429: 'too_many',
  503: 'busy',
};

/** Counts the sign-ins that are refused: many that are wrong are somebody who guesses. */
function countingRefusals(accounts: Accounts, figures: Figure[]): Accounts {
  const counts = new Map(Object.values(REASONS).map((reason) => [reason, 0]));
  for (const reason of counts.keys())
    figures.push({
      name: 'guildhall_sign_ins_refused',
      help: 'Passwords and codes that were not let through since the start, by reason.',
      labels: { reason },
      read: () => counts.get(reason) ?? 0,
    });
  function counted<Value>(reply: Reply<Value>): Reply<Value> {
    const reason = reply.ok ? undefined : REASONS[reply.refusal.status];
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    return reply;
  }
  return {
    ...accounts,
    get registrationOpen() {
      return accounts.registrationOpen;
    },
    signIn: async (...given) => counted(await accounts.signIn(...given)),
    secondFactor: async (...given) => counted(await accounts.secondFactor(...given)),
  };
}

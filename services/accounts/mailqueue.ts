import type { Routing } from '../../actors/placement/routing.ts';
import { networkOf } from '../../engine/account/lockout.ts';
import { WindowTable } from '../../engine/ratelimit/table.ts';
import type { ClientInfo, Email, Mailer } from './ports.ts';

const HOUR_MS = 3_600_000;
/** Most e-mails to one mailbox, so that this server cannot be used to flood it. */
const PER_MAILBOX = { limit: 5, windowMs: HOUR_MS };
/** Most e-mails that one network causes. */
const PER_ADDRESS = { limit: 30, windowMs: HOUR_MS };
const ENTRIES_MAX = 50_000;
/** Most e-mails waiting for the mail server; further ones are dropped and reported as a fault. */
const PENDING_MAX = 500;

interface MailQueuePorts {
  readonly mailer: Mailer;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly onFault: (error: unknown) => void;
  readonly routing: Routing;
}

/** Sends e-mails after the reply, so that no reply reveals whether one was sent. */
export interface MailQueue {
  /** `compose` runs after the reply and writes the e-mail. Null when there is nothing to send. */
  enqueue(compose: () => Promise<Email | null>, client: ClientInfo): void;
  /** Resolves when no e-mail is pending. */
  idle(): Promise<void>;
}

export function createMailQueue({ mailer, monotonic, onFault, routing }: MailQueuePorts): MailQueue {
  const mailboxes = new WindowTable(ENTRIES_MAX);
  const addresses = new WindowTable(ENTRIES_MAX);
  /** Whether one more email may go to a mailbox, or be caused by a client: counted by the owner of its name. */
  const quota = {
    mailbox: routing.ask(
      'mailQuota.mailbox',
      async (key: string): Promise<boolean> => mailboxes.take(key, PER_MAILBOX, monotonic()).allowed,
    ),
    address: routing.ask(
      'mailQuota.address',
      async (key: string): Promise<boolean> => addresses.take(key, PER_ADDRESS, monotonic()).allowed,
    ),
  };
  const pending = new Set<Promise<void>>();

  async function deliver(compose: () => Promise<Email | null>, { address }: ClientInfo): Promise<void> {
    const email = await compose();
    if (email === null) return;
    if (address !== null && !(await quota.address(networkOf(address)))) return;
    if (await quota.mailbox(email.to.toLowerCase())) await mailer.send(email);
  }

  return {
    enqueue(compose, client) {
      if (pending.size >= PENDING_MAX)
        return onFault(
          new Error(`Mail queue full: ${PENDING_MAX} e-mails are pending; this one was dropped.`),
        );
      const job: Promise<void> = deliver(compose, client)
        .catch(onFault)
        .finally(() => pending.delete(job));
      pending.add(job);
    },
    async idle() {
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}

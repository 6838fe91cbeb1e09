import { join } from 'node:path';
import type { Mailer } from '../../services/accounts/ports.ts';
import { createOutbox } from './outbox.ts';
import { createSmtpMailer } from './smtp.ts';

interface MailPorts {
  /** URL of the mail server; null without one. */
  readonly url: string | null;
  readonly from: string;
  /** The data folder of the server; null when it keeps nothing on disk. */
  readonly folder: string | null;
  readonly nowMs: () => number;
  readonly written: (path: string) => void;
}

/** Sends e-mails to the mail server, or writes them to an outbox folder when there is none. */
export function openMailer({ url, from, folder, nowMs, written }: MailPorts): Mailer {
  if (url !== null) return createSmtpMailer({ url, from });
  return createOutbox({ folder: folder === null ? null : join(folder, 'outbox'), from, nowMs, written });
}

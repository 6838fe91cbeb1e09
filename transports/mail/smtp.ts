import type { Transporter } from 'nodemailer';
import type { Mailer } from '../../services/accounts/ports.ts';

const TIMEOUT_MS = 20_000;

/** Sends e-mails through a mail server. `smtps:` requires TLS; `smtp:` uses it if the server offers it. */
export function createSmtpMailer({ url, from }: { readonly url: string; readonly from: string }): Mailer {
  const server = new URL(url);
  const secure = server.protocol === 'smtps:';
  const user = decodeURIComponent(server.username);
  const options = {
    pool: true,
    host: server.hostname.replace(/^\[|\]$/g, ''),
    port: Number(server.port) || (secure ? 465 : 587),
    secure,
    ...(user !== '' && { auth: { user, pass: decodeURIComponent(server.password) } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // E-mails are plain text of this program; nothing in them may make the library read files or fetch URLs.
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const;
  let transport: Promise<Transporter> | null = null;
  return {
    async send({ to, subject, text }) {
      // Loaded for the first e-mail: most processes send none.
      transport ??= import('nodemailer').then(({ createTransport }) => createTransport(options));
      await (await transport).sendMail({ from, to, subject, text });
    },
  };
}

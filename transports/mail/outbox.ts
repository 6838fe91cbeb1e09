import { mkdirSync, mkdtempSync } from 'node:fs';
import { readdir, rename, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mailer } from '../../services/accounts/ports.ts';

/** E-mails kept in the folder; the oldest are deleted. */
const KEPT_MAX = 1_000;

interface OutboxPorts {
  /** Folder for e-mails; null creates one in the system's temporary folder. */
  readonly folder: string | null;
  readonly from: string;
  nowMs(): number;
  /** Called with the path of each e-mail. */
  written(path: string): void;
}

/** Writes e-mails to files instead of sending them, for servers without a mail server. Only this user can read them. */
export function createOutbox({ folder, from, nowMs, written }: OutboxPorts): Mailer {
  let place: string | null = null;
  let order = 0;

  function opened(): string {
    if (place === null) {
      if (folder !== null) mkdirSync(folder, { recursive: true, mode: 0o700 });
      place = folder ?? mkdtempSync(join(tmpdir(), 'guildhall-outbox-'));
    }
    return place;
  }

  async function prune(at: string): Promise<void> {
    const names = (await readdir(at)).filter((name) => name.endsWith('.eml')).sort();
    const surplus = names.slice(0, Math.max(0, names.length - KEPT_MAX));
    await Promise.all(surplus.map((name) => unlink(join(at, name)).catch(() => undefined)));
  }

  return {
    async send({ to, subject, text }) {
      const at = opened();
      // Loaded for the first e-mail: most processes send none.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' });
      const { message } = await transport.sendMail({ from, to, subject, text, date: new Date(nowMs()) });
      const path = join(at, `${nowMs()}-${String(order++).padStart(6, '0')}.eml`);
      // Renamed when complete, so that a program that watches the folder never sees a partial file.
      await writeFile(`${path}.part`, message as Buffer, { mode: 0o600 });
      await rename(`${path}.part`, path);
      written(path);
      await prune(at);
    },
  };
}

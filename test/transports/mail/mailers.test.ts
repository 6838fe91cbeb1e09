// Goal: letters arrive whole, in a folder or at a mail server, and nothing in them can become a header or a command.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createOutbox } from '../../../transports/mail/outbox.ts';
import { createSmtpMailer } from '../../../transports/mail/smtp.ts';

const FROM = 'Guildhall <guildhall@example.org>';
const LETTER = {
  to: 'anna@example.org',
  subject: 'Bestätigung\r\nBcc: eve@example.org',
  text: 'Hello ä\n.\nlast\n',
};
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function outbox(folder: string | null = null) {
  const paths: string[] = [];
  let nowMs = 1_700_000_000_000;
  const mailer = createOutbox({
    folder,
    from: FROM,
    nowMs: () => nowMs++,
    written: (path) => paths.push(path),
  });
  return { mailer, paths };
}

test('an e-mail is a file that only its owner can read if there is no mail server', async () => {
  const { mailer, paths } = outbox();
  await mailer.send(LETTER);
  const [path = ''] = paths;
  closing.push(() => rmSync(join(path, '..'), { recursive: true }));
  const text = readFileSync(path, 'utf8');
  expect(text).toContain('To: anna@example.org\n');
  expect(text).toContain('Date: Tue, 14 Nov 2023 22:13:20 +0000');
  expect(text).not.toMatch(/^Bcc:/im);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
});

test('a folder keeps a thousand letters, and other files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-mail-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  for (let n = 0; n < 1_005; n++)
    writeFileSync(join(folder, `1600000000000-${String(n).padStart(6, '0')}.eml`), '');
  writeFileSync(join(folder, 'a note'), '');
  const { mailer, paths } = outbox(folder);
  await mailer.send(LETTER);
  const names = readdirSync(folder);
  expect(names).toHaveLength(1_001);
  expect(names).toContain('a note');
  expect(names).not.toContain('1600000000000-000005.eml');
  expect(paths.map((path) => path.startsWith(folder))).toEqual([true]);
});

/** A mail server that records its input. */
async function mailServer(answers: Readonly<Record<string, string>> = {}) {
  const told: string[] = [];
  const server: Server = createServer((socket) => {
    let inData = false;
    socket.write('220 test\r\n');
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const line of chunk.toString('utf8').split('\r\n').slice(0, -1)) {
        told.push(line);
        if (inData) {
          if (line !== '.') continue;
          inData = false;
          socket.write('250 taken\r\n');
          continue;
        }
        const [verb = ''] = line.toUpperCase().split(' ');
        if (verb === 'DATA') inData = true;
        const answer = answers[verb] ?? (verb === 'DATA' ? '354 go on' : '250 AUTH PLAIN');
        socket.write(`${verb === 'AUTH' ? '235 in' : answer}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const { port } = server.address() as { port: number };
  return { told, url: `smtp://user:p%40ss@127.0.0.1:${port}` };
}

test('an e-mail is sent through the mail server to its one recipient, with the account of the URL', async () => {
  const { told, url } = await mailServer();
  await createSmtpMailer({ url, from: FROM }).send(LETTER);
  expect(told).toContain(`AUTH PLAIN ${Buffer.from('\0user\0p@ss').toString('base64')}`);
  expect(told.filter((line) => /^(MAIL|RCPT)/.test(line))).toEqual([
    'MAIL FROM:<guildhall@example.org>',
    'RCPT TO:<anna@example.org>',
  ]);
  expect(told.filter((line) => /^Bcc/i.test(line))).toEqual([]);
});

test('a mail server that accepts nothing is a fault', async () => {
  const { url } = await mailServer({ RCPT: '550 nobody' });
  await expect(createSmtpMailer({ url, from: FROM }).send(LETTER)).rejects.toThrow(/550/);
});

// Goal: the owner of an application learns that a URL is no longer used, and the operator in any case.
import { expect, test } from 'vitest';
import { newApplication } from '../../../engine/user/application.ts';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import { createNotices } from '../../../services/applications/notices.ts';

const OWNER = '1100000000000000001' as UserId;
const GAME = '1100000000000000011' as ApplicationId;
const given = { name: 'Lantern', ownerId: OWNER, flags: 0, verifyKey: 'a'.repeat(64) };
const application = newApplication(GAME, '1100000000000000012' as UserId, given);

interface Given {
  readonly contact?: { readonly email: string; readonly verified: boolean } | null;
  readonly fails?: 'mailer' | 'message';
}

function arranged({ contact = { email: 'anna@example.com', verified: true }, fails }: Given = {}) {
  const emails: { readonly to: string; readonly subject: string; readonly text: string }[] = [];
  const messages: string[] = [];
  const lines: string[] = [];
  const faults: unknown[] = [];
  const notices = createNotices({
    mailer: {
      async send(email) {
        if (fails === 'mailer') throw new Error('No mail.');
        emails.push(email);
      },
    },
    async message(userId, content) {
      if (fails === 'message') throw new Error('No message.');
      messages.push(`${userId} ${content}`);
    },
    contact: async (userId) => (userId === OWNER ? contact : null),
    logger: { warn: ({ applicationId }, text) => void lines.push(`${applicationId} ${text}`) },
    onFault: (error) => faults.push(error),
  });
  return { emails, messages, lines, faults, notices };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('an owner with a confirmed address receives an e-mail and a message with the cause, and the cause is logged', async () => {
  const { emails, messages, lines, faults, notices } = arranged();
  notices.endpointRemoved(application, 'it answered a bad signature with 200');
  notices.eventsDisabled(application);
  await expect.poll(() => emails.length).toBe(2);
  expect(emails.map(({ to, subject }) => `${to}: ${subject}`)).toEqual([
    'anna@example.com: The interactions endpoint of Lantern was removed',
    'anna@example.com: Webhook events of Lantern were turned off',
  ]);
  expect(emails[0]!.text).toContain(`Lantern (${GAME}) was removed: it answered a bad signature with 200.`);
  expect(messages).toEqual(emails.map(({ text }) => `${OWNER} ${text.trim()}`));
  expect(lines).toEqual([
    `${GAME} The interactions endpoint of Lantern was removed`,
    `${GAME} Webhook events of Lantern were turned off`,
  ]);
  expect(faults).toEqual([]);
});

test.each([
  ['has no address', null],
  ['has no confirmed address', { email: 'anna@example.com', verified: false }],
])('an owner who %s receives the message without an e-mail', async (_, contact) => {
  const { emails, messages, lines, notices } = arranged({ contact });
  notices.eventsDisabled(application);
  await turn();
  expect([emails.length, messages.length, lines.length]).toEqual([0, 1, 1]);
});

test.each([
  ['mailer', 0, 1],
  ['message', 1, 0],
] as const)('a failure of the %s does not prevent the other notice', async (fails, emailed, messaged) => {
  const { emails, messages, faults, notices } = arranged({ fails });
  notices.eventsDisabled(application);
  await turn();
  expect([emails.length, messages.length, faults.length]).toEqual([emailed, messaged, 1]);
});

test('a notice for an application that is owned by its own bot is only logged', async () => {
  const { emails, messages, lines, notices } = arranged();
  notices.eventsDisabled({ ...application, owner_id: application.bot_id! });
  await turn();
  expect([emails.length, messages.length, lines.length]).toEqual([0, 0, 1]);
});

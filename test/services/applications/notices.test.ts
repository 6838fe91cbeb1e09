// Goal: the owner of an application learns that a URL is no longer used, and the operator in any case.
import { expect, test } from 'vitest';
import { newApplication } from '../../../engine/user/application.ts';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import { createNotices } from '../../../services/applications/notices.ts';

const OWNER = '1100000000000000001' as UserId;
const GAME = '1100000000000000011' as ApplicationId;
const given = { name: 'Lantern', ownerId: OWNER, flags: 0, verifyKey: 'a'.repeat(64) };
const application = newApplication(GAME, '1100000000000000012' as UserId, given);

function arranged(contact: { readonly email: string; readonly verified: boolean } | null) {
  const emails: { readonly to: string; readonly subject: string; readonly text: string }[] = [];
  const lines: string[] = [];
  const faults: unknown[] = [];
  const notices = createNotices({
    mailer: { send: async (email) => void emails.push(email) },
    contact: async (userId) => (userId === OWNER ? contact : null),
    logger: { warn: ({ applicationId }, text) => void lines.push(`${applicationId} ${text}`) },
    onFault: (error) => faults.push(error),
  });
  return { emails, lines, faults, notices };
}

test('an owner with a confirmed address gets an e-mail with the cause, and the operator a line', async () => {
  const { emails, lines, faults, notices } = arranged({ email: 'anna@example.com', verified: true });
  notices.endpointRemoved(application, 'it answered a bad signature with 200');
  notices.eventsDisabled(application);
  await expect.poll(() => emails.length).toBe(2);
  expect(emails.map(({ to, subject }) => `${to}: ${subject}`)).toEqual([
    'anna@example.com: The interactions endpoint of Lantern was removed',
    'anna@example.com: Webhook events of Lantern were turned off',
  ]);
  expect(emails[0]!.text).toContain(`Lantern (${GAME}) was removed: it answered a bad signature with 200.`);
  expect(lines).toEqual([
    `${GAME} The interactions endpoint of Lantern was removed`,
    `${GAME} Webhook events of Lantern were turned off`,
  ]);
  expect(faults).toEqual([]);
});

test.each([
  ['has no address', null],
  ['has no confirmed address', { email: 'anna@example.com', verified: false }],
])('only the operator is told when the owner %s', async (_, contact) => {
  const { emails, lines, notices } = arranged(contact);
  notices.eventsDisabled(application);
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect([emails.length, lines.length]).toEqual([0, 1]);
});

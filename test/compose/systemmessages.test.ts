// Goal: the server itself writes to the owner of an application whose events it turned off, and no user can reply.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { webhookEvent } from '../../engine/application/webhookevents.ts';
import { SYSTEM_USER } from '../../engine/user/system.ts';
import type { UserId } from '../../protocol/ids.ts';
import { createSystemMessages } from '../../services/applications/systemmessages.ts';
import { openInstance, until } from '../support/instance.ts';

const MINUTE_MS = 60_000;

let instance: Awaited<ReturnType<typeof openInstance>>;
beforeAll(async () => {
  instance = await openInstance();
}, 60_000);
afterAll(() => instance.close());

interface Message {
  readonly content: string;
  readonly channel_id: string;
  readonly author: { readonly id: string; readonly bot?: boolean; readonly system?: boolean };
}

/** A person with an open session. */
async function person(username: string) {
  const { user } = await instance.operator.createUser({ username });
  const userId = user.id as UserId;
  const { sink } = await instance.connect((await instance.identity.issue(userId, 'user')).reveal());
  const messages = () =>
    sink.dispatches.flatMap(({ t, d }) => (t === 'MESSAGE_CREATE' ? [d as Message] : []));
  return { userId, sink, messages };
}

test('the owner of an application receives a system message when its webhook events are turned off', async () => {
  const anna = await person('anna');
  const made = await instance.operator.createApplication({ name: 'Harbour', ownerId: anna.userId });
  const application = {
    ...(await instance.storage.applications.get(made.application.id as never))!,
    // Nothing listens there.
    ...{ event_webhooks_url: 'http://127.0.0.1:1/', event_webhooks_status: 2 },
    event_webhooks_types: ['APPLICATION_DEAUTHORIZED'],
  };
  const env = { nowMs: instance.clock.now(), nextId: instance.foundation.nextId };
  await instance.commit(application.id, [
    { type: 'applicationUpdated', application },
    ...webhookEvent(application, 'APPLICATION_DEAUTHORIZED', { user: {} }, env),
  ]);
  for (let minute = 0; minute < 60 && anna.messages().length === 0; minute += 1) {
    instance.clock.advance(MINUTE_MS);
    for (let turn = 0; turn < 50; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await until(() => anna.messages().length > 0, 'the message');
  expect(anna.messages()).toMatchObject([
    {
      content: expect.stringContaining('Its events were turned off.'),
      author: { id: SYSTEM_USER.id, bot: true, system: true },
    },
  ]);
  expect(anna.sink.names.indexOf('CHANNEL_CREATE')).toBeLessThan(anna.sink.names.indexOf('MESSAGE_CREATE'));
  expect(await instance.storage.applications.get(application.id)).toMatchObject({ event_webhooks_status: 3 });
  // When the events are turned on again, delivery is tried at once.
  expect(instance.features.endpoints.events.failing(application.id)).toBeNull();
  await instance.features.endpoints.update(application.id, { event_webhooks_status: 2 });
  await until(() => instance.features.endpoints.events.failing(application.id) !== null, 'an attempt');
});

test('messages of the server to one person are in one channel, in which the person cannot answer', async () => {
  const bert = await person('bert');
  const send = createSystemMessages(instance);
  await Promise.all([send(bert.userId, 'one'), send(bert.userId, 'two')]);
  await until(() => bert.messages().length === 2, 'both messages');
  const [first, second] = bert.messages();
  expect([first!.channel_id, second!.author]).toEqual([second!.channel_id, first!.author]);
  const input = { channelId: first!.channel_id, draft: { content: 'hello' }, attachments: [], forward: null };
  const by = { userId: bert.userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
  const answer = await instance.inPrivate(input.channelId as never, 'createMessage', input as never, {
    ...{ by, requires: 0n },
  });
  expect(answer).toMatchObject({ ok: false, refusal: { code: 50_007 } });
});

test('a system message to an unknown user is rejected, and opens no channel', async () => {
  const nobody = '1100000000000000999' as UserId;
  await expect(createSystemMessages(instance)(nobody, 'hello')).rejects.toMatchObject({
    refusal: { code: 10_013 },
  });
  expect(await instance.storage.privateChannels.between(SYSTEM_USER.id, nobody)).toBeNull();
});

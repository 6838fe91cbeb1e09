// Goal: queued webhook events are kept in order until they are sent or too old, and announced once they are durable.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApplicationId } from '../../protocol/ids.ts';
import { commit, id } from './builders.ts';
import { databases, openFresh } from './databases.ts';

describe.each(databases())('webhook events on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const announced: (readonly ApplicationId[])[] = [];
  const [a, b, c] = [id<ApplicationId>(601), id<ApplicationId>(602), id<ApplicationId>(603)];
  const queue = (applicationId: ApplicationId, ...ids: readonly string[]) =>
    commit(
      fresh.storage.writer,
      '9',
      ...ids.map((eventId) => ({
        type: 'webhookEventQueued' as const,
        event: {
          id: eventId,
          applicationId,
          type: 'APPLICATION_AUTHORIZED' as const,
          atMs: 1,
          data: { eventId },
        },
      })),
    );
  const pending = async (applicationId: ApplicationId, limit = 10) =>
    (await fresh.storage.webhookEvents.pending(applicationId, limit)).map((event) => event.id);

  beforeAll(async () => {
    fresh = await openFresh(kind);
    fresh.storage.onEventsQueued((ids) => announced.push(ids));
  });
  afterAll(() => fresh.close());

  test('are kept by application and in order, and announced when they are durable', async () => {
    await queue(a, '20', '3');
    await queue(b, '4');
    await queue(c, '5', '6');
    expect(await pending(a)).toEqual(['3', '20']);
    expect(await pending(c, 1)).toEqual(['5']);
    expect(announced).toEqual([[a, a], [b], [c, c]]);
  });

  test('have their applications listed page by page', async () => {
    const { webhookEvents: store } = fresh.storage;
    expect(await store.waiting(null, 10)).toEqual([a, b, c]);
    expect(await store.waiting(null, 2)).toEqual([a, b]);
    expect(await store.waiting(b, 2)).toEqual([c]);
    expect(await store.waiting(c, 2)).toEqual([]);
  });

  test('are deleted when they were sent, and only for their application', async () => {
    const { webhookEvents: store } = fresh.storage;
    await store.drop(a, '3');
    expect([await pending(a), await pending(b)]).toEqual([['20'], ['4']]);
  });

  test('are deleted when they are too old', async () => {
    const { webhookEvents: store } = fresh.storage;
    await store.expire('6');
    expect([await pending(a), await pending(b), await pending(c)]).toEqual([['20'], [], ['6']]);
    expect(await store.waiting(null, 10)).toEqual([a, c]);
  });

  test('have no signing key when their application is unknown', async () => {
    expect(await fresh.storage.applications.signingKey(a)).toBe(null);
  });
});

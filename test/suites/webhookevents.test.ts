// Goal: events that wait for an application are read in order, counted up to a bound and dropped once sent, on every database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WebhookEvent } from '../../engine/application/webhookevents.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import { commit, id } from './builders.ts';
import { databases, openFresh } from './databases.ts';

describe.each(databases())('webhook events on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());

  const [one, other] = [id<ApplicationId>(1), id<ApplicationId>(2)];
  const eventOf = (applicationId: ApplicationId, at: number): WebhookEvent => ({
    ...{ id: id<string>(at), applicationId, type: 'APPLICATION_DEAUTHORIZED' as const },
    ...{ atMs: at, data: { user: { id: '7' } } },
  });

  test('wait until they are dropped, each application’s for itself', async () => {
    const { webhookEvents: store, writer } = fresh.storage;
    expect(await store.count(10)).toBe(0);
    const events = [12, 11, 13].map((at) => eventOf(one, at));
    for (const event of [...events, eventOf(other, 14)])
      await commit(writer, event.applicationId, { type: 'webhookEventQueued', event });
    expect((await store.pending(one, 2)).map(({ atMs }) => atMs)).toEqual([11, 12]);
    expect(await store.count(10)).toBe(4);
    expect(await store.count(3)).toBe(3);
    await store.drop(one, id(12));
    expect(await store.pending(one, 10)).toEqual([eventOf(one, 13)]);
    expect(await store.pending(other, 10)).toEqual([eventOf(other, 14)]);
    expect(await store.count(10)).toBe(2);
  });
});

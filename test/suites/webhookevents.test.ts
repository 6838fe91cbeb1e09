// Goal: events that wait for an application are read in order, counted up to a bound and dropped once sent, on every database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WebhookEvent } from '../../engine/application/webhookevents.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
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

  test('are bounded: the oldest of an application that takes none give way', async () => {
    const { webhookEvents: store, writer } = fresh.storage;
    const third = id<ApplicationId>(3);
    const max = LIMITS.webhook_events_waiting_max;
    // As the milliseconds of their ids go by, every 64th looks.
    const facts = Array.from({ length: max + 640 }, (_, at) => ({
      type: 'webhookEventQueued' as const,
      event: { ...eventOf(third, at), id: String(BigInt(at + 1) << 22n) },
    }));
    await commit(writer, third, ...facts);
    const waiting = await store.pending(third, max * 2);
    expect(waiting.length).toBeLessThanOrEqual(max + 64);
    expect(waiting.length).toBeGreaterThanOrEqual(max);
    expect(waiting.at(-1)?.atMs).toBe(max + 639);
    expect(await store.pending(one, 10)).toHaveLength(1);
  });
});

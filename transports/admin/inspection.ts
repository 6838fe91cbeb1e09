import type { Engine } from '../../embedding.ts';
import type { FreshId } from '../../protocol/ids.ts';
import { type Page, pageOf } from './page.ts';
import { AdminError, type AdminRoute } from './route.ts';

type Inspected = NonNullable<Engine['inspect']>;

/** Bound of lists whose rows are loaded one by one. */
const LOADED_PAGE_MAX = 100;

interface Listing {
  readonly cursor?: 'after' | 'before';
  readonly max?: number;
}

const LOADED: Listing = { max: LOADED_PAGE_MAX };
const NEWEST_FIRST: Listing = { cursor: 'before', max: LOADED_PAGE_MAX };

/** A route of a listing; `id` is the id in the path. */
const listing = (
  path: string,
  key: string,
  { cursor, max }: Listing,
  run: (inspect: Inspected, page: Page & { readonly id: FreshId }) => Promise<readonly unknown[]>,
): AdminRoute => ({
  method: 'GET',
  path,
  handle: async ({ inspect }, { id, query }) => {
    if (inspect === undefined)
      throw new AdminError(409, 'not_here', 'This process has no sessions, lobbies or queues.');
    const page = { ...pageOf(query, cursor, max), id };
    return { status: 200, body: { [key]: await run(inspect, page) } };
  },
});

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** Lists of the console besides records. No answer contains a token, a session id or the text of a message. */
export const inspectionRoutes: readonly AdminRoute[] = [
  listing('/sessions', 'sessions', {}, async (inspect, { after, limit }) =>
    inspect.sessions(Number(after ?? 0), limit).map(({ handle, userId, authorized, ...shown }) => ({
      ...{ id: String(handle), user_id: userId, authorized, ...shown },
    })),
  ),
  listing('/matchmaking', 'queues', {}, async (inspect, { limit }) =>
    inspect.queues(limit).map(({ applicationId, queue, oldestMs, ...shown }) => ({
      ...{ id: `${applicationId} ${queue}`, application_id: applicationId, queue, ...shown },
      oldest_at: iso(oldestMs),
    })),
  ),
  listing('/applications/:id/lobbies', 'lobbies', LOADED, async (inspect, { id, after, limit }) =>
    (await inspect.lobbies(id, after, limit)).map(({ linkedChannelId, idleSinceMs, ...shown }) => ({
      ...{ ...shown, linked_channel_id: linkedChannelId, idle_since: iso(idleSinceMs) },
    })),
  ),
  listing('/webhook-events', 'events', LOADED, async (inspect, { after, limit }) =>
    (await inspect.deliveries(after, limit)).map(({ applicationId, atMs, failingSinceMs, ...shown }) => ({
      ...{ ...shown, application_id: applicationId, at: iso(atMs), failing_since: iso(failingSinceMs) },
    })),
  ),
  listing('/webhook-deliveries', 'attempts', { cursor: 'before' }, async (inspect, { after, limit }) =>
    inspect.attempts(after === null ? null : Number(after), limit).map((attempt) => ({
      ...{ id: String(attempt.number), at: iso(attempt.atMs), took_ms: attempt.tookMs },
      ...{ application_id: attempt.applicationId, event_id: attempt.eventId, type: attempt.type },
      ...{ origin: attempt.origin, attempt: attempt.attempt },
      ...{ status: attempt.status, failure: attempt.failure },
    })),
  ),
  listing('/guilds/:id/audit-log', 'entries', NEWEST_FIRST, (inspect, { id, after, limit }) =>
    inspect.auditLog(id, after, limit),
  ),
  listing('/guilds/:id/join-requests', 'requests', NEWEST_FIRST, async (inspect, { id, after, limit }) =>
    (await inspect.joinRequests(id, after, limit)).map(({ userId, ...shown }) => ({
      ...{ ...shown, user_id: userId },
    })),
  ),
];

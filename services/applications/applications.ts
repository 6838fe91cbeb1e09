import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Commit, Storage } from '../../storage/ports.ts';
import type { EndpointSender } from './endpoint.ts';
import { endpointRefusal } from './endpointcheck.ts';

interface ApplicationPorts {
  readonly storage: Pick<Storage, 'applications'>;
  commitAsOwner(ownerId: string, facts: Commit['facts']): Promise<void>;
  /** The flags or the name of an application changed: invalidates everything cached about its bot. */
  forget(botId: UserId): void;
  /** Notifies the guilds of an application: its name, icon or description changed. */
  notifyGuilds(application: Application): void;
  readonly routing: Routing;
  readonly endpoints: EndpointSender;
}

export type UpdateApplication = (
  id: ApplicationId,
  change: Partial<Application>,
) => Promise<Reply<Application>>;

/** The fields of an application that its integration in a guild has. */
const SHOWN = ['name', 'icon', 'description'] as const;

/**
 * Updates applications in order, each on the owner shard of the application. A new URL is checked first: its host must answer
 * as an application does.
 */
export function applicationUpdater({
  storage,
  commitAsOwner,
  forget,
  notifyGuilds,
  routing,
  endpoints,
}: ApplicationPorts): UpdateApplication {
  const mutex = keyedMutex<ApplicationId>();
  const change: UpdateApplication = (id, change) =>
    mutex(id, async () => {
      const application = await storage.applications.get(id);
      if (!application) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      const next: Application = { ...application, ...change };
      await commitAsOwner(id, [{ type: 'applicationUpdated', application: next }]);
      if (next.bot_id) forget(next.bot_id);
      if (SHOWN.some((field) => next[field] !== application[field])) notifyGuilds(next);
      return { ok: true, value: next };
    });
  const atOwner = routing.ask('applications.update', change);

  // Not at the owner: the owner of one application must not wait for the host of another.
  async function urlRefusal(id: ApplicationId, change: Partial<Application>): Promise<Refusal | null> {
    const { interactions_endpoint_url: interactions = null, event_webhooks_url: events = null } = change;
    if (interactions === null && events === null) return null;
    const before = await storage.applications.get(id);
    if (interactions !== null && interactions !== before?.interactions_endpoint_url) {
      const no = await endpointRefusal(endpoints, 'interactions', id, interactions);
      if (no) return no;
    }
    if (events === null || events === before?.event_webhooks_url) return null;
    return endpointRefusal(endpoints, 'events', id, events);
  }

  return async (id, change) => {
    const no = await urlRefusal(id, change);
    return no ? { ok: false, refusal: no } : atOwner(id, change);
  };
}

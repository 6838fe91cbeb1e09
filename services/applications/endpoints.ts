import type { Routing } from '../../actors/placement/routing.ts';
import type { Lifetime } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { Application } from '../../engine/user/facts.ts';
import { chancesFrom } from '../../protocol/chance.ts';
import type { UserId } from '../../protocol/ids.ts';
import { EVENTS_STATUS } from '../../protocol/webhookevents.ts';
import type { Commit, Storage } from '../../storage/ports.ts';
import type { Mailer } from '../accounts/ports.ts';
import { applicationUpdater, type UpdateApplication } from './applications.ts';
import { createEndpointSender, type EndpointSender, type EndpointTransport } from './endpoint.ts';
import { EndpointProbe } from './endpointprobe.ts';
import { EventDelivery } from './eventdelivery.ts';
import { createNotices } from './notices.ts';
import { createSystemMessages, type SystemMessagePorts } from './systemmessages.ts';

interface EndpointPorts {
  readonly storage: Pick<Storage, 'applications' | 'webhookEvents' | 'onEventsQueued' | 'users'>;
  readonly privates: SystemMessagePorts['privates'];
  readonly commit: SystemMessagePorts['commit'];
  readonly transport: EndpointTransport & { close(): void };
  commitAsOwner(ownerId: string, facts: Commit['facts']): Promise<void>;
  /** The flags or the name of an application changed: invalidates everything cached about its bot. */
  forget(botId: UserId): void;
  /** Notifies the guilds of an application: its name, icon or description changed. */
  notifyGuilds(application: Application): Promise<void>;
  readonly mailer: Pick<Mailer, 'send'>;
  /** The confirmed e-mail address of a user. */
  readonly contact: Parameters<typeof createNotices>[0]['contact'];
  readonly logger: Parameters<typeof createNotices>[0]['logger'];
  readonly routing: Routing;
  readonly wheel: Wheel;
  /** Ends the work in the background. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly nowMs: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly onFault: (error: unknown) => void;
}

/** Applications, as far as the server contacts their URLs. */
export interface Endpoints {
  readonly sender: EndpointSender;
  /** Updates an application; new URLs are checked first. */
  readonly update: UpdateApplication;
  readonly events: Pick<EventDelivery, 'attempts' | 'counts' | 'failing' | 'size'>;
  /** The picture at a URL; null when there is none, or its host may not be contacted. Never rejects. */
  picture(url: string): Promise<Uint8Array | null>;
}

/** The group of all requests for pictures: they share a bound, so that they hold up no application. */
const PICTURES = 'pictures';
const OK = 200;

/** Starts to send webhook events, and to test interactions endpoints from time to time. */
export function startEndpoints(ports: EndpointPorts): Endpoints {
  const { storage, transport, routing, wheel, scope, nowMs, randomBytes, onFault } = ports;
  const { applications } = storage;
  scope.own(() => transport.close());
  const sender = createEndpointSender({ applications, transport, nowMs });
  const stored = applicationUpdater({
    ...{ ...ports, endpoints: sender },
    notifyGuilds: (application) => void ports.notifyGuilds(application).catch(onFault),
  });
  const update: UpdateApplication = async (id, change) => {
    const updated = await stored(id, change);
    // Events that were queued before the application turned them off are sent now.
    if (updated.ok && change.event_webhooks_status === EVENTS_STATUS.ON) delivery.queued([id]);
    return updated;
  };
  const notices = createNotices({ ...ports, message: createSystemMessages(ports) });
  const random = chancesFrom(randomBytes);
  const delivery = new EventDelivery({
    ...{ events: storage.webhookEvents, applications, sender, routing, wheel, scope, nowMs, random, onFault },
    async disable(application) {
      await update(application.id, { event_webhooks_status: EVENTS_STATUS.DISABLED });
      notices.eventsDisabled(application);
    },
  });
  const probe = new EndpointProbe({
    ...{ applications, sender, routing, wheel, scope, random, onFault },
    async remove(application, fault) {
      // The developer may have replaced the URL while it was tested.
      const now = await applications.get(application.id);
      if (now?.interactions_endpoint_url !== application.interactions_endpoint_url) return;
      await update(application.id, { interactions_endpoint_url: null });
      notices.endpointRemoved(application, fault);
    },
  });
  storage.onEventsQueued((ids) => delivery.queued(ids));
  delivery.start();
  probe.start();
  return {
    ...{ sender, update, events: delivery },
    async picture(url) {
      const headers = { accept: 'image/*' };
      const answer = await transport.send({ url, headers, body: null, group: PICTURES });
      return answer.ok && answer.status === OK ? answer.body : null;
    },
  };
}

import type { ApplicationId } from '../../protocol/ids.ts';
import { EVENTS_STATUS } from '../../protocol/webhookevents.ts';
import type { Env, FactOf } from '../kernel/aggregate.ts';
import type { Application } from '../user/facts.ts';

/**
 * An event that waits to be sent to an application's URL.
 *
 * @source https://docs.discord.com/developers/events/webhook-events
 */
export interface WebhookEvent {
  /** Snowflake; also the order of sending. */
  readonly id: string;
  readonly applicationId: ApplicationId;
  readonly type: WebhookEventType;
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly data: object;
  /** Where it goes instead of the application's URL. */
  readonly url?: string;
}

export type WebhookEventType =
  | 'APPLICATION_AUTHORIZED'
  | 'APPLICATION_DEAUTHORIZED'
  | 'ENTITLEMENT_CREATE'
  | 'ENTITLEMENT_UPDATE'
  | 'ENTITLEMENT_DELETE'
  | 'LOBBY_MESSAGE_CREATE'
  | 'LOBBY_MESSAGE_UPDATE'
  | 'LOBBY_MESSAGE_DELETE'
  | 'GAME_DIRECT_MESSAGE_CREATE'
  | 'GAME_DIRECT_MESSAGE_UPDATE'
  | 'GAME_DIRECT_MESSAGE_DELETE';

export type WebhookEventFacts = { webhookEventQueued: { readonly event: WebhookEvent } };
export type WebhookEventFact = FactOf<WebhookEventFacts>;

/**
 * The fact that queues an event, in one commit with its cause; empty when the application does not want the event.
 *
 * @param override Receives the event instead of the application's URL; null for none.
 */
export function webhookEvent(
  application: Pick<
    Application,
    'id' | 'event_webhooks_status' | 'event_webhooks_url' | 'event_webhooks_types'
  >,
  type: WebhookEventType,
  data: object,
  env: Pick<Env, 'nowMs' | 'nextId'>,
  override: string | null = null,
): WebhookEventFact[] {
  const wanted =
    (override ?? application.event_webhooks_url) !== null &&
    application.event_webhooks_status === EVENTS_STATUS.ON &&
    application.event_webhooks_types.includes(type);
  if (!wanted) return [];
  const to = override === null ? {} : { url: override };
  const event = { id: env.nextId(), applicationId: application.id, type, atMs: env.nowMs, data, ...to };
  return [{ type: 'webhookEventQueued', event }];
}

import type { WebhookEvent } from '../../engine/application/webhookevents.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';

export interface ApplicationStore {
  get(id: ApplicationId): Promise<Application | null>;
  byBot(botId: UserId): Promise<Application | null>;
  list(): Promise<Application[]>;
  /** SHA-256 of the client secret, hexadecimal; null for an unknown application. */
  secretHash(id: ApplicationId): Promise<string | null>;
}

export interface WebhookEventStore {
  /** Queued events, oldest first. */
  pending(applicationId: ApplicationId, limit: number): Promise<WebhookEvent[]>;
  /** Number of queued events of all applications, counted up to `max`. */
  count(max: number): Promise<number>;
  /** Deletes events that were sent. */
  drop(applicationId: ApplicationId, upToId: string): Promise<void>;
}

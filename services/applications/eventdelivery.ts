import type { Routing } from '../../actors/placement/routing.ts';
import type { Lifetime, Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { WebhookEvent } from '../../engine/application/webhookevents.ts';
import type { Application } from '../../engine/user/facts.ts';
import { type ApplicationId, snowflakeAt } from '../../protocol/ids.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import { EVENTS_STATUS } from '../../protocol/webhookevents.ts';
import type { ApplicationStore, WebhookEventStore } from '../../storage/application/port.ts';
import { type DeliveryAttempt, DeliveryLog } from './deliverylog.ts';
import type { EndpointAnswer, EndpointSender } from './endpoint.ts';

interface EventDeliveryPorts {
  readonly events: Pick<WebhookEventStore, 'pending' | 'drop' | 'waiting' | 'expire'>;
  readonly applications: Pick<ApplicationStore, 'get'>;
  readonly sender: Pick<EndpointSender, 'post'>;
  readonly routing: Pick<Routing, 'owns' | 'onMoved' | 'tell'>;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timers. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** 0 to 1. */
  readonly random: () => number;
  /** Turns the events of an application off after failures, and notifies its owner. */
  readonly disable: (application: Application) => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

/** Counts since the start, for metrics. */
interface EventDeliveryCounts {
  readonly sent: number;
  readonly failed: number;
}

/** Events read at once. */
const BATCH = 32;
const DELAY_FIRST_MS = 1_000;
const DELAY_MAX_MS = 120_000;
/** How long one event is repeated. @source https://docs.discord.com/developers/events/webhook-events#responding-to-events */
const REPEAT_MS = 600_000;
/** Events that could not be sent for so long are deleted. */
const AGE_MAX_MS = 24 * 3_600_000;
/** Finds events whose announcement was lost, and deletes expired ones. */
const SWEEP_MS = 300_000;
const APPLICATIONS_PER_STEP = 500;
/** URLs of lobbies that failed for too long; their events get one attempt each. */
const GIVEN_UP_MAX = 1_000;
const ACKNOWLEDGED = 204;

/** The events of one application, while some are queued. */
interface Line {
  /** Events were queued meanwhile. */
  again: boolean;
  failures: number;
  /** The URL of the first event, and when it began to fail; null while it does not. */
  failingUrl: string | null;
  failingSinceMs: number | null;
  /** Waits for the next attempt. */
  timer: Timer | null;
}

/**
 * Sends queued webhook events, each application's in order and one at a time, at least once: an event is deleted after the
 * application has acknowledged it. Only the owner shard of the application sends. After failures the time between attempts
 * doubles; after ten minutes the application's events are turned off.
 *
 * @source https://docs.discord.com/developers/events/webhook-events
 */
export class EventDelivery {
  readonly #ports: EventDeliveryPorts;
  readonly #lines = new Map<ApplicationId, Line>();
  readonly #givenUp = new Set<string>();
  readonly #log = new DeliveryLog();
  readonly #announce: (id: ApplicationId) => void;
  #sweep: Timer | null = null;
  #sent = 0;
  #failed = 0;

  constructor(ports: EventDeliveryPorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#cancel());
    this.#announce = ports.routing.tell('webhookEvents.queued', (id: ApplicationId) => this.#wake(id));
  }

  get counts(): EventDeliveryCounts {
    return { sent: this.#sent, failed: this.#failed };
  }

  /** Applications whose events are being sent, or wait for another attempt. */
  get size(): number {
    return this.#lines.size;
  }

  /** Failed attempts in a row for an application whose owner is this shard; null when none failed last. */
  failing(id: ApplicationId): { readonly attempts: number; readonly sinceMs: number } | null {
    const { failures = 0, failingSinceMs = null } = this.#lines.get(id) ?? {};
    return failures > 0 && failingSinceMs !== null ? { attempts: failures, sinceMs: failingSinceMs } : null;
  }

  /** The newest attempts of this process with numbers below `before`, newest first. */
  attempts(before: number | null, limit: number): readonly DeliveryAttempt[] {
    return this.#log.page(before, limit);
  }

  /** Sends what earlier runs and other shards have left, now and after each change of ownership. */
  start(): void {
    this.#ports.routing.onMoved(() => this.#look(0));
    this.#look(0);
  }

  /** Events of these applications have become durable here; their owners send them. */
  queued(ids: readonly ApplicationId[]): void {
    if (!this.#ports.scope.over) for (const id of new Set(ids)) this.#announce(id);
  }

  #look(delayMs: number): void {
    if (this.#ports.scope.over) return;
    this.#sweep?.cancel();
    this.#sweep = this.#ports.wheel.add(() => void this.#lookUp(), delayMs);
  }

  async #lookUp(): Promise<void> {
    const { events, nowMs, scope, onFault } = this.#ports;
    try {
      await events.expire(snowflakeAt(nowMs() - AGE_MAX_MS));
      for (let after: ApplicationId | null = null; !scope.over; ) {
        const ids: ApplicationId[] = await events.waiting(after, APPLICATIONS_PER_STEP);
        for (const id of ids) this.#wake(id);
        if (ids.length < APPLICATIONS_PER_STEP) break;
        after = ids.at(-1) ?? null;
      }
    } catch (error) {
      if (!scope.over) onFault(error);
    }
    this.#look(SWEEP_MS);
  }

  #wake(id: ApplicationId): void {
    if (this.#ports.scope.over || !this.#ports.routing.owns(id)) return;
    const line = this.#lines.get(id);
    if (line) {
      line.again = true;
      return;
    }
    const begun: Line = { again: false, failures: 0, failingUrl: null, failingSinceMs: null, timer: null };
    this.#lines.set(id, begun);
    void this.#run(id, begun);
  }

  async #run(id: ApplicationId, line: Line): Promise<void> {
    try {
      line.again = true;
      while (line.again && this.#isOwn(id)) {
        line.again = false;
        if (!(await this.#sendAll(id, line))) return;
      }
    } catch (error) {
      if (this.#ports.scope.over) return;
      this.#ports.onFault(error);
      return this.#repeat(id, line);
    }
    this.#lines.delete(id);
  }

  #isOwn(id: ApplicationId): boolean {
    const { routing, scope } = this.#ports;
    return !scope.over && routing.owns(id);
  }

  /** @returns false when the first event waits for another attempt; the line then has a timer. */
  async #sendAll(id: ApplicationId, line: Line): Promise<boolean> {
    const { events, applications } = this.#ports;
    for (;;) {
      const [application, batch] = await Promise.all([applications.get(id), events.pending(id, BATCH)]);
      // Events of an application that receives none stay queued until it turns them on again, or they are too old.
      if (application?.event_webhooks_status !== EVENTS_STATUS.ON || batch.length === 0) return true;
      for (const event of batch) {
        if (!this.#isOwn(id)) return true;
        const outcome = await this.#send(application, event, line);
        if (outcome !== 'done') return outcome === 'off';
        await events.drop(id, event.id);
      }
    }
  }

  /** One attempt: it needs no further one, another one is scheduled, or the application's events were turned off. */
  async #send(application: Application, event: WebhookEvent, line: Line): Promise<'done' | 'later' | 'off'> {
    const { nowMs } = this.#ports;
    const url = event.url ?? application.event_webhooks_url;
    if (url === null || nowMs() - event.atMs > AGE_MAX_MS) return 'done';
    const answer = await this.#post(event, url, line.failures + 1);
    if (answer.ok && answer.status === ACKNOWLEDGED) {
      this.#sent += 1;
      this.#givenUp.delete(url);
      this.#recovered(line);
      return 'done';
    }
    this.#failed += 1;
    if (this.#givenUp.has(url)) return 'done';
    // Faults of the database delay the next attempt, but do not count against the application; nor do failures of an earlier URL.
    if (line.failingUrl !== url) line.failingSinceMs = null;
    line.failingUrl = url;
    line.failingSinceMs ??= nowMs();
    if (nowMs() - line.failingSinceMs < REPEAT_MS) {
      this.#repeat(application.id, line);
      return 'later';
    }
    this.#recovered(line);
    if (event.url !== undefined) {
      this.#giveUp(url);
      return 'done';
    }
    await this.#ports.disable(application);
    return 'off';
  }

  async #post(event: WebhookEvent, url: string, attempt: number): Promise<EndpointAnswer> {
    const { sender, nowMs } = this.#ports;
    const atMs = nowMs();
    const { id: eventId, applicationId, type } = event;
    const answer = await sender.post(applicationId, url, bodyOf(event));
    this.#log.add({ eventId, applicationId, type, atMs, tookMs: nowMs() - atMs, attempt }, url, answer);
    return answer;
  }

  #recovered(line: Line): void {
    line.failures = 0;
    line.failingUrl = null;
    line.failingSinceMs = null;
  }

  /** A lobby's URL that fails must not turn off the events of the whole application. */
  #giveUp(url: string): void {
    this.#givenUp.add(url);
    dropOldest(this.#givenUp, GIVEN_UP_MAX);
  }

  #repeat(id: ApplicationId, line: Line): void {
    const { wheel, random } = this.#ports;
    const delayMs = Math.min(DELAY_MAX_MS, DELAY_FIRST_MS * 2 ** line.failures) * (0.5 + random() / 2);
    line.failures += 1;
    line.timer = wheel.add(() => {
      line.timer = null;
      void this.#run(id, line);
    }, delayMs);
  }

  #cancel(): void {
    this.#sweep?.cancel();
    for (const { timer } of this.#lines.values()) timer?.cancel();
    this.#lines.clear();
  }
}

/** The body as the application receives it; `id` is the same in every attempt. */
const bodyOf = ({ id, applicationId, type, atMs, data }: WebhookEvent): object => ({
  ...{ version: 1, application_id: applicationId, type: 1 },
  event: { id, type, timestamp: new Date(atMs).toISOString(), data },
});

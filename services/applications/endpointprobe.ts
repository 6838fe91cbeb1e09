import type { Routing } from '../../actors/placement/routing.ts';
import type { Lifetime, Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { EndpointSender } from './endpoint.ts';
import { endpointFault } from './endpointcheck.ts';

interface ProbePorts {
  readonly applications: Pick<ApplicationStore, 'list'>;
  readonly sender: EndpointSender;
  readonly routing: Pick<Routing, 'owns'>;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timer. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  /** 0 to 1. */
  readonly random: () => number;
  /** Removes the URL and sends the owner the reason. */
  readonly remove: (application: Application, fault: string) => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

const INTERVAL_MS = 6 * 3_600_000;
/** So many failures in a row remove the URL. */
const FAILURES_MAX = 3;

/**
 * Tests the interactions endpoints of this shard's applications from time to time, as when they were set: an endpoint that no
 * longer checks signatures, or no longer answers, is removed.
 *
 * @source https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint-validating-security-request-headers
 */
export class EndpointProbe {
  readonly #ports: ProbePorts;
  /** Failures in a row of each application with its URL: a new URL begins at none. */
  #failures = new Map<string, number>();
  #timer: Timer | null = null;

  constructor(ports: ProbePorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#timer?.cancel());
  }

  start(): void {
    const { scope, wheel, random } = this.#ports;
    if (scope.over) return;
    this.#timer = wheel.add(() => void this.#round(), INTERVAL_MS * (0.5 + random()));
  }

  async #round(): Promise<void> {
    const { applications, routing, scope, onFault } = this.#ports;
    const failures = new Map<string, number>();
    try {
      for (const application of await applications.list()) {
        if (scope.over) return;
        const url = application.interactions_endpoint_url;
        if (url !== null && routing.owns(application.id)) await this.#probe(application, url, failures);
      }
    } catch (error) {
      if (!scope.over) onFault(error);
    }
    this.#failures = failures;
    this.start();
  }

  async #probe(application: Application, url: string, failures: Map<string, number>): Promise<void> {
    const fault = await endpointFault(this.#ports.sender, 'interactions', application.id, url);
    if (fault === null || this.#ports.scope.over) return;
    const key = `${application.id} ${url}`;
    const inRow = (this.#failures.get(key) ?? 0) + 1;
    if (inRow < FAILURES_MAX) failures.set(key, inRow);
    else await this.#ports.remove(application, fault);
  }
}

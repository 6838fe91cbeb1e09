import { type ActorRefFrom, createActor } from 'xstate';
import type { Timer } from '../runtime/clock.ts';
import type { Supervisor } from '../runtime/supervisor.ts';
import type { Wheel } from '../runtime/wheel.ts';
import {
  type VoiceSessionEvent,
  type VoiceSessionShell,
  voiceSessionMachine,
} from './voicesession.machine.ts';

interface LifecycleHost {
  readonly resumeWindowMs: number;
  readonly wheel: Wheel;
  readonly supervisor: Supervisor;
  /** A bug. */
  onFault(error: unknown): void;
}

/** Whether a voice session takes part in the encryption, has media, waits for its client, or is over. */
export class VoiceSessionLifecycle implements VoiceSessionShell {
  readonly #host: LifecycleHost;
  readonly #ended: (expired: boolean) => void;
  readonly #actor: ActorRefFrom<typeof voiceSessionMachine>;
  #window: Timer | null = null;

  /** @param ended Called once. `expired`: no client resumed the session in time. */
  constructor(host: LifecycleHost, ended: (expired: boolean) => void) {
    this.#host = host;
    this.#ended = ended;
    this.#actor = createActor(voiceSessionMachine, { input: this, parent: host.supervisor });
    this.#actor.subscribe({
      complete: () => this.#release(),
      error: (error) => this.#crashed(error),
    });
    this.#actor.start();
  }

  get over(): boolean {
    return this.#actor.getSnapshot().status !== 'active';
  }

  /** Whether its Session Description was sent: from then on it takes part in DAVE. */
  get described(): boolean {
    const media = this.#media;
    return media !== null && media !== 'joining';
  }

  /** Whether its media arrive. */
  get connected(): boolean {
    return this.#media === 'connected';
  }

  /** Whether its connection to the voice gateway is open. */
  get attached(): boolean {
    const { value } = this.#actor.getSnapshot();
    return typeof value === 'object' && value.open.connection === 'attached';
  }

  get #media() {
    const { value } = this.#actor.getSnapshot();
    return typeof value === 'object' ? value.open.media : null;
  }

  send(type: VoiceSessionEvent['type']): void {
    // A stopped actor would log a warning for every event.
    if (!this.over) this.#actor.send({ type });
  }

  startWindow(): void {
    this.#window = this.#host.wheel.add(() => this.send('expire'), this.#host.resumeWindowMs);
  }

  stopWindow(): void {
    const window = this.#window;
    this.#window = null;
    window?.cancel();
  }

  #release(): void {
    try {
      this.#ended(this.#actor.getSnapshot().value === 'expired');
    } catch (error) {
      this.#host.onFault(error);
    }
  }

  #crashed(error: unknown): void {
    this.stopWindow();
    this.#release();
    this.#host.onFault(error);
  }
}

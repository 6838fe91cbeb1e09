import type { PrivateChannelState } from '../../engine/privatechannel/rules.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import type { PrivateChannelStore } from '../../storage/privatechannel/port.ts';
import type { Lifetime } from '../runtime/clock.ts';
import type { Registry } from '../runtime/registry.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { PrivateChannelShell } from './privatechannel.shell.ts';

interface CallLoadingPorts {
  readonly registry: () => Pick<Registry<PrivateChannelState, PrivateChannelShell>, 'work' | 'peek'>;
  readonly store: Pick<PrivateChannelStore, 'withCalls'>;
  readonly wheel: Wheel;
  readonly lifetime: Pick<Lifetime, 'over' | 'run'>;
  /** Whether this shard owns the channel. */
  readonly owns: (id: ChannelId) => boolean;
  readonly onFault: (error: unknown, where: string) => void;
}

const RETRY_MS = 500;

/**
 * Loads private channels with a running call, each until that succeeds or another shard owns it. Nothing else would load them: only
 * the participants use them, and they wait until the next owner contacts them.
 */
export class CallLoading {
  readonly #ports: CallLoadingPorts;
  readonly #waiting = new Set<string>();
  /** Whether a search is to begin. */
  #isSearchDue = false;

  constructor(ports: CallLoadingPorts) {
    this.#ports = ports;
  }

  /** Whether the channel is being loaded because of its call. */
  waits(id: string): boolean {
    return this.#waiting.has(id);
  }

  /** The channel's actor failed. Not at once: it may fail again for the same reason. */
  reload(id: ChannelId): void {
    if (!this.#waiting.has(id)) void this.#load(id, RETRY_MS);
  }

  /** Finds the calls that no actor here continues, and loads them. Requests within `delayMs` are one. */
  searchLater(delayMs: number): void {
    if (this.#isSearchDue) return;
    this.#isSearchDue = true;
    const { wheel, lifetime, onFault } = this.#ports;
    wheel.after(() => {
      this.#isSearchDue = false;
      if (lifetime.over) return;
      const found = this.#found().catch((error) => {
        onFault(error, 'calls');
        this.searchLater(RETRY_MS);
      });
      void lifetime.run(found);
    }, delayMs);
  }

  async #found(): Promise<void> {
    const { store, owns, registry, lifetime } = this.#ports;
    for (const id of await store.withCalls())
      if (!lifetime.over && owns(id) && !registry().peek(id) && !this.#waiting.has(id))
        void this.#load(id, 0);
  }

  async #load(id: ChannelId, delayMs: number): Promise<void> {
    const { wheel, owns } = this.#ports;
    this.#waiting.add(id);
    let isRunning = delayMs === 0 || (await wheel.pause(delayMs));
    while (isRunning && owns(id)) {
      try {
        await this.#once(id);
        break;
      } catch {
        isRunning = await wheel.pause(RETRY_MS);
      }
    }
    this.#waiting.delete(id);
  }

  #once(id: ChannelId): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#ports.registry().work(id, { run: () => resolve(), refuse: () => resolve(), fault: reject });
    });
  }
}

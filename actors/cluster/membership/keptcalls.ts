import type { PrivateChannelState } from '../../../engine/privatechannel/rules.ts';
import type { ClusterStore } from '../../../storage/cluster/port.ts';
import type { Ownership } from '../../placement/ports.ts';
import type { PrivateChannelShell } from '../../privatechannel/privatechannel.shell.ts';
import type { Clock, Lifetime } from '../../runtime/clock.ts';
import type { Registry } from '../../runtime/registry.ts';
import type { Wheel } from '../../runtime/wheel.ts';

interface CallKeepingPorts {
  readonly ownership: Ownership;
  readonly privateChannels: Registry<PrivateChannelState, PrivateChannelShell>;
  readonly store: Pick<ClusterStore, 'keptCalls'>;
  /** Maximum age of a snapshot that is still restored, in milliseconds. */
  readonly freshMs: number;
  readonly clock: Clock;
  readonly wheel: Wheel;
  readonly lifetime: Pick<Lifetime, 'over' | 'run'>;
  readonly onFault: (error: unknown, where: string) => void;
}

/** Ownership changes within this window are handled together. */
const GATHER_MS = 100;

/**
 * Restores calls in private channels that moved to this shard. Nothing else would load such a channel: only the
 * participants use it, and they wait until its new owner contacts them.
 */
export function keepCalls(ports: CallKeepingPorts): void {
  const { ownership, privateChannels, store, freshMs, clock, wheel, lifetime, onFault } = ports;
  let isGathering = false;

  async function wake(): Promise<void> {
    for (const id of await store.keptCalls(clock.now() - freshMs)) {
      if (lifetime.over) return;
      if (!ownership.owns(id) || privateChannels.peek(id)) continue;
      const fault = (error: Error): void => onFault(error, 'calls');
      privateChannels.work(id, { run: () => undefined, refuse: () => undefined, fault });
    }
  }

  ownership.onChange(({ moved }) => {
    const { self, view } = ownership;
    if (isGathering || !moved.some((each) => view.owners[each]?.instance === self?.instance)) return;
    isGathering = true;
    wheel.after(() => {
      isGathering = false;
      void lifetime.run(wake().catch((error) => onFault(error, 'calls')));
    }, GATHER_MS);
  });
}

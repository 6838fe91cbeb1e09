import type { PrivateChannelState } from '../../engine/privatechannel/rules.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import type { Registry } from '../runtime/registry.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { PrivateChannelShell } from './privatechannel.shell.ts';

interface ReloadingPorts {
  readonly registry: () => Pick<Registry<PrivateChannelState, PrivateChannelShell>, 'work'>;
  readonly wheel: Wheel;
  /** Whether this shard owns the channel. */
  readonly owns: (id: ChannelId) => boolean;
}

const RETRY_MS = 500;

/**
 * Loads a channel whose actor failed, again and again until that succeeds or another shard owns it, so that its call continues. Not
 * at once: the channel may fail again for the same reason.
 */
export function reloading({ registry, wheel, owns }: ReloadingPorts): (id: ChannelId) => void {
  const load = (id: ChannelId) =>
    new Promise<void>((resolve, reject) => {
      registry().work(id, { run: () => resolve(), refuse: () => resolve(), fault: reject });
    });
  const reload = async (id: ChannelId): Promise<void> => {
    if (!(await wheel.pause(RETRY_MS))) return;
    while (owns(id)) {
      try {
        return await load(id);
      } catch {
        if (!(await wheel.pause(RETRY_MS))) return;
      }
    }
  };
  return (id) => void reload(id);
}

import { Heard } from '../actors/cluster/delivery/heard.ts';
import { createTelling, type TellingPorts } from '../actors/cluster/delivery/notify.ts';
import { routingOver } from '../actors/cluster/routing/routed.ts';
import type { Routing } from '../actors/placement/routing.ts';
import type { Wheel } from '../actors/runtime/wheel.ts';
import { Inboxes } from '../actors/user/inboxes.ts';
import type { Telling } from '../actors/user/telling.ts';
import type { ClusterStore } from '../storage/cluster/port.ts';
import { createPrivateChannels, type PrivateChannels, type PrivatePorts } from './private.ts';

/** How the parts of the house reach what others own. Alone, everything is here. */
export interface Ways {
  readonly routing: Routing;
  readonly telling: Telling;
  readonly privates: PrivateChannels;
  readonly inPrivate: PrivateChannels['call'];
  readonly openPrivate: PrivateChannels['open'];
  readonly direct: Direct | null;
}

/** What people are told by way of their owners, at both of its ends; there is no such way while the process is alone. */
export interface Direct {
  readonly inboxes: Inboxes;
  readonly heard: Heard;
}

interface WayPorts extends Omit<TellingPorts, 'inboxes'>, Omit<PrivatePorts, 'telling'> {
  readonly storage: PrivatePorts['storage'] & { readonly cluster: ClusterStore };
  readonly recordAgeMs: number;
  readonly wheel: Wheel;
  readonly onFault: (error: unknown, where: string) => void;
}

function createDirect(ports: WayPorts): Direct | null {
  const { cluster, users, clock, wheel, storage, recordAgeMs, onFault } = ports;
  const { ownership } = cluster;
  if (ownership.alone) return null;
  const heard = new Heard({ nowMs: () => clock.now(), recordAgeMs });
  const inboxes = new Inboxes({
    ...{ users, clock, wheel, recordAgeMs, store: storage.cluster, deliver: heard.deliver },
    owns: (userId) => ownership.owns(userId),
    onFault: (error) => onFault(error, 'what people are told'),
  });
  // Its last owner may have died before it told what it had committed.
  ownership.onChange(({ moved }) => {
    if (moved.some((partition) => ownership.view.owners[partition])) inboxes.doubt();
  });
  return { inboxes, heard };
}

export function createWays(ports: WayPorts): Ways {
  const routing = routingOver(ports.cluster);
  const direct = createDirect(ports);
  const telling = createTelling({ ...ports, inboxes: direct?.inboxes ?? null });
  const privates = createPrivateChannels({ ...ports, telling });
  return { direct, routing, telling, privates, inPrivate: privates.call, openPrivate: privates.open };
}

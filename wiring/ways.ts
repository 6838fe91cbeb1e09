import { createDirect, type Direct } from '../actors/cluster/delivery/direct.ts';
import { createTelling, type TellingPorts } from '../actors/cluster/delivery/notify.ts';
import { routed, routingOver } from '../actors/cluster/routing/routed.ts';
import type { Routing } from '../actors/placement/routing.ts';
import type { Wheel } from '../actors/runtime/wheel.ts';
import type { Telling } from '../actors/user/telling.ts';
import {
  createPrivateChannels,
  PRIVATE_ROUTES,
  type PrivateChannels,
  type PrivatePorts,
} from '../services/privatechannels/privatechannels.ts';
import type { ClusterStore } from '../storage/cluster/port.ts';

/** How the parts of the house reach what others own. Alone, everything is here. */
export interface Ways {
  readonly routing: Routing;
  readonly telling: Telling;
  readonly privates: PrivateChannels;
  readonly inPrivate: PrivateChannels['call'];
  readonly openPrivate: PrivateChannels['open'];
  readonly direct: Direct | null;
}

interface WayPorts extends Omit<TellingPorts, 'inboxes'>, Omit<PrivatePorts, 'telling' | 'ownership'> {
  readonly storage: PrivatePorts['storage'] & { readonly cluster: ClusterStore };
  readonly recordAgeMs: number;
  readonly wheel: Wheel;
  readonly onFault: (error: unknown, where: string) => void;
}

export function createWays(ports: WayPorts): Ways {
  const routing = routingOver(ports.cluster);
  const direct = createDirect(ports);
  const telling = createTelling({ ...ports, inboxes: direct?.inboxes ?? null });
  const privates = routed(
    'private',
    createPrivateChannels({ ...ports, ownership: ports.cluster.ownership, telling }),
    PRIVATE_ROUTES,
    ports.cluster,
  );
  return { direct, routing, telling, privates, inPrivate: privates.call, openPrivate: privates.open };
}
